//! The functions of one element: NumPy's values, and the edges where formulas break.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use proptest::prelude::*;
use tenferro_ops::scalar::{Binary, Cast, Div, Inexact, Maximum, Minimum, Number, Pow, Real};
use tenferro_tensor::{Complex32, Complex64, bf16, f16};

fn z(re: f64, im: f64) -> Complex64 {
    Complex64::new(re, im)
}

fn bits(x: Complex64) -> (u64, u64) {
    (x.re.to_bits(), x.im.to_bits())
}

/// Within `tolerance` of the modulus.
fn close(actual: Complex64, expected: Complex64, tolerance: f64) -> bool {
    (actual - expected).norm() <= tolerance * expected.norm().max(f64::MIN_POSITIVE)
}

#[test]
fn complex_functions_are_what_numpy_computes() {
    for line in include_str!("fixtures/complex.txt").lines() {
        let mut fields = line.split(';');
        let (function, dtype) = (fields.next().unwrap(), fields.next().unwrap());
        let numbers: Vec<f64> = fields.map(|number| number.parse().unwrap()).collect();
        let number = |place: usize| z(numbers[2 * place], numbers[2 * place + 1]);
        let expected = number(numbers.len() / 2 - 1);
        let wide = |f: fn(Complex64) -> Complex64| f(number(0));
        let narrow = |f: fn(Complex32) -> Complex32| -> Complex64 {
            f(number(0).cast::<Complex32>()).cast()
        };
        let narrow_two = |f: fn(Complex32, Complex32) -> Complex32| -> Complex64 {
            f(number(0).cast(), number(1).cast()).cast()
        };
        let single = dtype == "complex64";
        let actual = match (function, single) {
            ("exp", false) => wide(Inexact::exp),
            ("log", false) => wide(Inexact::log),
            ("sqrt", false) => wide(Inexact::sqrt),
            ("tanh", false) => wide(Inexact::tanh),
            ("div", false) => Number::div(number(0), number(1)),
            ("pow", false) => Number::pow(number(0), number(1)),
            ("exp", true) => narrow(Inexact::exp),
            ("log", true) => narrow(Inexact::log),
            ("sqrt", true) => narrow(Inexact::sqrt),
            ("tanh", true) => narrow(Inexact::tanh),
            ("div", true) => narrow_two(Number::div),
            ("pow", true) => narrow_two(Number::pow),
            _ => panic!("{line}"),
        };
        // NumPy computes functions of complex64 in single precision, off by a few last places itself.
        let tolerance = if single { 6e-7 } else { 2e-15 };
        assert!(close(actual, expected, tolerance), "{line} is {actual}");
    }
}

#[test]
fn complex_division_survives_the_ends_of_the_range() {
    // The first are the paper's that the algorithm is from; each breaks a simpler formula.
    let cases = [
        (z(1.0, 1.0), z(1.0, 2.0_f64.powi(1023)), (2.0_f64.powi(-1023), -(2.0_f64.powi(-1023)))),
        (z(1.0, 1.0), z(2.0_f64.powi(-1023), 2.0_f64.powi(-1023)), (2.0_f64.powi(1023), 0.0)),
        (
            z(2.0_f64.powi(1023), 2.0_f64.powi(-1023)),
            z(2.0_f64.powi(677), 2.0_f64.powi(-677)),
            (2.0_f64.powi(346), -(2.0_f64.powi(-1008))),
        ),
        (
            z(2.0_f64.powi(1020), 2.0_f64.powi(-844)),
            z(2.0_f64.powi(656), 2.0_f64.powi(-780)),
            (2.0_f64.powi(364), -f64::from_bits(4)),
        ),
        // A product on the way underflows, though the quotient does not.
        (
            z(0.0, 2.0_f64.powi(-900)),
            z(2.0_f64.powi(-600), 2.0_f64.powi(-800)),
            (2.0_f64.powi(-500), 2.0_f64.powi(-300)),
        ),
        (z(f64::MAX, f64::MAX), z(f64::MAX, f64::MAX), (1.0, 0.0)),
        (z(5e-324, 5e-324), z(5e-324, 5e-324), (1.0, 0.0)),
    ];
    for (lhs, rhs, (re, im)) in cases {
        let quotient = Div.call(lhs, rhs);
        let near = |actual: f64, expected: f64| {
            (actual - expected).abs() <= 2.0 * f64::EPSILON * expected.abs() + 5e-324
        };
        assert!(near(quotient.re, re) && near(quotient.im, im), "{lhs} / {rhs} is {quotient}");
    }
}

