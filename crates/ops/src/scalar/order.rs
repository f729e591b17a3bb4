//! The order in which elements are sorted, as unsigned integers.
//!
//! A key loses what the order does not see: the sign of a zero, and everything of a NaN but that it is one.

use std::hash::Hash;

use tenferro_tensor::{Scalar, dtypes};

/// An element that can be sorted.
pub trait Ordered: Scalar {
    /// Unsigned integers of the element's size.
    type Key: Key;

    /// The place of the element in the order: less for less, equal for elements that tie. NaN is the greatest, and
    /// false is less than true.
    #[must_use]
    fn key(self) -> Self::Key;

    /// An element with this key: of zeros the positive one. Any element for a key that no element has.
    #[must_use]
    fn from_key(key: Self::Key) -> Self;
}

/// Unsigned integers as keys.
pub trait Key: Copy + Ord + Hash + Default + Send + Sync + 'static {
    /// The number of bytes.
    const BYTES: usize;

    /// The key that stands where this one stands in the opposite order.
    #[must_use]
    fn flipped(self) -> Self;

    /// Byte `place`, counted from the lowest.
    #[must_use]
    fn byte(self, place: usize) -> u8;

    /// All bits, below zeros.
    #[must_use]
    fn bits(self) -> u64;
}

macro_rules! key {
    ($($key:ty),*) => {
        $(impl Key for $key {
            const BYTES: usize = size_of::<$key>();

            #[inline]
            fn flipped(self) -> Self {
                !self
            }

            #[inline]
            fn byte(self, place: usize) -> u8 {
                (self >> (8 * place)) as u8
            }

            #[inline]
            fn bits(self) -> u64 {
                u64::from(self)
            }
        })*
    };
}

key!(u8, u16, u32, u64);

macro_rules! ordered {
    (
        float [$($F:ident: $float:ty = $_f:literal),*]
        half [$($H:ident: $half:ty = $_h:literal),*]
        complex $_c:tt
        signed [$($S:ident: $signed:ty = $_s:literal),*]
        unsigned [$($U:ident: $unsigned:ty = $_u:literal),*]
        boolean [$($B:ident: $boolean:ty = $_b:literal),*]
    ) => {
        $(ordered!(@float $float, ordered!(@key $F));)*
        $(ordered!(@float $half, ordered!(@key $H));)*

        $(impl Ordered for $signed {
            type Key = ordered!(@key $S);

            #[inline]
            fn key(self) -> Self::Key {
                // The sign moves to the top of an unsigned number of the same width.
                self.cast_unsigned() ^ <$signed>::MIN.cast_unsigned()
            }

            #[inline]
            fn from_key(key: Self::Key) -> Self {
                (key ^ <$signed>::MIN.cast_unsigned()).cast_signed()
            }
        })*

        $(impl Ordered for $unsigned {
            type Key = Self;

            #[inline]
            fn key(self) -> Self {
                self
            }

            #[inline]
            fn from_key(key: Self) -> Self {
                key
            }
        })*

        $(impl Ordered for $boolean {
            type Key = u8;

            #[inline]
            fn key(self) -> u8 {
                u8::from(self)
            }

            #[inline]
            fn from_key(key: u8) -> Self {
                key != 0
            }
        })*
    };
    // The unsigned integer of a dtype's size.
    (@key F64) => { u64 };
    (@key F32) => { u32 };
    (@key F16) => { u16 };
    (@key BF16) => { u16 };
    (@key I8) => { u8 };
    (@key I16) => { u16 };
    (@key I32) => { u32 };
    (@key I64) => { u64 };
    (@float $float:ty, $Key:ty) => {
        impl Ordered for $float {
            type Key = $Key;

            #[inline]
            fn key(self) -> Self::Key {
                let sign = (-<$float>::from_bits(0)).to_bits();
                let bits = self.to_bits();
                // Negative numbers run backwards; their zero meets the positive one.
                let ordered = if bits > sign { !bits } else { bits | sign };
                if self.is_nan() { Self::Key::MAX } else { ordered }
            }

            #[inline]
            fn from_key(key: Self::Key) -> Self {
                let sign = (-<$float>::from_bits(0)).to_bits();
                if key == Self::Key::MAX {
                    return <$float>::NAN;
                }
                <$float>::from_bits(if key >= sign { key ^ sign } else { !key })
            }
        }
    };
}

dtypes!(ordered,);
