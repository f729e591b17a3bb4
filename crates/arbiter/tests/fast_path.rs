//! X24: what is not contended takes no lock, reads no clock and allocates nothing.
//!
//! Locks are counted by the arbiter itself, looks at the clock by a clock of the tests.

#![allow(clippy::unwrap_used, reason = "a test fails by it")]

mod allocated;
mod common;

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::{Duration, Instant};

use allocated::allocations;
use common::{arbiter, with_watchdog};
use tenferro_arbiter::{Arbiter, Clock, CpuSet, FairArbiter, Label, Policy, Request};

const LOOPS: usize = 1_000_000;

#[test]
fn x24_uncontended_admission_takes_no_lock() {
    let arbiter = arbiter(2);
    for _ in 0..LOOPS {
        drop(arbiter.acquire(&Request::up_to(2).label(Label::new(&"add"))).unwrap());
    }
    let statistics = arbiter.snapshot().statistics;
    assert_eq!((statistics.slow_paths, statistics.registrations), (0, 1), "{statistics:?}");
}

/// Counts who looks at it.
#[derive(Clone, Default)]
struct CountingClock(Arc<AtomicUsize>);

impl Clock for CountingClock {
    fn now(&self) -> Instant {
        self.0.fetch_add(1, Relaxed);
        Instant::now()
    }

    fn cpu_time(&self) -> Option<Duration> {
        self.0.fetch_add(1, Relaxed);
        None
    }

    fn real(&self, wake: Instant) -> Instant {
        wake
    }
}

#[test]
fn x24_x3_uncontended_admission_reads_no_clock_until_somebody_asks() {
    let clock = CountingClock::default();
    let looks = clock.0.clone();
    let arbiter = FairArbiter::with_clock(CpuSet::first(2), Policy::default(), clock).unwrap();
    drop(arbiter.acquire(&Request::one_thread()).unwrap());
    let warm = looks.load(Relaxed);
    for _ in 0..1000 {
        drop(arbiter.acquire(&Request::up_to(2)).unwrap());
    }
    let scope = arbiter.acquire(&Request::up_to(2)).unwrap();
    for _ in 0..1000 {
        scope.lend();
        scope.resume();
    }
    assert_eq!(looks.load(Relaxed), warm);
    assert_eq!(arbiter.snapshot().holders.len(), 1);
    assert!(looks.load(Relaxed) > warm, "an age is what a clock says");
}

#[test]
fn x24_two_threads_on_two_cpus_take_no_lock() {
    with_watchdog(|| {
        let arbiter = Arc::new(arbiter(2));
        let start = Arc::new(Barrier::new(2));
        let threads: Vec<_> = (0..2)
            .map(|_| {
                let (arbiter, start) = (Arc::clone(&arbiter), Arc::clone(&start));
                thread::spawn(move || {
                    start.wait();
                    for _ in 0..LOOPS / 4 {
                        drop(arbiter.acquire(&Request::one_thread()).unwrap());
                    }
                    // Nobody leaves before the other is done: leaving is not the fast path.
                    start.wait();
                    assert_eq!(arbiter.snapshot().statistics.slow_paths, 0);
                    start.wait();
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        let statistics = arbiter.snapshot().statistics;
        assert_eq!((statistics.slow_paths, statistics.registrations), (0, 2), "{statistics:?}");
    });
}

#[test]
fn x24_a_scope_lends_and_resumes_without_the_lock() {
    let arbiter = arbiter(2);
    let scope = arbiter.acquire(&Request::up_to(2)).unwrap();
    scope.lend();
    for _ in 0..LOOPS / 4 {
        assert_eq!(scope.resume(), 2);
        scope.lend();
        assert_eq!(scope.resume_up_to(1), 1);
        scope.lend();
    }
    assert_eq!(arbiter.snapshot().statistics.slow_paths, 0);
}

#[test]
fn x18_a_warm_permit_allocates_nothing() {
    let arbiter = arbiter(2);
    let dynamic: &dyn Arbiter = &arbiter;
    drop(dynamic.acquire(&Request::up_to(2)).unwrap());
    let before = allocations();
    for _ in 0..1000 {
        let permit = dynamic.acquire(&Request::up_to(2).label(Label::new(&"scope"))).unwrap();
        permit.lend();
        permit.resume();
        permit.lend();
    }
    assert_eq!(allocations(), before);
}

#[test]
fn x24_one_thread_on_several_arbiters_stays_fast() {
    let arbiters = [arbiter(1), arbiter(1), arbiter(1)];
    for _ in 0..1000 {
        for arbiter in &arbiters {
            drop(arbiter.acquire(&Request::one_thread()).unwrap());
        }
    }
    for arbiter in &arbiters {
        let statistics = arbiter.snapshot().statistics;
        assert_eq!((statistics.slow_paths, statistics.registrations), (0, 1));
    }
}

#[test]
fn x24_nested_permits_keep_their_seats() {
    let arbiter = arbiter(2);
    for _ in 0..1000 {
        let scope = arbiter.acquire(&Request::one_thread()).unwrap();
        scope.lend();
        drop(arbiter.acquire(&Request::one_thread()).unwrap());
        scope.resume();
    }
    assert_eq!(arbiter.snapshot().statistics.registrations, 2);
}
