//! Loops over slices, as one would write them by hand.
//!
//! Slices of unequal length are a caller's mistake, so each function asserts; the assertion also
//! lets the compiler drop its own bounds checks.

use std::hint::black_box;
use std::ops::AddAssign;
use std::sync::atomic::{AtomicU64, Ordering};

/// Adds two slices into a fresh vector: the limit of an operation that returns its result.
///
/// # Panics
/// If the lengths differ.
#[inline(never)]
pub fn add_fresh(lhs: &[f64], rhs: &[f64]) -> Vec<f64> {
    assert_eq!(lhs.len(), rhs.len());
    lhs.iter().zip(rhs).map(|(a, b)| a + b).collect()
}

/// Adds two slices into a given one: the limit where the output is warm.
///
/// # Panics
/// If the lengths differ.
#[inline(never)]
pub fn add_into(lhs: &[f64], rhs: &[f64], out: &mut [f64]) {
    assert!(lhs.len() == rhs.len() && lhs.len() == out.len());
    for ((out, a), b) in out.iter_mut().zip(lhs).zip(rhs) {
        *out = a + b;
    }
}

/// `out = lhs + factor * rhs`, the triad of memory bandwidth measurements.
///
/// # Panics
/// If the lengths differ.
#[inline(never)]
pub fn triad(lhs: &[f64], factor: f64, rhs: &[f64], out: &mut [f64]) {
    assert!(lhs.len() == rhs.len() && lhs.len() == out.len());
    for ((out, a), b) in out.iter_mut().zip(lhs).zip(rhs) {
        *out = a + factor * b;
    }
}

/// The sum of the squares, in sixteen partial sums.
///
/// One running sum would measure the latency of an addition: the compiler may not reorder it.
#[inline(never)]
pub fn sum_of_squares(values: &[f64]) -> f64 {
    let mut sums = [0.0; 16];
    let (blocks, rest) = values.as_chunks::<16>();
    for block in blocks {
        for (sum, value) in sums.iter_mut().zip(block) {
            *sum += value * value;
        }
    }
    let rest: f64 = rest.iter().map(|value| value * value).sum();
    sums.iter().sum::<f64>() + rest
}

/// The sum, in sixteen partial sums for the reason given at [`sum_of_squares`].
#[inline(never)]
pub fn sum<T: Copy + Default + AddAssign>(values: &[T]) -> T {
    let mut sums = [T::default(); 16];
    let (blocks, rest) = values.as_chunks::<16>();
    for block in blocks {
        for (sum, value) in sums.iter_mut().zip(block) {
            *sum += *value;
        }
    }
    let mut total = T::default();
    for value in sums.iter().chain(rest) {
        total += *value;
    }
    total
}

/// Whether any byte has a bit set, without stopping at the first: one read of the slice.
#[inline(never)]
pub fn any_bit(values: &[u8]) -> bool {
    values.iter().fold(0, |all, value| all | value) != 0
}

/// Adds a slice to another in place, so many times.
///
/// # Panics
/// If the lengths differ.
#[inline(never)]
pub fn add_repeatedly(sum: &mut [f64], term: &[f64], times: usize) {
    assert_eq!(sum.len(), term.len());
    for _ in 0..times {
        for (sum, term) in sum.iter_mut().zip(black_box(term)) {
            *sum += term;
        }
    }
}

/// `out = a * b + c * d`, rounded after each operation.
///
/// # Panics
/// If the lengths differ.
#[inline(never)]
pub fn muladd_into([a, b, c, d]: [&[f64]; 4], out: &mut [f64]) {
    assert!([a, b, c, d].iter().all(|slice| slice.len() == out.len()));
    for ((((out, a), b), c), d) in out.iter_mut().zip(a).zip(b).zip(c).zip(d) {
        *out = a * b + c * d;
    }
}

