//! Hyperbolic and circular functions of complex numbers.
//!
//! The circular ones are the hyperbolic ones a quarter turn on: `sin z = -i sinh(i z)`, `cos z = cosh(i z)`. A turn swaps
//! components and rounds nothing.

use tenferro_tensor::Complex64;

/// `-i f(i z)`.
#[inline]
pub(super) fn turned(f: fn(Complex64) -> Complex64, z: Complex64) -> Complex64 {
    let value = f(Complex64::new(-z.im, z.re));
    Complex64::new(value.im, -value.re)
}

/// The sine.
pub(in super::super) fn sin(z: Complex64) -> Complex64 {
    turned(sinh, z)
}

/// The cosine.
pub(in super::super) fn cos(z: Complex64) -> Complex64 {
    cosh(Complex64::new(-z.im, z.re))
}

/// The tangent.
pub(in super::super) fn tan(z: Complex64) -> Complex64 {
    turned(tanh, z)
}

/// Past this the real functions overflow, or soon will.
const LARGE: f64 = 709.0;

/// `sinh x cos y + i cosh x sin y`.
pub(in super::super) fn sinh(z: Complex64) -> Complex64 {
    let Complex64 { re, im } = z;
    if im == 0.0 {
        return Complex64::new(re.sinh(), im);
    }
    if !im.is_finite() {
        let zero_or_infinite = re == 0.0 || re.is_infinite();
        return Complex64::new(if zero_or_infinite { re } else { f64::NAN }, f64::NAN);
    }
    let (sin, cos) = im.sin_cos();
    if re.abs() <= LARGE {
        return Complex64::new(re.sinh() * cos, re.cosh() * sin);
    }
    let half = (re.abs() / 2.0).exp();
    Complex64::new((half / 2.0 * cos * half).copysign(re * cos), half / 2.0 * sin * half)
}

/// `cosh x cos y + i sinh x sin y`.
pub(in super::super) fn cosh(z: Complex64) -> Complex64 {
    let Complex64 { re, im } = z;
    if im == 0.0 {
        return Complex64::new(re.cosh(), im * 1.0_f64.copysign(re));
    }
    if !im.is_finite() {
        return if re == 0.0 {
            Complex64::new(f64::NAN, re)
        } else {
            Complex64::new(if re.is_infinite() { f64::INFINITY } else { f64::NAN }, f64::NAN)
        };
    }
    let (sin, cos) = im.sin_cos();
    if re == 0.0 {
        return Complex64::new(cos, re * sin);
    }
    if re.abs() <= LARGE {
        return Complex64::new(re.cosh() * cos, re.sinh() * sin);
    }
    let half = (re.abs() / 2.0).exp();
    Complex64::new(half / 2.0 * cos * half, (half / 2.0 * sin * half).copysign(re * sin))
}

/// The hyperbolic tangent after W. Kahan, "Branch Cuts for Complex Elementary Functions" (1987), whose limits for large
/// real parts do not overflow.
pub(in super::super) fn tanh(x: Complex64) -> Complex64 {
    let Complex64 { re, im } = x;
    if im == 0.0 {
        return Complex64::new(re.tanh(), im);
    }
    if re == 0.0 {
        return Complex64::new(re, im.tan());
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
