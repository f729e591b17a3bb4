//! X23 and X24: who may pass whom, for how long, and who is woken.

#![allow(clippy::unwrap_used, reason = "a test fails by it")]

mod common;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use common::{
    arbiter, assert_all_returned, await_snapshot, await_waiters, strict_arbiter, with_watchdog,
};
use proptest::prelude::*;
use tenferro_arbiter::{Arbiter, Request, WaitReason};

#[test]
fn x23_a_request_passes_an_older_waiter_only_if_it_fits_beside_it() {
    with_watchdog(|| {
        let arbiter = Arc::new(strict_arbiter(4));
        let holder = arbiter.acquire(&Request::new(2..=2)).unwrap();
        let (sender, granted) = mpsc::channel();
        let wide = thread::spawn({
            let arbiter = Arc::clone(&arbiter);
            move || {
                let permit = arbiter.acquire(&Request::new(3..=3)).unwrap();
                sender.send(permit.width()).unwrap();
            }
        });
        await_waiters(&*arbiter, 1);
        // Two CPUs are free, and three are promised: one fits beside, two do not.
        assert!(arbiter.try_acquire(&Request::new(2..=2)).is_err());
        let beside = arbiter.try_acquire(&Request::up_to(2)).unwrap();
        assert_eq!(beside.width(), 1);
        assert!(arbiter.try_acquire(&Request::one_thread()).is_err(), "the next would delay it");
        drop(holder);
        assert_eq!(granted.recv().unwrap(), 3);
        wide.join().unwrap();
        drop(beside);
        assert_all_returned(&*arbiter);
    });
}

#[test]
fn x23_a_wide_request_is_not_starved_by_narrow_ones() {
    with_watchdog(|| {
        let arbiter = Arc::new(arbiter(3));
        let stop = Arc::new(AtomicBool::new(false));
        let narrow: Vec<_> = (0..4)
            .map(|_| {
                let (arbiter, stop) = (Arc::clone(&arbiter), Arc::clone(&stop));
                thread::spawn(move || {
                    while !stop.load(SeqCst) {
                        let permit = arbiter.acquire(&Request::one_thread()).unwrap();
                        std::hint::black_box(permit.width());
                    }
                })
            })
            .collect();
        for _ in 0..50 {
            assert_eq!(arbiter.acquire(&Request::new(3..=3)).unwrap().width(), 3);
        }
        stop.store(true, SeqCst);
        narrow.into_iter().for_each(|thread| thread.join().unwrap());
        assert_all_returned(&*arbiter);
    });
}

#[test]
fn x23_conflicting_requests_pass_a_waiter_for_a_bounded_time() {
    with_watchdog(|| {
        let arbiter = Arc::new(arbiter(1));
        let stop = Arc::new(AtomicBool::new(false));
        let operations = Arc::new(AtomicUsize::new(0));
        let greedy = thread::spawn({
            let (arbiter, stop, operations) =
                (Arc::clone(&arbiter), Arc::clone(&stop), Arc::clone(&operations));
            move || {
                while !stop.load(SeqCst) {
                    drop(arbiter.acquire(&Request::one_thread()).unwrap());
                    operations.fetch_add(1, SeqCst);
                }
            }
        });
        for _ in 0..100 {
            let before = operations.load(SeqCst);
            while operations.load(SeqCst) < before + 100 {
                thread::yield_now();
            }
            // Without the bound the loop above keeps the CPU for ever.
            drop(arbiter.acquire(&Request::one_thread()).unwrap());
        }
        stop.store(true, SeqCst);
        greedy.join().unwrap();
        assert_all_returned(&*arbiter);
    });
}

#[test]
fn x23_no_convoy_a_thread_in_flow_keeps_its_cpu_for_a_while() {
    with_watchdog(|| {
        let arbiter = Arc::new(arbiter(1));
        let stop = Arc::new(AtomicBool::new(false));
        let loops: Vec<_> = (0..2)
            .map(|_| {
                let (arbiter, stop) = (Arc::clone(&arbiter), Arc::clone(&stop));
                thread::spawn(move || {
                    let mut operations = 0_u64;
                    while !stop.load(SeqCst) {
                        drop(arbiter.acquire(&Request::one_thread()).unwrap());
                        operations += 1;
                    }
                    operations
                })
            })
            .collect();
        await_snapshot(&*arbiter, |snapshot| snapshot.statistics.waits >= 20);
        stop.store(true, SeqCst);
        let operations: u64 = loops.into_iter().map(|thread| thread.join().unwrap()).sum();
        let statistics = arbiter.snapshot().statistics;
        assert!(statistics.passes > 0, "{statistics:?}");
        assert!(operations > 10 * statistics.waits, "{operations} operations, {statistics:?}");
    });
}

#[test]
fn x24_a_release_wakes_only_those_who_can_run() {
    with_watchdog(|| {
        let arbiter = Arc::new(strict_arbiter(2));
        let holder = arbiter.acquire(&Request::new(2..=2)).unwrap();
        let threads: Vec<_> = (0..6)
            .map(|i| {
                let shared = Arc::clone(&arbiter);
                let thread = thread::spawn(move || {
                    drop(shared.acquire(&Request::new(2..=2)).unwrap());
                });
                await_waiters(&*arbiter, i + 1);
                thread
            })
            .collect();
        let before = arbiter.snapshot().statistics;
        assert_eq!((before.waits, before.notifications), (6, 0));
        drop(holder);
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        let after = arbiter.snapshot().statistics;
        assert_eq!(after.notifications, 6, "one bell for each grant, none for nothing");
        assert_eq!(after.hand_offs, 6);
        assert_all_returned(&*arbiter);
    });
}