#[test]
fn complex_division_by_a_real_number_divides_the_parts() {
    assert_eq!(bits(Div.call(z(5.0, -7.0), z(3.0, 0.0))), bits(z(5.0 / 3.0, -7.0 / 3.0)));
    assert_eq!(bits(Div.call(z(5.0, -7.0), z(0.0, 3.0))), bits(z(-7.0 / 3.0, -5.0 / 3.0)));
    let by_zero = Div.call(z(1.0, -1.0), z(0.0, 0.0));
    assert_eq!((by_zero.re, by_zero.im), (f64::INFINITY, f64::NEG_INFINITY));
    assert!(Div.call(z(0.0, 0.0), z(0.0, 0.0)).re.is_nan());
}

#[test]
fn complex_division_knows_infinities() {
    let inf = f64::INFINITY;
    assert_eq!(Div.call(z(1.0, 1.0), z(inf, 1.0)), z(0.0, 0.0));
    assert_eq!(Div.call(z(1.0, 1.0), z(inf, -inf)), z(0.0, 0.0));
    let quotient = Div.call(z(inf, 1.0), z(1.0, 1.0));
    assert_eq!((quotient.re, quotient.im), (inf, -inf));
    assert!(Div.call(z(inf, inf), z(inf, inf)).re.is_nan());
    assert!(Div.call(z(f64::NAN, 1.0), z(1.0, 1.0)).re.is_nan());
}

#[test]
fn the_square_root_has_the_right_branch_at_every_edge() {
    let inf = f64::INFINITY;
    let cases = [
        (z(0.0, 0.0), z(0.0, 0.0)),
        (z(-0.0, 0.0), z(0.0, 0.0)),
        (z(-0.0, -0.0), z(0.0, -0.0)),
        (z(4.0, -0.0), z(2.0, -0.0)),
        (z(-4.0, 0.0), z(0.0, 2.0)),
        (z(-4.0, -0.0), z(0.0, -2.0)),
        (z(0.0, 2.0), z(1.0, 1.0)),
        (z(0.0, -2.0), z(1.0, -1.0)),
        (z(-3.0, 4.0), z(1.0, 2.0)),
        (z(inf, 1.0), z(inf, 0.0)),
        (z(-inf, -1.0), z(0.0, -inf)),
        (z(f64::NAN, inf), z(inf, inf)),
        (z(2.0_f64.powi(1022), 0.0), z(2.0_f64.powi(511), 0.0)),
        // 2^-1073 is subnormal.
        (z(0.0, f64::from_bits(2)), z(2.0_f64.powi(-537), 2.0_f64.powi(-537))),
    ];
    for (x, root) in cases {
        assert_eq!(bits(x.sqrt_of()), bits(root), "sqrt {x}");
    }
    let largest = z(f64::MAX, f64::MAX).sqrt_of();
    let scaled = largest / 2.0_f64.powi(512);
    assert!(close(scaled * scaled, z(1.0, 1.0), 1e-15), "{largest}");
    assert!(z(f64::NAN, 1.0).sqrt_of().re.is_nan());
}

/// `num_complex` has methods of the same names.
trait Ours: Inexact {
    fn sqrt_of(self) -> Self {
        Inexact::sqrt(self)
    }
    fn exp_of(self) -> Self {
        Inexact::exp(self)
    }
    fn log_of(self) -> Self {
        Inexact::log(self)
    }
    fn tanh_of(self) -> Self {
        Inexact::tanh(self)
    }
}

impl<T: Inexact> Ours for T {}

