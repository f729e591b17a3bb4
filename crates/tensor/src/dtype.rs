//! The dtype table: the one list of element types, and dispatch over it.
//!
//! Every place that needs "a case for each dtype" expands [`dtypes!`](crate::dtypes) or
//! [`dispatch!`](crate::dispatch); no other macro names the element types.

use std::fmt;

use crate::{
    Factor,
    scalar::{Scalar, sealed},
};

/// Hands the dtype table to a callback macro.
///
/// A row is `Variant: type = "name"`; rows are grouped by kind, so that a callback can pick the kinds it is for.
#[macro_export]
macro_rules! dtypes {
    ($($callback:ident)::+, $($args:tt)*) => {
        $($callback)::+! {
            $($args)*
            float [F64: f64 = "f64", F32: f32 = "f32"]
            half [F16: $crate::f16 = "f16", BF16: $crate::bf16 = "bf16"]
            complex [C32: $crate::Complex32 = "c32", C64: $crate::Complex64 = "c64"]
            signed [I8: i8 = "i8", I16: i16 = "i16", I32: i32 = "i32", I64: i64 = "i64"]
            unsigned [U8: u8 = "u8", U16: u16 = "u16", U32: u32 = "u32", U64: u64 = "u64"]
            boolean [Bool: bool = "bool"]
        }
    };
}

/// Runs an expression with a type alias bound to the Rust type of a run-time dtype.
///
/// `dispatch!(dtype, any T => body)` covers every dtype. The other classes name what happens outside of them:
/// `dispatch!(dtype, number T => body, else other)`. Classes: `any`, `number` (all but bool), `real` (numbers that are
/// not complex), `ordered` (real numbers and bool), `inexact` (floats and complex), `float` (real floats), `complex`,
/// `integer`.
///
/// ```
/// use tenferro_tensor::{DType, Scalar, dispatch};
///
/// let width = dispatch!(DType::C32, any T => size_of::<T>());
/// assert_eq!(width, 8);
/// let integer = dispatch!(DType::F64, integer T => T::DTYPE == DType::F64, else false);
/// assert!(!integer);
/// ```
#[macro_export]
macro_rules! dispatch {
    ($dtype:expr, any $T:ident => $body:expr) => {
        $crate::dtypes!($crate::dispatch, @any { $dtype, $T, $body })
    };
    ($dtype:expr, $class:ident $T:ident => $body:expr, else $other:expr) => {
        $crate::dtypes!($crate::dispatch, @$class { $dtype, $T, $body, $other })
    };
    (@any $call:tt float [$($f:tt)*] half [$($h:tt)*] complex [$($c:tt)*] signed [$($s:tt)*] unsigned [$($u:tt)*] boolean [$($b:tt)*]) => {
        $crate::dispatch!(@arms $call [$($f)*, $($h)*, $($c)*, $($s)*, $($u)*, $($b)*])
    };
    (@number $call:tt float [$($f:tt)*] half [$($h:tt)*] complex [$($c:tt)*] signed [$($s:tt)*] unsigned [$($u:tt)*] boolean $b:tt) => {
        $crate::dispatch!(@arms $call [$($f)*, $($h)*, $($c)*, $($s)*, $($u)*])
    };
    (@real $call:tt float [$($f:tt)*] half [$($h:tt)*] complex $c:tt signed [$($s:tt)*] unsigned [$($u:tt)*] boolean $b:tt) => {
        $crate::dispatch!(@arms $call [$($f)*, $($h)*, $($s)*, $($u)*])
    };
    (@ordered $call:tt float [$($f:tt)*] half [$($h:tt)*] complex $c:tt signed [$($s:tt)*] unsigned [$($u:tt)*] boolean [$($b:tt)*]) => {
        $crate::dispatch!(@arms $call [$($f)*, $($h)*, $($s)*, $($u)*, $($b)*])
    };
    (@inexact $call:tt float [$($f:tt)*] half [$($h:tt)*] complex [$($c:tt)*] signed $s:tt unsigned $u:tt boolean $b:tt) => {
        $crate::dispatch!(@arms $call [$($f)*, $($h)*, $($c)*])
    };
    (@float $call:tt float [$($f:tt)*] half [$($h:tt)*] complex $c:tt signed $s:tt unsigned $u:tt boolean $b:tt) => {
        $crate::dispatch!(@arms $call [$($f)*, $($h)*])
    };
    (@complex $call:tt float $f:tt half $h:tt complex [$($c:tt)*] signed $s:tt unsigned $u:tt boolean $b:tt) => {
        $crate::dispatch!(@arms $call [$($c)*])
    };
    (@integer $call:tt float $f:tt half $h:tt complex $c:tt signed [$($s:tt)*] unsigned [$($u:tt)*] boolean $b:tt) => {
        $crate::dispatch!(@arms $call [$($s)*, $($u)*])
    };
    (@arms { $dtype:expr, $T:ident, $body:expr } [$($variant:ident: $ty:ty = $name:literal),*]) => {
        match $dtype { $($crate::DType::$variant => { type $T = $ty; $body })* }
    };
    (@arms { $dtype:expr, $T:ident, $body:expr, $other:expr } [$($variant:ident: $ty:ty = $name:literal),*]) => {
        match $dtype { $($crate::DType::$variant => { type $T = $ty; $body })* _ => $other }
    };
}