#[test]
fn x23_waiters_are_served_in_order_of_arrival() {
    with_watchdog(|| {
        let arbiter = Arc::new(strict_arbiter(1));
        let holder = arbiter.acquire(&Request::one_thread()).unwrap();
        let (sender, order) = mpsc::channel();
        let threads: Vec<_> = (0..5)
            .map(|i| {
                let (shared, sender) = (Arc::clone(&arbiter), sender.clone());
                let thread = thread::spawn(move || {
                    let permit = shared.acquire(&Request::one_thread()).unwrap();
                    sender.send(i).unwrap();
                    drop(permit);
                });
                await_waiters(&*arbiter, i + 1);
                thread
            })
            .collect();
        drop(holder);
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        drop(sender);
        assert_eq!(order.iter().collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
    });
}

#[test]
fn x26_a_waiter_that_gives_up_lets_the_younger_ones_run() {
    with_watchdog(|| {
        let arbiter = Arc::new(strict_arbiter(2));
        let holder = arbiter.acquire(&Request::one_thread()).unwrap();
        let wide = thread::spawn({
            let arbiter = Arc::clone(&arbiter);
            move || {
                let start = Instant::now();
                let request = Request::new(2..=2);
                let error = arbiter.acquire_timeout(&request, Duration::from_millis(200));
                (error.unwrap_err(), start.elapsed())
            }
        });
        await_waiters(&*arbiter, 1);
        // One CPU is free, and kept for the wide one.
        let young = thread::spawn({
            let arbiter = Arc::clone(&arbiter);
            move || arbiter.acquire(&Request::one_thread()).unwrap().width()
        });
        let snapshot = await_snapshot(&*arbiter, |s| s.waiters.len() == 2 || young.is_finished());
        if let Some(waiter) = snapshot.waiters.get(1) {
            assert_eq!(waiter.reason, WaitReason::OlderWaiters);
        }
        assert_eq!(young.join().unwrap(), 1);
        let (error, waited) = wide.join().unwrap();
        assert!(matches!(error, tenferro_arbiter::Error::TimedOut { .. }), "{error}");
        assert!(waited >= Duration::from_millis(200));
        assert!(arbiter.snapshot().waiters.is_empty(), "it leaves no trace");
        drop(holder);
        assert_all_returned(&*arbiter);
    });
}

/// Requests that came in order while everything was held, released one by one in a given order: after
/// each release the oldest one that fits has run, and nobody delays an older one.
fn check_order(cpus: usize, mins: &[usize], releases: &[usize]) {
    let arbiter = Arc::new(strict_arbiter(cpus));
    let holder = arbiter.acquire(&Request::new(cpus..=cpus)).unwrap();
    let (sender, granted) = mpsc::channel();
    let (gates, threads): (Vec<_>, Vec<_>) = mins
        .iter()
        .enumerate()
        .map(|(i, &min)| {
            let (shared, sender) = (Arc::clone(&arbiter), sender.clone());
            let (gate, open) = mpsc::channel::<()>();
            let thread = thread::spawn(move || {
                let permit = shared.acquire(&Request::new(min..=min)).unwrap();
                sender.send(i).unwrap();
                open.recv().unwrap();
                drop(permit);
            });
            await_waiters(&*arbiter, i + 1);
            (gate, thread)
        })
        .unzip();
    drop(holder);
    let mut waiting: Vec<usize> = (0..mins.len()).collect();
    let mut holding: Vec<usize> = Vec::new();
    for &choice in releases.iter().take(mins.len()) {
        // Grants are made under the lock, so that a snapshot shows all that a release has caused.
        while waiting.len() > arbiter.snapshot().waiters.len() {
            let i = granted.recv().unwrap();
            waiting.retain(|&other| other != i);
            holding.push(i);
        }
        holding.sort_unstable();
        check_state(cpus, mins, &holding, &waiting);
        let i = holding.remove(choice % holding.len());
        gates[i].send(()).unwrap();
        let left = holding.len() + waiting.len();
        await_snapshot(&*arbiter, |s| s.holders.len() + s.waiters.len() == left);
    }
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert_all_returned(&*arbiter);
}

fn check_state(cpus: usize, mins: &[usize], holding: &[usize], waiting: &[usize]) {
    let sum = |requests: &[usize]| requests.iter().map(|&i| mins[i]).sum::<usize>();
    let state = format!("{holding:?} hold, {waiting:?} wait, of {mins:?} on {cpus}");
    assert!(sum(holding) <= cpus, "{state}");
    let Some(&oldest) = waiting.first() else { return };
    assert!(sum(holding) + mins[oldest] > cpus, "the oldest could run: {state}");
    // Those who came later and run leave room for the oldest, once the older holders are done.
    let passed: Vec<usize> = holding.iter().copied().filter(|&i| i > oldest).collect();
    assert!(sum(&passed) + mins[oldest] <= cpus, "the oldest is delayed: {state}");
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 64,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn x23_nobody_is_passed_by_a_request_that_delays_it(
        cpus in 1_usize..5,
        mins in prop::collection::vec(1_usize..5, 1..7),
        releases in prop::collection::vec(0_usize..7, 7),
    ) {
        let mins: Vec<usize> = mins.into_iter().map(|min| min.min(cpus)).collect();
        with_watchdog(move || check_order(cpus, &mins, &releases));
    }
}
