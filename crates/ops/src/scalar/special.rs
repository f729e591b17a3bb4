//! Special functions of real numbers that no library of elementary functions brings.
//!
//! Each says where its formula is from. Bounds of their errors are measured in `tests/special.rs`.

use std::f64::consts::{FRAC_2_SQRT_PI, PI};

/// `1 / sqrt(x)`.
pub(super) fn rsqrt(x: f64) -> f64 {
    1.0 / x.sqrt()
}

/// `1 / sqrt(x)`.
pub(super) fn rsqrt_f32(x: f32) -> f32 {
    1.0 / x.sqrt()
}

/// `1 / (1 + e^-x)`, by the exponential that does not overflow.
pub(super) fn sigmoid(x: f64) -> f64 {
    let falling = (-x.abs()).exp();
    if x < 0.0 { falling / (1.0 + falling) } else { 1.0 / (1.0 + falling) }
}

/// As [`sigmoid`].
pub(super) fn sigmoid_f32(x: f32) -> f32 {
    let falling = (-x.abs()).exp();
    if x < 0.0 { falling / (1.0 + falling) } else { 1.0 / (1.0 + falling) }
}

/// `ln |gamma(x)|`.
pub(super) fn lgamma(x: f64) -> f64 {
    if x == f64::NEG_INFINITY { f64::INFINITY } else { libm::lgamma(x) }
}

/// The inverse of the error function.
///
/// Starts from S. Winitzki, "A handy approximation for the error function and its inverse" (2008), good to 2e-3, and
/// improves it by Halley's method, each step of which triples the right digits. Beyond 0.5 the difference from 1 is
/// compared instead, which the subtraction leaves exact.
pub(super) fn erf_inv(x: f64) -> f64 {
    const A: f64 = 0.147;
    let size = x.abs();
    if size == 1.0 {
        return f64::INFINITY.copysign(x);
    }
    if size.is_nan() || size > 1.0 {
        return f64::NAN;
    }
    if size < 1e-9 {
        return x / FRAC_2_SQRT_PI;
    }
    let log = ((1.0 - size) * (1.0 + size)).ln();
    let half = 2.0 / (PI * A) + log / 2.0;
    let mut y = ((half * half - log / A).sqrt() - half).sqrt();
    for _ in 0..3 {
        let excess = if size > 0.5 { (1.0 - size) - libm::erfc(y) } else { libm::erf(y) - size };
        let step = excess / (FRAC_2_SQRT_PI * (-y * y).exp());
        y -= step / (1.0 + y * step);
    }
    y.copysign(x)
}

/// The zero of the digamma function between 1 and 2, in two parts.
const DIGAMMA_ZERO: (f64, f64) = (1.461_632_144_968_362_2, 9.549_995_429_965_697e-17);

/// The derivative of the logarithm of the gamma function.
///
/// Negative numbers are reflected, `psi(1 - x) - psi(x) = pi / tan(pi x)`; from 10 on the asymptotic series of Stirling
/// serves; numbers between are brought to 1..2 by `psi(x + 1) = psi(x) + 1 / x` (M. Abramowitz and I. A. Stegun,
/// "Handbook of Mathematical Functions" (1964), 6.3.5, 6.3.7, 6.3.18).
pub(super) fn digamma(x: f64) -> f64 {
    if x == 0.0 {
        return f64::INFINITY.copysign(-x);
    }
    if x < 0.0 {
        if x.fract() == 0.0 || x.is_infinite() {
            return f64::NAN;
        }
        // The tangent has the period 1, and the distance from the nearest whole number is exact.
        return digamma_positive(1.0 - x) - PI / (PI * (x - x.round())).tan();
    }
    digamma_positive(x)
}

fn digamma_positive(x: f64) -> f64 {
    if x >= 10.0 {
        return digamma_large(x);
    }
    if x < 1.0 {
        return digamma_between_one_and_two(x + 1.0) - 1.0 / x;
    }
    // Small terms first.
    let (mut left, mut sum) = (x, 0.0);
    while left > 2.0 {
        left -= 1.0;
        sum += 1.0 / left;
    }
    digamma_between_one_and_two(left) + sum
}

/// `ln x - 1 / (2 x) - sum of B(2k) / (2k x^2k)`, whose first term left out is below 1e-18.
fn digamma_large(x: f64) -> f64 {
    const TERMS: [f64; 8] = [
        1.0 / 12.0,
        -1.0 / 120.0,
        1.0 / 252.0,
        -1.0 / 240.0,
        1.0 / 132.0,
        -691.0 / 32760.0,
        1.0 / 12.0,
        -3617.0 / 8160.0,
    ];
    let inverse = 1.0 / (x * x);
    let series = TERMS.iter().rev().fold(0.0, |sum, term| sum * inverse + term);
    x.ln() - (0.5 / x + series * inverse)
}

/// The distance from the zero times a polynomial, fitted by Chebyshev's nodes with 60 digits: off by 2e-17 at most.
fn digamma_between_one_and_two(x: f64) -> f64 {
    const POLYNOMIAL: [f64; 22] = [
        -0.00017312261802727394,
        0.00025968482126430747,
        -0.00015148586836773365,
        0.0002272331660987376,
        -0.0004821990530566789,
        0.0007233266279287554,
        -0.0010376374098418604,
        0.0015566317474486838,
        -0.002345267632540769,
        0.003519006401502276,
        -0.005279964873257405,
        0.007926944646403797,
        -0.011908218001568644,
        0.0179072524394512,
        -0.02697579675613825,
        0.04076083381242074,
        -0.061922133273064534,
        0.09498872445494122,
        -0.14840492305390884,
        0.2405424842407742,
        -0.4236274212814605,
        0.951055876031833,
    ];
    let quotient = POLYNOMIAL.iter().fold(0.0, |sum, factor| sum * (x - 1.5) + factor);
    ((x - DIGAMMA_ZERO.0) - DIGAMMA_ZERO.1) * quotient
}
