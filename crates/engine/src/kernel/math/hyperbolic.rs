//! The hyperbolic sine and cosine.

use super::{
    Function,
    exp::{Reduced, reduced},
    expm1::expm1_in_range,
    float::Float,
};

/// `sinh x = (t + t / (t + 1)) / 2` for `t = e^x - 1` and positive `x`, and `e^x / 2` where that is all there is.
pub(super) struct Sinh;

/// `cosh x = e^x / 2 + e^-x / 2`.
pub(super) struct Cosh;

/// From here `e^-x` is less than half of the last place of `e^x`.
const FAR: f64 = 20.0;

impl<T: Float> Function<T> for Sinh {
    #[inline(always)]
    fn call(x: T) -> T {
        let magnitude = x.abs();
        let near = if magnitude > T::of(FAR) { T::of(FAR) } else { magnitude };
        let t = expm1_in_range(near);
        let sum = (t + t / (t + T::of(1.0))) * T::of(0.5);
        let value = if magnitude > T::of(FAR) { half_exp(magnitude) } else { sum };
        value.copysign(x)
    }
}

impl<T: Float> Function<T> for Cosh {
    #[inline(always)]
    fn call(x: T) -> T {
        let half = half_exp(x.abs());
        half + T::of(0.25) / half
    }
}

/// `e^x / 2`, which is finite where `e^x` may not be.
#[inline(always)]
fn half_exp<T: Float>(x: T) -> T {
    let [low, high] = T::EXP_RANGE;
    let Reduced { rounded, less_one } = reduced(x.within([low, high + T::of(1.0)]));
    (less_one + T::of(1.0)).scaled(rounded - T::of(1.0))
}