#[test]
fn the_exponential_overflows_only_where_the_result_does() {
    let x = z(710.0, std::f64::consts::FRAC_PI_2).exp_of();
    assert!(x.re.is_finite() && x.im.is_infinite(), "{x}");
    assert!(x.re > 1e291, "{x}");
    assert_eq!(bits(z(1.5, -0.0).exp_of()), bits(z(1.5_f64.exp(), -0.0)));
    assert_eq!(z(f64::NEG_INFINITY, f64::INFINITY).exp_of(), z(0.0, 0.0));
    assert_eq!(bits(z(f64::INFINITY, 0.0).exp_of()), bits(z(f64::INFINITY, 0.0)));
    assert!(z(f64::INFINITY, f64::INFINITY).exp_of().re.is_infinite());
    assert!(z(f64::NAN, 1.0).exp_of().re.is_nan());
}

#[test]
fn the_logarithm_is_exact_near_one_and_finite_at_the_ends() {
    // ln |1 + i y| is y^2 / 2 for small y, which a modulus rounded to 1 loses.
    let log = z(1.0, 1e-9).log_of();
    assert!((log.re / 5e-19 - 1.0).abs() < 1e-12, "{log}");
    let largest = z(f64::MAX, f64::MAX).log_of();
    assert!((largest.re - (f64::MAX.ln() + 0.5 * 2.0_f64.ln())).abs() < 1e-12, "{largest}");
    let least = z(5e-324, 0.0).log_of();
    assert!((least.re - 5e-324_f64.ln()).abs() < 1e-10, "{least}");
    assert_eq!(z(0.0, 0.0).log_of().re, f64::NEG_INFINITY);
    assert_eq!(z(-1.0, 0.0).log_of(), z(0.0, std::f64::consts::PI));
    assert_eq!(z(-1.0, -0.0).log_of(), z(0.0, -std::f64::consts::PI));
    assert_eq!(z(f64::NAN, f64::INFINITY).log_of().re, f64::INFINITY);
    assert!(z(f64::NAN, 1.0).log_of().re.is_nan());
}

#[test]
fn the_hyperbolic_tangent_does_not_overflow() {
    let large = z(800.0, 1.0).tanh_of();
    assert_eq!((large.re, large.im), (1.0, 0.0));
    assert_eq!(z(f64::NEG_INFINITY, 1.0).tanh_of().re, -1.0);
    assert_eq!(bits(z(0.5, -0.0).tanh_of()), bits(z(0.5_f64.tanh(), -0.0)));
    // Either side of the switch agrees.
    let (below, above) = (z(21.999999, 0.7).tanh_of(), z(22.000001, 0.7).tanh_of());
    assert!((below.im / above.im - 1.0).abs() < 1e-5, "{below} {above}");
    assert!(z(1.0, f64::INFINITY).tanh_of().re.is_nan());
}

#[test]
fn complex_powers_of_whole_exponents_are_exact() {
    assert_eq!(Pow.call(z(0.0, 1.0), z(2.0, 0.0)), z(-1.0, 0.0));
    assert_eq!(Pow.call(z(1.0, 1.0), z(8.0, 0.0)), z(16.0, 0.0));
    assert_eq!(Pow.call(z(0.0, 2.0), z(-2.0, 0.0)), z(-0.25, 0.0));
    assert_eq!(bits(Pow.call(z(3.0, -0.0), z(1.0, 0.0))), bits(z(3.0, -0.0)));
    assert_eq!(Pow.call(z(f64::NAN, 0.0), z(0.0, 0.0)), z(1.0, 0.0));
    assert_eq!(Pow.call(z(0.0, 0.0), z(0.0, 0.0)), z(1.0, 0.0));
    assert_eq!(Pow.call(z(0.0, 0.0), z(2.5, 1.0)), z(0.0, 0.0));
    assert!(Pow.call(z(0.0, 0.0), z(-1.0, 0.0)).re.is_nan());
}

#[test]
fn the_sign_of_a_complex_number_is_on_the_unit_circle() {
    for x in [z(3.0, 4.0), z(-1e308, 1e308), z(5e-324, -5e-324), z(0.0, -7.0)] {
        let sign = Number::sign(x);
        assert!((sign.norm() - 1.0).abs() < 1e-15, "{x} {sign}");
        assert!((sign.arg() - x.arg()).abs() < 1e-15, "{x} {sign}");
    }
    assert_eq!(bits(Number::sign(z(-0.0, 0.0))), bits(z(-0.0, 0.0)));
    assert_eq!(Number::sign(z(f64::NEG_INFINITY, 1.0)), z(-1.0, 0.0));
    assert!(Number::sign(z(f64::NAN, 0.0)).re.is_nan());
}

