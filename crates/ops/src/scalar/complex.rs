//! Functions of complex numbers where the textbook formula overflows, cancels or picks the wrong branch.
//!
//! All are computed in f64; [`widen`] and [`narrow`] bring C32 here and back, which also rounds it better.

use std::f64::consts::LN_2;

use tenferro_tensor::{Complex32, Complex64};

/// Complex numbers that convert to and from C64.
pub(super) trait Components: Copy {
    fn widen(self) -> Complex64;
    fn narrow(wide: Complex64) -> Self;
}

impl Components for Complex64 {
    #[inline]
    fn widen(self) -> Complex64 {
        self
    }

    #[inline]
    fn narrow(wide: Complex64) -> Self {
        wide
    }
}

impl Components for Complex32 {
    #[inline]
    fn widen(self) -> Complex64 {
        Complex64::new(f64::from(self.re), f64::from(self.im))
    }

    #[inline]
    fn narrow(wide: Complex64) -> Self {
        Complex32::new(wide.re as f32, wide.im as f32)
    }
}

#[inline]
pub(super) fn widen<C: Components>(x: C) -> Complex64 {
    x.widen()
}

#[inline]
pub(super) fn narrow<C: Components>(wide: Complex64) -> C {
    C::narrow(wide)
}

/// The quotient after M. Baudin and R. L. Smith, "A Robust Complex Division in Scilab" (2012): Smith's method with
/// scaling where operands are near the ends of the range, and a way around products that underflow.
///
/// Divisors on an axis divide each component, correctly rounded. A finite number by an infinite one is 0.
pub(super) fn div(lhs: Complex64, rhs: Complex64) -> Complex64 {
    if rhs.im == 0.0 {
        return Complex64::new(lhs.re / rhs.re, lhs.im / rhs.re);
    }
    if rhs.re == 0.0 {
        return Complex64::new(lhs.im / rhs.im, -lhs.re / rhs.im);
    }
    if !(finite(lhs) && finite(rhs)) {
        return div_with_infinities(lhs, rhs);
    }
    let (lhs, up) = scaled(lhs);
    let (rhs, down) = scaled(rhs);
    let quotient = if rhs.im.abs() <= rhs.re.abs() {
        smith(lhs.re, lhs.im, rhs.re, rhs.im)
    } else {
        let swapped = smith(lhs.im, lhs.re, rhs.im, rhs.re);
        Complex64::new(swapped.re, -swapped.im)
    };
    let back = down / up;
    Complex64::new(quotient.re * back, quotient.im * back)
}

fn finite(x: Complex64) -> bool {
    x.re.is_finite() && x.im.is_finite()
}

/// The number away from both ends of the range, and the power of two that brought it there.
fn scaled(x: Complex64) -> (Complex64, f64) {
    let largest = x.re.abs().max(x.im.abs());
    let factor = if largest >= f64::MAX / 2.0 {
        0.5
    } else if largest <= f64::MIN_POSITIVE * 2.0 / f64::EPSILON {
        2.0 / (f64::EPSILON * f64::EPSILON)
    } else {
        1.0
    };
    (Complex64::new(x.re * factor, x.im * factor), factor)
}

/// `(a + bi) / (c + di)` for `|d| <= |c|`.
fn smith(a: f64, b: f64, c: f64, d: f64) -> Complex64 {
    let ratio = d / c;
    let inverse = 1.0 / (c + d * ratio);
    let component = |a: f64, b: f64| {
        let product = b * ratio;
        if ratio == 0.0 {
            (a + d * (b / c)) * inverse
        } else if product == 0.0 {
            a * inverse + (b * inverse) * ratio
        } else {
            (a + product) * inverse
        }
    };
    Complex64::new(component(a, b), component(b, -a))
}

