//! What numbers have that are not complex: an order, with an answer for NaN and signed zeros; whole numbers beside
//! them; remainders.

use tenferro_tensor::dtypes;

use super::Number;

/// A number that is not complex.
pub trait Real: Number + PartialOrd {
    /// No number is smaller: the start of a maximum.
    const LOWEST: Self;
    /// No number is larger: the start of a minimum.
    const HIGHEST: Self;

    /// The larger of two: NaN if either is NaN, and +0 of two zeros.
    #[must_use]
    fn larger(self, rhs: Self) -> Self;

    /// The smaller of two: NaN if either is NaN, and -0 of two zeros.
    #[must_use]
    fn smaller(self, rhs: Self) -> Self;

    /// The largest whole number that is not larger; NaN stays NaN, and zeros keep their sign.
    #[must_use]
    fn floor(self) -> Self;

    /// The smallest whole number that is not smaller.
    #[must_use]
    fn ceil(self) -> Self;

    /// The nearest whole number, the even one of two.
    #[must_use]
    fn round_even(self) -> Self;

    /// The nearest whole number, of two the one further from 0.
    #[must_use]
    fn round_away(self) -> Self;

    /// What the truncated quotient leaves, with the sign of this number: `MIN` by -1 leaves 0, and 0 stands for a
    /// remainder that fails, which is where [`Number::div_fails`] says so.
    #[must_use]
    fn rem(self, rhs: Self) -> Self;

    /// `min(max(self, lo), hi)`.
    #[must_use]
    #[inline]
    fn clamp(self, lo: Self, hi: Self) -> Self {
        self.larger(lo).smaller(hi)
    }
}

macro_rules! real {
    (
        float [$($F:ident: $float:ty = $_f:literal),*]
        half [$($H:ident: $half:ty = $_h:literal),*]
        complex $_c:tt
        signed [$($S:ident: $signed:ty = $_s:literal),*]
        unsigned [$($U:ident: $unsigned:ty = $_u:literal),*]
        boolean $_b:tt
    ) => {
        // Selections only, no branches, so that a loop over these vectorises.
        $(impl Real for $float {
            const LOWEST: Self = <$float>::NEG_INFINITY;
            const HIGHEST: Self = <$float>::INFINITY;

            #[inline]
            fn larger(self, rhs: Self) -> Self {
                // The two differ in zeros of different signs only, where `and` leaves +0, and in NaN.
                let one = if self > rhs { self } else { rhs };
                let other = if rhs > self { rhs } else { self };
                let larger = <$float>::from_bits(one.to_bits() & other.to_bits());
                if self.is_nan() | rhs.is_nan() { <$float>::NAN } else { larger }
            }

            #[inline]
            fn smaller(self, rhs: Self) -> Self {
                let one = if self < rhs { self } else { rhs };
                let other = if rhs < self { rhs } else { self };
                let smaller = <$float>::from_bits(one.to_bits() | other.to_bits());
                if self.is_nan() | rhs.is_nan() { <$float>::NAN } else { smaller }
            }

            #[inline]
            fn floor(self) -> Self {
                <$float>::floor(self)
            }

            #[inline]
            fn ceil(self) -> Self {
                <$float>::ceil(self)
            }

            #[inline]
            fn round_even(self) -> Self {
                self.round_ties_even()
            }

            #[inline]
            fn round_away(self) -> Self {
                self.round()
            }

            #[inline]
            fn rem(self, rhs: Self) -> Self {
                self % rhs
            }
        })*

        $(impl Real for $half {
            const LOWEST: Self = <$half>::NEG_INFINITY;
            const HIGHEST: Self = <$half>::INFINITY;

            #[inline]
            fn larger(self, rhs: Self) -> Self {
                Self::from_f32(self.to_f32().larger(rhs.to_f32()))
            }

            #[inline]
            fn smaller(self, rhs: Self) -> Self {
                Self::from_f32(self.to_f32().smaller(rhs.to_f32()))
            }

            #[inline]
            fn floor(self) -> Self {
                Self::from_f32(self.to_f32().floor())
            }

            #[inline]
            fn ceil(self) -> Self {
                Self::from_f32(self.to_f32().ceil())
            }

            #[inline]
            fn round_even(self) -> Self {
                Self::from_f32(self.to_f32().round_ties_even())
            }

            #[inline]
            fn round_away(self) -> Self {
                Self::from_f32(self.to_f32().round())
            }

            #[inline]
            fn rem(self, rhs: Self) -> Self {
                Self::from_f32(self.to_f32() % rhs.to_f32())
            }
        })*

        real!(@integer $($signed,)* $($unsigned),*);
    };
    (@integer $($integer:ty),*) => {
        $(impl Real for $integer {
            const LOWEST: Self = <$integer>::MIN;
            const HIGHEST: Self = <$integer>::MAX;

            #[inline]
            fn larger(self, rhs: Self) -> Self {
                self.max(rhs)
            }

            #[inline]
            fn smaller(self, rhs: Self) -> Self {
                self.min(rhs)
            }

            #[inline]
            fn floor(self) -> Self {
                self
            }

            #[inline]
            fn ceil(self) -> Self {
                self
            }

            #[inline]
            fn round_even(self) -> Self {
                self
            }

            #[inline]
            fn round_away(self) -> Self {
                self
            }

            #[inline]
            fn rem(self, rhs: Self) -> Self {
                if rhs == 0 { 0 } else { self.wrapping_rem(rhs) }
            }
        })*
    };
}

dtypes!(real,);
