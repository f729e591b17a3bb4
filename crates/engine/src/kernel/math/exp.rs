//! `e^x`, and the reduction that the functions made of it share.
//!
//! Cody and Waite's reduction (W. Cody and W. Waite, "Software Manual for the Elementary Functions", 1980):
//! `x = n ln 2 + r` with `|r| <= ln 2 / 2`, and a polynomial for `e^r`.

use super::{Function, float::Float};

/// `e^x`.
pub(super) struct Exp;

impl<T: Float> Function<T> for Exp {
    #[inline(always)]
    fn call(x: T) -> T {
        let Reduced { rounded, less_one } = reduced(x.within(T::EXP_RANGE));
        (less_one + T::of(1.0)).scaled(rounded)
    }
}

/// `e^x = 2^n e^r`.
pub(super) struct Reduced<T> {
    /// `n` plus [`Float::ROUNDER`].
    pub(super) rounded: T,
    /// `e^r - 1`, exact to its last bits.
    pub(super) less_one: T,
}

/// For `x` between -746 and 711, in `f32` -104 and 90.
#[inline(always)]
pub(super) fn reduced<T: Float>(x: T) -> Reduced<T> {
    let rounded = x.fma(T::LOG2_E[0], T::ROUNDER);
    let n = rounded - T::ROUNDER;
    // Exact: both are multiples of a power of two that is small enough.
    let near = (-n).fma(T::LN_2[0], x);
    let r = (-n).fma(T::LN_2[1], near);
    Reduced { rounded, less_one: (r * r).fma(r.exp_tail(), r) }
}
