//! The derivatives of elementwise rows.

use tenferro_tensor::{Comparison, Elementwise, Primitive, Result, Ties};

use super::{
    Cotangents, Place, Point, complement, conjugate, gathered, not_linear, number, spread, sum_of,
};
use crate::{Build, Builder};

/// The tangent of an elementwise row's result; `None` for rows that are constant but for jumps.
pub(super) fn jvp<B: Builder + ?Sized>(
    b: &mut B,
    row: &Elementwise,
    point: &Point<'_, B::Value>,
) -> Result<Option<B::Value>> {
    let (x, y, t) = (point.inputs, point.output, point.tangents);
    let tangent = match row {
        Elementwise::Add => sum_of(b, [t[0].cloned(), t[1].cloned()])?,
        Elementwise::Sub => match (t[0], t[1]) {
            (Some(lhs), Some(rhs)) => Some(b.sub(lhs, rhs)?),
            (lhs, None) => lhs.cloned(),
            (None, Some(rhs)) => Some(b.neg(rhs)?),
        },
        Elementwise::Mul => {
            let lhs = t[0].map(|t| b.mul(t, x[1])).transpose()?;
            let rhs = t[1].map(|t| b.mul(t, x[0])).transpose()?;
            sum_of(b, [lhs, rhs])?
        }
        // (t0 - t1 y) / x1
        Elementwise::Div => {
            let rhs = t[1].map(|t| b.mul(t, y)).transpose()?;
            let above = match (t[0], rhs) {
                (Some(lhs), Some(rhs)) => b.sub(lhs, &rhs)?,
                (Some(lhs), None) => lhs.clone(),
                (None, Some(rhs)) => b.neg(&rhs)?,
                (None, None) => return Ok(None),
            };
            Some(b.div(&above, x[1])?)
        }
        Elementwise::Neg => t[0].map(|t| b.neg(t)).transpose()?,
        Elementwise::Conj => t[0].map(|t| conjugate(b, t)).transpose()?,
        Elementwise::Abs => t[0].map(|t| magnitude(b, x[0], t)).transpose()?,
        Elementwise::Sign => direction(b, x[0], y, t[0])?,
        Elementwise::Maximum | Elementwise::Minimum => extreme(b, point.inputs, y, t)?,
        // a - b trunc(a / b)
        Elementwise::Rem => {
            let rhs = match t[1] {
                None => None,
                Some(t) => {
                    let whole = b.sub(x[0], y)?;
                    let quotient = b.div(&whole, x[1])?;
                    let quotient = b.round(&quotient, Ties::Even)?;
                    let moved = b.mul(t, &quotient)?;
                    Some(b.neg(&moved)?)
                }
            };
            sum_of(b, [t[0].cloned(), rhs])?
        }
        Elementwise::Real => t[0].map(|t| b.real(t)).transpose()?,
        Elementwise::Imag => t[0].map(|t| b.imag(t)).transpose()?,
        Elementwise::Complex => {
            let zero = number(b, b.meta(x[0]).dtype, 0.0)?;
            Some(b.complex(t[0].unwrap_or(&zero), t[1].unwrap_or(&zero))?)
        }
        Elementwise::Clamp => clamped(b, point)?,
        // Constant but for jumps, or without a meaning between numbers.
        Elementwise::Compare { .. }
        | Elementwise::And
        | Elementwise::Or
        | Elementwise::Xor
        | Elementwise::Not
        | Elementwise::ShiftLeft
        | Elementwise::ShiftRightArithmetic
        | Elementwise::ShiftRightLogical
        | Elementwise::Popcount
        | Elementwise::LeadingZeros
        | Elementwise::Floor
        | Elementwise::Ceil
        | Elementwise::Round { .. }
        | Elementwise::IsFinite
        | Elementwise::IsNan
        | Elementwise::NextAfter
        | Elementwise::Bitcast { .. } => return Ok(None),
        Elementwise::Select => {
            let meta = b.meta(y);
            let zero = number(b, meta.dtype, 0.0)?;
            match (t[1], t[2]) {
                (None, None) => return Ok(None),
                (on_true, on_false) => {
                    Some(b.select(x[0], on_true.unwrap_or(&zero), on_false.unwrap_or(&zero))?)
                }
            }
        }
        Elementwise::Convert { dtype } => t[0].map(|t| b.convert(t, *dtype)).transpose()?,
    };
    let shape = b.meta(y).shape;
    tangent.map(|tangent| spread(b, tangent, &shape)).transpose()
}

/// `Re(conj(sign x) t)`: the change of a magnitude, 0 at 0.
fn magnitude<B: Builder + ?Sized>(b: &mut B, x: &B::Value, t: &B::Value) -> Result<B::Value> {
    let meta = b.meta(x);
    let sign = b.sign(x)?;
    if !meta.dtype.is_complex() {
        return b.mul(t, &sign);
    }
    let sign = b.conj(&sign)?;
    let along = b.mul(t, &sign)?;
    b.real(&along)
}

