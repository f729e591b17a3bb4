//! The size of the pages behind large blocks.
//!
//! The first touch of fresh memory costs a fault a page, which is more than most operations do with it; pages of 2 MiB
//! make that 512 times less. It is a hint: where the system has no such pages, or none free, nothing changes.

use std::ptr::NonNull;

/// Asks for large pages behind `bytes` bytes of fresh memory, if it is large enough to hold some.
#[inline]
pub(super) fn prefer_large(memory: NonNull<u8>, bytes: usize) {
    /// Smaller blocks hold one large page at most, and mostly none.
    const FROM: usize = 4 << 20;
    if bytes >= FROM {
        advise(memory, bytes);
    }
}

#[cfg(target_os = "linux")]
#[cold]
fn advise(memory: NonNull<u8>, bytes: usize) {
    const PAGE: usize = 2 << 20;
    let start = memory.as_ptr().addr().next_multiple_of(PAGE);
    let end = (memory.as_ptr().addr() + bytes) / PAGE * PAGE;
    if start < end {
        let from = memory.as_ptr().with_addr(start);
        // SAFETY: the range lies inside of the block, and the advice changes no content. That it may be refused does
        // not matter.
        unsafe { libc::madvise(from.cast(), end - start, libc::MADV_HUGEPAGE) };
    }
}

#[cfg(not(target_os = "linux"))]
fn advise(_memory: NonNull<u8>, _bytes: usize) {}
