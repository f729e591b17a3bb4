//! The text of every refusal: what was refused, why, and the way out.

#![allow(clippy::unwrap_used, reason = "a test unwraps what it expects to be there")]

use std::error::Error as _;

use tenferro_tensor::{DType, Dims, Error, Numerical, Validation};

fn dims(extents: &[usize]) -> Dims {
    extents.into()
}

#[test]
fn every_error_names_its_operation() {
    let source = std::io::Error::other("the pool is gone");
    let errors = [
        Validation::NoOperands.of("concatenate"),
        Numerical::DivisionByZero { dtype: DType::I32 }.of("div"),
        Error::RuntimeState {
            op: "add",
            reason: "another scope is active; use a clone of its backend".into(),
        },
        Error::Unsupported { op: "dot_general", reason: "no kernel for f16; convert first".into() },
        Error::BackendSource { op: "add", source: Box::new(source) },
        Error::OutOfMemory { op: "zeros", bytes: 1 << 40 },
    ];
    let texts: Vec<_> = errors.iter().map(Error::to_string).collect();
    insta::assert_snapshot!(texts.join("\n"), @r"
    concatenate: needs at least one operand
    div: division of i32 by zero
    add: another scope is active; use a clone of its backend
    dot_general: no kernel for f16; convert first
    add: the pool is gone
    zeros: no memory for 1099511627776 bytes
    ");
    for (error, text) in errors.iter().zip(&texts) {
        assert!(text.starts_with(error.op()));
    }
    let source = errors[4].source().unwrap();
    assert!(source.downcast_ref::<std::io::Error>().is_some(), "the source keeps its type");
}

#[test]
fn every_validation_says_what_does_not_fit() {
    let problems = [
        Validation::DTypeMismatch { lhs: DType::F32, rhs: DType::F64 },
        Validation::WrongDType { actual: DType::I8, requested: DType::Bool },
        Validation::MeaninglessDType {
            dtype: DType::Bool,
            expected: tenferro_tensor::Accepts::Number.description(),
        },
        Validation::Broadcast { lhs: dims(&[5]), rhs: dims(&[0]) },
        Validation::ShapeMismatch { lhs: dims(&[2, 3]), rhs: dims(&[3, 2]) },
        Validation::SizeOverflow { shape: dims(&[1 << 40, 1 << 40, 0]) },
        Validation::ElementCount { shape: dims(&[2, 2]), expected: 4, actual: 5 },
        Validation::AxisOutOfRange { axis: 2, shape: dims(&[2, 2]) },
        Validation::DuplicateAxis { axis: 1 },
        Validation::WrongLength { what: "permutation", expected: 3, actual: 2 },
        Validation::ExtentMismatch {
            what: "inner extents",
            lhs: 3,
            rhs: 4,
            lhs_shape: dims(&[2, 3]),
            rhs_shape: dims(&[4, 2]),
        },
        Validation::Slice {
            axis: 0,
            start: 3,
            limit: 2,
            stride: 1,
            extent: 5,
            rule: "the start must not be past the limit",
        },
        Validation::IndexOutOfRange { index: -1, axis: 0, extent: 3 },
        Validation::EmptyReduction { what: "maximum", axis: 0, shape: dims(&[0, 3]) },
        Validation::NoOperands,
        Validation::NotDense { shape: dims(&[2, 2]) },
        Validation::OverlappingDestination { shape: dims(&[2, 2]) },
        Validation::OutOfBounds { shape: dims(&[2, 2]), elements: 3 },
        Validation::Rule { rule: "the step must not be zero" },
    ];
    let texts: Vec<_> = problems.iter().map(Validation::to_string).collect();
    insta::assert_snapshot!(texts.join("\n"), @r"
    dtypes f32 and f64 differ; convert one of them first
    the tensor holds i8, not bool; convert it first
    not defined for bool; it needs numbers
    shapes (5,) and (0,) do not broadcast
    shapes (2, 3) and (3, 2) differ
    shape (1099511627776, 1099511627776, 0) has more elements than can be addressed
    shape (2, 2) needs 4 elements, but there are 5
    axis 2 does not exist in shape (2, 2)
    axis 1 is named twice
    permutation has 2 entries where 3 are needed
    inner extents: extents 3 and 4 differ in shapes (2, 3) and (4, 2)
    slice 3..2 with stride 1 of axis 0 with extent 5: the start must not be past the limit
    index -1 is outside of axis 0 with extent 3
    no maximum over axis 0 of shape (0, 3), which is empty
    needs at least one operand
    the view of shape (2, 2) is not dense; copy it with to_tensor first
    cannot write through a view of shape (2, 2) whose elements share memory; copy it with to_tensor first
    a view of shape (2, 2) with these strides leaves its 3 elements
    the step must not be zero
    ");
}

#[test]
fn every_numerical_failure_names_its_dtype() {
    let problems = [
        Numerical::DivisionByZero { dtype: DType::U8 },
        Numerical::NegativeExponent { dtype: DType::I64 },
    ];
    let texts: Vec<_> = problems.iter().map(Numerical::to_string).collect();
    insta::assert_snapshot!(texts.join("\n"), @r"
    division of u8 by zero
    negative exponent of i64
    ");
}

#[test]
fn shapes_read_as_tuples() {
    let texts: Vec<_> = [&[][..], &[3], &[2, 0, 4]].iter().map(|&e| dims(e).to_string()).collect();
    insta::assert_snapshot!(texts.join(" "), @"() (3,) (2, 0, 4)");
}
