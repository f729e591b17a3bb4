//! Independent jobs over the lanes of a scope: which of their errors counts.
//!
//! How a scope is divided is told in `tenferro_scope`. Invariant: the error that is reported does not depend on how many
//! lanes there are.

use std::sync::atomic::{AtomicUsize, Ordering};

use tenferro_ops::{Engine, LaneJob};
use tenferro_tensor::Result;

use crate::{CpuEngine, error::refused};

impl CpuEngine {
    /// Runs independent jobs over the lanes of the scope that is open, or of one for the time, each job with the engine
    /// of its lane.
    ///
    /// # Errors
    /// That of the first job, by number, that has one; what the domain refuses.
    pub fn run_lanes<E: Engine>(
        &self,
        jobs: usize,
        lane: impl Fn() -> E + Sync,
        job: &LaneJob<'_>,
    ) -> Result<()> {
        let failures = Failures::default();
        let results = self.domain().map_lanes(
            jobs,
            |_| lane(),
            |engine, index| failures.watch(index, || job(engine, index)),
        );
        results.map_err(|error| refused("run_lanes", error))?.into_iter().collect()
    }
}

/// The first job, by number, that has failed so far.
///
/// Jobs are taken in the order of their numbers, so that every job before a failed one is run.
pub(super) struct Failures(AtomicUsize);

impl Default for Failures {
    fn default() -> Self {
        Self(AtomicUsize::new(usize::MAX))
    }
}

impl Failures {
    /// Runs a job unless an earlier one has failed.
    pub(super) fn watch(&self, index: usize, job: impl FnOnce() -> Result<()>) -> Result<()> {
        if self.0.load(Ordering::Relaxed) < index {
            return Ok(());
        }
        job().inspect_err(|_| _ = self.0.fetch_min(index, Ordering::Relaxed))
    }
}
