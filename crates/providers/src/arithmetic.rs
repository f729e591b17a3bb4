//! Sums of products of every number dtype: integers wrap, 16-bit floats accumulate in f32.
//!
//! Arithmetic knows no memory. The one thing to keep: a factor of zero is never multiplied with what must not be read,
//! and a factor of one changes no bit.

use tenferro_tensor::{Conjugation, Factor, Scalar};

/// What sums of products are kept in.
pub(super) trait Sum: Copy + Send + Sync + 'static {
    /// The empty sum.
    const ZERO: Self;

    /// `self + lhs * rhs`, each operation rounded by itself; integers wrap.
    fn plus_product(self, lhs: Self, rhs: Self) -> Self;

    /// `self + other`; integers wrap.
    fn plus(self, other: Self) -> Self;

    /// `self * factor`; integers wrap. A complex number times a real one scales its components.
    fn times(self, factor: Self) -> Self;
}

/// A dtype with products.
pub(super) trait Number: Scalar {
    /// What its sums of products are kept in.
    type Sum: Sum + Scalar;

    /// The element as a term of a sum.
    fn widen(self) -> Self::Sum;

    /// The sum as an element, rounded once.
    fn narrow(sum: Self::Sum) -> Self;

    /// The element, conjugated if asked for. Real numbers are their own conjugates.
    fn conjugated(self, conjugation: Conjugation) -> Self;
}

/// How the product and the old result make the new one, decided once for a whole request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Scale<S> {
    /// What it scales is not read.
    Zero,
    /// What it scales is taken as it is.
    One,
    /// What it scales is multiplied.
    By(S),
}

impl<S: Sum + Scalar> Scale<S> {
    /// The factor as a scale of sums. The request was checked to hold it.
    #[inline]
    pub(super) fn new(factor: Factor) -> Self {
        match factor {
            _ if factor.is_zero() => Scale::Zero,
            _ if factor.is_one() => Scale::One,
            _ => Self::by(factor),
        }
    }

    /// The scale of a factor that is neither.
    #[cold]
    fn by(factor: Factor) -> Self {
        Scale::By(S::from_factor(factor).expect("invariant: the dtype holds the factor"))
    }

    /// The value scaled; `value` is not called for a scale of zero.
    #[inline(always)]
    pub(super) fn of(self, value: impl FnOnce() -> S) -> S {
        match self {
            Scale::Zero => S::ZERO,
            Scale::One => value(),
            Scale::By(factor) => value().times(factor),
        }
    }
}

/// `scaled product + scaled old result`, each read only if its scale is not zero.
#[inline(always)]
pub(super) fn combine<S: Sum + Scalar>(
    (alpha, beta): (Scale<S>, Scale<S>),
    product: impl FnOnce() -> S,
    old: impl FnOnce() -> S,
) -> S {
    match (alpha, beta) {
        (alpha, Scale::Zero) => alpha.of(product),
        (Scale::Zero, beta) => beta.of(old),
        (alpha, beta) => beta.of(old).plus(alpha.of(product)),
    }
}

macro_rules! arithmetic {
    ($($kind:ident [$($variant:ident: $ty:ty = $name:literal),*])*) => {
        $($(arithmetic!(@$kind $ty);)*)*
    };
    (@float $ty:ty) => {
        impl Sum for $ty {
            const ZERO: Self = 0.0;
            #[inline(always)]
            fn plus_product(self, lhs: Self, rhs: Self) -> Self { self + lhs * rhs }
            #[inline(always)]
            fn plus(self, other: Self) -> Self { self + other }
            #[inline(always)]
            fn times(self, factor: Self) -> Self { self * factor }
        }
        arithmetic!(@own_sum $ty);
    };
    (@signed $ty:ty) => {
        impl Sum for $ty {
            const ZERO: Self = 0;
            #[inline(always)]
            fn plus_product(self, lhs: Self, rhs: Self) -> Self {
                self.wrapping_add(lhs.wrapping_mul(rhs))
            }
            #[inline(always)]
            fn plus(self, other: Self) -> Self { self.wrapping_add(other) }
            #[inline(always)]
            fn times(self, factor: Self) -> Self { self.wrapping_mul(factor) }
        }
        arithmetic!(@own_sum $ty);
    };
    (@unsigned $ty:ty) => { arithmetic!(@signed $ty); };
    (@own_sum $ty:ty) => {
        impl Number for $ty {
            type Sum = $ty;
            #[inline(always)]
            fn widen(self) -> $ty { self }
            #[inline(always)]
            fn narrow(sum: $ty) -> Self { sum }
            #[inline(always)]
            fn conjugated(self, _: Conjugation) -> Self { self }
        }
    };
    (@half $ty:ty) => {
        impl Number for $ty {
            type Sum = f32;
            #[inline(always)]
            fn widen(self) -> f32 { self.to_f32() }
            #[inline(always)]
            fn narrow(sum: f32) -> Self { <$ty>::from_f32(sum) }
            #[inline(always)]
            fn conjugated(self, _: Conjugation) -> Self { self }
        }
    };
    (@complex $ty:ty) => {
        impl Sum for $ty {
            const ZERO: Self = <$ty>::new(0.0, 0.0);
            #[inline(always)]
            fn plus_product(self, lhs: Self, rhs: Self) -> Self { self + lhs * rhs }
            #[inline(always)]
            fn plus(self, other: Self) -> Self { self + other }
            #[inline(always)]
            fn times(self, factor: Self) -> Self {
                // Times a real number: infinities must not meet the zero imaginary part.
                if factor.im == 0.0 { self * factor.re } else { self * factor }
            }
        }
        impl Number for $ty {
            type Sum = $ty;
            #[inline(always)]
            fn widen(self) -> $ty { self }
            #[inline(always)]
            fn narrow(sum: $ty) -> Self { sum }
            #[inline(always)]
            fn conjugated(self, conjugation: Conjugation) -> Self {
                match conjugation {
                    Conjugation::Plain => self,
                    Conjugation::Conjugated => self.conj(),
                }
            }
        }
    };
    (@boolean $ty:ty) => {};
}

tenferro_tensor::dtypes!(arithmetic,);
