//! What several test files share.
#![allow(dead_code, reason = "each test file uses its part")]

use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use tenferro_arbiter::{Arbiter, CpuSet, FairArbiter, Policy, Snapshot};

/// Runs `body` on a thread of its own and panics if it has not returned in a minute.
pub(crate) fn with_watchdog(body: impl FnOnce() + Send + 'static) {
    let (done, finished) = mpsc::channel();
    let worker = thread::spawn(move || {
        body();
        let _ = done.send(());
    });
    match finished.recv_timeout(Duration::from_secs(60)) {
        Ok(()) => worker.join().unwrap(),
        // The sender is dropped without a message: the body panicked.
        Err(mpsc::RecvTimeoutError::Disconnected) => {
            std::panic::resume_unwind(worker.join().unwrap_err())
        }
        Err(mpsc::RecvTimeoutError::Timeout) => panic!("the test hangs"),
    }
}

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
