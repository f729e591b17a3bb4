//! The error function.

use super::{
    Function,
    exp::{Reduced, reduced},
    float::Float,
};

/// A polynomial up to 1, and `1 - e^G(x)` beyond, where `G` is a polynomial for the logarithm of the complement.
pub(super) struct Erf;

impl<T: Float> Function<T> for Erf {
    #[inline(always)]
    fn call(x: T) -> T {
        let magnitude = x.abs();
        let most = if magnitude > T::ERF_FROM { T::ERF_FROM } else { magnitude };
        let small = most.fma((most * most).erf_tail(), most);
        let Reduced { rounded, less_one } = reduced(most.ln_erfc());
        let power = T::power_of_two(rounded);
        let large = T::of(1.0) - power.fma(less_one, power);
        (if most < T::of(1.0) { small } else { large }).copysign(x)
    }
}
