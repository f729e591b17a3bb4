//! What composites of floats share: numbers as values, and f16 and bf16 computed in f32.

use tenferro_tensor::{Accepts, DType, Factor, Result, Scalar, Tensor, Validation, dispatch};

use crate::{Build, Builder};

/// Refuses a dtype for which the composite `op` has no meaning.
pub(super) fn check(op: &'static str, accepts: Accepts, dtype: DType) -> Result<()> {
    if accepts.contains(dtype) {
        return Ok(());
    }
    Err(Validation::MeaninglessDType { dtype, expected: accepts.description() }.of(op))
}

/// A number of a float dtype, as a value without axes.
pub(super) fn number<B: Builder + ?Sized>(
    builder: &mut B,
    op: &'static str,
    dtype: DType,
    value: f64,
) -> Result<B::Value> {
    let tensor = dispatch!(dtype, inexact T => {
        Tensor::scalar(T::from_factor(Factor::Real(value)).expect("invariant: floats round"))
    }, else {
        let expected = Accepts::Inexact.description();
        Err(Validation::MeaninglessDType { dtype, expected }.of(op))
    })?;
    Ok(builder.constant(tensor))
}

/// The value in f32 if it is one of f16 or bf16, else the value itself.
pub(super) fn widened<B: Builder + ?Sized>(builder: &mut B, x: &B::Value) -> Result<B::Value> {
    match builder.meta(x).dtype {
        DType::F16 | DType::BF16 => builder.convert(x, DType::F32),
        _ => Ok(x.clone()),
    }
}

/// The value in the dtype `dtype`, or in that of its magnitudes if the value is real.
pub(super) fn narrowed<B: Builder + ?Sized>(
    builder: &mut B,
    y: &B::Value,
    dtype: DType,
) -> Result<B::Value> {
    let own = builder.meta(y).dtype;
    if own == dtype || own == dtype.real() { Ok(y.clone()) } else { builder.convert(y, dtype) }
}

/// How many elements a reduction over `axes` gathers into one. Axes that do not exist are refused by the reduction.
pub(super) fn count<B: Builder + ?Sized>(builder: &B, x: &B::Value, axes: &[usize]) -> usize {
    let shape = builder.meta(x).shape;
    axes.iter().filter_map(|&axis| shape.get(axis)).product()
}
