//! The hyperbolic tangent.

use super::{Function, expm1::expm1_in_range, float::Float};

/// `t / (t + 2)` for `t = e^2x - 1` and small positive `x`, and `1 - 2 / (t + 2)` beyond, where the error of `t` counts
/// less so.
pub(super) struct Tanh;

impl<T: Float> Function<T> for Tanh {
    #[inline(always)]
    fn call(x: T) -> T {
        let magnitude = x.abs();
        let most = if magnitude > T::TANH_FROM { T::TANH_FROM } else { magnitude };
        let t = expm1_in_range(most + most);
        let (from, above) =
            if most < T::of(0.55) { (T::of(0.0), t) } else { (T::of(1.0), T::of(-2.0)) };
        (from + above / (t + T::of(2.0))).copysign(x)
    }
}
