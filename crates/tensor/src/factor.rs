//! A number that takes on the dtype of the tensor it meets, such as `alpha` and `beta` of a product.

use num_complex::Complex64;

/// A scalar of no particular dtype.
///
/// It is exact or refused: [`Scalar::from_factor`](crate::Scalar::from_factor) gives `None` where a dtype cannot hold
/// the value, such as 0.5 in an integer dtype.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Factor {
    /// A whole number.
    Integer(i64),
    /// A real number.
    Real(f64),
    /// A complex number.
    Complex(Complex64),
}

impl Factor {
    /// Zero: what it scales is never read.
    pub const ZERO: Factor = Factor::Integer(0);
    /// One.
    pub const ONE: Factor = Factor::Integer(1);

    /// Whether the value is zero.
    #[must_use]
    #[inline]
    pub fn is_zero(self) -> bool {
        match self {
            Factor::Integer(value) => value == 0,
            Factor::Real(value) => value == 0.0,
            Factor::Complex(value) => value == Complex64::ZERO,
        }
    }

    /// Whether the value is one.
    #[must_use]
    #[inline]
    pub fn is_one(self) -> bool {
        match self {
            Factor::Integer(value) => value == 1,
            Factor::Real(value) => value == 1.0,
            Factor::Complex(value) => value == Complex64::ONE,
        }
    }

    /// The value as a complex number, rounded where an integer is beyond 2^53.
    #[must_use]
    pub fn as_complex(self) -> Complex64 {
        match self {
            Factor::Integer(value) => Complex64::new(value as f64, 0.0),
            Factor::Real(value) => Complex64::new(value, 0.0),
            Factor::Complex(value) => value,
        }
    }

    /// The value as a real number; `None` if it has an imaginary part.
    pub(crate) fn as_real(self) -> Option<f64> {
        let value = self.as_complex();
        (value.im == 0.0).then_some(value.re)
    }

    /// The value as a whole number; `None` if it is none.
    pub(crate) fn as_integer(self) -> Option<i128> {
        match self {
            Factor::Integer(value) => Some(value.into()),
            other => {
                let real = other.as_real()?;
                // Beyond 2^64 no integer dtype can hold it; below, the cast is exact.
                (real.fract() == 0.0 && real.abs() <= 2.0_f64.powi(64)).then_some(real as i128)
            }
        }
    }
}

macro_rules! factor_from {
    ($($variant:ident($($ty:ty),*) as $as:ty),*) => {
        $($(impl From<$ty> for Factor {
            fn from(value: $ty) -> Self {
                Factor::$variant(<$as>::from(value))
            }
        })*)*
    };
}

factor_from!(Integer(i32, i64) as i64, Real(f32, f64) as f64);

impl From<Complex64> for Factor {
    fn from(value: Complex64) -> Self {
        Factor::Complex(value)
    }
}
