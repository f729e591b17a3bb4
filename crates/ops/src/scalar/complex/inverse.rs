//! Inverse circular and hyperbolic functions of complex numbers.
//!
//! The inverse sine and cosine are after T. E. Hull, T. F. Fairgrieve and P. T. P. Tang, "Implementing the complex
//! arcsine and arccosine functions using exception handling" (1997), whose names `a`, `b`, `r`, `s` are kept. They are
//! computed in the first quadrant; signs are put back by symmetry. The hyperbolic ones are quarter turns of these.

use std::f64::consts::{FRAC_PI_2, FRAC_PI_4, LN_2, PI};

use tenferro_tensor::Complex64;

use super::hyperbolic::turned;

/// Below this, `b` is far enough from 1 for the real functions.
const B_CROSSOVER: f64 = 0.6417;
/// Below this, `a` is so near to 1 that `a - 1` is computed apart.
const A_CROSSOVER: f64 = 1.5;
/// About the square root of the least normal number: squares of more do not underflow.
const SMALL: f64 = 6e-154;
/// About an eighth of the square root of the largest number: squares of less do not overflow.
const LARGE: f64 = 1.6e153;

/// The inverse sine.
pub(in super::super) fn asin(z: Complex64) -> Complex64 {
    if z.re.is_nan() || z.im.is_nan() {
        return asin_of_nan(z);
    }
    let corner = Corner::of(z.re.abs(), z.im.abs());
    Complex64::new(corner.asin.copysign(z.re), corner.height.copysign(z.im))
}

/// The inverse cosine.
pub(in super::super) fn acos(z: Complex64) -> Complex64 {
    if z.re.is_nan() || z.im.is_nan() {
        let asin = asin_of_nan(z);
        let re = if z.re == 0.0 { FRAC_PI_2 } else { f64::NAN };
        return Complex64::new(re, -asin.im);
    }
    let corner = Corner::of(z.re.abs(), z.im.abs());
    let re = if z.re.is_sign_negative() { PI - corner.acos } else { corner.acos };
    Complex64::new(re, corner.height.copysign(-z.im))
}

/// The inverse sine where a component is NaN.
fn asin_of_nan(z: Complex64) -> Complex64 {
    let Complex64 { re, im } = z;
    if re == 0.0 || im.is_infinite() {
        Complex64::new(if re == 0.0 { re } else { f64::NAN }, im)
    } else if re.is_infinite() {
        Complex64::new(f64::NAN, re)
    } else {
        Complex64::new(f64::NAN, f64::NAN)
    }
}

/// The inverse hyperbolic sine.
pub(in super::super) fn asinh(z: Complex64) -> Complex64 {
    turned(asin, z)
}

/// The inverse hyperbolic cosine.
pub(in super::super) fn acosh(z: Complex64) -> Complex64 {
    let acos = acos(z);
    Complex64::new(acos.im.abs(), acos.re.copysign(z.im))
}

/// The inverse tangent.
pub(in super::super) fn atan(z: Complex64) -> Complex64 {
    turned(atanh, z)
}

/// The inverse sine and cosine at a point of the first quadrant.
struct Corner {
    /// The real part of the inverse sine.
    asin: f64,
    /// The real part of the inverse cosine.
    acos: f64,
    /// The imaginary part of the inverse sine, and of the inverse cosine with the other sign.
    height: f64,
}

impl Corner {
    fn of(x: f64, y: f64) -> Self {
        if x.is_infinite() || y.is_infinite() {
            let asin = match (x.is_infinite(), y.is_infinite()) {
                (true, true) => FRAC_PI_4,
                (true, false) => FRAC_PI_2,
                _ => 0.0,
            };
            return Self { asin, acos: FRAC_PI_2 - asin, height: f64::INFINITY };
        }
        if x < LARGE && y < LARGE && x > SMALL && y > SMALL {
            Self::inside(x, y)
        } else {
            Self::at_an_end(x, y)
        }
    }

