//! What an outside observer believes to be in use.
//!
//! Plain words of `std`: looking at them is no step of a schedule.

use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering::SeqCst};

use shuttle::thread;
use tenferro_arbiter::{ClaimKind, CpuSet, ResourcePermit};

#[derive(Default)]
pub(super) struct Books {
    cpus: AtomicI64,
    pinned: AtomicU64,
    provider: AtomicI64,
    /// Told by one body to another.
    pub(super) told: AtomicBool,
}

impl Books {
    /// An operation under `permit` on `cpus` CPUs runs for a step.
    pub(super) fn operate(&self, permit: &ResourcePermit, cpus: usize) {
        let width = permit.width() as i64;
        assert!(1 <= width && width <= cpus as i64);
        if permit.is_overcommitted() {
            assert_eq!(width, 1);
            return thread::yield_now();
        }
        let used = self.cpus.fetch_add(width, SeqCst) + width;
        assert!(used <= cpus as i64, "{used} of {cpus} CPUs in use");
        thread::yield_now();
        self.cpus.fetch_sub(width, SeqCst);
    }

    /// Takes CPUs by name.
    pub(super) fn pin(&self, set: &CpuSet) {
        let mask = mask(set);
        assert_eq!(self.pinned.fetch_or(mask, SeqCst) & mask, 0, "a pinned CPU was taken twice");
    }

    pub(super) fn unpin(&self, set: &CpuSet) {
        self.pinned.fetch_and(!mask(set), SeqCst);
    }

    /// Starts to use the provider.
    pub(super) fn claim(&self, kind: ClaimKind) {
        let shared = kind == ClaimKind::SharedOneThread;
        let users = self.provider.fetch_add(share(kind), SeqCst) + share(kind);
        assert!(users == ALONE || (shared && users < ALONE), "{users}: the users overlap");
        if kind == ClaimKind::Unbounded {
            assert_eq!(self.cpus.load(SeqCst), 0, "beside an unbounded provider");
        }
    }

    pub(super) fn unclaim(&self, kind: ClaimKind) {
        self.provider.fetch_sub(share(kind), SeqCst);
    }
}

/// The weight of a user that is alone, above any number of those that share.
const ALONE: i64 = 1000;

fn share(kind: ClaimKind) -> i64 {
    if kind == ClaimKind::SharedOneThread { 1 } else { ALONE }
}

fn mask(set: &CpuSet) -> u64 {
    set.iter().map(|cpu| 1 << cpu).sum()
}
