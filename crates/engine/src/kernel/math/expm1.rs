//! `e^x - 1`, exact near 0.

use super::{
    Function,
    exp::{Reduced, reduced},
    float::Float,
};

/// `e^x - 1`.
pub(super) struct Expm1;

impl<T: Float> Function<T> for Expm1 {
    #[inline(always)]
    fn call(x: T) -> T {
        // Below, the result is -1 all the way.
        let [_, high] = T::EXP_RANGE;
        let Reduced { rounded, less_one } = reduced(x.within([T::of(-64.0), high]));
        // In halves, because 2^n may be out of range where the result is not.
        let half = T::power_of_two(rounded - T::of(1.0));
        let halved = half.fma(less_one, half - T::of(0.5));
        // The halves of subnormals would be rounded, and -0 would lose its sign.
        if rounded == T::ROUNDER { less_one.copysign(x) } else { halved + halved }
    }
}

/// `e^x - 1` for `x` from -64 to 64.
#[inline(always)]
pub(super) fn expm1_in_range<T: Float>(x: T) -> T {
    let Reduced { rounded, less_one } = reduced(x);
    let power = T::power_of_two(rounded);
    power.fma(less_one, power - T::of(1.0))
}
