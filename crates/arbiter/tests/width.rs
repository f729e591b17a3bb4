//! X20 and X21: how wide a permit is, alone and among others.

#![allow(clippy::unwrap_used, reason = "a test fails by it")]

mod common;

use std::sync::{Arc, Barrier, mpsc};
use std::thread;

use common::{arbiter, assert_all_returned, await_waiters, strict_arbiter, with_watchdog};
use tenferro_arbiter::{Arbiter, Request};

#[test]
fn x20_two_one_thread_requests_on_two_free_cpus_never_wait() {
    with_watchdog(|| {
        let arbiter = arbiter(2);
        let mine = arbiter.acquire(&Request::one_thread()).unwrap();
        thread::scope(|scope| {
            scope.spawn(|| {
                for _ in 0..1000 {
                    drop(arbiter.acquire(&Request::one_thread()).unwrap());
                }
            });
        });
        assert_eq!(mine.width(), 1);
        assert_eq!(arbiter.snapshot().statistics.waits, 0);
    });
}

#[test]
fn x20_the_minimum_is_one_unless_asked() {
    let arbiter = strict_arbiter(4);
    let _three = arbiter.acquire(&Request::new(3..=3)).unwrap();
    assert_eq!(arbiter.try_acquire(&Request::up_to(4)).unwrap().width(), 1);
    assert!(arbiter.try_acquire(&Request::new(2..=4)).is_err());
}

#[test]
fn x21_alone_a_caller_gets_its_maximum() {
    let arbiter = arbiter(4);
    assert_eq!(arbiter.acquire(&Request::new(1..=3)).unwrap().width(), 3);
    assert_eq!(arbiter.acquire(&Request::up_to(9)).unwrap().width(), 4);
    assert_eq!(arbiter.acquire(&Request::one_thread()).unwrap().width(), 1);
    assert_eq!(arbiter.acquire(&Request::new(4..=4)).unwrap().width(), 4);
}

#[test]
fn x21_parked_cpus_of_an_idle_thread_are_anybodys() {
    with_watchdog(|| {
        let arbiter = Arc::new(arbiter(4));
        let (parked, go) = (Arc::new(Barrier::new(2)), Arc::new(Barrier::new(2)));
        let idle = thread::spawn({
            let (arbiter, parked, go) =
                (Arc::clone(&arbiter), Arc::clone(&parked), Arc::clone(&go));
            move || {
                assert_eq!(arbiter.acquire(&Request::up_to(4)).unwrap().width(), 4);
                parked.wait();
                go.wait();
            }
        });
        parked.wait();
        assert_eq!(arbiter.snapshot().parked, 4);
        assert_eq!(arbiter.acquire(&Request::up_to(4)).unwrap().width(), 4);
        go.wait();
        idle.join().unwrap();
        assert_all_returned(&*arbiter);
    });
}

#[test]
fn x21_contention_shrinks_widths_instead_of_queueing() {
    with_watchdog(|| {
        let arbiter = Arc::new(strict_arbiter(4));
        let first = arbiter.acquire(&Request::up_to(4)).unwrap();
        assert_eq!(first.width(), 4);
        let (sender, widths) = mpsc::channel();
        let hold = Arc::new(Barrier::new(4));
        let others: Vec<_> = (0..3)
            .map(|_| {
                let (arbiter, sender, hold) =
                    (Arc::clone(&arbiter), sender.clone(), Arc::clone(&hold));
                thread::spawn(move || {
                    let permit = arbiter.acquire(&Request::up_to(4)).unwrap();
                    sender.send(permit.width()).unwrap();
                    hold.wait();
                })
            })
            .collect();
        await_waiters(&*arbiter, 3);
        assert_eq!(first.width(), 4, "a running operation keeps its width");
        drop(first);
        let mut granted: Vec<_> = widths.iter().take(3).collect();
        granted.sort_unstable();
        assert_eq!(granted, [1, 1, 2], "three callers keep four CPUs busy");
        hold.wait();
        others.into_iter().for_each(|other| other.join().unwrap());
        assert_all_returned(&*arbiter);
    });
}

#[test]
fn x21_a_caller_that_shrank_grows_again_once_alone() {
    with_watchdog(|| {
        let arbiter = Arc::new(strict_arbiter(4));
        let request = Request::up_to(4);
        let other = Arc::new(Barrier::new(2));
        let guest = thread::spawn({
            let (arbiter, other) = (Arc::clone(&arbiter), Arc::clone(&other));
            move || {
                let permit = arbiter.acquire(&Request::new(2..=2)).unwrap();
                other.wait();
                other.wait();
                drop(permit);
                // Its CPUs are parked here: alive, but idle.
                other.wait();
                other.wait();
            }
        });
        other.wait();
        assert_eq!(arbiter.acquire(&request).unwrap().width(), 2);
        other.wait();
        other.wait();
        let widths: Vec<_> = (0..3).map(|_| arbiter.acquire(&request).unwrap().width()).collect();
        assert_eq!(widths.last(), Some(&4), "{widths:?}");
        other.wait();
        guest.join().unwrap();
    });
}

