//! The defaults of `Engine`, operations of one's own, and what a destination may refuse.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;

use tenferro_ops::{
    CustomOp, Engine, Inputs, Meta, Op, Scale, accumulate_into, copy_into, reference::Reference,
    scale_into,
};
use tenferro_tensor::{
    AsOperand, Contraction, DType, Elementwise, Error, Factor, KeepAxes, Numerical, Operand,
    Primitive, Reduction, Result, Shape, Structural, Tensor, TensorElementwise, TensorReduction,
    Uninit, Validation, f16,
};

fn row(elements: &[f64]) -> Tensor {
    Tensor::from_vec_col_major([elements.len()], elements.to_vec()).unwrap()
}

fn floats(tensor: &Tensor) -> &[f64] {
    tensor.as_slice().unwrap()
}

#[test]
fn an_engine_is_held_as_a_trait_object() {
    let mut engine: Box<dyn Engine> = Box::new(Reference);
    let x = row(&[1.0, 3.0]);
    assert_eq!(floats(&engine.add(&x, &x).unwrap()), [2.0, 6.0]);
    fn sent<T: Send + Sync + ?Sized>() {}
    sent::<dyn Engine>();
}

#[test]
fn apply_into_writes_a_strided_output() {
    let x = row(&[1.0, 2.0]);
    let mut out = Tensor::full([2, 2], 9.0).unwrap();
    let mut column = out.view_mut().unwrap().slice(0, 1.., 1).unwrap().reverse(1).unwrap();
    let primitive = Structural::BroadcastInDim { extents: [1, 2].into(), axes: [1].into() };
    Reference.apply_into(&primitive.into(), &[x.as_operand()], column.as_operand_mut()).unwrap();
    assert_eq!(out.to_vec_row_major::<f64>().unwrap(), [9.0, 9.0, 2.0, 1.0]);
}

#[test]
fn x45_a_refusal_leaves_the_output_untouched() {
    let x = row(&[1.0, 2.0]);
    let mut out = row(&[7.0, 7.0, 7.0]);
    let add = Primitive::from(Elementwise::Add);
    let operands = [x.as_operand(), x.as_operand()];
    let error = Reference.apply_into(&add, &operands, out.as_operand_mut().unwrap()).unwrap_err();
    insta::assert_snapshot!(error, @"add: shapes (2,) and (3,) differ");
    let equal = Elementwise::Compare { relation: tenferro_tensor::Comparison::Eq }.into();
    let error = Reference.apply_into(&equal, &operands, out.as_operand_mut().unwrap()).unwrap_err();
    insta::assert_snapshot!(error, @"compare: dtypes bool and f64 differ; convert one of them first");
    assert_eq!(floats(&out), [7.0; 3]);

    let mut out = Tensor::full([2], 7_i32).unwrap();
    let (lhs, zero) = (Tensor::full([2], 1_i32).unwrap(), Tensor::zeros(DType::I32, [2]).unwrap());
    let operands = [lhs.as_operand(), zero.as_operand()];
    let error = Reference
        .apply_into(&Elementwise::Div.into(), &operands, out.as_operand_mut().unwrap())
        .unwrap_err();
    let failure = Numerical::DivisionByZero { dtype: DType::I32 };
    assert!(matches!(error, Error::NumericalFailure { problem, .. } if problem == failure));
    assert_eq!(out.as_slice::<i32>().unwrap(), [7; 2]);
}

fn product(scale: Scale, lhs: &Tensor, out: &mut Tensor) -> Result<()> {
    let (contraction, operand) = (Contraction::over([], []), lhs.as_operand());
    let one = Tensor::ones(lhs.dtype(), [])?;
    Reference.contract_into(&contraction, &operand, &one.as_operand(), scale, out.as_operand_mut()?)
}

#[test]
fn p6_factors_of_zero_read_nothing() {
    let nan = row(&[f64::NAN, f64::INFINITY]);
    let scale = |alpha: f64, beta: f64| Scale { alpha: alpha.into(), beta: beta.into() };
    let mut out = row(&[1.0, 2.0]);
    product(scale(0.0, 3.0), &nan, &mut out).unwrap();
    assert_eq!(floats(&out), [3.0, 6.0]);
    product(scale(0.0, 1.0), &nan, &mut out).unwrap();
    assert_eq!(floats(&out), [3.0, 6.0]);
    product(scale(2.0, 0.0), &out.clone(), &mut out.clone()).unwrap();
    let mut full_of_nan = nan.duplicate().unwrap();
    product(scale(2.0, 0.0), &out, &mut full_of_nan).unwrap();
    assert_eq!(floats(&full_of_nan), [6.0, 12.0]);
    let mut both = nan.duplicate().unwrap();
    product(scale(0.0, 0.0), &nan, &mut both).unwrap();
    assert_eq!(floats(&both), [0.0, 0.0]);
    let mut sum = row(&[1.0, 2.0]);
    product(Scale::ADD, &out, &mut sum).unwrap();
    assert_eq!(floats(&sum), [4.0, 8.0]);
}

#[test]
fn p6_an_alpha_of_zero_still_checks_the_operands() {
    let mut out = row(&[1.0]);
    let scale = Scale { alpha: Factor::ZERO, beta: Factor::ONE };
    let error = product(scale, &row(&[1.0, 2.0]), &mut out).unwrap_err();
    insta::assert_snapshot!(error, @"dot_general: shapes (2,) and (1,) differ");
}

