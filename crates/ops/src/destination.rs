//! Plain ways to fill a given output, behind the defaults of [`Engine`](crate::Engine).
//!
//! An output is checked before a single element of it is written; a refusal leaves it as it was.

use tenferro_tensor::{
    Accepts, DType, Error, Factor, Operand, OperandMut, Result, Scalar, Validation, dispatch,
};

use crate::{Described, Scale, scalar::Number};

/// Refuses a destination that has not the dtype and shape of the result.
///
/// # Errors
/// [`Validation::DTypeMismatch`] or [`Validation::ShapeMismatch`] in the name of `op`.
pub fn check_destination(
    op: &'static str,
    expected: &impl Described,
    out: &OperandMut<'_>,
) -> Result<()> {
    if expected.dtype() != out.dtype() {
        return Err(Validation::DTypeMismatch { lhs: expected.dtype(), rhs: out.dtype() }.of(op));
    }
    if expected.shape() != out.shape() {
        let (lhs, rhs) = (expected.shape()[..].into(), out.shape()[..].into());
        return Err(Validation::ShapeMismatch { lhs, rhs }.of(op));
    }
    Ok(())
}

/// Copies `source` to an output of the same dtype and shape, whatever the layouts. The output is not read.
///
/// # Errors
/// [`Validation::DTypeMismatch`] or [`Validation::ShapeMismatch`] in the name of `op`.
pub fn copy_into(op: &'static str, source: &Operand<'_>, mut out: OperandMut<'_>) -> Result<()> {
    check_destination(op, source, &out)?;
    dispatch!(source.dtype(), any T => {
        let mut elements = source.view().elements::<T>()?;
        out.fill(|| next(&mut elements));
    });
    Ok(())
}

/// Multiplies an output by a factor; a factor of zero sets it to zero without reading it.
///
/// # Errors
/// [`Validation::MeaninglessDType`] for bool; [`Validation::Rule`] if the dtype cannot hold the factor, or the output
/// would be read but was never written.
pub fn scale_into(op: &'static str, factor: Factor, mut out: OperandMut<'_>) -> Result<()> {
    check_readable(op, factor, &out)?;
    dispatch!(out.dtype(), number T => {
        let beta = held::<T>(op, factor)?;
        if factor.is_zero() {
            out.fill(T::default);
        } else if !factor.is_one() {
            out.update(|before: T| T::narrow(beta.mul(before.widen())));
        }
        Ok(())
    }, else Err(no_arithmetic(op, out.dtype())))
}

/// Computes `out = alpha * source + beta * out` for operands of one dtype and shape.
///
/// f16 and bf16 are computed in f32 and rounded once.
///
/// # Errors
/// As [`copy_into`] and [`scale_into`].
pub fn accumulate_into(
    op: &'static str,
    scale: Scale,
    source: &Operand<'_>,
    mut out: OperandMut<'_>,
) -> Result<()> {
    check_destination(op, source, &out)?;
    check_readable(op, scale.beta, &out)?;
    if scale.alpha.is_zero() {
        return scale_into(op, scale.beta, out);
    }
    dispatch!(out.dtype(), number T => {
        let (alpha, beta) = (held::<T>(op, scale.alpha)?, held::<T>(op, scale.beta)?);
        let mut elements = source.view().elements::<T>()?;
        if scale == Scale::ASSIGN {
            out.fill(|| next(&mut elements));
        } else if scale.beta.is_zero() {
            out.fill(|| T::narrow(alpha.mul(next(&mut elements).widen())));
        } else {
            out.update(|before: T| {
                let fresh = alpha.mul(next(&mut elements).widen());
                T::narrow(fresh.add(beta.mul(before.widen())))
            });
        }
        Ok(())
    }, else Err(no_arithmetic(op, out.dtype())))
}

fn next<T>(elements: &mut impl Iterator<Item = T>) -> T {
    elements.next().expect("invariant: source and output have one shape")
}

/// A factor in the type in which `T` is computed.
fn held<T: Number>(op: &'static str, factor: Factor) -> Result<T::Wide> {
    // What the dtype itself cannot hold is refused even where the wider type could.
    let rule = "the dtype of the output cannot hold alpha or beta; convert the operands first";
    T::from_factor(factor)
        .and_then(|_| T::Wide::from_factor(factor))
        .ok_or_else(|| Validation::Rule { rule }.of(op))
}

/// Refuses factors that the output's dtype cannot hold, and a `beta` for an output that was never written.
///
/// # Errors
/// As [`scale_into`].
pub fn check_scale(op: &'static str, scale: Scale, out: &OperandMut<'_>) -> Result<()> {
    check_readable(op, scale.beta, out)?;
    dispatch!(out.dtype(), number T => {
        held::<T>(op, scale.alpha)?;
        held::<T>(op, scale.beta)?;
        Ok(())
    }, else Err(no_arithmetic(op, out.dtype())))
}

fn check_readable(op: &'static str, beta: Factor, out: &OperandMut<'_>) -> Result<()> {
    if beta.is_zero() || out.is_initialised() {
        return Ok(());
    }
    let rule = "the output was never written, so it cannot be scaled; use a beta of 0";
    Err(Validation::Rule { rule }.of(op))
}

fn no_arithmetic(op: &'static str, dtype: DType) -> Error {
    let expected = Accepts::Number.description();
    Validation::MeaninglessDType { dtype, expected }.of(op)
}
