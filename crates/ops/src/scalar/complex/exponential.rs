//! Exponentials, logarithms, roots and powers of complex numbers.

use std::f64::consts::{LN_2, LOG2_E};

use tenferro_tensor::Complex64;

use super::div;

/// `e^x`; a real operand gives a real result, and only a result out of range overflows.
pub(in super::super) fn exp(x: Complex64) -> Complex64 {
    if x.im == 0.0 {
        return Complex64::new(x.re.exp(), x.im);
    }
    if x.re.is_infinite() && !x.im.is_finite() {
        return if x.re < 0.0 {
            Complex64::new(0.0, 0.0_f64.copysign(x.im))
        } else {
            Complex64::new(f64::INFINITY, f64::NAN)
        };
    }
    let (sin, cos) = x.im.sin_cos();
    // In two steps where the magnitude alone is out of range, though a component may not be.
    if x.re > 709.0 && x.re.is_finite() {
        let half = (x.re / 2.0).exp();
        return Complex64::new(half * cos * half, half * sin * half);
    }
    let magnitude = x.re.exp();
    Complex64::new(magnitude * cos, magnitude * sin)
}

/// `2^x`; a real operand gives a real result.
pub(in super::super) fn exp2(x: Complex64) -> Complex64 {
    if x.im == 0.0 {
        return Complex64::new(x.re.exp2(), x.im);
    }
    let turned = Complex64::new(0.0, x.im * LN_2);
    if x.re.is_finite() && x.re.abs() < 1000.0 {
        let (sin, cos) = turned.im.sin_cos();
        let magnitude = x.re.exp2();
        return Complex64::new(magnitude * cos, magnitude * sin);
    }
    exp(Complex64::new(x.re * LN_2, turned.im))
}

/// `e^x - 1`: small parts are not lost, as `cos(y) - 1` is computed as `-2 sin(y / 2)^2`.
pub(in super::super) fn expm1(x: Complex64) -> Complex64 {
    if x.im == 0.0 {
        return Complex64::new(x.re.exp_m1(), x.im);
    }
    if !x.re.is_finite() || x.re > 40.0 {
        let power = exp(x);
        return Complex64::new(power.re - 1.0, power.im);
    }
    let half = (x.im / 2.0).sin();
    let (sin, cos) = x.im.sin_cos();
    Complex64::new(x.re.exp_m1() * cos - 2.0 * half * half, x.re.exp() * sin)
}

/// The principal logarithm: the imaginary part is in `[-pi, pi]`, and follows the sign of a zero imaginary part.
pub(in super::super) fn log(x: Complex64) -> Complex64 {
    Complex64::new(log_abs(x), x.im.atan2(x.re))
}

/// The principal logarithm to base 2, exact for real powers of 2.
pub(in super::super) fn log2(x: Complex64) -> Complex64 {
    let magnitude = if x.im == 0.0 { x.re.abs().log2() } else { log_abs(x) * LOG2_E };
    Complex64::new(magnitude, x.im.atan2(x.re) * LOG2_E)
}

/// `log(1 + x)`, without the rounding of the sum where it is near the unit circle.
pub(in super::super) fn log1p(x: Complex64) -> Complex64 {
    if x.im == 0.0 && x.re >= -1.0 {
        return Complex64::new(x.re.ln_1p(), x.im);
    }
    let sum = Complex64::new(1.0 + x.re, x.im);
    let near = x.re.abs() < 2.0 && x.im.abs() < 2.0;
    if !near || sum.re.abs().max(x.im.abs()) < 0.5 {
        return log(sum);
    }
    // |1 + x|^2 - 1 = 2 re + re^2 + im^2.
    let excess = sum_of_squares(x.re, x.im, 2.0 * x.re);
    Complex64::new(0.5 * excess.ln_1p(), x.im.atan2(sum.re))
}

/// `a^2 + b^2 + c`, rounded about once whatever cancels.
fn sum_of_squares(a: f64, b: f64, c: f64) -> f64 {
    let square = |x: f64| (x * x, x.mul_add(x, -(x * x)));
    let ((a, a_rest), (b, b_rest)) = (square(a), square(b));
    let (sum, rest) = two_sum(c, a.max(b));
    let (sum, more) = two_sum(sum, a.min(b));
    sum + (rest + more + a_rest + b_rest)
}

/// The sum and what its rounding lost, after D. E. Knuth.
fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let from_b = sum - a;
    (sum, (a - (sum - from_b)) + (b - from_b))
}

