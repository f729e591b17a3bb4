//! The derivatives of transcendental and algebraic functions.

use std::f64::consts::{FRAC_2_SQRT_PI, LN_2, PI};

use tenferro_tensor::{Analytic, Comparison, Error, Result};

use super::{Point, complement, number, scaled, shifted, spread, sum_of};
use crate::{Build, Builder};

/// The tangent of an analytic row's result.
pub(super) fn jvp<B: Builder + ?Sized>(
    b: &mut B,
    row: &Analytic,
    point: &Point<'_, B::Value>,
) -> Result<B::Value> {
    match row {
        Analytic::Pow => power(b, point),
        Analytic::Atan2 => angle(b, point),
        _ => {
            let t = point.tangents[0].expect("invariant: some operand has a tangent");
            match slope(b, row, point.inputs[0], point.output)? {
                Slope::Times(slope) => b.mul(t, &slope),
                Slope::Over(divisor) => b.div(t, &divisor),
            }
        }
    }
}

/// What a tangent is multiplied with, or divided by where that says it shorter.
enum Slope<V> {
    Times(V),
    Over(V),
}

/// The derivative of a function of one element, from the operand or the result, whichever is at hand.
fn slope<B: Builder + ?Sized>(
    b: &mut B,
    row: &Analytic,
    x: &B::Value,
    y: &B::Value,
) -> Result<Slope<B::Value>> {
    use Slope::{Over, Times};
    Ok(match row {
        Analytic::Exp => Times(y.clone()),
        Analytic::Exp2 => Times(scaled(b, y, LN_2)?),
        Analytic::Expm1 => Times(shifted(b, y, 1.0)?),
        Analytic::Log => Over(x.clone()),
        Analytic::Log2 => Over(scaled(b, x, LN_2)?),
        Analytic::Log1p => Over(shifted(b, x, 1.0)?),
        Analytic::Sqrt => Over(scaled(b, y, 2.0)?),
        Analytic::Rsqrt => {
            let square = b.mul(y, y)?;
            let cube = b.mul(&square, y)?;
            Times(scaled(b, &cube, -0.5)?)
        }
        Analytic::Cbrt => {
            let square = b.mul(y, y)?;
            Over(scaled(b, &square, 3.0)?)
        }
        Analytic::Sin => Times(b.cos(x)?),
        Analytic::Cos => {
            let sine = b.sin(x)?;
            Times(b.neg(&sine)?)
        }
        Analytic::Tan => {
            let square = b.mul(y, y)?;
            Times(shifted(b, &square, 1.0)?)
        }
        // Two roots, since the root of a product may lie on another branch.
        Analytic::Asin => Over(root_of_product(b, x)?),
        Analytic::Acos => {
            let root = root_of_product(b, x)?;
            Over(b.neg(&root)?)
        }
        Analytic::Atan => {
            let square = b.mul(x, x)?;
            Over(shifted(b, &square, 1.0)?)
        }
        Analytic::Sinh => Times(b.cosh(x)?),
        Analytic::Cosh => Times(b.sinh(x)?),
        Analytic::Tanh => {
            let square = b.mul(y, y)?;
            Times(complement(b, 1.0, &square)?)
        }
        Analytic::Asinh => {
            let square = b.mul(x, x)?;
            let sum = shifted(b, &square, 1.0)?;
            Over(b.sqrt(&sum)?)
        }
        Analytic::Acosh => {
            let (below, above) = (shifted(b, x, -1.0)?, shifted(b, x, 1.0)?);
            let (below, above) = (b.sqrt(&below)?, b.sqrt(&above)?);
            Over(b.mul(&below, &above)?)
        }
        Analytic::Atanh => {
            let square = b.mul(x, x)?;
            Over(complement(b, 1.0, &square)?)
        }
        Analytic::Sigmoid => {
            let rest = complement(b, 1.0, y)?;
            Times(b.mul(y, &rest)?)
        }
        Analytic::Erf => Times(bell(b, x, FRAC_2_SQRT_PI)?),
        Analytic::Erfc => Times(bell(b, x, -FRAC_2_SQRT_PI)?),
        Analytic::ErfInv => {
            let square = b.mul(y, y)?;
            let growth = b.exp(&square)?;
            Times(scaled(b, &growth, PI.sqrt() / 2.0)?)
        }
        Analytic::Lgamma => Times(b.digamma(x)?),
        Analytic::Digamma => {
            let reason = "its derivative, the trigamma function, is not in the vocabulary".into();
            return Err(Error::Unsupported { op: "digamma", reason });
        }
        Analytic::Atan2 | Analytic::Pow => unreachable!("invariant: functions of two operands"),
    })
}

