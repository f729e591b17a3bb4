//! X20, X22 and X30: what may not run together, and what may.

#![allow(clippy::unwrap_used, reason = "a test fails by it")]

mod common;

use std::sync::{Arc, mpsc};
use std::thread;

use common::{arbiter, assert_all_returned, await_waiters, strict_arbiter, with_watchdog};
use tenferro_arbiter::{
    Arbiter, ClaimKind, CpuSet, Error, ProviderClaim, ProviderKey, Request, WaitReason,
};

fn set(cpus: &str) -> CpuSet {
    cpus.parse().unwrap()
}

fn claim(key: u64, kind: ClaimKind) -> Request {
    Request::one_thread().with_provider(ProviderClaim::new(ProviderKey(key), kind))
}

fn would_block<T>(outcome: Result<T, Error>) -> bool {
    matches!(outcome, Err(Error::WouldBlock { .. }))
}

#[test]
fn x30_overlapping_exclusive_sets_serialise_and_disjoint_ones_run_together() {
    with_watchdog(|| {
        let arbiter = Arc::new(arbiter(4));
        let low = arbiter.acquire(&Request::exclusive(set("0-1"))).unwrap();
        let high = arbiter.acquire(&Request::exclusive(set("2-3"))).unwrap();
        assert_eq!((low.width(), high.width()), (2, 2));
        drop(high);
        let (sender, granted) = mpsc::channel();
        let waiter = thread::spawn({
            let arbiter = Arc::clone(&arbiter);
            move || {
                let permit = arbiter.acquire(&Request::exclusive(set("1-2"))).unwrap();
                sender.send(permit.width()).unwrap();
            }
        });
        let snapshot = await_waiters(&*arbiter, 1);
        assert_eq!(snapshot.waiters[0].reason, WaitReason::CpuSet);
        assert_eq!(snapshot.waiters[0].cpus, Some(set("1-2")));
        low.lend();
        assert!(granted.try_recv().is_err(), "a pinned domain keeps its set between operations");
        drop(low);
        assert_eq!(granted.recv().unwrap(), 2);
        waiter.join().unwrap();
        assert_all_returned(&*arbiter);
    });
}

#[test]
fn x22_floating_requests_run_beside_an_exclusive_set() {
    let arbiter = arbiter(4);
    let pinned = arbiter.acquire(&Request::exclusive(set("1-2"))).unwrap();
    let floating = arbiter.acquire(&Request::up_to(4)).unwrap();
    assert_eq!((pinned.width(), floating.width()), (2, 2));
    assert!(would_block(arbiter.try_acquire(&Request::one_thread())));
    drop((pinned, floating));
    assert_all_returned(&arbiter);
}

#[test]
fn x20_restricted_requests_are_matched_to_cpus() {
    let arbiter = arbiter(3);
    let either = arbiter.acquire(&Request::one_thread().on(set("0-1"))).unwrap();
    // The first moves to CPU 1 on paper.
    let zero = arbiter.try_acquire(&Request::one_thread().on(set("0"))).unwrap();
    assert!(would_block(arbiter.try_acquire(&Request::one_thread().on(set("0-1")))));
    let last = arbiter.try_acquire(&Request::up_to(3).on(set("1-2"))).unwrap();
    assert_eq!(last.width(), 1);
    assert!(would_block(arbiter.try_acquire(&Request::exclusive(set("2")))));
    drop((either, zero, last));
    assert_all_returned(&arbiter);
}

#[test]
fn x20_restricted_and_floating_requests_share_the_count() {
    let arbiter = arbiter(3);
    let floating = arbiter.acquire(&Request::new(2..=2)).unwrap();
    let zero = arbiter.try_acquire(&Request::up_to(2).on(set("0-1"))).unwrap();
    assert_eq!(zero.width(), 1, "the count leaves one");
    zero.lend();
    let pinned = arbiter.try_acquire(&Request::exclusive(set("0"))).expect("lent CPUs are free");
    assert_eq!(zero.resume(), 1);
    assert!(zero.is_overcommitted());
    drop((floating, zero, pinned));
    assert_all_returned(&arbiter);
}

