//! Lanes: a scope divided among several threads, each with its share of the width.
//!
//! Every lane has a thread of its own: the first one is the caller's, the others live as long as the lanes do. They are
//! never workers of the pool, because an operation waits for the workers it fans out to, and must not wait for a
//! lane's closure.
//!
//! Invariant: when lanes are returned from or unwound through, none of them runs any more; the sum of their widths is
//! at most the scope's grant.

use std::{
    any::Any,
    io,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

use parking_lot::{Condvar, Mutex};
use tenferro_arbiter::PermitShare;
use tenferro_provider::ClaimUse;

use crate::{
    DomainOwnership, Error, GrantedWorkers, ResourceDomain, Result,
    context::{self, Loan, LoanState},
};

/// How many lanes are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LaneCount {
    /// This many, or as many as there are CPUs granted, if these are fewer.
    UpTo(usize),
    /// This many, or a typed error.
    Exactly(usize),
}

impl LaneCount {
    fn asked(self) -> usize {
        match self {
            LaneCount::UpTo(lanes) | LaneCount::Exactly(lanes) => lanes,
        }
    }

    /// The lanes on a width of `width`.
    fn on(self, width: usize) -> Result<usize> {
        match self {
            LaneCount::UpTo(0) | LaneCount::Exactly(0) => Err(Error::NoLanes),
            LaneCount::Exactly(lanes) if lanes > width => Err(Error::TooManyLanes { lanes, width }),
            _ => Ok(self.asked().min(width)),
        }
    }
}

/// Which lane a closure runs in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lane {
    index: usize,
    count: usize,
    width: usize,
}

impl Lane {
    /// Its number, from 0; lane 0 is on the thread that asked for the lanes.
    #[must_use]
    pub fn index(self) -> usize {
        self.index
    }

    /// How many lanes there are.
    #[must_use]
    pub fn count(self) -> usize {
        self.count
    }

    /// The most CPUs that an operation of this lane uses.
    #[must_use]
    pub fn width(self) -> usize {
        self.width
    }

    /// Lane `index` of `count` on `width` CPUs; the first ones have one more where it does not come out even.
    fn new(index: usize, count: usize, width: usize) -> Self {
        Self { index, count, width: width / count + usize::from(index < width % count) }
    }
}

impl ResourceDomain {
    /// Runs `body` once in each lane, at the same time, and returns what the lanes returned, in their order.
    ///
    /// Inside of a scope or installation of this domain its width is divided; elsewhere a scope is opened for the time.
    /// Operations in a lane share the permit: they enter nothing and acquire nothing. Lanes of a scope lend their CPUs
    /// between operations, as the scope does. Lanes can be divided again.
    ///
    /// # Errors
    /// Before anything blocks: [`Error::NoLanes`], [`Error::TooManyLanes`], and what
    /// [`ResourceDomain::with_execution_scope`] refuses; also [`Error::ForeignScope`]. [`Error::LaneThread`] if the
    /// system has no thread for a lane that was asked for by number; no lane has run then.
    ///
    /// # Panics
    /// If lanes do: with the payload of the first, after all have stopped.
    pub fn with_lanes<R: Send>(
        &self,
        lanes: LaneCount,
        body: impl Fn(Lane) -> R + Sync,
    ) -> Result<Vec<R>> {
        if self.ownership() != DomainOwnership::Managed {
            return Err(Error::ExternalDomain);
        }
        lanes.on(self.width())?;
        let body: &(dyn Fn(Lane) -> R + Sync) = &body;
        match (context::state(), context::active()) {
            (LoanState::None, _) => self.with_execution_scope(|| self.divide(lanes, body))?,
            (LoanState::Running, active) => {
                Err(Error::OperationActive { running: active.unwrap_or(self.identity()) })
            }
            (_, Some(open)) if open != self.identity() => {
                Err(Error::ForeignScope { open, called: self.identity() })
            }
            _ => self.divide(lanes, body),
        }
    }