/// `sqrt(1 - x) sqrt(1 + x)`.
fn root_of_product<B: Builder + ?Sized>(b: &mut B, x: &B::Value) -> Result<B::Value> {
    let (below, above) = (complement(b, 1.0, x)?, shifted(b, x, 1.0)?);
    let (below, above) = (b.sqrt(&below)?, b.sqrt(&above)?);
    b.mul(&below, &above)
}

/// `scale exp(-x^2)`.
fn bell<B: Builder + ?Sized>(b: &mut B, x: &B::Value, scale: f64) -> Result<B::Value> {
    let square = b.mul(x, x)?;
    let square = b.neg(&square)?;
    let bell = b.exp(&square)?;
    scaled(b, &bell, scale)
}

/// The turn of the point `(x, y)`: `(x dy - y dx) / (x^2 + y^2)`.
fn angle<B: Builder + ?Sized>(b: &mut B, point: &Point<'_, B::Value>) -> Result<B::Value> {
    let [y, x] = [point.inputs[0], point.inputs[1]];
    let by_y = point.tangents[0].map(|t| b.mul(t, x)).transpose()?;
    let by_x = match point.tangents[1] {
        None => None,
        Some(t) => {
            let turned = b.mul(t, y)?;
            Some(b.neg(&turned)?)
        }
    };
    let across = sum_of(b, [by_y, by_x])?.expect("invariant: some operand has a tangent");
    let (xx, yy) = (b.mul(x, x)?, b.mul(y, y)?);
    let square = b.add(&xx, &yy)?;
    let turn = b.div(&across, &square)?;
    let shape = b.meta(point.output).shape;
    spread(b, turn, &shape)
}

/// `d x^p = p x^(p-1) dx + x^p log(x) dp`, without what is not a number at 0.
fn power<B: Builder + ?Sized>(b: &mut B, point: &Point<'_, B::Value>) -> Result<B::Value> {
    let [x, p] = [point.inputs[0], point.inputs[1]];
    let dtype = b.meta(point.output).dtype;
    let by_base = match point.tangents[0] {
        None => None,
        Some(t) => {
            // Where the exponent is 0 the slope is 0, and must not be 0 times an infinite power of 0.
            let zero = number(b, dtype, 0.0)?;
            let one = number(b, dtype, 1.0)?;
            let flat = b.compare(p, &zero, Comparison::Eq)?;
            let safe = b.select(&flat, &one, p)?;
            let less = shifted(b, &safe, -1.0)?;
            let power = b.pow(x, &less)?;
            let slope = b.mul(p, &power)?;
            Some(b.mul(t, &slope)?)
        }
    };
    let by_exponent = match point.tangents[1] {
        None => None,
        Some(t) => {
            // 0^p stays 0 for every p above 0; the logarithm of 0 must not be asked.
            let zero = number(b, dtype, 0.0)?;
            let one = number(b, dtype, 1.0)?;
            let at_zero = b.compare(x, &zero, Comparison::Eq)?;
            let safe = b.select(&at_zero, &one, x)?;
            let log = b.log(&safe)?;
            let slope = b.mul(point.output, &log)?;
            Some(b.mul(t, &slope)?)
        }
    };
    let tangent =
        sum_of(b, [by_base, by_exponent])?.expect("invariant: some operand has a tangent");
    let shape = b.meta(point.output).shape;
    spread(b, tangent, &shape)
}
