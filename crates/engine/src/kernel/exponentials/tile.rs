//! The loops over one tile of exponentials, for results whose elements are neighbours, few neighbours, or rows apart.
//!
//! Invariant: a result's bits do not depend on the tile that it is in.

use std::{mem::MaybeUninit, ops::Range};

use pulp::NullaryFnOnce;
use tenferro_ops::scalar::{Max, Real, Reducer, Sum};
use tenferro_tensor::{ExponentialForm, Scalar};

use super::{
    super::{
        fold::{self, Carry, Folding, Rows},
        math::{self, Float},
        reduce::{self, BLOCK, Way},
        share::{Elements, Target},
    },
    MOST_RESULTS, Plan, SCRATCH,
};

/// The elements that are computed together.
const TOGETHER: usize = math::BLOCK;
/// How many results of a few elements each are brought to their end together.
const SHORT_RESULTS: usize = 64;
/// Shifts are laid out for so many elements, where rows or runs are shorter.
const PATTERN: usize = 512;

/// `f32` or `f64`.
pub(super) trait Element: Scalar + Float + Real<Wide = Self> + Default {}

impl Element for f32 {}
impl Element for f64 {}

/// Some of the tiles of a plan.
pub(super) struct Tiles<'p, T> {
    pub(super) plan: &'p Plan,
    pub(super) input: Elements<T>,
    pub(super) out: Target<T>,
    pub(super) range: Range<usize>,
}

impl<T: Element> NullaryFnOnce for Tiles<'_, T> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let mut scratch = [const { MaybeUninit::<T>::uninit() }; SCRATCH];
        let scratch = scratch.as_mut_ptr().cast::<T>();
        match self.plan.way {
            Way::Runs => self.runs(scratch),
            Way::ShortRuns => self.short_runs(scratch),
            Way::Rows => self.rows(scratch),
        }
    }
}

