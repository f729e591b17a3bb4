//! The factors of a product where no library applies them: of dot products, and of products without terms.
//!
//! A factor of zero is never multiplied with what must not be read, and a factor of one changes no bit.

use tenferro_tensor::{Complex32, Complex64, Factor, Scalar};

/// A dtype of BLAS.
pub(super) trait Field: Scalar {
    /// `self + other`.
    fn plus(self, other: Self) -> Self;

    /// `self * factor`; a complex number times a real one scales its components.
    fn times(self, factor: Self) -> Self;
}

macro_rules! fields {
    (real: $($real:ty),*; complex: $($complex:ty),*) => {
        $(impl Field for $real {
            fn plus(self, other: Self) -> Self {
                self + other
            }

            fn times(self, factor: Self) -> Self {
                self * factor
            }
        })*
        $(impl Field for $complex {
            fn plus(self, other: Self) -> Self {
                self + other
            }

            fn times(self, factor: Self) -> Self {
                // Infinities must not meet the zero imaginary part.
                if factor.im == 0.0 { self * factor.re } else { self * factor }
            }
        })*
    };
}

fields!(real: f32, f64; complex: Complex32, Complex64);

/// How a factor scales, decided once for a whole request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Scale<T> {
    /// What it scales is not read.
    Zero,
    /// What it scales is taken as it is.
    One,
    /// What it scales is multiplied.
    By(T),
}

impl<T: Field> Scale<T> {
    /// The factor, which the request was checked to hold.
    pub(super) fn new(factor: Factor) -> Self {
        match factor {
            _ if factor.is_zero() => Scale::Zero,
            _ if factor.is_one() => Scale::One,
            _ => Scale::By(T::from_factor(factor).expect("invariant: the dtype holds the factor")),
        }
    }

    /// The value scaled; `value` is not called for a scale of zero.
    pub(super) fn of(self, value: impl FnOnce() -> T) -> T {
        match self {
            Scale::Zero => T::default(),
            Scale::One => value(),
            Scale::By(factor) => value().times(factor),
        }
    }
}

/// `scaled product + scaled old result`, each read only if its scale is not zero.
pub(super) fn combine<T: Field>(
    (alpha, beta): (Scale<T>, Scale<T>),
    product: impl FnOnce() -> T,
    old: impl FnOnce() -> T,
) -> T {
    match (alpha, beta) {
        (alpha, Scale::Zero) => alpha.of(product),
        (Scale::Zero, beta) => beta.of(old),
        (alpha, beta) => beta.of(old).plus(alpha.of(product)),
    }
}