#[test]
fn x21_a_lent_permit_gives_its_cpus_and_takes_back_what_is_free() {
    let arbiter = arbiter(3);
    let scope = arbiter.acquire(&Request::up_to(3)).unwrap();
    assert_eq!(scope.width(), 3);
    scope.lend();
    assert!(scope.is_lent());
    let guest = arbiter.acquire(&Request::new(2..=2)).unwrap();
    assert_eq!(scope.resume(), 1, "one is left");
    assert!(!scope.is_overcommitted());
    scope.lend();
    drop(guest);
    let widths: Vec<_> = (0..3)
        .map(|_| {
            let width = scope.resume_up_to(3);
            scope.lend();
            width
        })
        .collect();
    assert_eq!(widths[2], 3, "{widths:?}");
    drop(scope);
    assert_all_returned(&arbiter);
}

#[test]
fn x21_resuming_never_waits_and_overcommitment_is_counted() {
    let arbiter = arbiter(2);
    let scope = arbiter.acquire(&Request::up_to(2)).unwrap();
    scope.lend();
    let guest = arbiter.acquire(&Request::new(2..=2)).unwrap();
    for round in 1..=40 {
        assert_eq!(scope.resume(), 1);
        assert!(scope.is_overcommitted());
        let snapshot = arbiter.snapshot();
        assert_eq!((snapshot.overcommitted, snapshot.statistics.overcommits), (1, round));
        scope.lend();
    }
    drop(guest);
    // The guest's CPUs are parked; the scope finds them within a few operations.
    let widths: Vec<_> = (0..40)
        .map(|_| {
            let width = scope.resume_up_to(2);
            scope.lend();
            width
        })
        .collect();
    assert_eq!(widths.last(), Some(&2), "{widths:?}");
    drop(scope);
    assert_all_returned(&arbiter);
}

#[test]
fn x21_an_operation_that_asks_for_less_leaves_the_rest_lent() {
    let arbiter = arbiter(4);
    let scope = arbiter.acquire(&Request::up_to(4)).unwrap();
    scope.lend();
    assert_eq!(scope.resume_up_to(1), 1);
    let guest = arbiter.try_acquire(&Request::new(3..=3)).expect("three are lent");
    assert_eq!((scope.width(), guest.width()), (1, 3));
    scope.lend();
    assert_eq!(scope.resume(), 1);
}

#[test]
fn x21_lending_and_resuming_twice_changes_nothing() {
    let arbiter = arbiter(2);
    let scope = arbiter.acquire(&Request::up_to(2)).unwrap();
    assert_eq!(scope.resume(), 2);
    scope.lend();
    scope.lend();
    assert_eq!((scope.resume(), scope.resume()), (2, 2));
    drop(scope);
    assert_all_returned(&arbiter);
}

#[test]
fn x16_a_plain_thread_is_admitted_while_idle_scopes_hold_every_cpu() {
    with_watchdog(|| {
        let arbiter = Arc::new(arbiter(2));
        let scopes: Vec<_> =
            (0..2).map(|_| arbiter.acquire(&Request::one_thread()).unwrap()).collect();
        scopes.iter().for_each(|scope| scope.lend());
        let plain = thread::spawn({
            let arbiter = Arc::clone(&arbiter);
            move || arbiter.acquire(&Request::new(2..=2)).unwrap().width()
        });
        assert_eq!(plain.join().unwrap(), 2);
        assert_eq!(arbiter.snapshot().statistics.waits, 0);
        for scope in &scopes {
            assert_eq!(scope.resume(), 1);
            assert!(!scope.is_overcommitted());
        }
    });
}

#[test]
fn x33_a_thread_that_must_not_wait_is_admitted_overcommitted() {
    let arbiter = arbiter(1);
    let holder = arbiter.acquire(&Request::one_thread()).unwrap();
    let foreign = arbiter.admit_now(&Request::up_to(8)).unwrap();
    assert_eq!((foreign.width(), foreign.is_overcommitted()), (1, true));
    drop((holder, foreign));
    let alone = arbiter.admit_now(&Request::one_thread()).unwrap();
    assert!(!alone.is_overcommitted());
    drop(alone);
    assert_eq!(arbiter.snapshot().statistics.overcommits, 1);
    assert_all_returned(&arbiter);
}
