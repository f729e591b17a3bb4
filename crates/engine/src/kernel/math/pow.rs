//! Powers of positive numbers: `2^(y log2 x)`, the logarithm with about 13 bits more than the result.
//!
//! Other bases, and exponents that are not finite, are rare and left to the C library.

use super::{
    Function2,
    coefficients::{EXP2_NARROW, LOG_NARROW, LOG_TAIL_F64},
    float::{Float, polynomial},
};

/// `x^y`.
pub(super) struct Pow;

impl Function2<f64> for Pow {
    #[inline(always)]
    fn call(x: f64, y: f64) -> f64 {
        // A larger exponent has the same result, infinite, 0 or 1.
        const MOST: f64 = (1_u128 << 72) as f64;
        const BEYOND: f64 = 1100.0;
        let y = y.within([-MOST, MOST]);
        let (high, low) = log2(x);
        let product = y * high;
        let product_low = y.mul_add(high, -product) + y * low;
        let far = product.abs() > BEYOND;
        let product_low = if far { 0.0 } else { product_low };
        let product = product.within([-BEYOND, BEYOND]);
        let rounded = product + f64::ROUNDER;
        let r = (product - (rounded - f64::ROUNDER)) + product_low;
        r.mul_add(r.exp2_tail(), 1.0).scaled(rounded)
    }

    #[inline(always)]
    fn is_rare(x: f64, y: f64) -> bool {
        !(x > 0.0 && x < f64::INFINITY && y.abs() < f64::INFINITY)
    }

    fn rare(x: f64, y: f64) -> f64 {
        x.powf(y)
    }
}

/// The logarithm to base 2 in two parts: `2^k m`, `s = (m - 1) / (m + 1)`, and `2 atanh(s)` with its first two terms in
/// two parts each.
#[inline(always)]
fn log2(x: f64) -> (f64, f64) {
    const TWO_THIRDS: [f64; 2] = [2.0 / 3.0, 3.700_743_415_417_188e-17];
    let (k, f) = x.split();
    let below = f + 2.0;
    let below_low = f - (below - 2.0);
    let inverse = 1.0 / below;
    let s = f * inverse;
    let s_low = ((-s).mul_add(below, f) - s * below_low) * inverse;
    let square = s * s;
    let square_low = s.mul_add(s, -square) + 2.0 * s * s_low;
    let rest = square * polynomial!(square, LOG_TAIL_F64);
    let third = TWO_THIRDS[0] + rest;
    let third_low = ((TWO_THIRDS[0] - third) + rest) + TWO_THIRDS[1];
    let term = square * third;
    let term_low = square.mul_add(third, -term) + (square * third_low + square_low * third);
    let factor = 2.0 + term;
    let factor_low = ((2.0 - factor) + term) + term_low;
    let log = s * factor;
    let log_low = s.mul_add(factor, -log) + (s * factor_low + s_low * factor);
    let [per, per_low] = f64::LOG2_E;
    let scaled = log * per;
    let scaled_low = log.mul_add(per, -scaled) + (log * per_low + log_low * per);
    let sum = k + scaled;
    (sum, ((k - sum) + scaled) + scaled_low)
}

impl Function2<f32> for Pow {
    #[inline(always)]
    fn call(x: f32, y: f32) -> f32 {
        const BEYOND: f64 = 200.0;
        let (k, f) = f64::from(x).split();
        let s = f / (f + 2.0);
        let square = s * s;
        let log = s * square.mul_add(polynomial!(square, LOG_NARROW), 2.0);
        let exponent = f64::from(y) * log.mul_add(std::f64::consts::LOG2_E, k);
        let exponent = exponent.within([-BEYOND, BEYOND]);
        let rounded = exponent + f64::ROUNDER;
        let r = exponent - (rounded - f64::ROUNDER);
        let power = r.mul_add(polynomial!(r, EXP2_NARROW), 1.0);
        (power * f64::power_of_two(rounded)) as f32
    }

    #[inline(always)]
    fn is_rare(x: f32, y: f32) -> bool {
        !(x > 0.0 && x < f32::INFINITY && y.abs() < f32::INFINITY)
    }

    fn rare(x: f32, y: f32) -> f32 {
        x.powf(y)
    }
}
