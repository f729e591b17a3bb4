//! A rayon pool, and the process that its threads are in.
//!
//! It runs nothing itself. Invariant: in the child of a fork, where the threads are not, the pool is neither used nor
//! told to end: its locks may be held for ever.

use rayon::{ThreadPool, ThreadPoolBuildError, ThreadPoolBuilder};
use tenferro_arbiter::ProcessEra;

use crate::ExecutorFault;

/// Threads of this process, unless it was forked since.
pub(super) struct Pool {
    /// Taken out by drop only.
    threads: Option<ThreadPool>,
    era: ProcessEra,
}

impl Pool {
    /// Starts the threads.
    pub(super) fn build(builder: ThreadPoolBuilder) -> Result<Self, ThreadPoolBuildError> {
        // Before the threads are there, so that no fork goes by unnoticed.
        let era = ProcessEra::now();
        Ok(Self { threads: Some(builder.build()?), era })
    }

    /// The threads, if they are in this process.
    pub(super) fn threads(&self) -> Result<&ThreadPool, ExecutorFault> {
        if self.era.is_over() {
            return Err(ExecutorFault::Forked);
        }
        Ok(self.threads.as_ref().expect("invariant: the threads leave in drop only"))
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        if self.era.is_over() {
            std::mem::forget(self.threads.take());
        }
    }
}