/// What sort of numbers a dtype holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DTypeClass {
    /// IEEE real numbers: f64, f32, f16, bf16.
    Float,
    /// Complex numbers of two floats: c32, c64.
    Complex,
    /// Signed integers in two's complement.
    Signed,
    /// Unsigned integers.
    Unsigned,
    /// Truth values.
    Boolean,
}

macro_rules! define_dtype {
    ($($kind:ident [$($variant:ident: $ty:ty = $name:literal),*])*) => {
        /// The type of a tensor's elements.
        ///
        /// Complex types are named by the width of a component: `C32` is two `f32`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum DType {
            $($(#[doc = concat!("`", $name, "`")] $variant,)*)*
        }

        impl DType {
            /// Every dtype, in the order of the table.
            pub const ALL: &'static [DType] = &[$($(DType::$variant,)*)*];

            /// The name by which texts call this dtype, such as `f64`.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $($(DType::$variant => $name,)*)* }
            }

            /// The size of one element in bytes.
            #[must_use]
            #[inline]
            pub const fn size(self) -> usize {
                match self { $($(DType::$variant => size_of::<$ty>(),)*)* }
            }

            /// What sort of numbers this dtype holds.
            #[must_use]
            #[inline]
            pub const fn class(self) -> DTypeClass {
                match self { $($(DType::$variant => define_dtype!(@class $kind),)*)* }
            }
        }

        $($(
            impl sealed::Sealed for $ty {}
            impl Scalar for $ty {
                type Real = define_dtype!(@real $kind $ty);
                type Complex = define_dtype!(@complex $kind $ty);
                const DTYPE: DType = DType::$variant;
                const ONE: Self = define_dtype!(@one $kind $ty);

                fn from_factor(factor: Factor) -> Option<Self> {
                    define_dtype!(@factor $kind $ty, factor)
                }
            }
        )*)*
    };
    (@real complex $ty:ty) => { <$ty as num_complex::ComplexFloat>::Real };
    (@real $kind:ident $ty:ty) => { $ty };
    (@complex float $ty:ty) => { num_complex::Complex<$ty> };
    (@complex $kind:ident $ty:ty) => { $ty };
    (@one float $ty:ty) => { 1.0 };
    (@one half $ty:ty) => { <$ty>::ONE };
    (@one complex $ty:ty) => { <$ty>::new(1.0, 0.0) };
    (@one boolean $ty:ty) => { true };
    (@one $kind:ident $ty:ty) => { 1 };
    (@factor float $ty:ty, $factor:ident) => { $factor.as_real().map(|value| value as $ty) };
    (@factor half $ty:ty, $factor:ident) => { $factor.as_real().map(<$ty>::from_f64) };
    (@factor complex $ty:ty, $factor:ident) => {{
        let value = $factor.as_complex();
        Some(<$ty>::new(value.re as _, value.im as _))
    }};
    (@factor boolean $ty:ty, $factor:ident) => {
        match $factor.as_integer()? { 0 => Some(false), 1 => Some(true), _ => None }
    };
    (@factor $kind:ident $ty:ty, $factor:ident) => { <$ty>::try_from($factor.as_integer()?).ok() };
    (@class float) => { DTypeClass::Float };
    (@class half) => { DTypeClass::Float };
    (@class complex) => { DTypeClass::Complex };
    (@class signed) => { DTypeClass::Signed };
    (@class unsigned) => { DTypeClass::Unsigned };
    (@class boolean) => { DTypeClass::Boolean };
}

crate::dtypes!(define_dtype,);

impl DType {
    /// The dtype of a complex dtype's components, or of `|x|`; other dtypes are their own.
    #[must_use]
    pub const fn real(self) -> DType {
        match self {
            DType::C32 => DType::F32,
            DType::C64 => DType::F64,
            other => other,
        }
    }

    /// The dtype of complex numbers with components of this dtype; dtypes that are no components are their own.
    #[must_use]
    pub const fn complex(self) -> DType {
        match self {
            DType::F32 => DType::C32,
            DType::F64 => DType::C64,
            other => other,
        }
    }

    /// Whether elements are complex numbers.
    #[must_use]
    pub const fn is_complex(self) -> bool {
        matches!(self.class(), DTypeClass::Complex)
    }

    /// Whether elements are real or complex floats.
    #[must_use]
    pub const fn is_inexact(self) -> bool {
        matches!(self.class(), DTypeClass::Float | DTypeClass::Complex)
    }

    /// Whether elements are integers.
    #[must_use]
    pub const fn is_integer(self) -> bool {
        matches!(self.class(), DTypeClass::Signed | DTypeClass::Unsigned)
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
