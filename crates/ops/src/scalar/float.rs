//! What only real floats have: special functions, and neighbours.
//!
//! Narrower floats than f64 are computed in f64 and rounded, which nearly always leaves the last place right.

use tenferro_tensor::dtypes;

use super::{Cast, Real, special};

/// Declares the trait from its functions of one number, and implements it for a real float.
macro_rules! functions {
    ($($name:ident: $f64:path, $doc:literal;)*) => {
        /// A real float.
        pub trait Float: Real {
            $(
                #[doc = $doc]
                #[must_use]
                fn $name(self) -> Self;
            )*

            /// The angle of the point with this height and that width, from -pi to pi.
            #[must_use]
            fn atan2(self, x: Self) -> Self;

            /// The next number on the way to another; the other where they are equal, NaN if either is NaN.
            #[must_use]
            fn next_after(self, toward: Self) -> Self;
        }

        macro_rules! implement {
            ($ty:ty) => {
                impl Float for $ty {
                    $(
                        #[inline]
                        fn $name(self) -> Self {
                            <$ty as Cast>::from_f64($f64(f64::from(self)))
                        }
                    )*

                    #[inline]
                    fn atan2(self, x: Self) -> Self {
                        <$ty as Cast>::from_f64(f64::atan2(f64::from(self), f64::from(x)))
                    }

                    #[inline]
                    fn next_after(self, toward: Self) -> Self {
                        if self.is_nan() {
                            self
                        } else if self == toward || toward.is_nan() {
                            toward
                        } else if self.to_bits() << 1 == 0 {
                            // From either zero to the least number with the sign of the goal.
                            let sign = toward.to_bits() & !(!0 >> 1);
                            Self::from_bits(sign | 1)
                        } else if (self < toward) == self.is_sign_positive() {
                            Self::from_bits(self.to_bits() + 1)
                        } else {
                            Self::from_bits(self.to_bits() - 1)
                        }
                    }
                }
            };
        }
    };
}

functions! {
    cbrt: libm::cbrt, "The real cube root.";
    erf: libm::erf, "The error function.";
    erfc: libm::erfc, "One less the error function, precise where that is small.";
    erf_inv: special::erf_inv, "The inverse of the error function; NaN beyond -1 and 1.";
    lgamma: special::lgamma, "The logarithm of the magnitude of the gamma function.";
    digamma: special::digamma, "The derivative of [`Float::lgamma`].";
}

macro_rules! float {
    (
        float [$($F:ident: $float:ty = $_f:literal),*]
        half [$($H:ident: $half:ty = $_h:literal),*]
        $($rest:tt)*
    ) => {
        $(implement!($float);)*
        $(implement!($half);)*
    };
}

dtypes!(float,);
