//! What a pool has done, counted without making threads share a word.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Counts of a buffer pool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PoolStatistics {
    /// Blocks that came from the system.
    pub fresh: u64,
    /// Blocks that were used again.
    pub reused: u64,
    /// Blocks that were given back to the system because the pool was full.
    pub released: u64,
    /// Free blocks that are kept.
    pub kept_blocks: u64,
    /// The bytes of free blocks that are kept.
    pub kept_bytes: usize,
    /// The most bytes of shared free blocks that the pool keeps. Each thread's front keeps 1 MiB more at most.
    pub limit_bytes: usize,
}

/// The counts of one front. Its thread alone writes them; anybody reads.
#[derive(Default)]
pub(super) struct FrontCounts {
    reused: AtomicU64,
    kept_blocks: AtomicU64,
    kept_bytes: AtomicUsize,
}

impl FrontCounts {
    /// A block of `bytes` was taken from the front.
    #[inline]
    pub(super) fn took(&self, bytes: usize) {
        bump(&self.reused, 1);
        self.kept(-1, bytes.wrapping_neg());
    }

    /// A block of `bytes` was put into the front.
    #[inline]
    pub(super) fn put(&self, bytes: usize) {
        self.kept(1, bytes);
    }

    /// The front is empty.
    pub(super) fn emptied(&self) {
        self.kept_blocks.store(0, Ordering::Relaxed);
        self.kept_bytes.store(0, Ordering::Relaxed);
    }

    #[inline]
    pub(super) fn bytes(&self) -> usize {
        self.kept_bytes.load(Ordering::Relaxed)
    }

    pub(super) fn reused(&self) -> u64 {
        self.reused.load(Ordering::Relaxed)
    }

    pub(super) fn add_to(&self, statistics: &mut PoolStatistics) {
        statistics.reused += self.reused();
        statistics.kept_blocks += self.kept_blocks.load(Ordering::Relaxed);
        statistics.kept_bytes += self.kept_bytes.load(Ordering::Relaxed);
    }

    #[inline]
    fn kept(&self, blocks: i64, bytes: usize) {
        bump(&self.kept_blocks, blocks.cast_unsigned());
        let kept = self.kept_bytes.load(Ordering::Relaxed).wrapping_add(bytes);
        self.kept_bytes.store(kept, Ordering::Relaxed);
    }
}

/// Adds to a count that only this thread writes: no read-modify-write is needed.
#[inline]
fn bump(count: &AtomicU64, by: u64) {
    count.store(count.load(Ordering::Relaxed).wrapping_add(by), Ordering::Relaxed);
}
