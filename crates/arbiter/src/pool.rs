//! The pool word: how many CPUs nobody has, and whether anybody waits for them.
//!
//! ```text
//! bits  0..32  free       CPUs that neither a seat nor the ledger has
//! bit  32      CONTENDED  requests wait: only the lock's holder may take CPUs
//! ```
//!
//! Invariant: without the lock, CPUs are only taken, by a seat that is already busy (marked
//! ENTERING or active) and only while CONTENDED is clear; they are only returned under the lock.

use crate::sync::{AtomicU64, Ordering};

const FREE: u64 = 0xffff_ffff;
const CONTENDED: u64 = 1 << 32;

/// The shared word of one arbiter.
#[derive(Debug)]
#[repr(align(128))]
pub(super) struct Pool(AtomicU64);

impl Pool {
    pub(super) fn new(free: u32) -> Self {
        Self(AtomicU64::new(u64::from(free)))
    }

    /// CPUs that a thread might take without the lock. A hint.
    #[inline]
    pub(super) fn open(&self) -> u32 {
        let word = self.0.load(Ordering::Relaxed);
        if word & CONTENDED == 0 { (word & FREE) as u32 } else { 0 }
    }

    pub(super) fn free(&self) -> u32 {
        (self.0.load(Ordering::Acquire) & FREE) as u32
    }

    /// Takes `min..=max` CPUs unless somebody waits. The caller's seat is busy already.
    pub(super) fn take_open(&self, min: u32, max: u32) -> u32 {
        self.take_where(min, max, |word| word & CONTENDED == 0)
    }

    /// Takes up to `max` CPUs, for the lock's holder.
    pub(super) fn take(&self, max: u32) -> u32 {
        self.take_where(1, max, |_| true)
    }

    fn take_where(&self, min: u32, max: u32, allowed: impl Fn(u64) -> bool) -> u32 {
        let mut word = self.0.load(Ordering::Relaxed);
        loop {
            let cpus = ((word & FREE) as u32).min(max);
            if cpus < min || !allowed(word) {
                return 0;
            }
            let next = word - u64::from(cpus);
            match self.0.compare_exchange_weak(word, next, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) => return cpus,
                Err(found) => word = found,
            }
        }
    }

    /// Returns CPUs, under the lock.
    pub(super) fn put(&self, cpus: u32) {
        if cpus > 0 {
            self.0.fetch_add(u64::from(cpus), Ordering::AcqRel);
        }
    }

    /// Closes the pool to the fast path: from here on every seat that took CPUs is seen busy.
    pub(super) fn close(&self) {
        self.0.fetch_or(CONTENDED, Ordering::AcqRel);
    }

    /// Opens it again: nobody waits.
    pub(super) fn reopen(&self) {
        self.0.fetch_and(!CONTENDED, Ordering::AcqRel);
    }
}