impl<T: Element> Tiles<'_, T> {
    /// The element at an offset.
    #[inline(always)]
    fn x(&self, at: usize) -> *const T {
        // SAFETY: callers stay inside of the operand.
        unsafe { self.input.at(at.cast_signed()) }.as_ptr()
    }

    /// The result at an offset.
    #[inline(always)]
    fn to(&self, at: usize) -> *mut T {
        // SAFETY: callers stay inside of the output, and each writes what is its own.
        unsafe { self.out.at(at.cast_signed()) }.as_ptr()
    }

    /// The whole part of a maximum: what is taken from the exponents.
    #[inline(always)]
    fn shift(&self, largest: T) -> T {
        let whole = Real::floor(largest);
        let is_log = matches!(self.plan.form, ExponentialForm::LogOfSum(_));
        // An infinite one would make NaN of infinities.
        if is_log && !is_finite(whole) { T::of(0.0) } else { whole }
    }

    #[inline(always)]
    fn largest(&self) -> Folding<T, Max> {
        Folding { input: self.input, reducer: Max, is_far: false }
    }

    /// Results of a run of neighbours each.
    #[inline(always)]
    fn runs(self, scratch: *mut T) {
        let count = self.plan.count;
        let (mut shifts, mut sums) = ([T::of(0.0); TOGETHER], [T::of(1.0); TOGETHER]);
        for start in self.range.clone().step_by(TOGETHER) {
            let results = TOGETHER.min(self.range.end - start);
            for at in 0..results {
                let first = (start + at) * count;
                let mut largest = Max.neutral();
                for block in blocks(count) {
                    let from = (first + block.start).cast_signed();
                    largest = Max.combine(largest, self.largest().run(from, 1, block.len()));
                }
                let shift = self.shift(largest);
                let mut sum = T::of(0.0);
                for block in blocks(count) {
                    let place = first + block.start;
                    let to = match self.plan.form {
                        ExponentialForm::Shares => self.to(place),
                        _ => scratch,
                    };
                    // SAFETY: a block is inside of the operand and the output, and fits the scratch.
                    let part = unsafe {
                        exponentials(self.x(place), |_| shift, to, block.len());
                        summing(to).run(0, 1, block.len())
                    };
                    let part = added(T::of(0.0), part);
                    sum = if block.start == 0 { part } else { added(sum, part) };
                }
                (shifts[at], sums[at]) = (shift, sum);
                // SAFETY: the run is inside of the operand and the output.
                unsafe {
                    match self.plan.form {
                        ExponentialForm::LogOfSum(_) => {}
                        ExponentialForm::Shares => divide(self.to(first), |_| sum, count),
                        ExponentialForm::LogOfShares => {
                            let log = math::log(&[sum; TOGETHER])[0];
                            differences(self.x(first), |_| shift, |_| log, self.to(first), count);
                        }
                    }
                }
            }
            if matches!(self.plan.form, ExponentialForm::LogOfSum(_)) {
                self.leave(&shifts[..results], &sums[..results], start);
            }
        }
    }

    /// Results of few neighbours each, some of them together.
    #[inline(always)]
    fn short_runs(self, scratch: *mut T) {
        let count = self.plan.count;
        let rows = |first: usize| {
            let (first, step) = (first.cast_signed(), count.cast_signed());
            Rows { first, step, next: 1, count }
        };
        let mut pattern = [T::of(0.0); SHORT_RESULTS * reduce::SHORT + TOGETHER];
        for start in self.range.clone().step_by(SHORT_RESULTS) {
            let results = SHORT_RESULTS.min(self.range.end - start);
            let (first, elements) = (start * count, results * count);
            let (mut shifts, mut sums) =
                ([Max.neutral(); SHORT_RESULTS], [T::of(0.0); SHORT_RESULTS]);
            let (shifts, sums) = (&mut shifts[..results], &mut sums[..results]);
            self.largest().side_by_side(shifts, rows(first));
            for shift in &mut *shifts {
                *shift = self.shift(*shift);
            }
            repeat_each(shifts, count, &mut pattern);
            let to = match self.plan.form {
                ExponentialForm::Shares => self.to(first),
                _ => scratch,
            };
            // SAFETY: so many elements are inside of the operand and the output, and fit the scratch.
            unsafe {
                exponentials(self.x(first), |at| pattern[at], to, elements);
                summing(to).side_by_side(sums, rows(0));
            }
            match self.plan.form {
                ExponentialForm::LogOfSum(_) => self.leave(shifts, sums, start),
                ExponentialForm::Shares => {
                    repeat_each(sums, count, &mut pattern);
                    // SAFETY: as above.
                    unsafe { divide(to, |at| pattern[at], elements) };
                }
                ExponentialForm::LogOfShares => {
                    logs_of(sums);
                    let mut of_sums = [T::of(0.0); SHORT_RESULTS * reduce::SHORT + TOGETHER];
                    repeat_each(sums, count, &mut of_sums);
                    let to = self.to(first);
                    // SAFETY: as above.
                    unsafe {
                        differences(
                            self.x(first),
                            |at| pattern[at],
                            |at| of_sums[at],
                            to,
                            elements,
                        );
                    }
                }
            }
        }
    }

    /// Results side by side, whose elements are rows apart.
    #[inline(always)]
    fn rows(self, scratch: *mut T) {
        let Plan { inner, count, width, .. } = *self.plan;
        let in_row = inner.div_ceil(width);
        let mut shifts = [T::of(0.0); MOST_RESULTS + PATTERN];
        let mut sums = [T::of(0.0); MOST_RESULTS + PATTERN];
        for tile in self.range.clone() {
            let start = tile % in_row * width;
            let results = width.min(inner - start);
            let first = tile / in_row * inner * count + start;
            // Short rows that follow each other are computed as one.
            let joined = if results == inner { (PATTERN / inner).clamp(1, count) } else { 1 };
            let rows = |first: usize, next: usize, count: usize| {
                let (first, next) = (first.cast_signed(), next.cast_signed());
                Rows { first, step: 1, next, count }
            };

            shifts[..results].fill(Max.neutral());
            for block in blocks(count) {
                let first = first + block.start * inner;
                let rows = rows(first, inner, block.len());
                self.largest().carry(&mut shifts[..results], rows, fold::joined(inner, rows));
            }
            for shift in &mut shifts[..results] {
                *shift = self.shift(*shift);
            }
            repeat(&mut shifts, results, joined);

            for block in blocks(count) {
                let mut part = [T::of(0.0); MOST_RESULTS];
                let part = &mut part[..results];
                if let ExponentialForm::LogOfSum(_) = self.plan.form {
                    // All rows at once where their number counts, else as many as fit.
                    let most =
                        if reduce::is_cut(inner) { (SCRATCH / results / 8).max(1) } else { count };
                    for row in block.clone().step_by(most) {
                        let some = most.min(block.end - row);
                        for at in (0..some).step_by(joined) {
                            let length = joined.min(some - at) * results;
                            let from = self.x(first + (row + at) * inner);
                            // SAFETY: the rows are inside of the operand, and fit the scratch.
                            unsafe {
                                let to = scratch.add(at * results);
                                exponentials(from, |at| shifts[at], to, length);
                            }
                        }
                        // SAFETY: these rows were written just now.
                        let mut summing = unsafe { summing(scratch) };
                        let rows = rows(0, results, some);
                        summing.carry(part, rows, fold::joined(inner, rows));
                    }
                } else {
                    for row in block.clone().step_by(joined) {
                        let (place, length) =
                            (first + row * inner, joined.min(block.end - row) * results);
                        // SAFETY: the rows are inside of the operand and the output.
                        unsafe {
                            exponentials(self.x(place), |at| shifts[at], self.to(place), length)
                        };
                    }
                    let place = first + block.start * inner;
                    // SAFETY: these rows of the output were written just now.
                    let mut summing = unsafe { summing(self.to(place)) };
                    let rows = rows(0, inner, block.len());
                    summing.carry(part, rows, fold::joined(inner, rows));
                }
                for (sum, &part) in sums.iter_mut().zip(&*part) {
                    *sum = if block.start == 0 { part } else { added(*sum, part) };
                }
            }

            match self.plan.form {
                ExponentialForm::LogOfSum(_) => {
                    let place = tile / in_row * inner + start;
                    self.leave(&shifts[..results], &sums[..results], place);
                    continue;
                }
                ExponentialForm::Shares => {}
                ExponentialForm::LogOfShares => logs_of(&mut sums[..results]),
            }
            repeat(&mut sums, results, joined);
            for row in (0..count).step_by(joined) {
                let (place, length) = (first + row * inner, joined.min(count - row) * results);
                let to = self.to(place);
                // SAFETY: the rows are inside of the operand and the output.
                unsafe {
                    if self.plan.form == ExponentialForm::Shares {
                        divide(to, |at| sums[at], length);
                    } else {
                        differences(self.x(place), |at| shifts[at], |at| sums[at], to, length);
                    }
                }
            }
        }
    }

    /// Writes logarithms of sums of shifted exponentials, from `place` on.
    #[inline(always)]
    fn leave(&self, shifts: &[T], sums: &[T], place: usize) {
        for start in (0..sums.len()).step_by(TOGETHER) {
            let some = TOGETHER.min(sums.len() - start);
            let mut block = [T::of(1.0); TOGETHER];
            block[..some].copy_from_slice(&sums[start..start + some]);
            let safe = block.map(|sum| if sum == T::of(0.0) { T::of(1.0) } else { sum });
            let logs = math::log(&safe);
            for at in 0..some {
                let nothing = block[at] == T::of(0.0);
                let log = if nothing { T::of(f64::NEG_INFINITY) } else { logs[at] };
                // SAFETY: there is a result for each sum.
                unsafe { self.to(place + start + at).write(log + shifts[start + at]) };
            }
        }
    }
}

