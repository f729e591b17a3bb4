//! Who may run and how wide: the production arbiter, and two ways to do without one.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

use tenferro_arbiter::{
    Arbiter, Clock, CpuSet, FairArbiter, Patience, PermitFuture, Policy as Settings, Request,
    ResourcePermit,
};

/// A breadth that is asked for as a minimum: every CPU.
pub(super) const ALL: usize = usize::MAX;

/// An operation may start.
pub(super) struct Grant {
    pub(super) caller: usize,
    pub(super) width: usize,
}

/// A way to share CPUs.
pub(super) trait Policy {
    /// A caller wants to run an operation that `breadth` threads can share.
    fn request(&mut self, caller: usize, breadth: usize, cpus: usize);
    /// Its operation has ended.
    fn end(&mut self, caller: usize);
    /// Who may start now.
    fn grants(&mut self, cpus: usize) -> Vec<Grant>;
}

/// A future's call for a poll.
#[derive(Default)]
struct Called(AtomicBool);

impl Wake for Called {
    fn wake(self: Arc<Self>) {
        self.0.store(true, SeqCst);
    }
}

/// No time passes for the arbiter, so that nothing depends on how fast the simulation runs.
struct Stopped(Instant);

impl Clock for Stopped {
    fn now(&self) -> Instant {
        self.0
    }

    fn cpu_time(&self) -> Option<Duration> {
        None
    }

    fn real(&self, _wake: Instant) -> Instant {
        Instant::now() + Duration::from_secs(3600)
    }
}

/// The production arbiter. Its callers wait as futures, so that one thread can play them all; the bypass budget is
/// zero: it is there to save thread switches, and a simulation has none.
pub(super) struct Arbitrated {
    /// Leaked, so that its futures need not be kept apart from it.
    arbiter: &'static FairArbiter,
    waiting: Vec<(usize, PermitFuture<'static>, Arc<Called>)>,
    permits: Vec<(usize, ResourcePermit)>,
}

impl Arbitrated {
    pub(super) fn new(cpus: usize) -> Self {
        let settings = Settings {
            wait_limit: None,
            bypass: Duration::ZERO,
            turn: Duration::ZERO,
            capacity: None,
        };
        let stopped = Stopped(Instant::now());
        let arbiter = FairArbiter::with_clock(CpuSet::first(cpus), settings, stopped).unwrap();
        let arbiter = Box::leak(Box::new(arbiter));
        Self { arbiter, waiting: Vec::new(), permits: Vec::new() }
    }
}

impl Policy for Arbitrated {
    fn request(&mut self, caller: usize, breadth: usize, cpus: usize) {
        let request =
            if breadth == ALL { Request::new(cpus..=cpus) } else { Request::up_to(breadth) };
        let future = self.arbiter.acquire_async(&request, &Patience::unlimited());
        // A future does nothing until it is polled.
        self.waiting.push((caller, future, Arc::new(Called(AtomicBool::new(true)))));
    }

    fn end(&mut self, caller: usize) {
        let place = self.permits.iter().position(|(holder, _)| *holder == caller).unwrap();
        drop(self.permits.swap_remove(place));
    }

    fn grants(&mut self, _cpus: usize) -> Vec<Grant> {
        let mut grants = Vec::new();
        let mut place = 0;
        while place < self.waiting.len() {
            let (caller, future, called) = &mut self.waiting[place];
            let caller = *caller;
            let polled = called.0.swap(false, SeqCst).then(|| poll(future, called));
            let Some(Poll::Ready(permit)) = polled else {
                place += 1;
                continue;
            };
            let permit = permit.unwrap();
            drop(self.waiting.remove(place));
            assert!(!permit.is_overcommitted());
            grants.push(Grant { caller, width: permit.width() });
            self.permits.push((caller, permit));
        }
        grants
    }
}

fn poll(
    future: &mut PermitFuture<'static>,
    called: &Arc<Called>,
) -> Poll<tenferro_arbiter::Result<ResourcePermit>> {
    let waker = Waker::from(Arc::clone(called));
    Pin::new(future).poll(&mut Context::from_waker(&waker))
}

/// One operation at a time, on as many CPUs as it has use for.
#[derive(Default)]
pub(super) struct Exclusive {
    queue: VecDeque<(usize, usize)>,
    running: bool,
}

impl Policy for Exclusive {
    fn request(&mut self, caller: usize, breadth: usize, _cpus: usize) {
        self.queue.push_back((caller, breadth));
    }

    fn end(&mut self, _caller: usize) {
        self.running = false;
    }

    fn grants(&mut self, cpus: usize) -> Vec<Grant> {
        if self.running {
            return Vec::new();
        }
        let grant = self
            .queue
            .pop_front()
            .map(|(caller, breadth)| Grant { caller, width: breadth.min(cpus) });
        self.running = grant.is_some();
        grant.into_iter().collect()
    }
}

/// Everybody at once, as wide as it goes.
#[derive(Default)]
pub(super) struct Free {
    asked: Vec<(usize, usize)>,
}

impl Policy for Free {
    fn request(&mut self, caller: usize, breadth: usize, cpus: usize) {
        self.asked.push((caller, breadth.min(cpus)));
    }

    fn end(&mut self, _caller: usize) {}

    fn grants(&mut self, _cpus: usize) -> Vec<Grant> {
        self.asked.drain(..).map(|(caller, width)| Grant { caller, width }).collect()
    }
}
