//! Transcendental functions of floats and complex floats.
//!
//! Four bodies make six dtypes: f16 and bf16 are computed in f32, C32 in C64, and rounded once.

use tenferro_tensor::dtypes;

use super::{Number, complex, special};

/// Declares the trait from its functions, and implements it for the kinds of dtype.
macro_rules! functions {
    ($($name:ident: $f64:path, $f32:path, $c64:path, $doc:literal;)*) => {
        /// A real or complex float.
        pub trait Inexact: Number {
            $(
                #[doc = $doc]
                #[must_use]
                fn $name(self) -> Self;
            )*
        }

        macro_rules! kind {
            ($ty:ty, f64) => {
                impl Inexact for $ty {
                    $(#[inline] fn $name(self) -> Self { $f64(self) })*
                }
            };
            ($ty:ty, f32) => {
                impl Inexact for $ty {
                    $(#[inline] fn $name(self) -> Self { $f32(self) })*
                }
            };
            ($ty:ty, half) => {
                impl Inexact for $ty {
                    $(#[inline] fn $name(self) -> Self { <$ty>::from_f32($f32(self.to_f32())) })*
                }
            };
            ($ty:ty, complex) => {
                impl Inexact for $ty {
                    $(#[inline] fn $name(self) -> Self { complex::narrow($c64(complex::widen(self))) })*
                }
            };
        }
    };
}

functions! {
    exp: f64::exp, f32::exp, complex::exp, "The exponential.";
    exp2: f64::exp2, f32::exp2, complex::exp2, "Two to the power of the number.";
    expm1: f64::exp_m1, f32::exp_m1, complex::expm1, "The exponential less 1, precise for small numbers.";
    log: f64::ln, f32::ln, complex::log, "The natural logarithm; of a complex number the principal branch.";
    log2: f64::log2, f32::log2, complex::log2, "The logarithm to base 2; of a complex number the principal branch.";
    log1p: f64::ln_1p, f32::ln_1p, complex::log1p, "The natural logarithm of 1 and the number, precise for small numbers.";
    sqrt: f64::sqrt, f32::sqrt, complex::sqrt, "The square root; of a complex number the principal branch, so that `sqrt(-4 - 0i)` is `-2i`.";
    rsqrt: special::rsqrt, special::rsqrt_f32, complex::rsqrt, "One divided by the square root; infinite at a zero.";
    sin: f64::sin, f32::sin, complex::sin, "The sine.";
    cos: f64::cos, f32::cos, complex::cos, "The cosine.";
    tan: f64::tan, f32::tan, complex::tan, "The tangent.";
    asin: f64::asin, f32::asin, complex::asin, "The inverse sine; of a complex number the principal branch.";
    acos: f64::acos, f32::acos, complex::acos, "The inverse cosine; of a complex number the principal branch.";
    atan: f64::atan, f32::atan, complex::atan, "The inverse tangent; of a complex number the principal branch.";
    sinh: f64::sinh, f32::sinh, complex::sinh, "The hyperbolic sine.";
    cosh: f64::cosh, f32::cosh, complex::cosh, "The hyperbolic cosine.";
    tanh: f64::tanh, f32::tanh, complex::tanh, "The hyperbolic tangent.";
    asinh: libm::asinh, libm::asinhf, complex::asinh, "The inverse hyperbolic sine; of a complex number the principal branch.";
    acosh: libm::acosh, libm::acoshf, complex::acosh, "The inverse hyperbolic cosine; of a complex number the principal branch.";
    atanh: libm::atanh, libm::atanhf, complex::atanh, "The inverse hyperbolic tangent; of a complex number the principal branch.";
    sigmoid: special::sigmoid, special::sigmoid_f32, complex::sigmoid, "`1 / (1 + exp(-x))`, without overflow.";
}

macro_rules! inexact {
    (
        float [$($F:ident: $float:ident = $_f:literal),*]
        half [$($H:ident: $half:ty = $_h:literal),*]
        complex [$($C:ident: $complex:ty = $_c:literal),*]
        $($rest:tt)*
    ) => {
        $(kind!($float, $float);)*
        $(kind!($half, half);)*
        $(kind!($complex, complex);)*
    };
}

dtypes!(inexact,);
