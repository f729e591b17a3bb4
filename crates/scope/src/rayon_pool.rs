//! The executor with a rayon pool of its own.
//!
//! The caller always takes a share, so a pool for a width of `n` has `n - 1` workers. Jobs are claimed one by one from
//! a counter: a caller whose helpers wake late has done their work by then. The pool starts with the first fan-out that
//! is wider than one.

use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::{
        OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
};

use parking_lot::Mutex;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::{
    RuntimeIdentity, context,
    error::{Error, Result},
    executor::{Affinity, Executor, ExecutorCapabilities, ExecutorFault},
};

/// Runs operations on the calling thread, and shares out wide ones over a rayon pool.
pub struct RayonExecutor {
    width: usize,
    identity: RuntimeIdentity,
    pool: OnceLock<ThreadPool>,
}

impl RayonExecutor {
    /// The executor for at most `width` threads, the caller included, whose workers belong to `identity`.
    pub(super) fn new(width: usize, identity: RuntimeIdentity) -> Self {
        Self { width, identity, pool: OnceLock::new() }
    }

    /// The pool, started now if it is not yet; `None` if the system has no threads for it.
    fn pool(&self) -> Option<&ThreadPool> {
        if self.pool.get().is_none() {
            let pool = self.start().ok()?;
            // Another caller may have been first; its pool is as good, and ours ends here.
            let _ = self.pool.set(pool);
        }
        self.pool.get()
    }

    fn start(&self) -> Result<ThreadPool> {
        let identity = self.identity;
        ThreadPoolBuilder::new()
            .num_threads(self.width - 1)
            .thread_name(|index| format!("tenferro-{index}"))
            .start_handler(move |_| context::mark_worker(identity))
            .build()
            .map_err(|source| Error::Pool { width: self.width, source })
    }
}

impl Executor for RayonExecutor {
    fn name(&self) -> &'static str {
        "rayon"
    }

    fn capabilities(&self) -> ExecutorCapabilities {
        ExecutorCapabilities { width: self.width, affinity: Affinity::Floating }
    }

    fn enter(&self, _width: usize, job: &mut (dyn FnMut() + Send)) -> Result<(), ExecutorFault> {
        job();
        Ok(())
    }

    fn fan_out(&self, width: usize, jobs: usize, job: &(dyn Fn(usize) + Sync)) {
        let helpers = width.min(self.width).min(jobs).saturating_sub(1);
        // Without threads the caller does all of the work: slower, and right.
        let pool = if helpers == 0 { None } else { self.pool() };
        let Some(pool) = pool else { return (0..jobs).for_each(job) };
        let round = Round { jobs, job, next: AtomicUsize::new(0), panic: Mutex::new(None) };
        pool.in_place_scope(|scope| {
            for _ in 0..helpers {
                scope.spawn(|_| round.work());
            }
            round.work();
        });
        if let Some(payload) = round.panic.into_inner() {
            resume_unwind(payload);
        }
    }
}

/// One fan-out: who comes by takes the next job.
struct Round<'a> {
    jobs: usize,
    job: &'a (dyn Fn(usize) + Sync),
    next: AtomicUsize,
    panic: Mutex<Option<Box<dyn Any + Send>>>,
}

impl Round<'_> {
    /// Takes jobs until none is left or one has panicked.
    fn work(&self) {
        loop {
            let index = self.next.fetch_add(1, Ordering::Relaxed);
            if index >= self.jobs {
                return;
            }
            if let Err(payload) = catch_unwind(AssertUnwindSafe(|| (self.job)(index))) {
                // No further job starts; `next` stays far below overflow.
                self.next.store(self.jobs, Ordering::Relaxed);
                self.panic.lock().get_or_insert(payload);
                return;
            }
        }
    }
}
