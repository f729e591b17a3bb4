//! The natural logarithm, and what its relatives share.
//!
//! `x = 2^k (1 + f)` and `log(1 + f) = f - f^2 / 2 + s (f^2 / 2 + R(s^2))` for `s = f / (2 + f)`, as Sun's fdlibm has
//! it (`e_log.c`, 1993), with a polynomial of our own.

use super::{Function, float::Float};

/// The natural logarithm.
pub(super) struct Log;

impl<T: Float> Function<T> for Log {
    #[inline(always)]
    fn call(x: T) -> T {
        let (exponent, rest) = x.split();
        of_positive(x, combined(exponent, rest, T::of(0.0)))
    }
}

/// `k ln 2 + log(1 + f) + correction`.
#[inline(always)]
pub(super) fn combined<T: Float>(k: T, f: T, correction: T) -> T {
    let Tail { square, tail } = tail(f);
    let [high, low] = T::LN_2_EXACT;
    let small = tail + k.fma(low, correction);
    k.fma(high, f - (square - small))
}

/// `log(1 + f)` is `f - square + tail`.
pub(super) struct Tail<T> {
    pub(super) square: T,
    pub(super) tail: T,
}

#[inline(always)]
pub(super) fn tail<T: Float>(f: T) -> Tail<T> {
    let s = f / (f + T::of(2.0));
    let square = f * f * T::of(0.5);
    Tail { square, tail: s * (square + (s * s).log_tail()) }
}

/// `value`, or what logarithms are where `x` is not positive and finite.
#[inline(always)]
pub(super) fn of_positive<T: Float>(x: T, value: T) -> T {
    let value = if x == T::of(f64::INFINITY) { x } else { value };
    let special = if x == T::of(0.0) { T::of(f64::NEG_INFINITY) } else { T::of(f64::NAN) };
    if x > T::of(0.0) { value } else { special }
}
