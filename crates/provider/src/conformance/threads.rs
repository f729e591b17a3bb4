//! Plain threads as workers, for suites and measurements. Not an executor: it asks nobody for CPUs.

use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use crate::Workers;

/// Starts `width - 1` threads for each run and takes a share itself.
#[derive(Clone, Copy, Debug)]
pub struct Threads(usize);

impl Threads {
    /// Workers of this width, at least 1.
    #[must_use]
    pub fn new(width: usize) -> Self {
        Self(width.max(1))
    }
}

impl Workers for Threads {
    fn width(&self) -> usize {
        self.0
    }

    fn run(&self, jobs: usize, job: &(dyn Fn(usize) + Sync)) {
        let next = AtomicUsize::new(0);
        let first = Mutex::new(None::<Box<dyn Any + Send>>);
        let share = || {
            loop {
                let index = next.fetch_add(1, Ordering::Relaxed);
                if index >= jobs {
                    return;
                }
                if let Err(payload) = catch_unwind(AssertUnwindSafe(|| job(index))) {
                    next.store(jobs, Ordering::Relaxed);
                    first.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(payload);
                }
            }
        };
        thread::scope(|scope| {
            for _ in 1..self.0.min(jobs) {
                scope.spawn(share);
            }
            share();
        });
        if let Some(payload) = first.into_inner().unwrap_or_else(PoisonError::into_inner) {
            resume_unwind(payload);
        }
    }
}