    /// Where no square overflows or underflows.
    fn inside(x: f64, y: f64) -> Self {
        let (right, left) = (x + 1.0, x - 1.0);
        let (r, s) = (right.hypot(y), left.hypot(y));
        let a = 0.5 * (r + s);
        let b = x / a;
        let (asin, acos) = if b <= B_CROSSOVER {
            (b.asin(), b.acos())
        } else {
            let beside = if x <= 1.0 {
                (0.5 * (a + x) * (y * y / (r + right) + (s - left))).sqrt()
            } else {
                y * (0.5 * ((a + x) / (r + right) + (a + x) / (s + left))).sqrt()
            };
            ((x / beside).atan(), (beside / x).atan())
        };
        let height = if a <= A_CROSSOVER {
            let above_one = if x < 1.0 {
                0.5 * (y * y / (r + right) + y * y / (s - left))
            } else {
                0.5 * (y * y / (r + right) + (s + left))
            };
            (above_one + (above_one * (a + 1.0)).sqrt()).ln_1p()
        } else {
            (a + (a * a - 1.0).sqrt()).ln()
        };
        Self { asin, acos, height }
    }

    /// Where a component is very small or very large.
    fn at_an_end(x: f64, y: f64) -> Self {
        if y <= f64::EPSILON * (x - 1.0).abs() {
            Self::beside_the_axis(x, y)
        } else if x < 1.0 || (x == 1.0 && y > 1.0) || x <= SMALL {
            Self::above_the_unit(x, y)
        } else if y <= SMALL {
            // Here x is 1.
            let root = y.sqrt();
            Self { asin: FRAC_PI_2 - root, acos: root, height: root }
        } else {
            let ratio = x / y;
            let height = LN_2 + y.ln() + 0.5 * (ratio * ratio).ln_1p();
            Self { asin: ratio.atan(), acos: (y / x).atan(), height }
        }
    }

    /// Where `y` is nothing beside `x - 1`.
    fn beside_the_axis(x: f64, y: f64) -> Self {
        if x < 1.0 {
            let height = y / ((1.0 - x) * (1.0 + x)).sqrt();
            return Self { asin: x.asin(), acos: x.acos(), height };
        }
        if x > LARGE {
            return Self { asin: FRAC_PI_2, acos: y / x, height: LN_2 + x.ln() };
        }
        let above = x - 1.0;
        let root = (above * (x + 1.0)).sqrt();
        Self { asin: FRAC_PI_2 - y / root, acos: y / root, height: (above + root).ln_1p() }
    }

    /// Where `x` is nothing beside the hypotenuse of 1 and `y`, or nothing at all.
    fn above_the_unit(x: f64, y: f64) -> Self {
        if y > LARGE {
            return Self { asin: x / y, acos: FRAC_PI_2 - x / y, height: LN_2 + y.ln() };
        }
        let hypotenuse = 1.0_f64.hypot(y);
        let asin = x / hypotenuse;
        let height = 0.5 * (2.0 * y * (y + hypotenuse)).ln_1p();
        Self { asin, acos: FRAC_PI_2 - asin, height }
    }
}

/// The inverse hyperbolic tangent, by the logarithm of `|1 + z| / |1 - z|` and the angle between the two.
pub(in super::super) fn atanh(z: Complex64) -> Complex64 {
    let (x, y) = (z.re.abs(), z.im.abs());
    if z.re.is_nan() || z.im.is_nan() {
        return atanh_of_nan(z);
    }
    if y == 0.0 && x < 1.0 {
        return Complex64::new(libm::atanh(z.re), z.im);
    }
    if x == 0.0 {
        return Complex64::new(z.re, z.im.atan());
    }
    let (re, im) = if x > LARGE || y > LARGE {
        // The real part is that of 1 / z.
        let length = (x / 2.0).hypot(y / 2.0);
        (x / 2.0 / length / length / 2.0, FRAC_PI_2)
    } else if x == 1.0 && y < SMALL {
        (0.5 * (LN_2 - y.ln()), FRAC_PI_4)
    } else {
        let beside = 1.0 - x;
        let re = 0.25 * (4.0 * x / (beside * beside + y * y)).ln_1p();
        (re, 0.5 * (2.0 * y).atan2(beside * (1.0 + x) - y * y))
    };
    let re = if x.is_infinite() || y.is_infinite() { 0.0 } else { re };
    let im = if x == 1.0 && y == 0.0 { 0.0 } else { im };
    Complex64::new(re.copysign(z.re), im.copysign(z.im))
}

/// The inverse hyperbolic tangent where a component is NaN.
fn atanh_of_nan(z: Complex64) -> Complex64 {
    let re = if z.re == 0.0 || z.re.is_infinite() || z.im.is_infinite() {
        0.0_f64.copysign(z.re)
    } else {
        f64::NAN
    };
    let im = if z.im.is_infinite() { FRAC_PI_2.copysign(z.im) } else { f64::NAN };
    Complex64::new(re, im)
}
