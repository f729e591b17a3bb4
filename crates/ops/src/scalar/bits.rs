//! Operations on the bits of integers and truth values.

use tenferro_tensor::{Scalar, dtypes};

use super::Number;

/// An integer or a truth value.
pub trait Bits: Scalar {
    /// Where both have a one.
    #[must_use]
    fn and(self, rhs: Self) -> Self;

    /// Where either has a one.
    #[must_use]
    fn or(self, rhs: Self) -> Self;

    /// Where one of them has a one.
    #[must_use]
    fn xor(self, rhs: Self) -> Self;

    /// Ones for zeros and zeros for ones.
    #[must_use]
    fn not(self) -> Self;
}

/// An integer.
pub trait Integer: Bits + Number {
    /// Moved up by `places`; 0 for the width or more, and for a negative number.
    #[must_use]
    fn shift_left(self, places: Self) -> Self;

    /// Moved down by `places`, the sign bit following; the sign for the width or more, and for a negative number.
    #[must_use]
    fn shift_right_arithmetic(self, places: Self) -> Self;

    /// Moved down by `places`, zeros following; 0 for the width or more, and for a negative number.
    #[must_use]
    fn shift_right_logical(self, places: Self) -> Self;

    /// How many bits are one.
    #[must_use]
    fn popcount(self) -> Self;

    /// How many bits above the highest one are zero.
    #[must_use]
    fn leading_zeros(self) -> Self;
}

macro_rules! bits {
    (
        float $_f:tt half $_h:tt complex $_c:tt
        signed [$($S:ident: $signed:ty = $_s:literal),*]
        unsigned [$($U:ident: $unsigned:ty = $_u:literal),*]
        boolean [$($B:ident: $boolean:ty = $_b:literal),*]
    ) => {
        bits!(@bits $($signed,)* $($unsigned,)* $($boolean),*);
        bits!(@integer $($signed,)* $($unsigned),*);
    };
    (@bits $($ty:ty),*) => {
        $(impl Bits for $ty {
            #[inline]
            fn and(self, rhs: Self) -> Self {
                self & rhs
            }

            #[inline]
            fn or(self, rhs: Self) -> Self {
                self | rhs
            }

            #[inline]
            fn xor(self, rhs: Self) -> Self {
                self ^ rhs
            }

            #[inline]
            fn not(self) -> Self {
                !self
            }
        })*
    };
    (@integer $($ty:ty),*) => {
        $(impl Integer for $ty {
            #[inline]
            fn shift_left(self, places: Self) -> Self {
                shift(places, <$ty>::BITS).map_or(0, |places| self << places)
            }

            #[inline]
            fn shift_right_arithmetic(self, places: Self) -> Self {
                // All but one place leaves the sign, and one more leaves nothing of an unsigned number.
                match shift(places, <$ty>::BITS) {
                    Some(places) => self >> places,
                    None => self >> (<$ty>::BITS - 1) >> 1,
                }
            }

            #[inline]
            fn shift_right_logical(self, places: Self) -> Self {
                // Zeros instead of the copies of the sign that a signed shift brings in.
                match shift(places, <$ty>::BITS) {
                    Some(0) => self,
                    Some(places) => (self >> places) & !(!0 << (<$ty>::BITS - places)),
                    None => 0,
                }
            }

            #[inline]
            fn popcount(self) -> Self {
                self.count_ones() as Self
            }

            #[inline]
            fn leading_zeros(self) -> Self {
                <$ty>::leading_zeros(self) as Self
            }
        })*
    };
}

/// The number of places if it is less than the width and not negative.
#[inline]
fn shift(places: impl TryInto<u32>, width: u32) -> Option<u32> {
    places.try_into().ok().filter(|&places| places < width)
}

dtypes!(bits,);
