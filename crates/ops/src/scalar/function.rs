//! The rows of the elementwise and analytic families as function objects.
//!
//! A cheap function is a type without data, so that a loop generic over it is compiled with the function inlined. All
//! others share one loop a dtype, as [`Mapped`] and [`Zipped`] hold a pointer to them: a call through it is little beside
//! a logarithm, and a loop for each would take the compiler minutes. Which dtypes a function is for is its trait bound;
//! which function a row is, says `visit.rs`.

use std::marker::PhantomData;

use tenferro_tensor::{Numerical, Scalar};

use super::{Bits, Cast, Inexact, Number, Real};

/// A function of one element.
pub trait Unary<T: Scalar>: Copy + Send + Sync + 'static {
    /// The type of the result.
    type Out: Scalar;

    /// The value of the function.
    #[must_use]
    fn call(self, x: T) -> Self::Out;
}

/// A function of two elements of one type.
pub trait Binary<T: Scalar>: Copy + Send + Sync + 'static {
    /// The type of the result.
    type Out: Scalar;

    /// What an operand pair is that [`Binary::fails`]; `None` where none does, and a loop need not ask.
    const FAILURE: Option<Numerical> = None;

    /// The value of the function; some value, and no trap, where the function fails.
    #[must_use]
    fn call(self, lhs: T, rhs: T) -> Self::Out;

    /// Whether the function has no value here, so that the whole operation is a numerical failure.
    #[must_use]
    #[inline]
    fn fails(self, _lhs: T, _rhs: T) -> bool {
        false
    }
}

/// A function of three elements.
pub trait Ternary<A: Scalar, B: Scalar, C: Scalar>: Copy + Send + Sync + 'static {
    /// The type of the result.
    type Out: Scalar;

    /// The value of the function.
    #[must_use]
    fn call(self, a: A, b: B, c: C) -> Self::Out;
}

macro_rules! unary {
    ($($Name:ident: $Bound:ident, $x:ident => $value:expr, $Out:ty, $doc:literal;)*) => {
        $(
            #[doc = $doc]
            #[derive(Clone, Copy, Debug, Default)]
            pub struct $Name;

            impl<T: $Bound> Unary<T> for $Name {
                type Out = $Out;

                #[inline]
                fn call(self, $x: T) -> Self::Out {
                    $value
                }
            }
        )*
    };
}

unary! {
    Neg: Number, x => x.neg(), T, "The negative.";
    Abs: Number, x => x.abs(), T::Real, "The magnitude.";
    Conj: Number, x => x.conj(), T, "The complex conjugate.";
    Sign: Number, x => x.sign(), T, "The sign.";
    IsFinite: Number, x => x.finite(), bool, "Whether the number is neither infinite nor NaN.";
    IsNan: Number, x => x.nan(), bool, "Whether the number is NaN.";
    Floor: Real, x => x.floor(), T, "The largest whole number that is not larger.";
    Ceil: Real, x => x.ceil(), T, "The smallest whole number that is not smaller.";
    RoundEven: Real, x => x.round_even(), T, "The nearest whole number, the even one of two.";
    RoundAway: Real, x => x.round_away(), T, "The nearest whole number, of two the one further from 0.";
    Not: Bits, x => x.not(), T, "The negation of bits.";
    Sqrt: Inexact, x => x.sqrt(), T, "The square root.";
}

macro_rules! binary {
    ($($Name:ident: $Bound:path, ($lhs:ident, $rhs:ident) => $value:expr, $Out:ty, $doc:literal
        $(, fails $failure:expr, $fails:expr)?;)*) => {
        $(
            #[doc = $doc]
            #[derive(Clone, Copy, Debug, Default)]
            pub struct $Name;

            impl<T: Scalar + $Bound> Binary<T> for $Name {
                type Out = $Out;
                $(const FAILURE: Option<Numerical> = $failure;)?

                #[inline]
                fn call(self, $lhs: T, $rhs: T) -> Self::Out {
                    $value
                }

                $(
                    #[inline]
                    fn fails(self, $lhs: T, $rhs: T) -> bool {
                        $fails
                    }
                )?
            }
        )*
    };
}

