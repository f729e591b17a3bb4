//! The rows of the reduction family: how elements are gathered into one.

use tenferro_tensor::Scalar;

use super::{Number, Real};

/// A way to gather elements of `T` into one.
///
/// `combine` is associative and commutative, up to rounding, and `neutral` is neutral in it; so a reduction may be cut
/// into blocks.
pub trait Reducer<T: Scalar>: Copy + Send + Sync + 'static {
    /// What is carried from element to element.
    type Acc: Copy + Send + Sync + 'static;

    /// What nothing reduces to, or what changes nothing.
    #[must_use]
    fn neutral(self) -> Self::Acc;

    /// One element as something carried.
    #[must_use]
    fn enter(self, x: T) -> Self::Acc;

    /// Two parts as one.
    #[must_use]
    fn combine(self, lhs: Self::Acc, rhs: Self::Acc) -> Self::Acc;

    /// What was carried as an element.
    #[must_use]
    fn leave(self, acc: Self::Acc) -> T;
}

macro_rules! reducer {
    ($($Name:ident: $Bound:ident, $Acc:ty, $neutral:expr, $combine:path, $enter:path, $leave:path, $doc:literal;)*) => {
        $(
            #[doc = $doc]
            #[derive(Clone, Copy, Debug, Default)]
            pub struct $Name;

            impl<T: $Bound> Reducer<T> for $Name {
                type Acc = $Acc;

                #[inline]
                fn neutral(self) -> Self::Acc {
                    $neutral
                }

                #[inline]
                fn enter(self, x: T) -> Self::Acc {
                    $enter(x)
                }

                #[inline]
                fn combine(self, lhs: Self::Acc, rhs: Self::Acc) -> Self::Acc {
                    $combine(lhs, rhs)
                }

                #[inline]
                fn leave(self, acc: Self::Acc) -> T {
                    $leave(acc)
                }
            }
        )*
    };
}

reducer! {
    Sum: Number, T::Wide, T::Wide::default(), Number::add, Number::widen, T::narrow, "The sum; f16 and bf16 are summed in f32.";
    Prod: Number, T::Wide, <T::Wide as Scalar>::ONE, Number::mul, Number::widen, T::narrow, "The product; f16 and bf16 are multiplied in f32.";
    Max: Real, T, T::LOWEST, Real::larger, std::convert::identity, std::convert::identity, "The largest; NaN wins.";
    Min: Real, T, T::HIGHEST, Real::smaller, std::convert::identity, std::convert::identity, "The smallest; NaN wins.";
}
