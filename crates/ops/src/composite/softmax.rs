//! Sums of exponentials that do not overflow, and what is normalised by them.
//!
//! Exponents are shifted by the whole part of their maximum: that keeps the sum in range as well as the maximum would,
//! and has no derivative, so that a gradient does not run through it. A builder that computes may take a shorter way to
//! the same bits.

use tenferro_tensor::{
    Accepts, Comparison, DType, ExponentialForm, Exponentials, Indices, KeepAxes, Result,
};

use super::float::{check, count, narrowed, number, widened};
use crate::{Build, Builder};

/// The logarithm of the sum of exponentials over axes.
///
/// -inf over nothing and over -inf alone, where the gradient is 0; f16 and bf16 are computed in f32.
///
/// # Errors
/// [`Validation::MeaninglessDType`](tenferro_tensor::Validation::MeaninglessDType) for what is no real float; what `sum`
/// refuses.
pub fn logsumexp<B: Builder + ?Sized>(
    builder: &mut B,
    x: &B::Value,
    axes: Indices,
    keep: KeepAxes,
) -> Result<B::Value> {
    const OP: &str = "logsumexp";
    let dtype = builder.meta(x).dtype;
    check(OP, Accepts::Float, dtype)?;
    if let Some(log) = at_once(builder, ExponentialForm::LogOfSum(keep), x, &axes)? {
        return Ok(log);
    }
    let wide = widened(builder, x)?;
    let shift = match shift(builder, &wide, &axes)? {
        Some(shift) => Some(finite_or_zero(builder, OP, &shift)?),
        None => None,
    };
    let [_, sum] = exponentials(builder, &wide, shift.as_ref(), &axes)?;
    let log = log_of_sum(builder, OP, &sum)?;
    let log = match &shift {
        Some(shift) => builder.add(&log, shift)?,
        None => log,
    };
    let log = match keep {
        KeepAxes::Keep => log,
        KeepAxes::Drop => without_axes(builder, &log, &axes)?,
    };
    narrowed(builder, &log, dtype)
}

/// The exponentials divided by their sum over axes.
///
/// NaN where all are -inf, and where one is +inf; f16 and bf16 are computed in f32.
///
/// # Errors
/// As [`logsumexp`].
pub fn softmax<B: Builder + ?Sized>(
    builder: &mut B,
    x: &B::Value,
    axes: Indices,
) -> Result<B::Value> {
    let dtype = builder.meta(x).dtype;
    check("softmax", Accepts::Float, dtype)?;
    if let Some(shares) = at_once(builder, ExponentialForm::Shares, x, &axes)? {
        return Ok(shares);
    }
    let wide = widened(builder, x)?;
    let shift = shift(builder, &wide, &axes)?;
    let [exponentials, sum] = exponentials(builder, &wide, shift.as_ref(), &axes)?;
    let shares = builder.div(&exponentials, &sum)?;
    narrowed(builder, &shares, dtype)
}

/// The logarithm of [`softmax`], which does not underflow.
///
/// # Errors
/// As [`logsumexp`].
pub fn log_softmax<B: Builder + ?Sized>(
    builder: &mut B,
    x: &B::Value,
    axes: Indices,
) -> Result<B::Value> {
    let dtype = builder.meta(x).dtype;
    check("log_softmax", Accepts::Float, dtype)?;
    if let Some(shares) = at_once(builder, ExponentialForm::LogOfShares, x, &axes)? {
        return Ok(shares);
    }
    let wide = widened(builder, x)?;
    let shifted = match shift(builder, &wide, &axes)? {
        Some(shift) => builder.sub(&wide, &shift)?,
        None => wide,
    };
    let exponentials = builder.exp(&shifted)?;
    let sum = builder.sum(&exponentials, axes, KeepAxes::Keep)?;
    let log = builder.log(&sum)?;
    let shares = builder.sub(&shifted, &log)?;
    narrowed(builder, &shares, dtype)
}

/// The composite without its primitives, if the builder has a way to it.
fn at_once<B: Builder + ?Sized>(
    builder: &mut B,
    form: ExponentialForm,
    x: &B::Value,
    axes: &Indices,
) -> Result<Option<B::Value>> {
    builder.exponentials(&Exponentials { form, axes: axes.clone() }, x)
}

/// The whole part of the maximum over axes, which are kept; `None` over nothing.
fn shift<B: Builder + ?Sized>(
    builder: &mut B,
    x: &B::Value,
    axes: &Indices,
) -> Result<Option<B::Value>> {
    if count(builder, x, axes) == 0 {
        return Ok(None);
    }
    let x = builder.detached(x);
    let largest = builder.max(&x, axes.clone(), KeepAxes::Keep)?;
    builder.floor(&largest).map(Some)
}

/// The exponentials of the operand less its shift, and their sums.
fn exponentials<B: Builder + ?Sized>(
    builder: &mut B,
    x: &B::Value,
    shift: Option<&B::Value>,
    axes: &Indices,
) -> Result<[B::Value; 2]> {
    let shifted = match shift {
        None => x.clone(),
        Some(shift) => {
            if let Some(both) = builder.exponentials_and_sums(x, shift, axes)? {
                return Ok(both);
            }
            builder.sub(x, shift)?
        }
    };
    let exponentials = builder.exp(&shifted)?;
    let sums = builder.sum(&exponentials, axes.clone(), KeepAxes::Keep)?;
    Ok([exponentials, sums])
}

/// The value where it is finite, else 0: an infinite shift would make NaN of infinities.
fn finite_or_zero<B: Builder + ?Sized>(
    builder: &mut B,
    op: &'static str,
    x: &B::Value,
) -> Result<B::Value> {
    let zero = number(builder, op, builder.meta(x).dtype, 0.0)?;
    let finite = builder.is_finite(x)?;
    builder.select(&finite, x, &zero)
}

/// The logarithm of a sum that may be 0, whose gradient there is 0: the logarithm is taken of 1 instead.
fn log_of_sum<B: Builder + ?Sized>(
    builder: &mut B,
    op: &'static str,
    sum: &B::Value,
) -> Result<B::Value> {
    let dtype: DType = builder.meta(sum).dtype;
    let [zero, one, lowest] =
        [0.0, 1.0, f64::NEG_INFINITY].map(|value| number(builder, op, dtype, value));
    let nothing = builder.compare(sum, &zero?, Comparison::Eq)?;
    let safe = builder.select(&nothing, &one?, sum)?;
    let log = builder.log(&safe)?;
    builder.select(&nothing, &lowest?, &log)
}

/// The value without axes of extent 1.
pub(super) fn without_axes<B: Builder + ?Sized>(
    builder: &mut B,
    x: &B::Value,
    axes: &[usize],
) -> Result<B::Value> {
    let shape = builder.meta(x).shape;
    let left = shape.iter().enumerate().filter(|(axis, _)| !axes.contains(axis));
    let extents: Indices = left.map(|(_, &extent)| extent).collect();
    builder.reshape(x, extents)
}
