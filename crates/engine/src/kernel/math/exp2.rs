//! `2^x`.

use super::{Function, float::Float};

/// `2^x = 2^n 2^r`, where `n` is the nearest integer and `r` exact.
pub(super) struct Exp2;

impl<T: Float> Function<T> for Exp2 {
    #[inline(always)]
    fn call(x: T) -> T {
        let x = x.within(T::EXP2_RANGE);
        let rounded = x + T::ROUNDER;
        let r = x - (rounded - T::ROUNDER);
        r.fma(r.exp2_tail(), T::of(1.0)).scaled(rounded)
    }
}
