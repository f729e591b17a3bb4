//! Functions of complex numbers where the textbook formula overflows, cancels or picks the wrong branch.
//!
//! All are computed in f64; [`widen`] and [`narrow`] bring C32 here and back, which also rounds it better. Values at
//! signed zeros, infinities and NaN are those of Annex G of the C standard where it has them.

mod exponential;
mod hyperbolic;
mod inverse;

use tenferro_tensor::{Complex32, Complex64};

pub(super) use exponential::{exp, exp2, expm1, log, log1p, log2, pow, rsqrt, sigmoid, sqrt};
pub(super) use hyperbolic::{cos, cosh, sin, sinh, tan, tanh};
pub(super) use inverse::{acos, acosh, asin, asinh, atan, atanh};

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
