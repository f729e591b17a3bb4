//! X23: how long a waiter is passed, by a clock that the test moves; and who is found out.

#![allow(clippy::unwrap_used, reason = "a test fails by it")]

mod common;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::Duration;

use common::{
    HandClock, arbiter, assert_all_returned, await_snapshot, await_waiters, with_watchdog,
};
use tenferro_arbiter::{Arbiter, CpuSet, FairArbiter, Policy, Request};

const OPERATION: Duration = Duration::from_micros(100);
const BYPASS: Duration = Duration::from_millis(1);
const TURN: Duration = Duration::from_millis(6);

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
            end_turns(&arbiter, &clock);
            let most = (BYPASS.as_micros() / OPERATION.as_micros()) as usize + 1;
            assert!(passed <= most, "{passed} operations passed a waiter, not {most}");
        });
        assert_all_returned(&arbiter);
    });
}

/// Two threads in a loop on one CPU, by a clock that only their operations move.
struct Loops {
    /// Who ran, operation by operation; `None` if nobody waited.
    order: Mutex<Vec<Option<usize>>>,
    stop: AtomicBool,
}

impl Loops {
    fn new() -> Self {
        Self { order: Mutex::default(), stop: AtomicBool::new(false) }
    }

    /// `meanwhile` runs within each operation, and is told how many in a row passed a waiter.
    fn run(&self, who: usize, arbiter: &dyn Arbiter, clock: &HandClock, meanwhile: impl Fn(usize)) {
        while !self.stop.load(SeqCst) {
            let permit = arbiter.acquire(&Request::one_thread()).unwrap();
            let passes = (!arbiter.snapshot().waiters.is_empty()).then_some(who);
            let in_a_row = {
                let mut order = self.order.lock().unwrap();
                order.push(passes);
                order.iter().rev().take_while(|&&other| other == Some(who)).count()
            };
            meanwhile(in_a_row);
            clock.advance(OPERATION);
            drop(permit);
        }
    }

    /// The most operations in a row that passed the other thread.
    fn longest(&self) -> usize {
        let order = self.order.lock().unwrap();
        let rows = order.chunk_by(|a, b| a == b).filter(|row| row[0].is_some());
        rows.map(<[_]>::len).max().unwrap_or(0)
    }

    fn operations(&self) -> usize {
        self.order.lock().unwrap().len()
    }
}

/// A thread that stops in its turn does not come back for its CPU: lets time pass until those who wait have found out.
fn end_turns(arbiter: &dyn Arbiter, clock: &HandClock) {
    while !arbiter.snapshot().waiters.is_empty() {
        clock.advance(TURN);
        thread::sleep(Duration::from_millis(1));
    }
}

/// Operations of a time, and the one under way.
fn at_most(time: Duration) -> usize {
    (time.as_micros() / OPERATION.as_micros()) as usize + 1
}

/// The most operations in a row of two threads that take turns so long.
fn longest_with(turn: Duration) -> usize {
    let clock = HandClock::new();
    let policy = Policy { bypass: BYPASS, turn, wait_limit: None, ..Policy::default() };
    let arbiter = FairArbiter::with_clock(CpuSet::first(1), policy, clock.clone()).unwrap();
    let loops = Loops::new();
    thread::scope(|scope| {
        for who in 0..2 {
            let (loops, arbiter, clock) = (&loops, &arbiter, &clock);
            scope.spawn(move || loops.run(who, arbiter, clock, |_| ()));
        }
        await_snapshot(&arbiter, |snapshot| snapshot.statistics.waits >= 100);
        loops.stop.store(true, SeqCst);
        end_turns(&arbiter, &clock);
    });
    assert_all_returned(&arbiter);
    loops.longest()
}

#[test]
fn x23_threads_that_take_turns_pass_each_other_for_turns_and_not_longer() {
    with_watchdog(|| {
        let longest = longest_with(TURN);
        assert!(longest > at_most(BYPASS), "{longest} operations are no turn");
        // Turns more for the sake of where the other one slept, up to the allowance.
        assert!(longest <= at_most(4 * TURN), "a waiter was passed by {longest} operations");
        let longest = longest_with(Duration::ZERO);
        assert!(longest <= at_most(BYPASS), "without turns {longest} operations passed a waiter");
    });
}

#[test]
fn x23_a_fresh_request_ends_a_long_turn_within_the_budget() {
    with_watchdog(|| {
        let clock = HandClock::new();
        let policy = Policy { bypass: BYPASS, turn: TURN, wait_limit: None, ..Policy::default() };
        let arbiter = FairArbiter::with_clock(CpuSet::first(1), policy, clock.clone()).unwrap();
        let (loops, came_at) = (Loops::new(), AtomicUsize::new(0));
        let in_a_long_turn = |in_a_row| {
            if in_a_row > at_most(BYPASS) && came_at.load(SeqCst) == 0 {
                came_at.store(loops.operations(), SeqCst);
                // The other one, and the fresh one.
                await_waiters(&arbiter, 2);
            }
        };
        thread::scope(|scope| {
            for who in 0..2 {
                let (loops, arbiter, clock) = (&loops, &arbiter, &clock);
                scope.spawn(move || loops.run(who, arbiter, clock, in_a_long_turn));
            }
            while came_at.load(SeqCst) == 0 {
                thread::yield_now();
            }
            let permit = arbiter.acquire(&Request::one_thread()).unwrap();
            // Beside those of the budget: the hold of the older waiter.
            let passed = loops.operations() - came_at.load(SeqCst);
            loops.stop.store(true, SeqCst);
            drop(permit);
            end_turns(&arbiter, &clock);
            let most = at_most(BYPASS) + 1;
            assert!(passed <= most, "{passed} operations passed a fresh request, not {most}");
        });
        assert_all_returned(&arbiter);
    });
}

/// Three threads in turns on two CPUs. One stops in a turn that is far from over; the other two run operations.
#[test]
fn x23_a_thread_that_stops_in_a_long_turn_is_found_by_one_that_runs() {
    with_watchdog(|| {
        let clock = HandClock::new();
        // So long that nobody who waits looks by itself.
        let policy =
            Policy { bypass: BYPASS, turn: 100 * TURN, wait_limit: None, ..Policy::default() };
        let arbiter = FairArbiter::with_clock(CpuSet::first(2), policy, clock.clone()).unwrap();
        let in_turns = || arbiter.snapshot().statistics.waits >= 50;
        let (stopped, both) = (AtomicBool::new(false), AtomicBool::new(false));
        let (since, running) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let stops = || {
            while !in_turns() {
                drop(arbiter.acquire(&Request::one_thread()).unwrap());
                clock.advance(OPERATION);
            }
            drop(arbiter.acquire(&Request::one_thread()).unwrap());
            stopped.store(true, SeqCst);
        };
        let goes_on = || {
            while !both.load(SeqCst) {
                let permit = arbiter.acquire(&Request::one_thread()).unwrap();
                if running.fetch_add(1, SeqCst) == 1 && stopped.load(SeqCst) {
                    both.store(true, SeqCst);
                }
                // Once it stopped, time goes on for a few looks, and then stands still until it was found.
                let passed =
                    stopped.load(SeqCst) && since.fetch_add(1, SeqCst) >= at_most(4 * BYPASS);
                if !passed {
                    clock.advance(OPERATION);
                }
                thread::yield_now();
                running.fetch_sub(1, SeqCst);
                drop(permit);
            }
        };
        thread::scope(|scope| {
            let threads = [scope.spawn(goes_on), scope.spawn(goes_on)];
            stops();
            for thread in threads {
                thread.join().unwrap();
            }
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