binary! {
    Add: Number, (lhs, rhs) => lhs.add(rhs), T, "The sum.";
    Sub: Number, (lhs, rhs) => lhs.sub(rhs), T, "The difference.";
    Mul: Number, (lhs, rhs) => lhs.mul(rhs), T, "The product.";
    Div: Number, (lhs, rhs) => lhs.div(rhs), T, "The quotient.", fails T::DIV_FAILURE, lhs.div_fails(rhs);
    Rem: Real, (lhs, rhs) => lhs.rem(rhs), T, "The remainder.", fails T::DIV_FAILURE, lhs.div_fails(rhs);
    Pow: Number, (lhs, rhs) => lhs.pow(rhs), T, "The power.", fails T::POW_FAILURE, lhs.pow_fails(rhs);
    Maximum: Real, (lhs, rhs) => lhs.larger(rhs), T, "The larger of two.";
    Minimum: Real, (lhs, rhs) => lhs.smaller(rhs), T, "The smaller of two.";
    And: Bits, (lhs, rhs) => lhs.and(rhs), T, "The conjunction of bits.";
    Or: Bits, (lhs, rhs) => lhs.or(rhs), T, "The disjunction of bits.";
    Xor: Bits, (lhs, rhs) => lhs.xor(rhs), T, "The exclusive disjunction of bits.";
    Equal: PartialEq, (lhs, rhs) => lhs == rhs, bool, "Whether two elements are equal.";
    NotEqual: PartialEq, (lhs, rhs) => lhs != rhs, bool, "Whether two elements differ.";
    Less: PartialOrd, (lhs, rhs) => lhs < rhs, bool, "Whether the first is less.";
    LessEqual: PartialOrd, (lhs, rhs) => lhs <= rhs, bool, "Whether the first is less or equal.";
    Greater: PartialOrd, (lhs, rhs) => lhs > rhs, bool, "Whether the first is greater.";
    GreaterEqual: PartialOrd, (lhs, rhs) => lhs >= rhs, bool, "Whether the first is greater or equal.";
}

/// A function of one element that is known at run time only.
#[derive(Clone, Copy, Debug)]
pub struct Mapped<T, U>(fn(T) -> U);

impl<T, U> Mapped<T, U> {
    /// The function object of a function.
    #[must_use]
    pub const fn new(function: fn(T) -> U) -> Self {
        Self(function)
    }
}

impl<T: Scalar, U: Scalar> Unary<T> for Mapped<T, U> {
    type Out = U;

    #[inline]
    fn call(self, x: T) -> U {
        self.0(x)
    }
}

/// A function of two elements that is known at run time only.
#[derive(Clone, Copy, Debug)]
pub struct Zipped<T, U>(fn(T, T) -> U);

impl<T, U> Zipped<T, U> {
    /// The function object of a function.
    #[must_use]
    pub const fn new(function: fn(T, T) -> U) -> Self {
        Self(function)
    }
}

impl<T: Scalar, U: Scalar> Binary<T> for Zipped<T, U> {
    type Out = U;

    #[inline]
    fn call(self, lhs: T, rhs: T) -> U {
        self.0(lhs, rhs)
    }
}

/// The element as a `U`.
#[derive(Debug)]
pub struct Convert<U>(PhantomData<fn() -> U>);

impl<U> Convert<U> {
    /// The conversion to `U`.
    #[must_use]
    pub const fn new() -> Self {
        Self(PhantomData)
    }
}

impl<U> Default for Convert<U> {
    fn default() -> Self {
        Self::new()
    }
}

impl<U> Clone for Convert<U> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<U> Copy for Convert<U> {}

impl<T: Cast, U: Cast> Unary<T> for Convert<U> {
    type Out = U;

    #[inline]
    fn call(self, x: T) -> U {
        x.cast()
    }
}

/// The first operand between the second and the third.
#[derive(Clone, Copy, Debug, Default)]
pub struct Clamp;

impl<T: Real> Ternary<T, T, T> for Clamp {
    type Out = T;

    #[inline]
    fn call(self, x: T, lo: T, hi: T) -> T {
        Real::clamp(x, lo, hi)
    }
}

/// The second operand where the first is true, else the third.
#[derive(Clone, Copy, Debug, Default)]
pub struct Select;

impl<T: Scalar> Ternary<bool, T, T> for Select {
    type Out = T;

    #[inline]
    fn call(self, predicate: bool, on_true: T, on_false: T) -> T {
        if predicate { on_true } else { on_false }
    }
}