/// The blocks of the elements of a result.
#[inline(always)]
fn blocks(count: usize) -> impl Iterator<Item = Range<usize>> {
    (0..count).step_by(BLOCK).map(move |start| start..count.min(start + BLOCK))
}

/// Two parts of a sum as one.
#[inline(always)]
fn added<T: Element>(lhs: T, rhs: T) -> T {
    <Sum as Reducer<T>>::combine(Sum, lhs, rhs)
}

#[inline(always)]
fn is_finite<T: Element>(x: T) -> bool {
    Float::abs(x) < T::of(f64::INFINITY)
}

/// Sums of exponentials at a place.
///
/// # Safety
/// What is summed must have been written there.
#[inline(always)]
unsafe fn summing<T: Element>(exponentials: *mut T) -> Folding<T, Sum> {
    // SAFETY: the caller has a place.
    let place = unsafe { std::ptr::NonNull::new_unchecked(exponentials) };
    Folding { input: Elements::new(place.cast()), reducer: Sum, is_far: false }
}

/// `to = exp(x - shift)` for `length` elements.
///
/// # Safety
/// There must be as many elements at both places, which do not overlap.
#[inline(always)]
unsafe fn exponentials<T: Element>(
    x: *const T,
    shift: impl Fn(usize) -> T,
    to: *mut T,
    length: usize,
) {
    let whole = length - length % TOGETHER;
    for start in (0..whole).step_by(TOGETHER) {
        let mut block = [T::of(0.0); TOGETHER];
        for (at, difference) in block.iter_mut().enumerate() {
            // SAFETY: the block is inside.
            *difference = unsafe { x.add(start + at).read() } - shift(start + at);
        }
        // SAFETY: the block is inside.
        unsafe { to.add(start).cast::<[T; TOGETHER]>().write_unaligned(math::exp(&block)) };
    }
    if whole < length {
        let mut block = [T::of(0.0); TOGETHER];
        for (at, difference) in (whole..length).zip(&mut block) {
            // SAFETY: these are the last elements.
            *difference = unsafe { x.add(at).read() } - shift(at);
        }
        let block = math::exp(&block);
        for (at, &value) in (whole..length).zip(&block) {
            // SAFETY: as above.
            unsafe { to.add(at).write(value) };
        }
    }
}

