//! Activations: smooth steps and gates.

use std::f64::consts::FRAC_1_SQRT_2;

use tenferro_tensor::{Accepts, Result};

use super::float::{check, narrowed, number, widened};
use crate::{Build, Builder};

/// `x` times the normal distribution's share below it: `x / 2 * erfc(-x / sqrt(2))`.
///
/// Nothing cancels in the lower tail, where the relative error grows as `x^2` only.
/// NaN at -inf, as the product of the two factors is. f16 and bf16 are computed in f32.
///
/// # Errors
/// [`Validation::MeaninglessDType`](tenferro_tensor::Validation::MeaninglessDType) for what is no real float.
pub fn gelu<B: Builder + ?Sized>(builder: &mut B, x: &B::Value) -> Result<B::Value> {
    const OP: &str = "gelu";
    let dtype = builder.meta(x).dtype;
    check(OP, Accepts::Float, dtype)?;
    let x = widened(builder, x)?;
    let wide = builder.meta(&x).dtype;
    let factor = number(builder, OP, wide, -FRAC_1_SQRT_2)?;
    let half = number(builder, OP, wide, 0.5)?;
    let turned = builder.mul(&x, &factor)?;
    let share = builder.erfc(&turned)?;
    let halved = builder.mul(&x, &half)?;
    let result = builder.mul(&halved, &share)?;
    narrowed(builder, &result, dtype)
}

/// `x * sigmoid(x)`. NaN at -inf, as the product is. f16 and bf16 are computed in f32.
///
/// # Errors
/// [`Validation::MeaninglessDType`](tenferro_tensor::Validation::MeaninglessDType) for integers and bool.
pub fn silu<B: Builder + ?Sized>(builder: &mut B, x: &B::Value) -> Result<B::Value> {
    let dtype = builder.meta(x).dtype;
    check("silu", Accepts::Inexact, dtype)?;
    let x = widened(builder, x)?;
    let gate = builder.sigmoid(&x)?;
    let result = builder.mul(&x, &gate)?;
    narrowed(builder, &result, dtype)
}