#[test]
fn factors_are_exact_or_refused() {
    let x = Tensor::full([2], 3_i32).unwrap();
    let mut out = Tensor::full([2], 10_i32).unwrap();
    let scale = Scale { alpha: Factor::from(-2), beta: Factor::from(3.0) };
    product(scale, &x, &mut out).unwrap();
    assert_eq!(out.as_slice::<i32>().unwrap(), [24; 2]);
    let scale = Scale { alpha: Factor::from(0.5), beta: Factor::ONE };
    let error = product(scale, &x, &mut out).unwrap_err();
    insta::assert_snapshot!(error, @"dot_general: the dtype of the output cannot hold alpha or beta; convert the operands first");
    assert_eq!(out.as_slice::<i32>().unwrap(), [24; 2]);
}

#[test]
fn halves_are_accumulated_in_single_precision_and_rounded_once() {
    let half = f16::from_f32;
    let source = Tensor::full([1], half(2048.0)).unwrap();
    let mut out = Tensor::full([1], half(1.0)).unwrap();
    let scale = Scale { alpha: Factor::ONE, beta: Factor::from(3) };
    let destination = out.as_operand_mut().unwrap();
    accumulate_into("test", scale, &source.as_operand(), destination).unwrap();
    // 2048 + 3 rounds to 2052 once; to 2048 if 1 were added three times.
    assert_eq!(out.get::<f16>(&[0]).unwrap().to_f32(), 2052.0);
}

#[test]
fn an_output_that_was_never_written_is_not_read() {
    let mut out = Uninit::allocate("test", DType::F32, Shape::new(&[3]).unwrap()).unwrap();
    let error = scale_into("test", Factor::from(2.0), out.as_operand_mut()).unwrap_err();
    insta::assert_snapshot!(error, @"test: the output was never written, so it cannot be scaled; use a beta of 0");
    scale_into("test", Factor::ZERO, out.as_operand_mut()).unwrap();
    let x = Tensor::ones(DType::F32, [3]).unwrap();
    let negative = Elementwise::Neg.into();
    Reference.apply_into(&negative, &[x.as_operand()], out.as_operand_mut()).unwrap();
    let truth = Tensor::ones(DType::Bool, [2]).unwrap();
    let mut out = truth.duplicate().unwrap();
    let error = scale_into("test", Factor::ONE, out.as_operand_mut().unwrap()).unwrap_err();
    insta::assert_snapshot!(error, @"test: not defined for bool; it needs numbers");
    copy_into("test", &truth.as_operand(), out.as_operand_mut().unwrap()).unwrap();
}

#[test]
fn donated_operands_give_the_same_result() {
    let x = row(&[1.0, 2.0]);
    let y = row(&[10.0]);
    let inputs: Inputs<'_> =
        [x.duplicate().unwrap().into(), y.as_operand().into()].into_iter().collect();
    let sum = Reference.donate(&Elementwise::Add.into(), inputs).unwrap();
    assert_eq!(floats(&sum), [11.0, 12.0]);
    let refused: Inputs<'_> = [x.into()].into_iter().collect();
    assert!(Reference.donate(&Elementwise::Add.into(), refused).is_err());
}

/// The sum of squares over all axes, written over primitives.
#[derive(Debug)]
struct SquareSum;

impl CustomOp for SquareSum {
    fn name(&self) -> &'static str {
        "square_sum"
    }

    fn infer(&self, inputs: &[Meta]) -> Result<Meta> {
        let [x] = inputs else {
            let what = "operands";
            let problem = Validation::WrongLength { what, expected: 1, actual: inputs.len() };
            return Err(problem.of(self.name()));
        };
        Ok(Meta { dtype: x.dtype, shape: Shape::default() })
    }

    fn evaluate(&self, engine: &mut dyn Engine, inputs: &[Operand<'_>]) -> Result<Tensor> {
        let square = engine.mul(&inputs[0], &inputs[0])?;
        let axes: Vec<usize> = (0..square.rank()).collect();
        engine.sum(&square, axes, KeepAxes::Drop)
    }
}

#[test]
fn a_custom_operation_runs_on_any_engine() {
    let engine: &mut dyn Engine = &mut Reference;
    let op = Op::Custom(Arc::new(SquareSum));
    let x = row(&[1.0, 2.0, 3.0]);
    let result = engine.execute(&op, &[x.as_operand()]).unwrap();
    assert_eq!(floats(&result), [14.0]);
    assert_eq!(op.infer(&[Meta::of(&x)]).unwrap(), Meta::of(&result));
    assert_eq!((op.name(), op.clone().name()), ("square_sum", "square_sum"));
    let error = engine.execute(&op, &[]).unwrap_err();
    insta::assert_snapshot!(error, @"square_sum: operands has 0 entries where 1 are needed");
    let sum = Op::from(Reduction::Sum { axes: [0].into(), keep: KeepAxes::Drop });
    assert_eq!(floats(&engine.execute(&sum, &[x.as_operand()]).unwrap()), [6.0]);
}

/// Says one shape and returns another.
#[derive(Debug)]
struct Liar;

impl CustomOp for Liar {
    fn name(&self) -> &'static str {
        "liar"
    }

    fn infer(&self, _inputs: &[Meta]) -> Result<Meta> {
        Ok(Meta { dtype: DType::F64, shape: Shape::default() })
    }

    fn evaluate(&self, _engine: &mut dyn Engine, _inputs: &[Operand<'_>]) -> Result<Tensor> {
        Tensor::zeros(DType::F32, [])
    }
}

#[test]
fn a_custom_operation_must_keep_its_word() {
    let engine: &mut dyn Engine = &mut Reference;
    let error = engine.execute(&Op::Custom(Arc::new(Liar)), &[]).unwrap_err();
    insta::assert_snapshot!(error, @"liar: the custom operation returned another dtype or shape than its rule says; mend either");
}
