//! The rows of the reduction family: how elements are gathered into one.

use std::convert::identity;

use tenferro_tensor::Scalar;

use super::{Bits, Number, Real};

/// A way to gather elements of `T` into one.
///
/// `combine` is associative and commutative, up to rounding, and `neutral` is neutral in it; so a reduction may be cut
/// into blocks.
pub trait Reducer<T: Scalar>: Copy + Send + Sync + 'static {
    /// Whether this is [`Disjunction`], by which truth values are gathered.
    const IS_DISJUNCTION: bool = false;

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

/// The largest integer once the bits of a mask are inverted: what [`Max`] and [`Min`] are for signed and unsigned integers
/// of one width.
#[derive(Clone, Copy, Debug)]
pub struct Extreme<T>(T);

impl<T: Bits + Real> Extreme<T> {
    /// The largest of integers that are signed as `T` is, or that are not.
    pub fn largest(is_signed: bool) -> Self {
        // With the other sign, unsigned integers are in the order of signed ones.
        Self(if is_signed { T::default() } else { T::LOWEST })
    }

    /// The smallest of them.
    pub fn smallest(is_signed: bool) -> Self {
        Self(Self::largest(is_signed).0.not())
    }
}

impl<T: Bits + Real> Reducer<T> for Extreme<T> {
    type Acc = T;
    type Out = T;

    #[inline]
    fn neutral(self) -> T {
        T::LOWEST
    }

    #[inline]
    fn enter(self, x: T) -> T {
        x.xor(self.0)
    }

    #[inline]
    fn combine(self, lhs: T, rhs: T) -> T {
        lhs.larger(rhs)
    }

    #[inline]
    fn leave(self, acc: T) -> T {
        acc.xor(self.0)
    }
}

/// What is true of any once the bits of a mask are inverted: what [`Any`] and [`All`] are.
#[derive(Clone, Copy, Debug)]
pub struct Disjunction<T>(T);

impl<T: Bits> Disjunction<T> {
    /// As [`Any`].
    pub fn any() -> Self {
        Self(T::default())
    }

    /// As [`All`]: not any that is not.
    pub fn all() -> Self {
        Self(T::default().not())
    }
}

impl<T: Bits> Reducer<T> for Disjunction<T> {
    const IS_DISJUNCTION: bool = true;

    type Acc = T;
    type Out = T;

    #[inline]
    fn neutral(self) -> T {
        T::default()
    }

    #[inline]
    fn enter(self, x: T) -> T {
        x.xor(self.0)
    }

    #[inline]
    fn combine(self, lhs: T, rhs: T) -> T {
        lhs.or(rhs)
    }

    #[inline]
    fn leave(self, acc: T) -> T {
        acc.xor(self.0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// What a reducer makes of some elements, in two parts.
    fn reduced<T: Scalar, R: Reducer<T, Out = T>>(reducer: R, elements: &[T]) -> T {
        let part = |elements: &[T]| {
            let enter = |acc, &x| reducer.combine(acc, reducer.enter(x));
            elements.iter().fold(reducer.neutral(), enter)
        };
        let (near, far) = elements.split_at(elements.len() / 2);
        reducer.leave(reducer.combine(part(near), part(far)))
    }

    proptest! {
        #[test]
        fn one_reducer_by_bits_is_both_extremes_of_both_kinds_of_integers(x: Vec<i8>) {
            prop_assert_eq!(reduced(Extreme::largest(true), &x), reduced(Max, &x));
            prop_assert_eq!(reduced(Extreme::smallest(true), &x), reduced(Min, &x));
            let unsigned: Vec<u8> = x.iter().map(|x| x.cast_unsigned()).collect();
            let largest = reduced(Extreme::largest(false), &x);
            prop_assert_eq!(largest.cast_unsigned(), reduced(Max, &unsigned));
            let smallest = reduced(Extreme::smallest(false), &x);
            prop_assert_eq!(smallest.cast_unsigned(), reduced(Min, &unsigned));
        }

        #[test]
        fn one_reducer_is_what_is_true_of_all_and_of_any(x: Vec<u16>) {
            prop_assert_eq!(reduced(Disjunction::all(), &x), reduced(All, &x));
            prop_assert_eq!(reduced(Disjunction::any(), &x), reduced(Any, &x));
        }
    }
}