/// The quotient where a component is infinite or NaN, as C's Annex G has it: infinite by finite is infinite, finite
/// by infinite is 0.
fn div_with_infinities(lhs: Complex64, rhs: Complex64) -> Complex64 {
    let infinite = |x: Complex64| x.re.is_infinite() || x.im.is_infinite();
    // Infinite components become units, finite ones zeros, with their signs.
    let boxed = |x: f64| (if x.is_infinite() { 1.0_f64 } else { 0.0 }).copysign(x);
    if infinite(lhs) && finite(rhs) {
        let (a, b) = (boxed(lhs.re), boxed(lhs.im));
        let re = f64::INFINITY * (a * rhs.re + b * rhs.im);
        let im = f64::INFINITY * (b * rhs.re - a * rhs.im);
        Complex64::new(re, im)
    } else if finite(lhs) && infinite(rhs) {
        let (c, d) = (boxed(rhs.re), boxed(rhs.im));
        let re = 0.0 * (lhs.re * c + lhs.im * d);
        let im = 0.0 * (lhs.im * c - lhs.re * d);
        Complex64::new(re, im)
    } else {
        Complex64::new(f64::NAN, f64::NAN)
    }
}

/// `x / |x|`; zeros stay what they are. Computed from components scaled to 1, so that nothing overflows.
pub(super) fn sign(x: Complex64) -> Complex64 {
    let largest = x.re.abs().max(x.im.abs());
    if x.re.is_nan() || x.im.is_nan() {
        return Complex64::new(f64::NAN, f64::NAN);
    }
    if largest == 0.0 {
        return x;
    }
    let (re, im) = if largest.is_infinite() {
        let unit = |part: f64| (if part.is_infinite() { 1.0_f64 } else { 0.0 }).copysign(part);
        (unit(x.re), unit(x.im))
    } else {
        (x.re / largest, x.im / largest)
    };
    let length = re.hypot(im);
    Complex64::new(re / length, im / length)
}

/// `e^x`; a real operand gives a real result, and only a result out of range overflows.
pub(super) fn exp(x: Complex64) -> Complex64 {
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

/// The principal logarithm: the imaginary part is in `[-pi, pi]`, and follows the sign of a zero imaginary part.
pub(super) fn log(x: Complex64) -> Complex64 {
    Complex64::new(log_abs(x), x.im.atan2(x.re))
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
    if (0.5..=2.0).contains(&large) {
        0.5 * ((large - 1.0) * (large + 1.0) + small * small).ln_1p()
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
pub(super) fn sqrt(x: Complex64) -> Complex64 {
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

/// The hyperbolic tangent after W. Kahan, "Branch Cuts for Complex Elementary Functions" (1987), whose limits for large
/// real parts do not overflow.
pub(super) fn tanh(x: Complex64) -> Complex64 {
    let Complex64 { re, im } = x;
    if im == 0.0 {
        return Complex64::new(re.tanh(), im);
    }
    if re.is_infinite() {
        let sign = if im.is_finite() { im.sin() * im.cos() } else { 1.0 };
        return Complex64::new(1.0_f64.copysign(re), 0.0_f64.copysign(sign));
    }
    // Past this the real part rounds to 1.
    if re.abs() > 22.0 {
        let (sin, cos) = im.sin_cos();
        return Complex64::new(1.0_f64.copysign(re), 4.0 * sin * cos * (-2.0 * re.abs()).exp());
    }
    let tan = im.tan();
    let sinh = re.sinh();
    let beta = 1.0 + tan * tan;
    let rho = (1.0 + sinh * sinh).sqrt();
    let below = 1.0 + beta * sinh * sinh;
    Complex64::new(beta * rho * sinh / below, tan / below)
}

/// The largest integer exponent that is multiplied out.
const MULTIPLIED: f64 = 100.0;

/// The principal power. Small integer exponents are multiplied out, which keeps exact values exact; 0 to a power with
/// a positive real part is 0, to the power 0 it is 1, else NaN.
pub(super) fn pow(x: Complex64, exponent: Complex64) -> Complex64 {
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