/// The change of `x / |x|`: what is across of `t`, over the magnitude. Real signs only jump; at 0 there is no direction.
fn direction<B: Builder + ?Sized>(
    b: &mut B,
    x: &B::Value,
    y: &B::Value,
    t: Option<&B::Value>,
) -> Result<Option<B::Value>> {
    let meta = b.meta(x);
    let Some(t) = t.filter(|_| meta.dtype.is_complex()) else { return Ok(None) };
    let real = meta.dtype.real();
    let back = b.conj(y)?;
    let turned = b.mul(t, &back)?;
    let along = b.real(&turned)?;
    let along = b.convert(&along, meta.dtype)?;
    let across = b.sub(&turned, &along)?;
    let zero = number(b, real, 0.0)?;
    let one = number(b, real, 1.0)?;
    let size = b.abs(x)?;
    let nowhere = b.compare(&size, &zero, Comparison::Eq)?;
    let safe = b.select(&nowhere, &one, &size)?;
    let inverse = b.div(&one, &safe)?;
    let inverse = b.select(&nowhere, &zero, &inverse)?;
    let inverse = b.convert(&inverse, meta.dtype)?;
    let slope = b.mul(y, &inverse)?;
    b.mul(&across, &slope).map(Some)
}

/// The tangent of the operand that is the larger or smaller one; a tie shares it equally.
fn extreme<B: Builder + ?Sized>(
    b: &mut B,
    x: &[&B::Value],
    y: &B::Value,
    t: &[Option<&B::Value>],
) -> Result<Option<B::Value>> {
    let dtype = b.meta(y).dtype;
    let first = b.compare(x[0], y, Comparison::Eq)?;
    let second = b.compare(x[1], y, Comparison::Eq)?;
    let first = b.convert(&first, dtype)?;
    let second = b.convert(&second, dtype)?;
    // 0 of NaN, which is no extreme of anything: the weight is then NaN.
    let both = b.add(&first, &second)?;
    let weight = b.div(&first, &both)?;
    let lhs = t[0].map(|t| b.mul(t, &weight)).transpose()?;
    let rhs = match t[1] {
        None => None,
        Some(t) => {
            let weight = complement(b, 1.0, &weight)?;
            Some(b.mul(t, &weight)?)
        }
    };
    sum_of(b, [lhs, rhs])
}

/// `min(max(x, lo), hi)`, one after the other.
fn clamped<B: Builder + ?Sized>(
    b: &mut B,
    point: &Point<'_, B::Value>,
) -> Result<Option<B::Value>> {
    let (x, t) = (point.inputs, point.tangents);
    let raised = b.maximum(x[0], x[1])?;
    let rise = extreme(b, &x[..2], &raised, &t[..2])?;
    extreme(b, &[&raised, x[2]], point.output, &[rise.as_ref(), t[2]])
}

/// The cotangents of a row that is linear in the operands marked so.
pub(super) fn transpose<B: Builder + ?Sized>(
    b: &mut B,
    row: &Elementwise,
    operands: &[Place<'_, B::Value>],
    ct: &B::Value,
) -> Result<Cotangents<B::Value>> {
    let is_linear = |place: usize| matches!(operands.get(place), Some(Place::Linear(_)));
    let through: [Option<B::Value>; 3] = match (row, operands) {
        (Elementwise::Add, _) => {
            let each = |place| is_linear(place).then(|| ct.clone());
            [each(0), each(1), None]
        }
        (Elementwise::Sub, _) => {
            let negative = if is_linear(1) { Some(b.neg(ct)?) } else { None };
            [is_linear(0).then(|| ct.clone()), negative, None]
        }
        (Elementwise::Mul, [Place::Linear(_), Place::Known(factor)]) => {
            let factor = conjugate(b, factor)?;
            [Some(b.mul(ct, &factor)?), None, None]
        }
        (Elementwise::Mul, [Place::Known(factor), Place::Linear(_)]) => {
            let factor = conjugate(b, factor)?;
            [None, Some(b.mul(ct, &factor)?), None]
        }
        (Elementwise::Div, [Place::Linear(_), Place::Known(divisor)]) => {
            let divisor = conjugate(b, divisor)?;
            [Some(b.div(ct, &divisor)?), None, None]
        }
        (Elementwise::Neg, _) => [Some(b.neg(ct)?), None, None],
        (Elementwise::Conj, _) => [Some(conjugate(b, ct)?), None, None],
        (Elementwise::Select, [Place::Known(predicate), on_true, on_false]) => {
            let zero = number(b, b.meta(ct).dtype, 0.0)?;
            let on_true = match on_true {
                Place::Linear(_) => Some(b.select(predicate, ct, &zero)?),
                Place::Known(_) => None,
            };
            let on_false = match on_false {
                Place::Linear(_) => Some(b.select(predicate, &zero, ct)?),
                Place::Known(_) => None,
            };
            [None, on_true, on_false]
        }
        (Elementwise::Real, [Place::Linear(from)]) => {
            [Some(b.convert(ct, from.dtype)?), None, None]
        }
        (Elementwise::Imag, [Place::Linear(from)]) => {
            let zero = number(b, b.meta(ct).dtype, 0.0)?;
            let back = if from.dtype.is_complex() {
                b.complex(&zero, ct)?
            } else {
                // Reals have no imaginary part that could change.
                b.mul(ct, &zero)?
            };
            [Some(back), None, None]
        }
        (Elementwise::Complex, _) => [Some(b.real(ct)?), Some(b.imag(ct)?), None],
        // To reals and back: dropping the imaginary part is turned around by a zero one.
        (Elementwise::Convert { .. }, [Place::Linear(from)]) => {
            [Some(b.convert(ct, from.dtype)?), None, None]
        }
        _ => return Err(not_linear(Primitive::from(row.clone()).name())),
    };
    let mut cotangents = Cotangents::new();
    for (operand, through) in operands.iter().zip(through) {
        cotangents.push(match (operand, through) {
            (Place::Linear(meta), Some(ct)) => Some(gathered(b, ct, &meta.shape)?),
            _ => None,
        });
    }
    Ok(cotangents)
}
