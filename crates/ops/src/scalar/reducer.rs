//! The rows of the reduction family: how elements are gathered into one.

use std::convert::identity;

use tenferro_tensor::Scalar;

use super::{Bits, Number, Real};

/// A way to gather elements of `T` into one.
///
/// `combine` is associative and commutative, up to rounding, and `neutral` is neutral in it; so a reduction may be cut
/// into blocks.
pub trait Reducer<T: Scalar>: Copy + Send + Sync + 'static {
    /// What is carried from element to element.
    type Acc: Copy + Send + Sync + 'static;

    /// The type of the result.
    type Out: Scalar;

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
    fn leave(self, acc: Self::Acc) -> Self::Out;
}

macro_rules! reducer {
    ($($Name:ident: $Bound:path, $Acc:ty, $Out:ty, $neutral:expr, $combine:path, $enter:path, $leave:expr, $doc:literal;)*) => {
        $(
            #[doc = $doc]
            #[derive(Clone, Copy, Debug, Default)]
            pub struct $Name;

            impl<T: Scalar + $Bound> Reducer<T> for $Name {
                type Acc = $Acc;
                type Out = $Out;

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
                fn leave(self, acc: Self::Acc) -> Self::Out {
                    $leave(acc)
                }
            }
        )*
    };
}

reducer! {
    Sum: Number, T::Wide, T, T::Wide::default(), Number::add, Number::widen, T::narrow, "The sum; f16 and bf16 are summed in f32.";
    Prod: Number, T::Wide, T, <T::Wide as Scalar>::ONE, Number::mul, Number::widen, T::narrow, "The product; f16 and bf16 are multiplied in f32.";
    Max: Real, T, T, T::LOWEST, Real::larger, identity, identity, "The largest; NaN wins.";
    Min: Real, T, T, T::HIGHEST, Real::smaller, identity, identity, "The smallest; NaN wins.";
    SumOfSquares: Number, T::Square, T::Real, T::Square::default(), Number::add, Number::square, T::narrow_square, "The sum of squared magnitudes; f16 and bf16 are summed in f32.";
    All: Bits, T, T, T::default().not(), Bits::and, identity, identity, "What is true of all: the conjunction of truth values or bits.";
    Any: Bits, T, T, T::default(), Bits::or, identity, identity, "What is true of any: the disjunction of truth values or bits.";
    Parity: Bits, T, T, T::default(), Bits::xor, identity, identity, "What is true of an odd number: the exclusive disjunction of truth values or bits.";
}