#[test]
fn real_functions_of_halves_are_rounded_from_single_precision() {
    let x = f16::from_f32(2.0);
    assert_eq!(Inexact::sqrt(x), f16::from_f32(2.0_f32.sqrt()));
    assert_eq!(Inexact::exp(x), f16::from_f32(2.0_f32.exp()));
    assert_eq!(Number::pow(x, f16::from_f32(0.5)), f16::from_f32(2.0_f32.sqrt()));
    assert_eq!(Number::abs(f16::from_f32(-3.0)), f16::from_f32(3.0));
    assert_eq!(Number::sign(bf16::NEG_ZERO).to_bits(), bf16::NEG_ZERO.to_bits());
    assert!(Inexact::log(bf16::from_f32(-1.0)).is_nan());
}

#[test]
fn casts_to_halves_round_once() {
    // Just above the midpoint of two neighbours: f32 would round it to the midpoint first, and down from there.
    let above = 1.0 + 2.0_f64.powi(-11) + 2.0_f64.powi(-40);
    assert_eq!(above.cast::<f16>(), f16::from_f32(1.0 + 2.0_f32.powi(-10)));
    assert_eq!(300_i32.cast::<bf16>().to_f32(), 300.0);
    assert_eq!(f16::INFINITY.cast::<i32>(), i32::MAX);
}

proptest! {
    #[test]
    fn extremes_agree_with_their_definition(lhs: f64, rhs: f64) {
        let (larger, smaller) = (Maximum.call(lhs, rhs), Minimum.call(lhs, rhs));
        if lhs.is_nan() || rhs.is_nan() {
            prop_assert!(larger.is_nan() && smaller.is_nan());
        } else {
            prop_assert_eq!(larger, lhs.max(rhs));
            prop_assert_eq!(smaller, lhs.min(rhs));
            prop_assert_eq!(Real::larger(rhs, lhs).to_bits(), larger.to_bits());
            prop_assert_eq!(Real::smaller(rhs, lhs).to_bits(), smaller.to_bits());
        }
    }

    #[test]
    fn integer_division_is_the_wide_one_wrapped(lhs: i32, rhs: i32) {
        prop_assert_eq!(Div.fails(lhs, rhs), rhs == 0);
        if rhs != 0 {
            prop_assert_eq!(Div.call(lhs, rhs), (i64::from(lhs) / i64::from(rhs)) as i32);
        }
    }

    #[test]
    fn integer_powers_are_repeated_products(base: i16, exponent in 0..40_i16) {
        let product = (0..exponent).fold(1_i16, |product, _| product.wrapping_mul(base));
        prop_assert_eq!(Pow.call(base, exponent), product);
    }

    #[test]
    fn every_integer_casts_as_rust_does(x: i64) {
        prop_assert_eq!(x.cast::<i8>(), x as i8);
        prop_assert_eq!(x.cast::<u16>(), x as u16);
        prop_assert_eq!(x.cast::<f32>(), x as f32);
        prop_assert_eq!((x as u64).cast::<f32>(), x as u64 as f32);
        prop_assert_eq!((x as u32).cast::<i16>(), x as u32 as i16);
        prop_assert_eq!((x as i8).cast::<u64>(), x as i8 as u64);
    }

    #[test]
    fn complex_division_undoes_multiplication(a in -1e3..1e3_f64, b in -1e3..1e3_f64, c in -1e3..1e3_f64, d in 1e-3..1e3_f64) {
        let (x, y) = (z(a, b), z(c, d));
        prop_assert!(close(Number::div(x * y, y), x, 1e-14));
    }

    #[test]
    fn the_square_of_the_square_root_is_the_number(re in -1e200..1e200_f64, im in -1e200..1e200_f64) {
        let root = z(re, im).sqrt_of();
        prop_assert!(close(root * root, z(re, im), 1e-15));
        prop_assert!(root.re >= 0.0);
        prop_assert_eq!(root.im.is_sign_negative(), im.is_sign_negative());
    }
}
