//! Writing whole cache lines past the caches.
//!
//! A plain store reads the line that it writes into first; a streaming store of a whole line does not, and leaves the
//! caches to what is used again. Only where the target has such stores; elsewhere a plain copy does the same.

use std::{mem::MaybeUninit, ptr::NonNull};

use super::plan::LINE;
#[cfg(target_arch = "x86_64")]
use crate::kernel::isa::Isa;

/// Whether the target has streaming stores.
pub(in crate::kernel) const EXISTS: bool = cfg!(target_arch = "x86_64");

/// From so many bytes on a result goes past the caches: whoever reads it finds the most of it in memory anyway.
pub(in crate::kernel) const RESULT_FROM: usize = 16 << 20;

/// The bytes of a result that are computed at a time before they go past the caches. Few: reads and writes of memory should
/// alternate at the pace of the memory.
pub(in crate::kernel) const STAGE: usize = 1024;

/// The same where computing takes as long as the memory: what has been asked for should come in while there is something
/// to compute.
pub(in crate::kernel) const SHORT_STAGE: usize = STAGE / 2;

/// Writes `count` elements of `size` bytes past the caches, `most` bytes at a time: `fill(at, stage, length)` computes
/// those from `at` on where `stage` has room for them. [`finish`] must follow before another thread reads them.
///
/// # Safety
/// The output must have room for so many, of which `fill` writes all that it is asked for; `most` may be [`STAGE`] at most.
#[inline(always)]
pub(in crate::kernel) unsafe fn staged(
    to: *mut u8,
    (count, size): (usize, usize),
    most: usize,
    mut fill: impl FnMut(usize, NonNull<u8>, usize),
) {
    #[repr(C, align(64))]
    struct Stage([MaybeUninit<u8>; STAGE]);
    let mut stage = Stage([const { MaybeUninit::uninit() }; STAGE]);
    let stage = NonNull::from(&mut stage.0).cast::<u8>();
    let most = most / size;
    // So many that the next stage begins at a line.
    let mut length = match to.align_offset(LINE) / size {
        0 => most,
        head => head,
    };
    let mut at = 0;
    while at < count {
        length = length.min(count - at);
        fill(at, stage, length);
        // SAFETY: the caller says that there is room for `count`, and that the stage was filled.
        unsafe { row(to.add(at * size), stage.as_ptr(), length * size) };
        (at, length) = (at + length, most);
    }
}

/// Copies `bytes` bytes; whole lines of the output with streaming stores. [`finish`] must follow before another thread
/// reads them.
///
/// # Safety
/// Both sides must have so many bytes, and may not overlap.
#[inline]
pub(in crate::kernel) unsafe fn row(to: *mut u8, from: *const u8, bytes: usize) {
    let head = to.align_offset(LINE).min(bytes);
    let lines = (bytes - head) / LINE;
    let tail = head + lines * LINE;
    // SAFETY: the three pieces make up the bytes, and the middle begins at a line.
    unsafe {
        to.copy_from_nonoverlapping(from, head);
        whole_lines(to.add(head), from.add(head), lines);
        to.add(tail).copy_from_nonoverlapping(from.add(tail), bytes - tail);
    }
}

/// Writes `bytes` bytes from `stage`, where they begin as far after a line as `to` does. Where the row continues one
/// that was written before, the line holds what that one left; where it will be continued, what fills no line is left
/// at the beginning of the stage.
///
/// # Safety
/// The output must have so many bytes, the stage whole lines of them. A row that will be continued has at least as many
/// bytes as a line.
#[inline]
pub(super) unsafe fn staged_row(
    to: *mut u8,
    stage: *mut u8,
    bytes: usize,
    [continues, will_be_continued]: [bool; 2],
) {
    let shift = to.addr() % LINE;
    let first = to.wrapping_sub(shift);
    let (begin, end) = (if continues { 0 } else { shift }, shift + bytes);
    let (head, tail) = (begin.next_multiple_of(LINE).min(end), end - end % LINE);
    // SAFETY: the pieces are bytes of the row, or lines of it that were begun before.
    unsafe {
        first.add(begin).copy_from_nonoverlapping(stage.add(begin), head - begin);
        if head < tail {
            whole_lines(first.add(head), stage.add(head), (tail - head) / LINE);
        }
        if will_be_continued {
            stage.copy_from(stage.add(tail), LINE);
        } else if head < end {
            let tail = tail.max(head);
            first.add(tail).copy_from_nonoverlapping(stage.add(tail), end - tail);
        }
    }
}

/// From so many lines on it pays to ask for the widest stores.
#[cfg(target_arch = "x86_64")]
const MANY_LINES: usize = 4;

/// # Safety
/// As for [`row`], and `to` must be aligned to a line.
#[cfg(target_arch = "x86_64")]
#[inline]
pub(super) unsafe fn whole_lines(to: *mut u8, from: *const u8, lines: usize) {
    use std::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_stream_si128};
    if lines >= MANY_LINES && Isa::current() == Isa::Avx512 {
        // SAFETY: the CPU has these stores; the rest is the caller's.
        return unsafe { whole_lines_at_once(to, from, lines) };
    }
    for line in 0..lines {
        // SAFETY: the caller says that the lines are there; a line is aligned for its quarters.
        unsafe {
            let (to, from) = (to.add(line * LINE), from.add(line * LINE));
            let quarters: [__m128i; 4] =
                std::array::from_fn(|i| _mm_loadu_si128(from.add(16 * i).cast()));
            for (i, quarter) in quarters.into_iter().enumerate() {
                _mm_stream_si128(to.add(16 * i).cast(), quarter);
            }
        }
    }
}

/// A store a line, of which more wait for the memory than of its quarters while the CPU goes on.
///
/// # Safety
/// As for [`whole_lines`], and the CPU must have AVX-512.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
unsafe fn whole_lines_at_once(to: *mut u8, from: *const u8, lines: usize) {
    use std::arch::x86_64::{_mm512_loadu_si512, _mm512_stream_si512};
    for line in 0..lines {
        // SAFETY: the caller says that the lines are there, and that the output's are aligned.
        unsafe {
            let whole = _mm512_loadu_si512(from.add(line * LINE).cast());
            _mm512_stream_si512(to.add(line * LINE).cast(), whole);
        }
    }
}

/// # Safety
/// As for [`row`].
#[cfg(not(target_arch = "x86_64"))]
#[inline]
pub(super) unsafe fn whole_lines(to: *mut u8, from: *const u8, lines: usize) {
    // SAFETY: the caller says that the lines are there and do not overlap.
    unsafe { to.copy_from_nonoverlapping(from, lines * LINE) };
}

/// Asks for a line that will be read.
#[cfg(target_arch = "x86_64")]
#[inline]
pub(in crate::kernel) fn prefetch(line: *const u8) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: a prefetch reads nothing that a program can see, and no address is wrong for it.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(line.cast()) };
}

/// Asks for a line that will be read.
#[cfg(not(target_arch = "x86_64"))]
#[inline]
pub(in crate::kernel) fn prefetch(_line: *const u8) {}

/// Orders streaming stores before what this thread does next.
#[inline]
pub(in crate::kernel) fn finish() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the fence is part of every x86-64.
    unsafe {
        std::arch::x86_64::_mm_sfence();
    }
}
