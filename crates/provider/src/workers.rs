//! The seam through which a provider gets threads.
//!
//! An executor implements [`Workers`] and hands it down with each call; nothing below reads a global thread count.
//! The invariant: when `run` returns or unwinds, no job is running any more.

/// Runs the independent jobs of one operation on the threads that were granted to it.
///
/// Implementations must return from `run` only when every started job has ended. If jobs panic, the payload of the
/// first is rethrown after all have stopped; jobs not started by then may be left out.
pub trait Workers: Sync {
    /// How many jobs can run at the same time, the caller's own share included; at least 1.
    fn width(&self) -> usize;

    /// What this caller may do with the provider that permits of its domain keep others out of.
    fn claim_use(&self) -> ClaimUse {
        ClaimUse::Whole
    }

    /// Calls `job(i)` once for each `i < jobs`, possibly in parallel and in any order, and returns when all are done.
    ///
    /// # Panics
    /// With the first payload, if a job panics.
    fn run(&self, jobs: usize, job: &(dyn Fn(usize) + Sync));
}

/// What a caller may do with a provider that its permit keeps others out of, or could.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClaimUse {
    /// Use it on all of the granted width.
    #[default]
    Whole,
    /// Use it on one thread: other lanes under the same permit may be in it.
    OneThread,
    /// Nothing: somebody else holds it, and this caller must not wait.
    Nothing,
}

/// The caller alone: jobs run one after the other, in order, on the calling thread.
///
/// ```
/// use std::sync::atomic::{AtomicUsize, Ordering};
/// use tenferro_provider::{Sequential, Workers};
///
/// let sum = AtomicUsize::new(0);
/// Sequential.run(4, &|job| _ = sum.fetch_add(job, Ordering::Relaxed));
/// assert_eq!((Sequential.width(), sum.into_inner()), (1, 6));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sequential;

impl Workers for Sequential {
    fn width(&self) -> usize {
        1
    }

    fn run(&self, jobs: usize, job: &(dyn Fn(usize) + Sync)) {
        (0..jobs).for_each(job);
    }
}
