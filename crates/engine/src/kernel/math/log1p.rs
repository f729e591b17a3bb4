//! `log(1 + x)`, exact near 0.

use super::{
    Function,
    float::Float,
    log::{combined, of_positive},
};

/// The logarithm of the rounded `1 + x`, corrected by what the rounding lost.
pub(super) struct Log1p;

impl<T: Float> Function<T> for Log1p {
    #[inline(always)]
    fn call(x: T) -> T {
        let one = T::of(1.0);
        let sum = x + one;
        // Exact, because one of the two terms of the sum is the larger.
        let lost = if x > one { one - (sum - x) } else { x - (sum - one) };
        let (exponent, rest) = sum.split();
        let value = of_positive(sum, combined(exponent, rest, lost / sum));
        // Zeros keep their sign.
        if x == T::of(0.0) { x } else { value }
    }
}
