//! What several test files share.
#![allow(dead_code, reason = "each test file uses its part")]

use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use tenferro_arbiter::{Arbiter, Clock, CpuSet, FairArbiter, Policy, Snapshot};

#[path = "../watchdog/mod.rs"]
mod watchdog;
#[allow(unused_imports, reason = "each test file uses its part")]
pub(crate) use watchdog::with_watchdog;

/// An arbiter over synthetic CPUs `0..n`.
pub(crate) fn arbiter(n: usize) -> FairArbiter {
    FairArbiter::new(CpuSet::first(n)).unwrap()
}

/// The same without a bypass budget: every release serves the waiters at once.
pub(crate) fn strict_arbiter(n: usize) -> FairArbiter {
    let policy = Policy { bypass: Duration::ZERO, ..Policy::default() };
    FairArbiter::with_policy(CpuSet::first(n), policy).unwrap()
}

/// Waits until a snapshot shows what is wanted.
pub(crate) fn await_snapshot(
    arbiter: &dyn Arbiter,
    wanted: impl Fn(&Snapshot) -> bool,
) -> Snapshot {
    let start = Instant::now();
    loop {
        let snapshot = arbiter.snapshot();
        if wanted(&snapshot) {
            return snapshot;
        }
        assert!(start.elapsed() < Duration::from_secs(30), "never seen; last: {snapshot:#?}");
        thread::yield_now();
    }
}

/// Waits until `n` requests wait.
pub(crate) fn await_waiters(arbiter: &dyn Arbiter, n: usize) -> Snapshot {
    await_snapshot(arbiter, |snapshot| snapshot.waiters.len() == n)
}

/// Asserts that every CPU is back: free, or parked for anybody to take.
pub(crate) fn assert_all_returned(arbiter: &dyn Arbiter) {
    let snapshot = arbiter.snapshot();
    assert!(snapshot.holders.is_empty() && snapshot.waiters.is_empty(), "{snapshot:#?}");
    assert_eq!(snapshot.free + snapshot.parked, snapshot.capacity, "{snapshot:#?}");
}

/// A waker that counts its calls and wakes a thread.
pub(crate) struct Calls {
    count: AtomicUsize,
    thread: Thread,
}

impl Calls {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self { count: AtomicUsize::new(0), thread: thread::current() })
    }

    pub(crate) fn count(&self) -> usize {
        self.count.load(SeqCst)
    }
}

impl Wake for Calls {
    fn wake(self: Arc<Self>) {
        self.count.fetch_add(1, SeqCst);
        self.thread.unpark();
    }
}

/// Polls `future` once for `calls`.
pub(crate) fn poll_once<F: Future + Unpin>(future: &mut F, calls: &Arc<Calls>) -> Poll<F::Output> {
    let waker = Waker::from(Arc::clone(calls));
    std::pin::Pin::new(future).poll(&mut Context::from_waker(&waker))
}

/// Runs `future` on this thread, which sleeps in between.
pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
    let (mut future, waker) = (pin!(future), Waker::from(Calls::new()));
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return output;
        }
        thread::park_timeout(Duration::from_secs(30));
    }
}

/// A clock that a test moves by hand.
#[derive(Clone)]
pub(crate) struct HandClock(Arc<Mutex<Instant>>);

impl HandClock {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Mutex::new(Instant::now())))
    }

    pub(crate) fn advance(&self, time: Duration) {
        *self.0.lock().unwrap() += time;
    }
}

impl Clock for HandClock {
    fn now(&self) -> Instant {
        *self.0.lock().unwrap()
    }

    fn cpu_time(&self) -> Option<Duration> {
        None
    }

    /// Sleepers look often.
    fn real(&self, _wake: Instant) -> Instant {
        Instant::now() + Duration::from_micros(200)
    }
}

/// An arbiter without a bypass budget whose time stands still unless moved.
pub(crate) fn still_arbiter(n: usize) -> (FairArbiter, HandClock) {
    let policy = Policy { bypass: Duration::ZERO, ..Policy::default() };
    let clock = HandClock::new();
    (FairArbiter::with_clock(CpuSet::first(n), policy, clock.clone()).unwrap(), clock)
}