#[test]
fn x22_minimum_widths_that_exceed_the_cpus_conflict() {
    let arbiter = strict_arbiter(4);
    let three = arbiter.acquire(&Request::new(3..=3)).unwrap();
    assert!(would_block(arbiter.try_acquire(&Request::new(2..=2))));
    assert!(arbiter.try_acquire(&Request::one_thread()).is_ok());
    drop(three);
    assert!(arbiter.try_acquire(&Request::new(2..=2)).is_ok());
}

#[test]
fn x22_a_non_reentrant_provider_conflicts_with_its_own_users_only() {
    let arbiter = arbiter(4);
    let first = arbiter.acquire(&claim(1, ClaimKind::Exclusive)).unwrap();
    assert!(would_block(arbiter.try_acquire(&claim(1, ClaimKind::Exclusive))));
    assert!(would_block(arbiter.try_acquire(&claim(1, ClaimKind::SharedOneThread))));
    assert!(would_block(arbiter.admit_now(&claim(1, ClaimKind::Exclusive))));
    let other = arbiter.try_acquire(&claim(2, ClaimKind::Exclusive)).unwrap();
    let plain = arbiter.try_acquire(&Request::one_thread()).unwrap();
    first.lend();
    assert!(
        would_block(arbiter.try_acquire(&claim(1, ClaimKind::Exclusive))),
        "a claim lasts as long as its permit"
    );
    drop(first);
    assert!(arbiter.try_acquire(&claim(1, ClaimKind::Exclusive)).is_ok());
    drop((other, plain));
    assert_all_returned(&arbiter);
}

#[test]
fn x42_one_thread_users_share_and_threaded_ones_exclude() {
    let arbiter = arbiter(4);
    let first = arbiter.acquire(&claim(1, ClaimKind::SharedOneThread)).unwrap();
    let second = arbiter.try_acquire(&claim(1, ClaimKind::SharedOneThread)).unwrap();
    assert!(would_block(arbiter.try_acquire(&claim(1, ClaimKind::Exclusive))));
    drop((first, second));
    assert!(arbiter.try_acquire(&claim(1, ClaimKind::Exclusive)).is_ok());
}

#[test]
fn x22_an_unbounded_provider_conflicts_with_every_user_of_cpus() {
    let arbiter = arbiter(3);
    let plain = arbiter.acquire(&Request::one_thread()).unwrap();
    assert!(would_block(arbiter.try_acquire(&claim(1, ClaimKind::Unbounded))));
    plain.lend();
    let unbounded = arbiter.try_acquire(&claim(1, ClaimKind::Unbounded)).expect("nothing runs");
    assert!(would_block(arbiter.try_acquire(&Request::one_thread())));
    assert!(would_block(arbiter.try_acquire(&Request::exclusive(set("1")))));
    unbounded.lend();
    assert!(would_block(arbiter.try_acquire(&Request::one_thread())), "it keeps the machine");
    assert_eq!(plain.resume(), 1);
    assert!(plain.is_overcommitted());
    drop(unbounded);
    assert!(
        would_block(arbiter.try_acquire(&claim(1, ClaimKind::Unbounded))),
        "an overcommitted operation counts"
    );
    drop(plain);
    assert_all_returned(&arbiter);
}

#[test]
fn x22_a_waiter_for_a_provider_is_told_apart_and_blocks_nobody_else() {
    with_watchdog(|| {
        let arbiter = Arc::new(arbiter(3));
        let holder = arbiter.acquire(&claim(9, ClaimKind::Exclusive)).unwrap();
        let waiter = thread::spawn({
            let arbiter = Arc::clone(&arbiter);
            move || drop(arbiter.acquire(&claim(9, ClaimKind::Exclusive)).unwrap())
        });
        let snapshot = await_waiters(&*arbiter, 1);
        assert_eq!(snapshot.waiters[0].reason, WaitReason::Provider(ProviderKey(9)));
        let beside = arbiter.try_acquire(&Request::up_to(3)).expect("it fits beside the waiter");
        assert_eq!(beside.width(), 1, "one CPU is the holder's and one is kept for the waiter");
        drop(beside);
        drop(holder);
        waiter.join().unwrap();
        assert_all_returned(&*arbiter);
    });
}