/// `ln |x|`, exact to the last bits near the unit circle, and without overflow at the ends of the range.
fn log_abs(x: Complex64) -> f64 {
    if x.re.is_infinite() || x.im.is_infinite() {
        return f64::INFINITY;
    }
    if x.re.is_nan() || x.im.is_nan() {
        return f64::NAN;
    }
    let (re, im) = (x.re.abs(), x.im.abs());
    let (large, small) = if re > im { (re, im) } else { (im, re) };
    if small == 0.0 {
        large.ln()
    } else if (0.5..=2.0).contains(&large) {
        0.5 * sum_of_squares(large, small, -1.0).ln_1p()
    } else if large > f64::MAX / 4.0 {
        (large / 2.0).hypot(small / 2.0).ln() + LN_2
    } else if large < 1e-290 {
        let up = 2.0_f64.powi(64);
        (large * up).hypot(small * up).ln() - 64.0 * LN_2
    } else {
        large.hypot(small).ln()
    }
}

/// The principal square root: its real part is not negative, and its imaginary part has the sign of the operand's.
pub(in super::super) fn sqrt(x: Complex64) -> Complex64 {
    let Complex64 { re, im } = x;
    if re == 0.0 && im == 0.0 {
        return Complex64::new(0.0, im);
    }
    if im.is_infinite() {
        return Complex64::new(f64::INFINITY, im);
    }
    if re.is_infinite() {
        let rest = if im.is_nan() { im } else { 0.0 };
        return if re > 0.0 {
            Complex64::new(re, rest.copysign(im))
        } else {
            Complex64::new(rest.abs(), f64::INFINITY.copysign(im))
        };
    }
    // Four to an integer power, whose root is exact.
    let largest = re.abs().max(im.abs());
    let (scale, root) = if largest > f64::MAX / 8.0 {
        (2.0_f64.powi(-4), 2.0_f64.powi(2))
    } else if largest < 1e-290 {
        (2.0_f64.powi(108), 2.0_f64.powi(-54))
    } else {
        (1.0, 1.0)
    };
    let (re, im) = (re * scale, im * scale);
    let major = ((re.abs() + re.hypot(im)) / 2.0).sqrt();
    let minor = im / (2.0 * major);
    if re >= 0.0 {
        Complex64::new(major * root, minor * root)
    } else {
        Complex64::new(minor.abs() * root, major.copysign(im) * root)
    }
}

/// One divided by the principal square root; infinite at 0, on the side that the signs of the zeros say.
pub(in super::super) fn rsqrt(x: Complex64) -> Complex64 {
    let root = sqrt(x);
    if root.re == 0.0 && root.im == 0.0 {
        return Complex64::new(f64::INFINITY, -root.im);
    }
    if root.re.is_infinite() || root.im.is_infinite() {
        return Complex64::new(0.0, 0.0_f64.copysign(-root.im));
    }
    if root.im == 0.0 {
        return Complex64::new(1.0 / root.re, -root.im);
    }
    div(Complex64::new(1.0, 0.0), root)
}

/// `1 / (1 + e^-x)`, by the exponential that does not overflow.
pub(in super::super) fn sigmoid(x: Complex64) -> Complex64 {
    let one = Complex64::new(1.0, 0.0);
    if x.im == 0.0 {
        let falling = (-x.re.abs()).exp();
        let below = 1.0 + falling;
        let value = if x.re >= 0.0 { 1.0 / below } else { falling / below };
        return Complex64::new(if x.re.is_nan() { x.re } else { value }, x.im);
    }
    if x.re >= 0.0 {
        div(one, one + exp(-x))
    } else {
        let power = exp(x);
        div(power, one + power)
    }
}

/// The largest integer exponent that is multiplied out.
const MULTIPLIED: f64 = 100.0;

/// The principal power. Small integer exponents are multiplied out, which keeps exact values exact; 0 to a power with
/// a positive real part is 0, to the power 0 it is 1, else NaN.
pub(in super::super) fn pow(x: Complex64, exponent: Complex64) -> Complex64 {
    let one = Complex64::new(1.0, 0.0);
    if exponent.re == 0.0 && exponent.im == 0.0 {
        return one;
    }
    if x.re == 0.0 && x.im == 0.0 {
        return if exponent.re > 0.0 {
            Complex64::new(0.0, 0.0)
        } else {
            Complex64::new(f64::NAN, f64::NAN)
        };
    }
    if exponent.im == 0.0 && exponent.re.fract() == 0.0 && exponent.re.abs() <= MULTIPLIED {
        let power = multiplied(x, exponent.re.abs() as u32);
        return if exponent.re < 0.0 { div(one, power) } else { power };
    }
    let log = log(x);
    exp(Complex64::new(
        exponent.re * log.re - exponent.im * log.im,
        exponent.re * log.im + exponent.im * log.re,
    ))
}

/// The power by squaring, for an exponent of 1 at least; `x^1` is `x` to the bit.
fn multiplied(x: Complex64, exponent: u32) -> Complex64 {
    let mut square = x;
    for _ in 0..exponent.trailing_zeros() {
        square *= square;
    }
    let mut power = square;
    let mut left = exponent >> (exponent.trailing_zeros() + 1);
    while left != 0 {
        square *= square;
        if left & 1 != 0 {
            power *= square;
        }
        left >>= 1;
    }
    power
}
