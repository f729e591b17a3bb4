//! Layers that bring activations to one size.

use tenferro_tensor::{Accepts, Indices, Result, Validation};

use super::{
    float::{check, narrowed, number, widened},
    mean::{centred, mean_square},
};
use crate::{Build, Builder};

/// `(x - mean) / sqrt(var + epsilon) * scale + shift`, with the mean and the variance over axes.
///
/// `scale` and `shift` broadcast against `x` and have its dtype. f16 and bf16 are computed in f32.
///
/// # Errors
/// [`Validation::MeaninglessDType`] for integers and bool; [`Validation::DTypeMismatch`]; what `sum`, `mul` and `add`
/// refuse.
pub fn layer_norm<B: Builder + ?Sized>(
    builder: &mut B,
    x: &B::Value,
    scale: &B::Value,
    shift: &B::Value,
    axes: Indices,
    epsilon: f64,
) -> Result<B::Value> {
    const OP: &str = "layer_norm";
    let dtype = check_alike(builder, OP, &[x, scale, shift])?;
    let x = widened(builder, x)?;
    let centred = centred(builder, OP, &x, &axes)?;
    let scaled = normalised(builder, OP, &centred, scale, &axes, epsilon)?;
    let shift = widened(builder, shift)?;
    let result = builder.add(&scaled, &shift)?;
    narrowed(builder, &result, dtype)
}

/// `x / sqrt(mean of squares + epsilon) * scale`, with the mean over axes.
///
/// `scale` broadcasts against `x` and has its dtype. f16 and bf16 are computed in f32.
///
/// # Errors
/// As [`layer_norm`].
pub fn rms_norm<B: Builder + ?Sized>(
    builder: &mut B,
    x: &B::Value,
    scale: &B::Value,
    axes: Indices,
    epsilon: f64,
) -> Result<B::Value> {
    const OP: &str = "rms_norm";
    let dtype = check_alike(builder, OP, &[x, scale])?;
    let x = widened(builder, x)?;
    let result = normalised(builder, OP, &x, scale, &axes, epsilon)?;
    narrowed(builder, &result, dtype)
}

/// The one dtype of all operands.
fn check_alike<B: Builder + ?Sized>(
    builder: &B,
    op: &'static str,
    operands: &[&B::Value],
) -> Result<tenferro_tensor::DType> {
    let lhs = builder.meta(operands[0]).dtype;
    check(op, Accepts::Inexact, lhs)?;
    for operand in operands {
        let rhs = builder.meta(operand).dtype;
        if rhs != lhs {
            return Err(Validation::DTypeMismatch { lhs, rhs }.of(op));
        }
    }
    Ok(lhs)
}

/// The operand, divided by the root of its mean square, times the scale.
fn normalised<B: Builder + ?Sized>(
    builder: &mut B,
    op: &'static str,
    x: &B::Value,
    scale: &B::Value,
    axes: &Indices,
    epsilon: f64,
) -> Result<B::Value> {
    let square = mean_square(builder, op, x, axes)?;
    let epsilon = number(builder, op, builder.meta(&square).dtype, epsilon)?;
    let square = builder.add(&square, &epsilon)?;
    let factor = builder.rsqrt(&square)?;
    let dtype = builder.meta(x).dtype;
    let factor = if dtype.is_complex() { builder.convert(&factor, dtype)? } else { factor };
    let scaled = builder.mul(x, &factor)?;
    let scale = widened(builder, scale)?;
    builder.mul(&scaled, &scale)
}
