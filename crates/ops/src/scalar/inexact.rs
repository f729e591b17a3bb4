//! Transcendental functions of floats and complex floats.

use tenferro_tensor::dtypes;

use super::{Number, complex};

/// A real or complex float.
pub trait Inexact: Number {
    /// The exponential.
    #[must_use]
    fn exp(self) -> Self;

    /// The natural logarithm; of a complex number the principal branch.
    #[must_use]
    fn log(self) -> Self;

    /// The square root; of a complex number the principal branch, so that `sqrt(-4 - 0i)` is `-2i`.
    #[must_use]
    fn sqrt(self) -> Self;

    /// The hyperbolic tangent.
    #[must_use]
    fn tanh(self) -> Self;
}

macro_rules! inexact {
    (
        float [$($F:ident: $float:ty = $_f:literal),*]
        half [$($H:ident: $half:ty = $_h:literal),*]
        complex [$($C:ident: $complex:ty = $_c:literal),*]
        $($rest:tt)*
    ) => {
        $(impl Inexact for $float {
            #[inline]
            fn exp(self) -> Self {
                <$float>::exp(self)
            }

            #[inline]
            fn log(self) -> Self {
                <$float>::ln(self)
            }

            #[inline]
            fn sqrt(self) -> Self {
                <$float>::sqrt(self)
            }

            #[inline]
            fn tanh(self) -> Self {
                <$float>::tanh(self)
            }
        })*

        $(inexact!(@through $half, |x| x.to_f32(), |y| <$half>::from_f32(y), f32::exp, f32::ln, f32::sqrt, f32::tanh);)*
        $(inexact!(@through $complex, |x| complex::widen(x), |y| complex::narrow(y), complex::exp, complex::log, complex::sqrt, complex::tanh);)*
    };
    (@through $ty:ty, |$x:ident| $widen:expr, |$y:ident| $narrow:expr, $exp:path, $log:path, $sqrt:path, $tanh:path) => {
        impl Inexact for $ty {
            #[inline]
            fn exp(self) -> Self {
                let $x = self;
                let $y = $exp($widen);
                $narrow
            }

            #[inline]
            fn log(self) -> Self {
                let $x = self;
                let $y = $log($widen);
                $narrow
            }

            #[inline]
            fn sqrt(self) -> Self {
                let $x = self;
                let $y = $sqrt($widen);
                $narrow
            }

            #[inline]
            fn tanh(self) -> Self {
                let $x = self;
                let $y = $tanh($widen);
                $narrow
            }
        }
    };
}

dtypes!(inexact,);
