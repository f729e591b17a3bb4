//! Arithmetic of every dtype but bool.
//!
//! Integers wrap; floats follow IEEE; f16 and bf16 are computed in f32 and rounded. No function here traps or panics:
//! where integers have no result, a predicate says so and the function returns some value.

use tenferro_tensor::{DType, Numerical, Scalar, dtypes};

use super::complex;

/// A number: integers, floats and complex floats.
pub trait Number: Scalar {
    /// The type in which long sums and products are computed: f32 for f16 and bf16, else the type itself.
    type Wide: Number<Wide = Self::Wide>;
    /// The type in which squared magnitudes are summed: the wider type of the components.
    type Square: Number<Wide = Self::Square>;

    /// What a division is that [`Number::div_fails`]; `None` where none does.
    const DIV_FAILURE: Option<Numerical>;
    /// What a power is that [`Number::pow_fails`]; `None` where none does.
    const POW_FAILURE: Option<Numerical>;

    /// The number in the wider type, exactly.
    #[must_use]
    fn widen(self) -> Self::Wide;

    /// The number rounded from the wider type.
    #[must_use]
    fn narrow(wide: Self::Wide) -> Self;

    /// The sum.
    #[must_use]
    fn add(self, rhs: Self) -> Self;

    /// The difference.
    #[must_use]
    fn sub(self, rhs: Self) -> Self;

    /// The product.
    #[must_use]
    fn mul(self, rhs: Self) -> Self;

    /// The quotient, truncated for integers: `MIN / -1` is `MIN`, and 0 stands for a quotient that fails.
    #[must_use]
    fn div(self, rhs: Self) -> Self;

    /// Whether the division has no result: an integer by zero.
    #[must_use]
    fn div_fails(self, rhs: Self) -> bool;

    /// The negative.
    #[must_use]
    fn neg(self) -> Self;

    /// The magnitude; of a complex number without overflow on the way.
    #[must_use]
    fn abs(self) -> Self::Real;

    /// The squared magnitude.
    #[must_use]
    fn square(self) -> Self::Square;

    /// A sum of squared magnitudes, rounded to the type of magnitudes.
    #[must_use]
    fn narrow_square(square: Self::Square) -> Self::Real;

    /// -1, 0 or 1; `x / |x|` of a complex number. Zeros keep their sign, NaN stays NaN.
    #[must_use]
    fn sign(self) -> Self;

    /// The complex conjugate; the number itself if it is real.
    #[must_use]
    fn conj(self) -> Self;

    /// The real part.
    #[must_use]
    fn re(self) -> Self::Real;

    /// The imaginary part; 0 of a real number.
    #[must_use]
    fn im(self) -> Self::Real;

    /// Whether the number is neither infinite nor NaN; both parts of a complex one.
    #[must_use]
    fn finite(self) -> bool;

    /// Whether the number is NaN; a part of a complex one.
    #[must_use]
    fn nan(self) -> bool;

    /// The power; `x^0` is 1, and 0 stands for a power that fails.
    #[must_use]
    fn pow(self, exponent: Self) -> Self;

    /// Whether the power has no result: an integer with a negative exponent.
    #[must_use]
    fn pow_fails(self, exponent: Self) -> bool;
}

/// What floats and complex numbers share.
macro_rules! inexact_arithmetic {
    () => {
        const DIV_FAILURE: Option<Numerical> = None;
        const POW_FAILURE: Option<Numerical> = None;

        #[inline]
        fn add(self, rhs: Self) -> Self {
            self + rhs
        }

        #[inline]
        fn sub(self, rhs: Self) -> Self {
            self - rhs
        }

        #[inline]
        fn mul(self, rhs: Self) -> Self {
            self * rhs
        }

        #[inline]
        fn div_fails(self, _rhs: Self) -> bool {
            false
        }

        #[inline]
        fn neg(self) -> Self {
            -self
        }

        #[inline]
        fn pow_fails(self, _exponent: Self) -> bool {
            false
        }
    };
}

