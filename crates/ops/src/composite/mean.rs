//! The mean over axes, and how far elements are from it.

use tenferro_tensor::{Accepts, Indices, KeepAxes, Result};

use super::float::{check, count, narrowed, number, widened};
use crate::{Build, Builder};

/// The mean over axes. NaN over nothing; f16 and bf16 are summed and divided in f32.
///
/// # Errors
/// [`Validation::MeaninglessDType`](tenferro_tensor::Validation::MeaninglessDType) for integers and bool, which `convert`
/// makes floats of; what `sum` refuses.
pub fn mean<B: Builder + ?Sized>(
    builder: &mut B,
    x: &B::Value,
    axes: Indices,
    keep: KeepAxes,
) -> Result<B::Value> {
    let dtype = builder.meta(x).dtype;
    check("mean", Accepts::Inexact, dtype)?;
    // The sum itself may not fit where the mean does.
    let wide = widened(builder, x)?;
    let mean = divided_sum(builder, "mean", &wide, axes, keep, 0)?;
    narrowed(builder, &mean, dtype)
}

/// The sum over axes divided by the number of elements less `correction`; NaN where that leaves nothing of nothing.
fn divided_sum<B: Builder + ?Sized>(
    builder: &mut B,
    op: &'static str,
    x: &B::Value,
    axes: Indices,
    keep: KeepAxes,
    correction: usize,
) -> Result<B::Value> {
    let count = count(builder, x, &axes).saturating_sub(correction);
    let dtype = builder.meta(x).dtype;
    let sum = builder.sum(x, axes, keep)?;
    let count = number(builder, op, dtype, count as f64)?;
    builder.div(&sum, &count)
}

/// The variance over axes: the mean of squared distances from the mean, divided by the number of elements less
/// `correction`. Never negative; real for complex operands; NaN over nothing.
///
/// In two passes, so that nothing cancels; f16 and bf16 are computed in f32. A `correction` of 1 gives the unbiased
/// estimate.
///
/// # Errors
/// As [`mean`].
pub fn var<B: Builder + ?Sized>(
    builder: &mut B,
    x: &B::Value,
    axes: Indices,
    keep: KeepAxes,
    correction: usize,
) -> Result<B::Value> {
    let dtype = builder.meta(x).dtype;
    check("var", Accepts::Inexact, dtype)?;
    let wide = widened(builder, x)?;
    let variance = variance(builder, "var", &wide, axes, keep, correction)?;
    narrowed(builder, &variance, dtype)
}

/// The square root of [`var`], with its parameters.
///
/// # Errors
/// As [`mean`].
pub fn std<B: Builder + ?Sized>(
    builder: &mut B,
    x: &B::Value,
    axes: Indices,
    keep: KeepAxes,
    correction: usize,
) -> Result<B::Value> {
    let dtype = builder.meta(x).dtype;
    check("std", Accepts::Inexact, dtype)?;
    let wide = widened(builder, x)?;
    let variance = variance(builder, "std", &wide, axes, keep, correction)?;
    let root = builder.sqrt(&variance)?;
    narrowed(builder, &root, dtype)
}

/// The variance of what is no half.
fn variance<B: Builder + ?Sized>(
    builder: &mut B,
    op: &'static str,
    x: &B::Value,
    axes: Indices,
    keep: KeepAxes,
    correction: usize,
) -> Result<B::Value> {
    let centred = centred(builder, op, x, &axes)?;
    let squares = squared_magnitude(builder, &centred)?;
    divided_sum(builder, op, &squares, axes, keep, correction)
}

/// The distances from the mean over axes.
pub(super) fn centred<B: Builder + ?Sized>(
    builder: &mut B,
    op: &'static str,
    x: &B::Value,
    axes: &Indices,
) -> Result<B::Value> {
    let mean = divided_sum(builder, op, x, axes.clone(), KeepAxes::Keep, 0)?;
    builder.sub(x, &mean)
}

/// The mean over axes, which are kept, of squared magnitudes.
pub(super) fn mean_square<B: Builder + ?Sized>(
    builder: &mut B,
    op: &'static str,
    x: &B::Value,
    axes: &Indices,
) -> Result<B::Value> {
    let squares = squared_magnitude(builder, x)?;
    divided_sum(builder, op, &squares, axes.clone(), KeepAxes::Keep, 0)
}

/// The squares of magnitudes, real.
fn squared_magnitude<B: Builder + ?Sized>(builder: &mut B, x: &B::Value) -> Result<B::Value> {
    if !builder.meta(x).dtype.is_complex() {
        return builder.mul(x, x);
    }
    let (re, im) = (builder.real(x)?, builder.imag(x)?);
    let (re, im) = (builder.mul(&re, &re)?, builder.mul(&im, &im)?);
    builder.add(&re, &im)
}
