//! `matmul`, `mean` and the reductions against what NumPy computed.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::atomic::{AtomicUsize, Ordering};

use tenferro_ops::{Engine, TensorComposite, reference::Reference};
use tenferro_tensor::{
    DType, Dot, KeepAxes, Operand, Primitive, Result, Tensor, TensorReduction, Vocabulary,
};

fn numbers<T: std::str::FromStr>(field: &str) -> Vec<T>
where
    T::Err: std::fmt::Debug,
{
    field.split_whitespace().map(|number| number.parse().unwrap()).collect()
}

fn tensor(extents: &str, elements: &str) -> Tensor {
    Tensor::from_vec_row_major(numbers::<usize>(extents), numbers::<f64>(elements)).unwrap()
}

fn assert_same(actual: &Tensor, expected: &Tensor, line: &str) {
    assert_eq!(actual.shape(), expected.shape(), "{line}");
    assert_eq!(actual.as_slice::<f64>().unwrap(), expected.as_slice::<f64>().unwrap(), "{line}");
}

#[test]
fn matmul_is_what_numpy_computes() {
    for line in include_str!("fixtures/matmul.txt").lines() {
        let fields: Vec<&str> = line.split(';').collect();
        let (lhs, rhs) = (tensor(fields[0], fields[1]), tensor(fields[2], fields[3]));
        let product = Reference.matmul(&lhs, &rhs).unwrap();
        assert_same(&product, &tensor(fields[4], fields[5]), line);
    }
}

#[test]
fn reductions_are_what_numpy_computes() {
    for line in include_str!("fixtures/reduce.txt").lines() {
        let fields: Vec<&str> = line.split(';').collect();
        let axes = numbers::<usize>(fields[1]);
        let x = tensor(fields[2], fields[3]);
        let drop = KeepAxes::Drop;
        let result = match fields[0] {
            "sum" => Reference.sum(&x, axes, drop),
            "prod" => Reference.prod(&x, axes, drop),
            "max" => Reference.max(&x, axes, drop),
            "min" => Reference.min(&x, axes, drop),
            other => panic!("{other}"),
        };
        assert_same(&result.unwrap(), &tensor(fields[4], fields[5]), line);
    }
}

/// Counts what reaches the engine behind it.
#[derive(Default)]
struct Counting {
    products: AtomicUsize,
    others: AtomicUsize,
}

impl Vocabulary for Counting {
    fn apply(&mut self, primitive: &Primitive, inputs: &[Operand<'_>]) -> Result<Tensor> {
        let count = match primitive {
            Primitive::Dot(Dot::DotGeneral { .. }) => &self.products,
            _ => &self.others,
        };
        count.fetch_add(1, Ordering::Relaxed);
        Reference.apply(primitive, inputs)
    }
}

impl Engine for Counting {}

#[test]
fn matmul_is_one_dot_general_and_nothing_else() {
    let shapes: [(&[usize], &[usize]); 4] =
        [(&[2, 3], &[3, 4]), (&[3], &[3]), (&[5, 2, 3], &[3, 4]), (&[1, 2, 3], &[5, 3, 4])];
    for (lhs, rhs) in shapes {
        let mut engine = Counting::default();
        let (lhs, rhs) =
            (Tensor::ones(DType::F32, lhs).unwrap(), Tensor::ones(DType::F32, rhs).unwrap());
        engine.matmul(&lhs, &rhs).unwrap();
        assert_eq!(engine.products.into_inner(), 1);
        assert_eq!(engine.others.into_inner(), 0);
    }
}

#[test]
fn matmul_and_mean_work_through_a_dyn_engine() {
    let mut reference = Reference;
    let engine: &mut dyn Engine = &mut reference;
    let x = Tensor::from_vec_row_major([2, 2], vec![1.0, 2.0, 3.0, 4.0]).unwrap();
    let square = engine.matmul(&x, &x).unwrap();
    assert_eq!(square.to_vec_row_major::<f64>().unwrap(), [7.0, 10.0, 15.0, 22.0]);
    let mean = engine.mean(&x, [0], KeepAxes::Keep).unwrap();
    assert_eq!(mean.to_vec_row_major::<f64>().unwrap(), [2.0, 3.0]);
}

#[test]
fn typed_operands_give_typed_results() {
    use tenferro_tensor::TypedTensor;
    let x = TypedTensor::from_vec_row_major([2, 2], vec![1.0_f32, 2.0, 3.0, 4.0]).unwrap();
    let product: TypedTensor<f32> = Reference.matmul(&x, &x).unwrap();
    assert_eq!(product.as_slice(), [7.0, 15.0, 10.0, 22.0]);
    let mean: TypedTensor<f32> = Reference.mean(&x, [0, 1], KeepAxes::Drop).unwrap();
    assert_eq!(mean.as_slice(), [2.5]);
}

#[test]
fn what_matmul_and_mean_refuse() {
    let ones = |extents: &[usize]| Tensor::ones(DType::F64, extents).unwrap();
    let refusal = |lhs: &[usize], rhs: &[usize]| {
        Reference.matmul(&ones(lhs), &ones(rhs)).unwrap_err().to_string()
    };
    insta::assert_snapshot!(refusal(&[], &[2]), @"matmul: both operands need an axis at least; use mul to scale by a number");
    insta::assert_snapshot!(refusal(&[2, 3], &[2, 3]), @"matmul: inner extents: extents 3 and 2 differ in shapes (2, 3) and (2, 3)");
    insta::assert_snapshot!(refusal(&[0, 3], &[2, 0]), @"matmul: inner extents: extents 3 and 2 differ in shapes (0, 3) and (2, 0)");
    insta::assert_snapshot!(refusal(&[2, 2, 3], &[4, 3, 2]), @"matmul: shapes (2,) and (4,) do not broadcast");
    let halves = Tensor::ones(DType::F32, [2, 2]).unwrap();
    let mixed = Reference.matmul(&ones(&[2, 2]), &halves).unwrap_err();
    insta::assert_snapshot!(mixed, @"dot_general: dtypes f64 and f32 differ; convert one of them first");
    let integers = Tensor::ones(DType::I32, [2]).unwrap();
    let mean = Reference.mean(&integers, [0], KeepAxes::Drop).unwrap_err();
    insta::assert_snapshot!(mean, @"mean: not defined for i32; it needs real or complex floats");
    let missing = Reference.mean(&ones(&[2]), [1], KeepAxes::Drop).unwrap_err();
    insta::assert_snapshot!(missing, @"sum: axis 1 does not exist in shape (2,)");
}