macro_rules! number {
    (
        float [$($F:ident: $float:ty = $_f:literal),*]
        half [$($H:ident: $half:ty = $_h:literal),*]
        complex [$($C:ident: $complex:ty = $_c:literal),*]
        signed [$($S:ident: $signed:ty = $_s:literal),*]
        unsigned [$($U:ident: $unsigned:ty = $_u:literal),*]
        boolean $_b:tt
    ) => {
        $(impl Number for $float {
            type Wide = Self;
            inexact_arithmetic!();
            number!(@own_width);
            number!(@real);
            number!(@float);

            #[inline]
            fn div(self, rhs: Self) -> Self {
                self / rhs
            }

            #[inline]
            fn abs(self) -> Self {
                <$float>::abs(self)
            }

            #[inline]
            fn sign(self) -> Self {
                // NaN and zeros of either sign are their own sign.
                if self > 0.0 {
                    1.0
                } else if self < 0.0 {
                    -1.0
                } else {
                    self
                }
            }

            #[inline]
            fn pow(self, exponent: Self) -> Self {
                self.powf(exponent)
            }
        })*

        $(impl Number for $half {
            type Wide = f32;
            inexact_arithmetic!();
            number!(@real);
            number!(@float);

            #[inline]
            fn widen(self) -> f32 {
                self.to_f32()
            }

            #[inline]
            fn narrow(wide: f32) -> Self {
                Self::from_f32(wide)
            }

            #[inline]
            fn div(self, rhs: Self) -> Self {
                self / rhs
            }

            #[inline]
            fn abs(self) -> Self {
                Self::from_bits(self.to_bits() & 0x7fff)
            }

            #[inline]
            fn sign(self) -> Self {
                Self::from_f32(Number::sign(self.to_f32()))
            }

            #[inline]
            fn pow(self, exponent: Self) -> Self {
                Self::from_f32(self.to_f32().powf(exponent.to_f32()))
            }
        })*

        $(impl Number for $complex {
            type Wide = Self;
            type Square = Self::Real;
            inexact_arithmetic!();
            number!(@own_width);

            #[inline]
            fn div(self, rhs: Self) -> Self {
                complex::narrow(complex::div(complex::widen(self), complex::widen(rhs)))
            }

            #[inline]
            fn abs(self) -> Self::Real {
                self.re.hypot(self.im)
            }

            #[inline]
            fn square(self) -> Self::Real {
                self.norm_sqr()
            }

            #[inline]
            fn narrow_square(square: Self::Real) -> Self::Real {
                square
            }

            #[inline]
            fn sign(self) -> Self {
                complex::narrow(complex::sign(complex::widen(self)))
            }

            #[inline]
            fn conj(self) -> Self {
                Self::new(self.re, -self.im)
            }

            #[inline]
            fn re(self) -> Self::Real {
                self.re
            }

            #[inline]
            fn im(self) -> Self::Real {
                self.im
            }

            #[inline]
            fn finite(self) -> bool {
                self.is_finite()
            }

            #[inline]
            fn nan(self) -> bool {
                self.is_nan()
            }

            #[inline]
            fn pow(self, exponent: Self) -> Self {
                complex::narrow(complex::pow(complex::widen(self), complex::widen(exponent)))
            }
        })*

        $(impl Number for $signed {
            type Wide = Self;
            const POW_FAILURE: Option<Numerical> =
                Some(Numerical::NegativeExponent { dtype: DType::$S });
            number!(@integer $S);
            number!(@own_width);
            number!(@real);

            #[inline]
            fn abs(self) -> Self {
                self.wrapping_abs()
            }

            #[inline]
            fn sign(self) -> Self {
                self.signum()
            }

            #[inline]
            fn pow_fails(self, exponent: Self) -> bool {
                exponent < 0
            }
        })*

        $(impl Number for $unsigned {
            type Wide = Self;
            const POW_FAILURE: Option<Numerical> = None;
            number!(@integer $U);
            number!(@own_width);
            number!(@real);

            #[inline]
            fn abs(self) -> Self {
                self
            }

            #[inline]
            fn sign(self) -> Self {
                Self::from(self != 0)
            }

            #[inline]
            fn pow_fails(self, _exponent: Self) -> bool {
                false
            }
        })*
    };
    (@own_width) => {
        #[inline]
        fn widen(self) -> Self {
            self
        }

        #[inline]
        fn narrow(wide: Self) -> Self {
            wide
        }
    };
    (@real) => {
        type Square = Self::Wide;

        #[inline]
        fn conj(self) -> Self {
            self
        }

        #[inline]
        fn re(self) -> Self {
            self
        }

        #[inline]
        fn im(self) -> Self {
            Self::default()
        }

        #[inline]
        fn square(self) -> Self::Wide {
            Number::mul(self.widen(), self.widen())
        }

        #[inline]
        fn narrow_square(square: Self::Wide) -> Self {
            Self::narrow(square)
        }
    };
    (@float) => {
        #[inline]
        fn finite(self) -> bool {
            self.is_finite()
        }

        #[inline]
        fn nan(self) -> bool {
            self.is_nan()
        }
    };
    (@integer $dtype:ident) => {
        #[inline]
        fn finite(self) -> bool {
            true
        }

        #[inline]
        fn nan(self) -> bool {
            false
        }

        const DIV_FAILURE: Option<Numerical> =
            Some(Numerical::DivisionByZero { dtype: DType::$dtype });

        #[inline]
        fn add(self, rhs: Self) -> Self {
            self.wrapping_add(rhs)
        }

        #[inline]
        fn sub(self, rhs: Self) -> Self {
            self.wrapping_sub(rhs)
        }

        #[inline]
        fn mul(self, rhs: Self) -> Self {
            self.wrapping_mul(rhs)
        }

        #[inline]
        fn div(self, rhs: Self) -> Self {
            if rhs == 0 { 0 } else { self.wrapping_div(rhs) }
        }

        #[inline]
        fn div_fails(self, rhs: Self) -> bool {
            rhs == 0
        }

        #[inline]
        fn neg(self) -> Self {
            self.wrapping_neg()
        }

        /// By squaring, so that an exponent beyond `u32` ends too.
        #[inline]
        fn pow(self, exponent: Self) -> Self {
            if self.pow_fails(exponent) {
                return 0;
            }
            let (mut power, mut square, mut left) = (1 as Self, self, exponent);
            while left != 0 {
                if left & 1 != 0 {
                    power = power.wrapping_mul(square);
                }
                square = square.wrapping_mul(square);
                left >>= 1;
            }
            power
        }
    };
}

dtypes!(number,);
