//! The audit of executors that are not ours: each job is started at most once, and all of them are.
//!
//! Jobs write to disjoint parts of one output, so a job that ran twice at a time would be two mutable borrows of the
//! same memory, and one that never ran would leave it unwritten. The audit refuses starts that may not be, waits for
//! those that still run, runs what is missing on the calling thread, and reports the fault.

use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
};

use crate::{
    Executor, ExecutorFault,
    sync::{Condvar, Mutex},
};

/// Runs `job(0)` to `job(jobs - 1)` on `executor`, each once whatever the executor does.
pub(super) fn fan_out(
    executor: &dyn Executor,
    width: usize,
    jobs: usize,
    job: &(dyn Fn(usize) + Sync),
) -> Result<(), ExecutorFault> {
    let audit = Audit {
        job,
        round: Mutex::new(Round {
            started: vec![false; jobs],
            running: 0,
            closed: false,
            fault: None,
            panic: None,
        }),
        stopped: Condvar::new(),
    };
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        executor.fan_out(width, jobs, &|index| audit.start(index));
    }));
    audit.finish(outcome.err())
}

/// One fan-out under audit.
struct Audit<'a> {
    job: &'a (dyn Fn(usize) + Sync),
    round: Mutex<Round>,
    stopped: Condvar,
}

struct Round {
    started: Vec<bool>,
    running: usize,
    /// Whether the executor has returned: later starts are refused.
    closed: bool,
    fault: Option<ExecutorFault>,
    panic: Option<Box<dyn Any + Send>>,
}

impl Round {
    /// Whether `index` may start now; the fault is kept if not.
    fn admit(&mut self, index: usize) -> bool {
        let jobs = self.started.len();
        let fault = match self.started.get_mut(index) {
            None => ExecutorFault::IndexOutOfRange { index, jobs },
            Some(true) => ExecutorFault::RunTwice { index },
            Some(_) if self.closed || self.panic.is_some() => return false,
            Some(started) => {
                *started = true;
                self.running += 1;
                return true;
            }
        };
        self.fault.get_or_insert(fault);
        false
    }
}

impl Audit<'_> {
    /// Runs a job if it may start. The job's panic stays here, so that the executor is never unwound.
    fn start(&self, index: usize) {
        if !self.round.lock().admit(index) {
            return;
        }
        let outcome = catch_unwind(AssertUnwindSafe(|| (self.job)(index)));
        let mut round = self.round.lock();
        round.running -= 1;
        if let Err(payload) = outcome {
            round.panic.get_or_insert(payload);
        }
        self.stopped.notify_all();
    }

    /// Waits for what runs, runs what is missing, and reports what went wrong first.
    fn finish(&self, executor_panic: Option<Box<dyn Any + Send>>) -> Result<(), ExecutorFault> {
        let mut round = self.round.lock();
        round.closed = true;
        while round.running > 0 {
            self.stopped.wait(&mut round);
        }
        if let Some(payload) = round.panic.take().or(executor_panic) {
            drop(round);
            resume_unwind(payload);
        }
        let missing: Vec<usize> =
            (0..round.started.len()).filter(|&index| !round.started[index]).collect();
        let early =
            ExecutorFault::ReturnedEarly { missing: missing.len(), jobs: round.started.len() };
        let fault = round.fault.take().or_else(|| (!missing.is_empty()).then_some(early));
        drop(round);
        missing.into_iter().for_each(self.job);
        fault.map_or(Ok(()), Err)
    }
}
