//! Conversion between any two dtypes.
//!
//! Every dtype hands its value to the target in one of five forms, so that a new dtype adds a row and not a column of
//! conversions. Floats to integers saturate and NaN gives 0; integers wrap; complex to real drops the imaginary part;
//! to bool asks whether the value is nonzero. Floats round once, from f64 at the widest.

use tenferro_tensor::{Complex64, Scalar, dtypes};

/// The value of an element in the widest dtype of its kind, in which every dtype hands it over.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Form {
    /// A float of 32 or 16 bits.
    F32(f32),
    /// A float of 64 bits.
    F64(f64),
    /// A complex number.
    C64(Complex64),
    /// A signed integer.
    I64(i64),
    /// An unsigned integer or a bool.
    U64(u64),
}

/// An element that converts to and from every dtype.
pub trait Cast: Scalar {
    /// The value, exactly.
    #[must_use]
    fn form(self) -> Form;

    /// The value of some dtype in this one.
    #[must_use]
    #[inline]
    fn from_form(form: Form) -> Self {
        match form {
            Form::F32(value) => Self::from_f32(value),
            Form::F64(value) => Self::from_f64(value),
            Form::C64(value) => Self::from_c64(value),
            Form::I64(value) => Self::from_i64(value),
            Form::U64(value) => Self::from_u64(value),
        }
    }

    /// The value in another dtype.
    #[must_use]
    #[inline]
    fn cast<U: Cast>(self) -> U {
        U::from_form(self.form())
    }

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
        float [$($F:ident: $float:ident = $_f:literal),*]
        half [$($H:ident: $half:ty = $_h:literal),*]
        complex [$($C:ident: $complex:ty = $_c:literal),*]
        signed [$($S:ident: $signed:ty = $_s:literal),*]
        unsigned [$($U:ident: $unsigned:ty = $_u:literal),*]
        boolean [$($B:ident: $boolean:ty = $_b:literal),*]
    ) => {
        $(impl Cast for $float {
            #[inline]
            fn form(self) -> Form {
                cast!(@from_float $float, self)
            }

            cast!(@as value);
        })*

        $(impl Cast for $half {
            #[inline]
            fn form(self) -> Form {
                Form::F32(self.to_f32())
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
            fn form(self) -> Form {
                Form::C64(super::complex::widen(self))
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
            fn form(self) -> Form {
                Form::I64(self.into())
            }

            cast!(@as value);
        })*

        $(impl Cast for $unsigned {
            #[inline]
            fn form(self) -> Form {
                Form::U64(self.into())
            }

            cast!(@as value);
        })*

        $(impl Cast for $boolean {
            #[inline]
            fn form(self) -> Form {
                Form::U64(self.into())
            }

            cast!(@build
                from_f32 |value| value != 0.0,
                from_f64 |value| value != 0.0,
                from_c64 |value| value.re != 0.0 || value.im != 0.0,
                from_i64 |value| value != 0,
                from_u64 |value| value != 0);
        })*
    };
    (@from_float f32, $value:expr) => { Form::F32($value) };
    (@from_float f64, $value:expr) => { Form::F64($value) };
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