    /// Runs `work(state, job)` once for each `job < jobs`, each on the next lane that is free, and returns the results
    /// in the order of the jobs.
    ///
    /// Each lane makes itself a `state` first. There are as many lanes as there are CPUs granted and jobs for them.
    ///
    /// # Errors
    /// As [`ResourceDomain::with_lanes`].
    ///
    /// # Panics
    /// If a job does, after the running ones have ended; jobs not started by then are left out.
    pub fn map_lanes<S, R: Send>(
        &self,
        jobs: usize,
        state: impl Fn(Lane) -> S + Sync,
        work: impl Fn(&mut S, usize) -> R + Sync,
    ) -> Result<Vec<R>> {
        let queue = JobQueue::new(jobs);
        let lanes = LaneCount::UpTo(jobs.max(1));
        let done = self.with_lanes(lanes, |lane| queue.drain(&mut state(lane), &work))?;
        Ok(in_order(jobs, done))
    }

    /// Divides the scope or installation on this thread.
    fn divide<R: Send>(
        &self,
        lanes: LaneCount,
        body: &(dyn Fn(Lane) -> R + Sync),
    ) -> Result<Vec<R>> {
        let loan = context::loan().expect("invariant: a scope of this domain is open here");
        let idle = context::state() == LoanState::IdleScope;
        let mut most = usize::MAX;
        loop {
            let grant = if idle {
                context::with_permit(|permit| permit.resume_up_to(permit.max_width()))
            } else {
                context::installed_width()
            };
            let grant = grant.expect("invariant: a loan that is not running has a width here");
            let lent = Lent(idle);
            let count = lanes.on(grant)?.min(most);
            if count == 1 {
                drop(lent);
                return Ok(vec![body(Lane::new(0, 1, grant))]);
            }
            let shares = if idle {
                context::with_permit(|permit| permit.split(count)).flatten().unwrap_or_default()
            } else {
                Vec::new()
            };
            let shares = shares.into_iter().map(|share| Mutex::new(Some(share))).collect();
            let places = Places { loan, count, width: grant, shares };
            let run = |index| places.run(index, body);
            match on_threads(count, &run) {
                Ok(results) => return Ok(results),
                Err((lane, _)) if matches!(lanes, LaneCount::UpTo(_)) => most = lane,
                Err((lane, source)) => {
                    return Err(Error::LaneThread { lane, lanes: count, source });
                }
            }
        }
    }
}

/// Lends the scope's CPUs when dropped, if it is a scope that has them.
struct Lent(bool);

impl Drop for Lent {
    fn drop(&mut self) {
        if self.0 {
            context::lend();
        }
    }
}

/// Under what the lanes of a scope or installation run.
struct Places {
    loan: Loan,
    count: usize,
    width: usize,
    /// Each lane's share of a permit that lends; empty if the lanes run on CPUs that stay with the permit.
    shares: Vec<Mutex<Option<PermitShare>>>,
}

impl Places {
    fn run<R>(&self, index: usize, body: &(dyn Fn(Lane) -> R + Sync)) -> R {
        let lane = Lane::new(index, self.count, self.width);
        let _claim = context::restrict_claim(ClaimUse::OneThread);
        match self.shares.get(index).and_then(|share| share.lock().take()) {
            Some(share) => {
                let _permit = context::exchange_permit(share.take());
                let _scope = context::mark(self.loan, LoanState::IdleScope);
                body(lane)
            }
            None => {
                let _width = context::install_width(lane.width);
                let _kept = context::mark(self.loan, LoanState::Installed);
                body(lane)
            }
        }
    }
}

impl<'g> GrantedWorkers<'g> {
    /// Runs `work(state, job)` once for each `job < jobs` inside of a running operation, whose width is divided among
    /// lanes; each lane makes its `state` of the workers that it may use. Results come in the order of the jobs.
    ///
    /// In a domain whose threads are not ours there is one lane, the calling thread.
    ///
    /// # Panics
    /// If a job does, after the running ones have ended; jobs not started by then are left out.
    pub fn map_lanes<S, R: Send>(
        &self,
        jobs: usize,
        state: impl Fn(GrantedWorkers<'g>) -> S + Sync,
        work: impl Fn(&mut S, usize) -> R + Sync,
    ) -> Vec<R> {
        let queue = JobQueue::new(jobs);
        let mut most = if self.is_managed() { self.granted().min(jobs).max(1) } else { 1 };
        loop {
            let run = |index| {
                let lane = Lane::new(index, most, self.granted());
                let _running = self.mark_running();
                let _claim = (most > 1).then(|| context::restrict_claim(ClaimUse::OneThread));
                queue.drain(&mut state(self.narrowed(lane.width)), &work)
            };
            match on_threads(most, &run) {
                Ok(done) => return in_order(jobs, done),
                Err((lane, _)) => most = lane,
            }
        }
    }
}

/// Jobs that are taken one by one, in order.
struct JobQueue {
    jobs: usize,
    next: AtomicUsize,
}

impl JobQueue {
    fn new(jobs: usize) -> Self {
        Self { jobs, next: AtomicUsize::new(0) }
    }

