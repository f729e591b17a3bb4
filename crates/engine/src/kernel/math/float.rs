//! The two floats that functions are computed in, and the steps that functions share.
//!
//! Everything is a straight line of selections and fused multiply-adds, so that a loop over it vectorises; nothing here
//! is correct without fused multiply-add, which the loops' instruction sets have.

use std::ops::{Add, Div, Mul, Neg, Sub};

use super::coefficients as poly;

/// `f32` or `f64`.
pub(in crate::kernel) trait Float:
    Copy
    + PartialOrd
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + 'static
{
    /// 1.5 times two to the width of the mantissa, plus twice the bias of the exponent less 2: adding it rounds to an
    /// integer `n`, and leaves `n` plus that even number in the low bits.
    const ROUNDER: Self;
    /// The logarithm of two in two parts, the first correctly rounded.
    const LN_2: [Self; 2];
    /// The same, the first part with so many trailing zeros that its product with an exponent is exact.
    const LN_2_EXACT: [Self; 2];
    /// One over the logarithm of two in two parts.
    const LOG2_E: [Self; 2];
    /// Beyond these `e^x` is infinite or 0.
    const EXP_RANGE: [Self; 2];
    /// Beyond these `2^x` is infinite or 0.
    const EXP2_RANGE: [Self; 2];
    /// `tanh` is 1 from here.
    const TANH_FROM: Self;
    /// `erf` is 1 from here.
    const ERF_FROM: Self;

    /// The nearest float.
    fn of(value: f64) -> Self;
    /// `self * factor + addend`, rounded once.
    fn fma(self, factor: Self, addend: Self) -> Self;
    fn abs(self) -> Self;
    fn copysign(self, sign: Self) -> Self;
    /// `self * 2^n` for an `n` within the range of results, given as `n + ROUNDER`: two exact steps, or one rounding
    /// where the result is subnormal.
    fn scaled(self, rounded: Self) -> Self;
    /// `2^n` for an `n` that is the exponent of a normal number, given as `n + ROUNDER`.
    fn power_of_two(rounded: Self) -> Self;
    /// The exponent `k` and the rest `m` less 1 of `2^k m`, where `m` is between the roots of 1/2 and 2. For positive
    /// finite numbers.
    fn split(self) -> (Self, Self);

    /// `(e^r - 1 - r) / r^2`.
    fn exp_tail(self) -> Self;
    /// `(2^r - 1) / r`.
    fn exp2_tail(self) -> Self;
    /// `2 atanh(s) / s - 2` for `self = s^2`.
    fn log_tail(self) -> Self;
    /// `erf(x) / x - 1` for `self = x^2` up to 1.
    fn erf_tail(self) -> Self;
    /// `ln erfc(x)` for `x` from 1.
    fn ln_erfc(self) -> Self;

    /// The number, or the bound it is beyond. NaN stays.
    #[inline(always)]
    fn within(self, [low, high]: [Self; 2]) -> Self {
        let below = if self > high { high } else { self };
        if below < low { low } else { below }
    }
}

/// The polynomial with these coefficients, constant term first: groups of four after G. Estrin ("Organization of
/// computer systems", 1960), which do not wait for each other, and the groups after Horner.
macro_rules! polynomial {
    ($x:expr, $coefficients:expr) => {{
        let (x, c) = ($x, &$coefficients);
        let square = x * x;
        let fourth = square * square;
        let pair = |at: usize| if at + 1 < c.len() { c[at + 1].mul_add(x, c[at]) } else { c[at] };
        let group = |at: usize| {
            if at + 2 < c.len() { pair(at + 2).mul_add(square, pair(at)) } else { pair(at) }
        };
        let mut at = (c.len() - 1) / 4 * 4;
        let mut value = group(at);
        while at > 0 {
            at -= 4;
            value = value.mul_add(fourth, group(at));
        }
        value
    }};
}
pub(super) use polynomial;

