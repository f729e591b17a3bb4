//! The executor of one thread: the caller's.

use crate::executor::{Affinity, Executor, ExecutorCapabilities, ExecutorFault};

/// Runs everything on the calling thread. There is no pool.
#[derive(Clone, Copy, Debug, Default)]
pub struct InlineExecutor;

impl Executor for InlineExecutor {
    fn name(&self) -> &'static str {
        "inline"
    }

    fn capabilities(&self) -> ExecutorCapabilities {
        ExecutorCapabilities { width: 1, affinity: Affinity::Floating }
    }

    fn enter(&self, _width: usize, job: &mut (dyn FnMut() + Send)) -> Result<(), ExecutorFault> {
        job();
        Ok(())
    }

    fn fan_out(&self, _width: usize, jobs: usize, job: &(dyn Fn(usize) + Sync)) {
        (0..jobs).for_each(job);
    }
}
