//! The executor with a rayon pool of its own.
//!
//! The caller always takes a share, so a pool for a width of `n` has `n - 1` workers. Jobs are claimed one by one from
//! a counter: a caller whose helpers wake late has done their work by then.

use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::atomic::{AtomicUsize, Ordering},
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use rayon::ThreadPoolBuilder;

use crate::{
    RuntimeIdentity, context,
    error::{Error, Result},
    executor::{Affinity, Executor, ExecutorCapabilities, ExecutorFault},
    pool::Pool,
};

/// How long a caller waits for its helpers before it sleeps: as long as it may take to be woken.
const AWAKE: Duration = Duration::from_micros(100);

/// Runs operations on the calling thread, and shares out wide ones over a rayon pool.
pub struct RayonExecutor {
    width: usize,
    pool: Pool,
}

impl RayonExecutor {
    /// The executor for at most `width` threads, the caller included, whose workers belong to `identity`.
    pub(super) fn new(width: usize, identity: RuntimeIdentity) -> Result<Self> {
        let builder = ThreadPoolBuilder::new()
            .num_threads(width - 1)
            .thread_name(|index| format!("tenferro-{index}"))
            .start_handler(move |_| context::mark_worker(identity));
        let pool = Pool::build(builder).map_err(|source| Error::Pool { width, source })?;
        Ok(Self { width, pool })
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

    fn ready(&self) -> Result<(), ExecutorFault> {
        self.pool.threads().map(|_| ())
    }

    fn fan_out(&self, width: usize, jobs: usize, job: &(dyn Fn(usize) + Sync)) {
        fan_out(&self.pool, width.min(self.width), jobs, job);
    }
}

/// Runs the jobs on the calling thread and on `width - 1` workers of `pool`.
pub(super) fn fan_out(pool: &Pool, width: usize, jobs: usize, job: &(dyn Fn(usize) + Sync)) {
    let helpers = width.min(jobs).saturating_sub(1);
    let (1.., Ok(pool)) = (helpers, pool.threads()) else { return (0..jobs).for_each(job) };
    let round = Round {
        jobs,
        job,
        next: AtomicUsize::new(0),
        helpers: AtomicUsize::new(helpers),
        panic: Mutex::new(None),
    };
    pool.in_place_scope(|scope| {
        for _ in 0..helpers {
            scope.spawn(|_| {
                round.work();
                round.helpers.fetch_sub(1, Ordering::Release);
            });
        }
        round.work();
        round.wait_awake();
    });
    if let Some(payload) = round.panic.into_inner() {
        resume_unwind(payload);
    }
}

/// One fan-out: who comes by takes the next job.
struct Round<'a> {
    jobs: usize,
    job: &'a (dyn Fn(usize) + Sync),
    next: AtomicUsize,
    /// How many helpers have not left yet.
    helpers: AtomicUsize,
    panic: Mutex<Option<Box<dyn Any + Send>>>,
}

impl Round<'_> {
    /// Waits for the helpers, for some time, on the CPU that is ours until they have left.
    fn wait_awake(&self) {
        let start = Instant::now();
        while self.helpers.load(Ordering::Acquire) > 0 && start.elapsed() < AWAKE {
            // A helper that has no CPU of its own may have this one.
            std::thread::yield_now();
        }
    }

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