macro_rules! float {
    ($F:ident, $Bits:ident, mantissa $mantissa:literal, bias $bias:literal, tails $exp:ident $exp2:ident $log:ident $erf:ident $ln_erfc:ident,
        $($constant:item)*) => {
        impl Float for $F {
            const ROUNDER: Self = (3_u64 << ($mantissa - 1)) as $F + (2 * $bias) as $F;
            $($constant)*

            #[inline(always)]
            fn of(value: f64) -> Self {
                value as $F
            }

            #[inline(always)]
            fn fma(self, factor: Self, addend: Self) -> Self {
                self.mul_add(factor, addend)
            }

            #[inline(always)]
            fn abs(self) -> Self {
                <$F>::abs(self)
            }

            #[inline(always)]
            fn copysign(self, sign: Self) -> Self {
                <$F>::copysign(self, sign)
            }

            #[inline(always)]
            fn scaled(self, rounded: Self) -> Self {
                // `n` plus twice the bias, so that its halves are biased exponents.
                let both = rounded.to_bits() & (4 * ($bias + 1) - 1);
                let half = both >> 1;
                let rest = both - half;
                self * <$F>::from_bits(half << $mantissa) * <$F>::from_bits(rest << $mantissa)
            }

            #[inline(always)]
            fn power_of_two(rounded: Self) -> Self {
                <$F>::from_bits((rounded.to_bits() - $bias) << $mantissa)
            }

            #[inline(always)]
            fn split(self) -> (Self, Self) {
                const UP: $F = (1_u64 << ($mantissa + 2)) as $F;
                let subnormal = self < <$F>::MIN_POSITIVE;
                let normal = if subnormal { self * UP } else { self };
                let root = std::$F::consts::FRAC_1_SQRT_2.to_bits();
                // One more than the bias, so that the exponent is positive and a logical shift will do.
                let above = normal.to_bits().wrapping_sub(root);
                let exponent = above.wrapping_add(($bias + 1) << $mantissa) >> $mantissa;
                let rest = normal.to_bits().wrapping_sub(exponent.wrapping_sub($bias + 1) << $mantissa);
                // Small integers in the low bits of a number whose last place is worth 1.
                const UNIT: $F = (1_u64 << $mantissa) as $F;
                let number = <$F>::from_bits(exponent | UNIT.to_bits()) - (UNIT + ($bias + 1) as $F);
                let number = if subnormal { number - ($mantissa + 2) as $F } else { number };
                (number, <$F>::from_bits(rest) - 1.0)
            }

            #[inline(always)]
            fn exp_tail(self) -> Self {
                polynomial!(self, poly::$exp)
            }

            #[inline(always)]
            fn exp2_tail(self) -> Self {
                polynomial!(self, poly::$exp2)
            }

            #[inline(always)]
            fn log_tail(self) -> Self {
                self * polynomial!(self, poly::$log)
            }

            #[inline(always)]
            fn erf_tail(self) -> Self {
                polynomial!(self, poly::$erf)
            }

            #[inline(always)]
            fn ln_erfc(self) -> Self {
                polynomial!(self, poly::$ln_erfc)
            }
        }
    };
}

float! {
    f64, u64, mantissa 52, bias 1023, tails EXP_F64 EXP2_F64 LOG_F64 ERF_F64 ERF_TAIL_F64,
    const LN_2: [f64; 2] = [std::f64::consts::LN_2, 2.3190468138462996e-17];
    const LN_2_EXACT: [f64; 2] = [f64::from_bits(0x3fe6_2e42_fee0_0000), 1.9082149292705877e-10];
    const LOG2_E: [f64; 2] = [std::f64::consts::LOG2_E, 2.0355273740931033e-17];
    const EXP_RANGE: [f64; 2] = [-746.0, 710.0];
    const EXP2_RANGE: [f64; 2] = [-1076.0, 1025.0];
    const TANH_FROM: f64 = 20.0;
    const ERF_FROM: f64 = 6.0;
}

float! {
    f32, u32, mantissa 23, bias 127, tails EXP_F32 EXP2_F32 LOG_F32 ERF_F32 ERF_TAIL_F32,
    const LN_2: [f32; 2] = [std::f32::consts::LN_2, -1.904_654_3e-9];
    const LN_2_EXACT: [f32; 2] = [f32::from_bits(0x3f31_7200), 1.428_606_8e-6];
    const LOG2_E: [f32; 2] = [std::f32::consts::LOG2_E, 1.925_963e-8];
    const EXP_RANGE: [f32; 2] = [-104.0, 89.0];
    const EXP2_RANGE: [f32; 2] = [-151.0, 129.0];
    const TANH_FROM: f32 = 10.0;
    const ERF_FROM: f32 = 4.0;
}