/// `out = tanh(weights * x)` for a column-major square matrix, column by column.
///
/// # Panics
/// If there are not as many weights as pairs of elements of `x` and `out`.
#[inline(never)]
pub fn tanh_layer(weights: &[f64], x: &[f64], out: &mut [f64]) {
    assert_eq!(weights.len(), x.len() * out.len());
    out.fill(0.0);
    for (column, x) in weights.chunks_exact(out.len()).zip(x) {
        for (out, weight) in out.iter_mut().zip(column) {
            *out += weight * x;
        }
    }
    for out in out {
        *out = out.tanh();
    }
}

/// The mean over columns of `ln(sum(exp(column))) - column[label]`.
///
/// # Panics
/// If there are not as many columns of `classes` elements as labels, or a label is no class.
#[inline(never)]
pub fn cross_entropy(logits: &[f64], classes: usize, labels: &[usize]) -> f64 {
    assert_eq!(logits.len(), classes * labels.len());
    let columns = logits.chunks_exact(classes).zip(labels);
    let total: f64 = columns.map(|(column, &label)| log_of_sum(column) - column[label]).sum();
    total / labels.len() as f64
}

/// The gradient of [`cross_entropy`] by the logits, into a given slice.
///
/// # Panics
/// As there.
#[inline(never)]
pub fn cross_entropy_gradient(logits: &[f64], classes: usize, labels: &[usize], out: &mut [f64]) {
    assert!(logits.len() == classes * labels.len() && logits.len() == out.len());
    let share = 1.0 / labels.len() as f64;
    let columns = logits.chunks_exact(classes).zip(out.chunks_exact_mut(classes)).zip(labels);
    for ((column, out), &label) in columns {
        let log = log_of_sum(column);
        for (out, x) in out.iter_mut().zip(column) {
            *out = (x - log).exp() * share;
        }
        out[label] -= share;
    }
}

fn log_of_sum(column: &[f64]) -> f64 {
    let largest = column.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    column.iter().map(|x| (x - largest).exp()).sum::<f64>().ln() + largest
}

/// Applies a function to each element, into a given slice.
///
/// # Panics
/// If the lengths differ.
#[inline(never)]
pub fn map_into<A: Copy, B>(from: &[A], out: &mut [B], function: impl Fn(A) -> B) {
    assert_eq!(from.len(), out.len());
    for (out, a) in out.iter_mut().zip(from) {
        *out = function(*a);
    }
}

/// Applies a function to each pair of elements, into a given slice.
///
/// # Panics
/// If the lengths differ.
#[inline(never)]
pub fn zip_into<A: Copy, B>(lhs: &[A], rhs: &[A], out: &mut [B], function: impl Fn(A, A) -> B) {
    assert!(lhs.len() == rhs.len() && lhs.len() == out.len());
    for ((out, a), b) in out.iter_mut().zip(lhs).zip(rhs) {
        *out = function(*a, *b);
    }
}

/// Copies a slice: the limit of every operation that only moves data.
///
/// # Panics
/// If the lengths differ.
#[inline(never)]
pub fn copy<T: Copy>(from: &[T], out: &mut [T]) {
    out.copy_from_slice(from);
}

/// A function that does nothing but return its argument: the limit of a call.
#[inline(never)]
pub fn empty_call(argument: u64) -> u64 {
    argument
}

/// Marks a word taken and free again by one exchange each, as an operation does that others must be able
/// to see and to stop: the limit of an admission.
#[inline(never)]
pub fn exchange_twice(word: &AtomicU64) -> u64 {
    let free = word.load(Ordering::Relaxed);
    let taken = word.compare_exchange(free, free + 1, Ordering::AcqRel, Ordering::Acquire);
    let next = free + 2;
    let freed = word.compare_exchange(free + 1, next, Ordering::AcqRel, Ordering::Acquire);
    if taken.and(freed).is_ok() { next } else { free }
}

/// Writes one value everywhere.
#[inline(never)]
pub fn fill<T: Copy>(out: &mut [T], value: T) {
    out.fill(value);
}