/// `to /= by` for `length` elements.
///
/// # Safety
/// There must be as many elements.
#[inline(always)]
unsafe fn divide<T: Element>(to: *mut T, by: impl Fn(usize) -> T, length: usize) {
    for at in 0..length {
        // SAFETY: the caller says that there are so many.
        unsafe { to.add(at).write(to.add(at).read() / by(at)) };
    }
}

/// `to = x - shift - log` for `length` elements.
///
/// # Safety
/// There must be as many elements at both places, which do not overlap.
#[inline(always)]
unsafe fn differences<T: Element>(
    x: *const T,
    shift: impl Fn(usize) -> T,
    log: impl Fn(usize) -> T,
    to: *mut T,
    length: usize,
) {
    for at in 0..length {
        // SAFETY: the caller says that there are so many.
        unsafe { to.add(at).write(x.add(at).read() - shift(at) - log(at)) };
    }
}

/// Each number becomes its logarithm.
#[inline(always)]
fn logs_of<T: Element>(numbers: &mut [T]) {
    for some in numbers.chunks_mut(TOGETHER) {
        let mut block = [T::of(1.0); TOGETHER];
        block[..some.len()].copy_from_slice(some);
        some.copy_from_slice(&math::log(&block)[..some.len()]);
    }
}

/// Writes each value `count` times. There must be room for a few more.
#[inline(always)]
fn repeat_each<T: Element>(values: &[T], count: usize, to: &mut [T]) {
    const STEP: usize = 8;
    let mut place = 0;
    for &value in values {
        for at in (place..place + count).step_by(STEP) {
            to[at..at + STEP].copy_from_slice(&[value; STEP]);
        }
        place += count;
    }
}

/// Writes the first `length` values `times` times.
#[inline(always)]
fn repeat<T: Element>(values: &mut [T], length: usize, times: usize) {
    for time in 1..times {
        values.copy_within(..length, time * length);
    }
}
