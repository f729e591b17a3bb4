//! Numbers for the suite: samples of each dtype, and exact arithmetic to check with.
//!
//! The oracle is apart from any provider: integers are summed in `i128` modulo 2^128, all else in complex `f64`. For
//! dtypes as precise as the oracle itself, the bound allows for the errors of both.

use tenferro_tensor::{Complex64, Conjugation, Factor, Scalar};

/// What the oracle computes with.
pub(super) trait Exact: Copy + std::fmt::Debug {
    const ZERO: Self;
    fn from_factor(factor: Factor) -> Self;
    fn plus(self, other: Self) -> Self;
    fn times(self, other: Self) -> Self;
    fn conjugated(self, conjugation: Conjugation) -> Self;
    fn magnitude(self) -> f64;
}

impl Exact for Complex64 {
    const ZERO: Self = Complex64::new(0.0, 0.0);

    fn from_factor(factor: Factor) -> Self {
        factor.as_complex()
    }

    fn plus(self, other: Self) -> Self {
        self + other
    }

    fn times(self, other: Self) -> Self {
        self * other
    }

    fn conjugated(self, conjugation: Conjugation) -> Self {
        match conjugation {
            Conjugation::Plain => self,
            Conjugation::Conjugated => self.conj(),
        }
    }

    fn magnitude(self) -> f64 {
        self.re.abs() + self.im.abs()
    }
}

impl Exact for i128 {
    const ZERO: Self = 0;

    fn from_factor(factor: Factor) -> Self {
        i64::from_factor(factor).map_or(0, i128::from)
    }

    fn plus(self, other: Self) -> Self {
        self.wrapping_add(other)
    }

    fn times(self, other: Self) -> Self {
        self.wrapping_mul(other)
    }

    fn conjugated(self, _: Conjugation) -> Self {
        self
    }

    fn magnitude(self) -> f64 {
        0.0
    }
}

/// What the oracle says about one element.
#[derive(Clone, Copy)]
pub(super) struct Expected<E> {
    pub(super) value: E,
    /// The sum of the terms' magnitudes, to which errors are relative.
    pub(super) magnitude: f64,
    /// How many terms were summed.
    pub(super) terms: usize,
}

/// A dtype of the suite.
pub(super) trait Sample: Scalar {
    type Exact: Exact;

    /// An element of a pseudo-random sequence: of magnitude at most 1 for floats, any bits for integers.
    fn sample(bits: u64) -> Self;

    /// What must not get into a result: NaN where there is one.
    fn poison() -> Self;

    /// The value, for the oracle.
    fn exact(self) -> Self::Exact;

    /// The allowed distance from the oracle; `None` if the element is inside of it.
    fn deviates(self, expected: Expected<Self::Exact>) -> Option<f64>;

    /// Factors `(alpha, beta)` that the dtype holds exactly, beside 0 and 1.
    fn factors() -> (Factor, Factor);

    /// Whether both are the same number or both are NaN.
    fn same(self, other: Self) -> bool {
        #[allow(clippy::eq_op, reason = "only NaN differs from itself")]
        let both_nan = self != self && other != other;
        self == other || both_nan
    }
}

/// A number in -1..1 from the upper bits.
fn unit(bits: u64) -> f64 {
    (bits >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
}

/// The distance allowed where sums have the precision `sum` and elements `element`.
fn bound(expected: Expected<Complex64>, sum: f64, element: f64, least: f64) -> f64 {
    let terms = (expected.terms + 8) as f64;
    8.0 * terms * sum * expected.magnitude + element * expected.value.magnitude() + least
}

/// The bound that is exceeded, if it is; NaN exceeds every one.
fn exceeded(actual: Complex64, expected: Complex64, bound: f64) -> Option<f64> {
    let inside = (actual - expected).magnitude() <= bound;
    (!inside).then_some(bound)
}

macro_rules! sample {
    ($($kind:ident [$($variant:ident: $ty:ty = $name:literal),*])*) => {
        $($(sample!(@$kind $ty);)*)*
    };
    (@float $ty:ty) => {
        impl Sample for $ty {
            type Exact = Complex64;
            fn sample(bits: u64) -> Self { unit(bits) as $ty }
            fn poison() -> Self { <$ty>::NAN }
            fn exact(self) -> Complex64 { Complex64::new(f64::from(self), 0.0) }
            fn deviates(self, expected: Expected<Complex64>) -> Option<f64> {
                let epsilon = f64::from(<$ty>::EPSILON);
                let bound = bound(expected, epsilon, epsilon, 0.0);
                exceeded(self.exact(), expected.value, bound)
            }
            fn factors() -> (Factor, Factor) { (Factor::Real(-0.75), Factor::Real(1.5)) }
        }
    };
    (@half $ty:ty) => {
        impl Sample for $ty {
            type Exact = Complex64;
            fn sample(bits: u64) -> Self { <$ty>::from_f64(unit(bits)) }
            fn poison() -> Self { <$ty>::NAN }
            fn exact(self) -> Complex64 { Complex64::new(f64::from(self), 0.0) }
            fn deviates(self, expected: Expected<Complex64>) -> Option<f64> {
                let element = f64::from(<$ty>::EPSILON);
                let least = f64::from(<$ty>::MIN_POSITIVE_SUBNORMAL);
                let bound = bound(expected, f64::from(f32::EPSILON), element, least);
                exceeded(self.exact(), expected.value, bound)
            }
            fn factors() -> (Factor, Factor) { (Factor::Real(-0.75), Factor::Real(1.5)) }
        }
    };
    (@complex $ty:ty) => {
        impl Sample for $ty {
            type Exact = Complex64;
            fn sample(bits: u64) -> Self {
                <$ty>::new(unit(bits) as _, unit(bits.rotate_left(32)) as _)
            }
            fn poison() -> Self { <$ty>::new(<$ty as Scalar>::Real::NAN, <$ty as Scalar>::Real::NAN) }
            fn exact(self) -> Complex64 {
                Complex64::new(f64::from(self.re), f64::from(self.im))
            }
            fn deviates(self, expected: Expected<Complex64>) -> Option<f64> {
                let epsilon = f64::from(<$ty as Scalar>::Real::EPSILON);
                let bound = bound(expected, epsilon, epsilon, 0.0);
                exceeded(self.exact(), expected.value, bound)
            }
            fn factors() -> (Factor, Factor) {
                (Complex64::new(0.5, -1.25).into(), Complex64::new(-0.75, 2.0).into())
            }
        }
    };
    (@signed $ty:ty) => { sample!(@integer $ty, Factor::Integer(-3), Factor::Integer(-5)); };
    (@unsigned $ty:ty) => { sample!(@integer $ty, Factor::Integer(3), Factor::Integer(5)); };
    (@integer $ty:ty, $alpha:expr, $beta:expr) => {
        impl Sample for $ty {
            type Exact = i128;
            fn sample(bits: u64) -> Self { bits as $ty }
            fn poison() -> Self { <$ty>::MAX / 3 }
            fn exact(self) -> i128 { i128::from(self) }
            fn deviates(self, expected: Expected<i128>) -> Option<f64> {
                (self != expected.value as $ty).then_some(0.0)
            }
            fn factors() -> (Factor, Factor) { ($alpha, $beta) }
        }
    };
    (@boolean $ty:ty) => {};
}

tenferro_tensor::dtypes!(sample,);

/// The `number`th value of the pseudo-random sequence `salt` (the finaliser of SplitMix64).
pub(super) fn random(salt: u64, number: usize) -> u64 {
    let mut z = (salt << 40).wrapping_add(number as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
