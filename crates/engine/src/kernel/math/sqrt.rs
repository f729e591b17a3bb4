//! The square root and its reciprocal, by the instructions that round correctly.

use super::Function;

/// The square root.
pub(super) struct Sqrt;

/// One over the square root.
pub(super) struct Rsqrt;

macro_rules! sqrt {
    ($($F:ty),*) => {
        $(impl Function<$F> for Sqrt {
            #[inline(always)]
            fn call(x: $F) -> $F {
                x.sqrt()
            }
        }

        impl Function<$F> for Rsqrt {
            #[inline(always)]
            fn call(x: $F) -> $F {
                1.0 / x.sqrt()
            }
        })*
    };
}

sqrt!(f32, f64);
