//! The Euclidean norm over axes.

use tenferro_tensor::{Accepts, Comparison, DType, Indices, KeepAxes, Result};

use super::float::{check, count, narrowed, number, widened};
use crate::{Build, Builder};

/// The square root of the sum of squared magnitudes over axes: real for complex operands, 0 over nothing.
///
/// Elements near the ends of the range are scaled by a power of 2, so that only a norm out of range overflows. The
/// gradient at 0 is 0. f16 and bf16 are computed in f32.
///
/// # Errors
/// [`Validation::MeaninglessDType`](tenferro_tensor::Validation::MeaninglessDType) for integers and bool, which `convert`
/// makes floats of; what `sum` refuses.
pub fn norm<B: Builder + ?Sized>(
    builder: &mut B,
    x: &B::Value,
    axes: Indices,
    keep: KeepAxes,
) -> Result<B::Value> {
    const OP: &str = "norm";
    let dtype = builder.meta(x).dtype;
    check(OP, Accepts::Inexact, dtype)?;
    let wide = widened(builder, x)?;
    let magnitudes = builder.abs(&wide)?;
    let scale = scale(builder, OP, &magnitudes, &axes)?;
    let scaled = match &scale {
        Some(scale) => builder.mul(&magnitudes, scale)?,
        None => magnitudes,
    };
    let squares = builder.mul(&scaled, &scaled)?;
    let sum = builder.sum(&squares, axes.clone(), KeepAxes::Keep)?;
    let root = root(builder, OP, &sum)?;
    let norm = match &scale {
        Some(scale) => builder.div(&root, scale)?,
        None => root,
    };
    let norm = match keep {
        KeepAxes::Keep => norm,
        KeepAxes::Drop => super::softmax::without_axes(builder, &norm, &axes)?,
    };
    narrowed(builder, &norm, dtype)
}

/// A power of 2 for each norm that brings its elements away from the ends of the range; `None` over nothing.
///
/// It comes from comparisons alone, which have no derivative.
fn scale<B: Builder + ?Sized>(
    builder: &mut B,
    op: &'static str,
    magnitudes: &B::Value,
    axes: &Indices,
) -> Result<Option<B::Value>> {
    if count(builder, magnitudes, axes) == 0 {
        return Ok(None);
    }
    let dtype = builder.meta(magnitudes).dtype;
    // Beyond these bounds squares, and sums of 2^40 of them, leave the range.
    let (bound, up, down) = match dtype {
        DType::F64 => (450, 600, -600),
        _ => (40, 100, -80),
    };
    let [large, small, up, down, one] = [bound, -bound, up, down, 0]
        .map(|exponent| number(builder, op, dtype, 2.0_f64.powi(exponent)));
    let magnitudes = builder.detached(magnitudes);
    let largest = builder.max(&magnitudes, axes.clone(), KeepAxes::Keep)?;
    let is_large = builder.compare(&largest, &large?, Comparison::Gt)?;
    let is_small = builder.compare(&largest, &small?, Comparison::Lt)?;
    let scale = builder.select(&is_small, &up?, &one?)?;
    builder.select(&is_large, &down?, &scale).map(Some)
}

/// The square root, with a gradient of 0 at 0: the root is taken of 1 instead.
fn root<B: Builder + ?Sized>(
    builder: &mut B,
    op: &'static str,
    sum: &B::Value,
) -> Result<B::Value> {
    let dtype = builder.meta(sum).dtype;
    let [zero, one] = [0.0, 1.0].map(|value| number(builder, op, dtype, value));
    let zero = zero?;
    let is_zero = builder.compare(sum, &zero, Comparison::Eq)?;
    let safe = builder.select(&is_zero, &one?, sum)?;
    let root = builder.sqrt(&safe)?;
    builder.select(&is_zero, &zero, &root)
}
