//! Conversion between any two dtypes.
//!
//! Every dtype hands its value to the target in one of five forms, so that a new dtype adds a row and not a column of
//! conversions. Floats to integers saturate and NaN gives 0; integers wrap; complex to real drops the imaginary part;
//! to bool asks whether the value is nonzero. Floats round once, from f64 at the widest.

use tenferro_tensor::{Complex64, Scalar, dtypes};

/// An element that converts to and from every dtype.
pub trait Cast: Scalar {
    /// The value in another dtype.
    #[must_use]
    fn cast<U: Cast>(self) -> U;

    /// From a float of 32 bits, or of 16 bits, widened exactly.
    #[must_use]
    fn from_f32(value: f32) -> Self;

    /// From a float of 64 bits.
    #[must_use]
    fn from_f64(value: f64) -> Self;

    /// From a complex number, or one of C32, widened exactly.
    #[must_use]
    fn from_c64(value: Complex64) -> Self;

    /// From a signed integer, sign-extended.
    #[must_use]
    fn from_i64(value: i64) -> Self;

    /// From an unsigned integer or a bool, zero-extended.
    #[must_use]
    fn from_u64(value: u64) -> Self;
}

/// The value in 32 bits, with the last bit set where it is not exact, so that rounding to 16 bits rounds as if once.
///
/// After S. Boldo and G. Melquiond, "Emulation of FMA and correctly rounded sums: proved algorithms using rounding to
/// odd" (2008). Hardware that converts to f16 starts from f32, so `f16::from_f64` may round twice.
#[inline]
fn to_odd(value: f64) -> f32 {
    let near = value as f32;
    let back = f64::from(near);
    if back == value || value.is_nan() {
        return near;
    }
    let toward_zero = near.to_bits() - u32::from(back.abs() > value.abs());
    f32::from_bits(toward_zero | 1)
}

macro_rules! cast {
    (
        float [$($F:ident: $float:ty = $_f:literal),*]
        half [$($H:ident: $half:ty = $_h:literal),*]
        complex [$($C:ident: $complex:ty = $_c:literal),*]
        signed [$($S:ident: $signed:ty = $_s:literal),*]
        unsigned [$($U:ident: $unsigned:ty = $_u:literal),*]
        boolean [$($B:ident: $boolean:ty = $_b:literal),*]
    ) => {
        $(impl Cast for $float {
            #[inline]
            fn cast<U: Cast>(self) -> U {
                cast!(@from_float $float, self)
            }

            cast!(@as value);
        })*

        $(impl Cast for $half {
            #[inline]
            fn cast<U: Cast>(self) -> U {
                U::from_f32(self.to_f32())
            }

            cast!(@build
                from_f32 |value| Self::from_f32(value),
                from_f64 |value| Self::from_f32(to_odd(value)),
                from_c64 |value| Self::from_f32(to_odd(value.re)),
                from_i64 |value| Self::from_f32(to_odd(value as f64)),
                from_u64 |value| Self::from_f32(to_odd(value as f64)));
        })*

        $(impl Cast for $complex {
            #[inline]
            fn cast<U: Cast>(self) -> U {
                U::from_c64(super::complex::widen(self))
            }

            cast!(@build
                from_f32 |value| Self::new(value as _, 0.0),
                from_f64 |value| Self::new(value as _, 0.0),
                from_c64 |value| super::complex::narrow(value),
                from_i64 |value| Self::new(value as _, 0.0),
                from_u64 |value| Self::new(value as _, 0.0));
        })*

        $(impl Cast for $signed {
            #[inline]
            fn cast<U: Cast>(self) -> U {
                U::from_i64(i64::from(self))
            }

            cast!(@as value);
        })*

        $(impl Cast for $unsigned {
            #[inline]
            fn cast<U: Cast>(self) -> U {
                U::from_u64(u64::from(self))
            }

            cast!(@as value);
        })*

        $(impl Cast for $boolean {
            #[inline]
            fn cast<U: Cast>(self) -> U {
                U::from_u64(u64::from(self))
            }

            cast!(@build
                from_f32 |value| value != 0.0,
                from_f64 |value| value != 0.0,
                from_c64 |value| value.re != 0.0 || value.im != 0.0,
                from_i64 |value| value != 0,
                from_u64 |value| value != 0);
        })*
    };
    (@from_float f32, $value:expr) => { U::from_f32($value) };
    (@from_float $ty:ty, $value:expr) => { U::from_f64(f64::from($value)) };
    // `as` saturates from floats, wraps from integers, and rounds to floats.
    (@as $value:ident) => {
        cast!(@build
            from_f32 |value| value as Self,
            from_f64 |value| value as Self,
            from_c64 |value| value.re as Self,
            from_i64 |value| value as Self,
            from_u64 |value| value as Self);
    };
    (@build
        from_f32 |$f32:ident| $from_f32:expr,
        from_f64 |$f64:ident| $from_f64:expr,
        from_c64 |$c64:ident| $from_c64:expr,
        from_i64 |$i64:ident| $from_i64:expr,
        from_u64 |$u64:ident| $from_u64:expr) => {
        #[inline]
        fn from_f32($f32: f32) -> Self {
            $from_f32
        }

        #[inline]
        fn from_f64($f64: f64) -> Self {
            $from_f64
        }

        #[inline]
        fn from_c64($c64: Complex64) -> Self {
            $from_c64
        }

        #[inline]
        fn from_i64($i64: i64) -> Self {
            $from_i64
        }

        #[inline]
        fn from_u64($u64: u64) -> Self {
            $from_u64
        }
    };
}

dtypes!(cast,);
