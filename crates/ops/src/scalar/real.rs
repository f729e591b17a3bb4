//! The order of numbers that have one: which of two is larger, with an answer for NaN and signed zeros.

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
                let chosen = if self > rhs { self } else { rhs };
                // Equal numbers have equal bits but for the sign of zero, which `and` clears.
                let both = <$float>::from_bits(self.to_bits() & rhs.to_bits());
                let chosen = if self == rhs { both } else { chosen };
                // A NaN on the right was chosen above: no comparison with it holds.
                if self.is_nan() { self } else { chosen }
            }

            #[inline]
            fn smaller(self, rhs: Self) -> Self {
                let chosen = if self < rhs { self } else { rhs };
                let both = <$float>::from_bits(self.to_bits() | rhs.to_bits());
                let chosen = if self == rhs { both } else { chosen };
                if self.is_nan() { self } else { chosen }
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
        })*
    };
}

dtypes!(real,);
