//! The logistic function.

use super::{Function, exp::Exp, float::Float};

/// `1 / (1 + e^-x)`, by powers that do not overflow.
pub(super) struct Sigmoid;

impl<T: Float> Function<T> for Sigmoid {
    #[inline(always)]
    fn call(x: T) -> T {
        let power = Exp::call(-x.abs());
        let above = if x < T::of(0.0) { power } else { T::of(1.0) };
        above / (power + T::of(1.0))
    }
}
