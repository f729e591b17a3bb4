//! Splitting a loop over the granted threads, and the pointers that its parts need.
//!
//! A loop is shared out only where it moves enough bytes to pay for waking a thread. How it is cut has no influence on
//! its result: every element is computed alone.

use std::{ops::Range, ptr::NonNull};

use tenferro_provider::Workers;

use super::{
    Grant,
    copy::{LINE, prefetch},
};

/// The bytes that one thread should move before it is worth waking another: about 50 us of work, several times the
/// cost of a wake-up.
const BYTES_PER_THREAD: usize = 256 << 10;

/// How many parts each thread gets, so that a late one does less.
const PARTS_PER_THREAD: usize = 4;

/// Up to so many units for each thread are parts themselves: parts of one unit and of two would leave threads waiting.
const FEW_UNITS_PER_THREAD: usize = 16;

impl Grant<'_> {
    /// Calls `part(range)` for ranges that make up `0..units`, on as many threads as pay.
    ///
    /// `cost` is the bytes that one unit moves, or as many as take the same time.
    #[inline]
    pub(super) fn share(&self, units: usize, cost: usize, part: impl Fn(Range<usize>) + Sync) {
        let bytes = units.saturating_mul(cost);
        if pays(bytes) { self.fan_out(units, bytes, &part) } else { part(0..units) }
    }

    fn fan_out(&self, units: usize, bytes: usize, part: &(dyn Fn(Range<usize>) + Sync)) {
        let threads = (bytes / BYTES_PER_THREAD).min(self.width()).min(units);
        if threads <= 1 {
            return part(0..units);
        }
        let few = units <= threads * FEW_UNITS_PER_THREAD;
        let parts = if few { units } else { threads * PARTS_PER_THREAD };
        self.workers().run(parts, &|index| {
            part(units * index / parts..units * (index + 1) / parts);
        });
    }
}

/// Whether an operation that moves `bytes` has work for more than one thread.
pub(crate) fn pays(bytes: usize) -> bool {
    bytes >= 2 * BYTES_PER_THREAD
}

/// How many bytes ahead of a loop memory is asked for that it would wait for in spite of what the CPU foresees.
const AHEAD: usize = 4096;

/// Asks for the lines of `length` elements ahead of those from `first` on, which may lie outside of an operand.
#[inline(always)]
pub(super) fn ask_ahead<T>(first: *const T, length: usize) {
    ask(first.wrapping_byte_add(AHEAD), length);
}

/// Asks for the lines of `length` elements from `first` on, which may lie outside of an operand.
#[inline(always)]
pub(super) fn ask<T>(first: *const T, length: usize) {
    for line in (0..length * size_of::<T>()).step_by(LINE) {
        prefetch(first.wrapping_byte_add(line).cast());
    }
}

/// The elements of an input, reachable from every thread of a fan-out.
#[derive(Clone, Copy)]
pub(super) struct Elements<T>(NonNull<T>);

// SAFETY: the pointer stands for a shared borrow of plain elements.
unsafe impl<T: Sync> Sync for Elements<T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Send for Elements<T> {}

impl<T> Elements<T> {
    pub(super) fn new(data: NonNull<u8>) -> Self {
        Self(data.cast())
    }

    /// Asks for the lines of `length` elements from an offset on, which may lie outside of the operand.
    #[inline(always)]
    pub(super) fn prefetch(self, offset: isize, length: usize) {
        ask(self.0.as_ptr().wrapping_offset(offset), length);
    }

    /// Asks for the lines of `length` elements ahead of those from an offset on.
    #[inline(always)]
    pub(super) fn prefetch_ahead(self, offset: isize, length: usize) {
        ask_ahead(self.0.as_ptr().wrapping_offset(offset), length);
    }

    /// The element at an offset.
    ///
    /// # Safety
    /// The offset must be one that the operand's shape and strides reach.
    #[inline]
    pub(super) unsafe fn at(self, offset: isize) -> NonNull<T> {
        // SAFETY: the caller says that the offset is inside of the operand.
        unsafe { self.0.offset(offset) }
    }
}

/// The elements of an output, of which each part of a fan-out writes its own.
#[derive(Clone, Copy)]
pub(super) struct Target<T>(NonNull<T>);

// SAFETY: parts write disjoint elements, which each use states.
unsafe impl<T: Send> Sync for Target<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Send for Target<T> {}

impl<T> Target<T> {
    pub(super) fn new(data: NonNull<u8>) -> Self {
        Self(data.cast())
    }

    /// The place at an offset.
    ///
    /// # Safety
    /// The offset must be one that the output's shape and strides reach.
    #[inline]
    pub(super) unsafe fn at(self, offset: isize) -> NonNull<T> {
        // SAFETY: the caller says that the offset is inside of the output.
        unsafe { self.0.offset(offset) }
    }
}
