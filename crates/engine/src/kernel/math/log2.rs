//! The logarithm to base 2, exact for powers of two.

use super::{
    Function,
    float::Float,
    log::{Tail, of_positive, tail},
};

/// `k + log(1 + f) / ln 2`, the quotient in two parts.
pub(super) struct Log2;

impl<T: Float> Function<T> for Log2 {
    #[inline(always)]
    fn call(x: T) -> T {
        let (k, f) = x.split();
        let Tail { square, tail } = tail(f);
        // `f - square` and what its rounding lost; the square's own rounding too.
        let high = f - square;
        let square_lost = (f * T::of(0.5)).fma(f, -square);
        let low = ((f - high) - square) - square_lost + tail;
        let [factor, factor_low] = T::LOG2_E;
        let product = high * factor;
        let product_low = high.fma(factor, -product) + high.fma(factor_low, low * factor);
        // The exponent is 0 or larger than the product.
        let sum = k + product;
        let lost = (k - sum) + product;
        of_positive(x, sum + (lost + product_low))
    }
}
