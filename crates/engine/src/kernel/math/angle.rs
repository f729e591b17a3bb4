//! The reduction of an angle to the quarter turn nearest to it, or to the half turn.
//!
//! `x = n pi / 2 + r` with `pi / 2` in three parts of 53 bits; fused multiply-adds make the first step exact. Holds up
//! to [`FAR`]; angles beyond are rare, and left to the C library, whose reduction has as many bits of `pi`
//! as they need, but for a few ulp where a huge angle is next to a quarter turn.

use super::coefficients::{COS_F64, COS_NARROW, SIN_F64, SIN_NARROW, SIN_WIDE_NARROW};
use super::float::polynomial;

/// Angles from here are left to the C library.
pub(super) const FAR: f64 = 268_435_456.0;

/// Adding it rounds to an integer, whose last bits are then the number's.
const ROUNDER: f64 = (3_u64 << 51) as f64;

/// `pi / 2` less the parts before it.
const HALF_PI: [f64; 3] =
    [std::f64::consts::FRAC_PI_2, 6.123_233_995_736_766e-17, -1.497_384_904_859_169_8e-33];

/// Sine and cosine of the reduced angle, and the quarter turns modulo 4 in the low bits.
pub(super) struct Reduced<T> {
    pub(super) quarters: u64,
    pub(super) sin: T,
    pub(super) cos: T,
}

/// To within an ulp for any angle up to [`FAR`]. The sine of a zero is that zero.
#[inline(always)]
pub(super) fn reduced(x: f64) -> Reduced<f64> {
    let rounded = x.mul_add(std::f64::consts::FRAC_2_PI, ROUNDER);
    let n = rounded - ROUNDER;
    let first = (-n).mul_add(HALF_PI[0], x);
    // The second product in two parts, and the difference with what its rounding lost.
    let product = n * HALF_PI[1];
    let product_low = n.mul_add(HALF_PI[1], -product);
    let difference = first - product;
    let back = difference - first;
    let lost = (first - (difference - back)) - (product + back);
    let rest = (-n).mul_add(HALF_PI[2], lost - product_low);
    let high = difference + rest;
    let low = rest - (high - difference);

    let square = high * high;
    let cube = square * high;
    // sin(high + low), with cos(high) for the slope.
    let slope = (-0.5_f64).mul_add(square, 1.0);
    let sin = high + cube.mul_add(polynomial!(square, SIN_F64), low * slope);
    let half = 0.5 * square;
    let near = 1.0 - half;
    let tail = (square * square).mul_add(polynomial!(square, COS_F64), -(high * low));
    let cos = near + (((1.0 - near) - half) + tail);
    let sin = sin.copysign(if high == 0.0 { x } else { high });
    Reduced { quarters: rounded.to_bits(), sin, cos }
}

/// For angles that came from `f32`, to within 2^-28.
#[inline(always)]
pub(super) fn reduced_narrow(x: f64) -> Reduced<f64> {
    let rounded = x.mul_add(std::f64::consts::FRAC_2_PI, ROUNDER);
    let n = rounded - ROUNDER;
    let first = (-n).mul_add(HALF_PI[0], x);
    let r = (-n).mul_add(HALF_PI[1], first);
    let square = r * r;
    let sin = (square * r).mul_add(polynomial!(square, SIN_NARROW), r);
    let cos =
        (square * square).mul_add(polynomial!(square, COS_NARROW), (-0.5_f64).mul_add(square, 1.0));
    let sin = sin.copysign(if r == 0.0 { x } else { r });
    Reduced { quarters: rounded.to_bits(), sin, cos }
}

/// The sine of an angle that came from `f32`, to within 2^-27. That of a zero is that zero.
///
/// One polynomial for the whole half turn is less work than two for quarters, of which each element needs one.
#[inline(always)]
pub(super) fn sin_narrow(x: f64) -> f64 {
    let rounded = x.mul_add(std::f64::consts::FRAC_1_PI, ROUNDER);
    turned(x, rounded - ROUNDER, rounded)
}

/// The cosine of an angle that came from `f32`, to within 2^-27: the sine half of a half turn further.
#[inline(always)]
pub(super) fn cos_narrow(x: f64) -> f64 {
    let rounded = x.mul_add(std::f64::consts::FRAC_1_PI, 0.5) + ROUNDER;
    turned(x, (rounded - ROUNDER) - 0.5, rounded)
}

/// The sine of `x` less `turns` half turns, negated if the last bit of `rounded` is set.
#[inline(always)]
fn turned(x: f64, turns: f64, rounded: f64) -> f64 {
    let first = (-turns).mul_add(2.0 * HALF_PI[0], x);
    let r = (-turns).mul_add(2.0 * HALF_PI[1], first);
    let value = r * polynomial!(r * r, SIN_WIDE_NARROW);
    f64::from_bits(value.to_bits() ^ rounded.to_bits() << 63)
}

/// The sine of an angle as many quarter turns further.
#[inline(always)]
pub(super) fn sin_of(Reduced { quarters, sin, cos }: Reduced<f64>) -> f64 {
    let value = if quarters & 1 == 0 { sin } else { cos };
    f64::from_bits(value.to_bits() ^ (quarters & 2) << 62)
}