    /// Does what it gets hold of; the results with their numbers.
    fn drain<S, R>(
        &self,
        state: &mut S,
        work: &(impl Fn(&mut S, usize) -> R + Sync),
    ) -> Vec<(usize, R)> {
        let _close = CloseOnPanic(self);
        let take =
            || Some(self.next.fetch_add(1, Ordering::Relaxed)).filter(|&job| job < self.jobs);
        std::iter::from_fn(take).map(|job| (job, work(state, job))).collect()
    }
}

/// Lets no further job start if the thread unwinds.
struct CloseOnPanic<'q>(&'q JobQueue);

impl Drop for CloseOnPanic<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            // `next` stays far below overflow.
            self.0.next.store(self.0.jobs, Ordering::Relaxed);
        }
    }
}

/// The results of all lanes in the order of their numbers.
fn in_order<R>(jobs: usize, lanes: Vec<Vec<(usize, R)>>) -> Vec<R> {
    let mut results: Vec<(usize, R)> = lanes.into_iter().flatten().collect();
    results.sort_unstable_by_key(|&(job, _)| job);
    assert_eq!(results.len(), jobs, "invariant: every job was taken once");
    results.into_iter().map(|(_, result)| result).collect()
}

/// Runs `run(0)` here and `run(1)` to `run(count - 1)` on threads of their own, at once; the results in that order.
///
/// None is started unless there is a thread for each; else the number of the first that has none, and why.
fn on_threads<R: Send>(
    count: usize,
    run: &(dyn Fn(usize) -> R + Sync),
) -> std::result::Result<Vec<R>, (usize, io::Error)> {
    let (gate, first) = (Gate::default(), FirstPanic::default());
    let guarded = |index| first.guard(|| run(index));
    let results = thread::scope(|threads| {
        let mut others = Vec::with_capacity(count - 1);
        for index in 1..count {
            let (gate, guarded) = (&gate, &guarded);
            let thread = thread::Builder::new()
                .name(format!("tenferro-lane-{index}"))
                .spawn_scoped(threads, move || gate.opens().then(|| guarded(index)).flatten());
            match thread {
                Ok(thread) => others.push(thread),
                Err(source) => {
                    gate.decide(false);
                    return Err((index, source));
                }
            }
        }
        gate.decide(true);
        let own = guarded(0);
        let others = others
            .into_iter()
            .map(|other| other.join().expect("invariant: a lane keeps its panic to itself"));
        Ok(std::iter::once(own).chain(others).collect::<Vec<_>>())
    })?;
    first.rethrow();
    let all = results.into_iter().map(|result| result.expect("invariant: no lane has panicked"));
    Ok(all.collect())
}

/// What lanes wait at until all of them have a thread.
#[derive(Default)]
struct Gate {
    open: Mutex<Option<bool>>,
    decided: Condvar,
}

impl Gate {
    fn decide(&self, open: bool) {
        *self.open.lock() = Some(open);
        self.decided.notify_all();
    }

    /// Waits; whether the lanes run.
    fn opens(&self) -> bool {
        let mut open = self.open.lock();
        loop {
            match *open {
                Some(open) => return open,
                None => self.decided.wait(&mut open),
            }
        }
    }
}

/// The first panic of several threads.
#[derive(Default)]
struct FirstPanic(Mutex<Option<Box<dyn Any + Send>>>);

impl FirstPanic {
    /// What `run` returns; `None` if it panicked.
    fn guard<R>(&self, run: impl FnOnce() -> R) -> Option<R> {
        catch_unwind(AssertUnwindSafe(run))
            .map_err(|payload| _ = self.0.lock().get_or_insert(payload))
            .ok()
    }

    fn rethrow(self) {
        if let Some(payload) = self.0.into_inner() {
            resume_unwind(payload);
        }
    }
}
