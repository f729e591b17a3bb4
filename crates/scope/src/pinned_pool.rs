//! The executor of a pinned domain: a rayon pool whose workers are bound to its CPUs, and nothing but them.
//!
//! Everything runs on the workers: a scope or operation is handed over once when it is entered, and shared out from
//! there. The caller's thread waits meanwhile; its affinity is its own. That the workers are where they should be is
//! read back before the executor is made.

use std::sync::Arc;

use rayon::ThreadPoolBuilder;
use tenferro_arbiter::{CpuSet, pin_current_thread};

use crate::{
    RuntimeIdentity, context,
    error::{Error, Result},
    executor::{Affinity, Executor, ExecutorCapabilities, ExecutorFault},
    pool::Pool,
    rayon_pool,
};

/// Runs everything on workers that are bound to a set of CPUs, one for each.
pub struct PinnedExecutor {
    width: usize,
    pool: Pool,
}

impl PinnedExecutor {
    /// The executor on `cpus`, whose workers belong to `identity`.
    pub(super) fn new(cpus: &CpuSet, identity: RuntimeIdentity) -> Result<Arc<Self>> {
        let width = cpus.len();
        let builder = ThreadPoolBuilder::new()
            .num_threads(width)
            .thread_name(|index| format!("tenferro-pinned-{index}"))
            .start_handler(move |_| context::mark_worker(identity));
        let pool = Pool::build(builder).map_err(|source| Error::Pool { width, source })?;
        let threads = pool.threads().expect("invariant: they were started just now");
        for bound in threads.broadcast(|_| pin_current_thread(cpus)) {
            let found = bound.map_err(|source| Error::Pinning { cpus: cpus.clone(), source })?;
            if found != *cpus {
                return Err(Error::NotPinned { cpus: cpus.clone(), found });
            }
        }
        Ok(Arc::new(Self { width, pool }))
    }
}

impl Executor for PinnedExecutor {
    fn name(&self) -> &'static str {
        "pinned"
    }

    fn capabilities(&self) -> ExecutorCapabilities {
        ExecutorCapabilities { width: self.width, affinity: Affinity::Verified }
    }

    fn enter(&self, _width: usize, job: &mut (dyn FnMut() + Send)) -> Result<(), ExecutorFault> {
        self.pool.threads()?.install(job);
        Ok(())
    }

    fn ready(&self) -> Result<(), ExecutorFault> {
        self.pool.threads().map(|_| ())
    }

    fn fan_out(&self, width: usize, jobs: usize, job: &(dyn Fn(usize) + Sync)) {
        rayon_pool::fan_out(&self.pool, width.min(self.width), jobs, job);
    }
}
