//! X23: how long a waiter is passed, by a clock that the test moves; and who is found out.

#![allow(clippy::unwrap_used, reason = "a test fails by it")]

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use common::{HandClock, arbiter, assert_all_returned, await_waiters, with_watchdog};
use tenferro_arbiter::{Arbiter, CpuSet, FairArbiter, Policy, Request};

const OPERATION: Duration = Duration::from_micros(100);
const BYPASS: Duration = Duration::from_millis(1);

/// A thread whose operations take 100 us each of the test's time, on the only CPU, until told to stop. It says when
/// it is in flow, and waits in that operation for somebody who waits.
struct Greedy {
    in_flow: AtomicBool,
    stop: AtomicBool,
    operations: AtomicUsize,
}

impl Greedy {
    fn run(&self, arbiter: &dyn Arbiter, clock: &HandClock) {
        while !self.stop.load(SeqCst) {
            let permit = arbiter.acquire(&Request::one_thread()).unwrap();
            if self.operations.fetch_add(1, SeqCst) == 20 {
                self.in_flow.store(true, SeqCst);
                await_waiters(arbiter, 1);
            }
            clock.advance(OPERATION);
            drop(permit);
        }
    }
}

#[test]
fn x23_a_waiter_is_passed_by_no_more_operations_than_fit_into_the_budget() {
    with_watchdog(|| {
        let clock = HandClock::new();
        let policy = Policy { bypass: BYPASS, wait_limit: None, ..Policy::default() };
        let arbiter = FairArbiter::with_clock(CpuSet::first(1), policy, clock.clone()).unwrap();
        let [in_flow, stop] = [false; 2].map(AtomicBool::new);
        let greedy = Greedy { in_flow, stop, operations: AtomicUsize::new(0) };
        thread::scope(|scope| {
            scope.spawn(|| greedy.run(&arbiter, &clock));
            while !greedy.in_flow.load(SeqCst) {
                thread::yield_now();
            }
            let permit = arbiter.acquire(&Request::one_thread()).unwrap();
            // It came during the 21st; and one may have been under way when the budget ended.
            let passed = greedy.operations.load(SeqCst) - 21;
            greedy.stop.store(true, SeqCst);
            drop(permit);
            // This thread was in its turn, and does not come back: the other one looks when its budget has ended.
            clock.advance(BYPASS);
            let most = (BYPASS.as_micros() / OPERATION.as_micros()) as usize + 1;
            assert!(passed <= most, "{passed} operations passed a waiter, not {most}");
        });
        assert_all_returned(&arbiter);
    });
}

#[test]
fn x23_cpus_left_for_a_thread_that_does_not_come_back_are_found() {
    with_watchdog(|| {
        let arbiter = Arc::new(arbiter(1));
        let (stay, gone) = mpsc::channel::<()>();
        let both_work = |shared: &dyn Arbiter| {
            for _ in 0..200 {
                let permit = shared.acquire(&Request::one_thread()).unwrap();
                thread::sleep(Duration::from_micros(50));
                drop(permit);
            }
        };
        let idles = thread::spawn({
            let arbiter = Arc::clone(&arbiter);
            move || {
                both_work(&*arbiter);
                // It lives on, and asks for nothing.
                gone.recv().unwrap_err();
            }
        });
        let works = thread::spawn({
            let arbiter = Arc::clone(&arbiter);
            move || (0..5).for_each(|_| both_work(&*arbiter))
        });
        works.join().unwrap();
        assert_all_returned(&*arbiter);
        drop(stay);
        idles.join().unwrap();
    });
}
