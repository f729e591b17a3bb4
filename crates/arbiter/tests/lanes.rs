//! X17: a permit divided among threads: widths, owners, lending, what stays whole, and what comes back.

#![cfg(not(loom))]
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

use std::sync::{Arc, Barrier};
use std::thread;

use tenferro_arbiter::{
    Arbiter, ClaimKind, CpuSet, FairArbiter, HolderState, ProviderClaim, ProviderKey, Request,
};

fn arbiter(cpus: usize) -> Arc<FairArbiter> {
    Arc::new(FairArbiter::new(CpuSet::first(cpus)).unwrap())
}

fn assert_all_returned(arbiter: &FairArbiter) {
    let snapshot = arbiter.snapshot();
    assert!(snapshot.holders.is_empty() && snapshot.waiters.is_empty(), "{snapshot:#?}");
    assert_eq!(snapshot.free + snapshot.parked, snapshot.capacity, "{snapshot:#?}");
}

#[test]
fn x17_the_widths_of_lanes_sum_to_the_grant() {
    let arbiter = arbiter(7);
    for (width, lanes) in [(7, 1), (7, 2), (7, 3), (7, 7), (5, 4), (1, 1)] {
        let permit = arbiter.acquire(&Request::up_to(width)).unwrap();
        let shares = permit.split(lanes).unwrap();
        let widths: Vec<usize> = shares.iter().map(|share| share.width()).collect();
        assert_eq!(widths.len(), lanes);
        assert_eq!(widths.iter().sum::<usize>(), width);
        assert!(widths[0] - widths[lanes - 1] <= 1, "{widths:?}");
    }
    assert_all_returned(&arbiter);
}

#[test]
fn x17_lanes_run_beside_each_other_under_one_owner_and_never_wider_than_the_grant() {
    let arbiter = arbiter(4);
    let permit = arbiter.acquire(&Request::up_to(4)).unwrap();
    let (owner, all) = (permit.owner(), Barrier::new(2));
    thread::scope(|threads| {
        for share in permit.split(2).unwrap() {
            threads.spawn(|| {
                let lane = share.take();
                assert_eq!((lane.owner(), lane.width(), lane.max_width()), (owner, 2, 2));
                assert!(lane.is_lent());
                assert_eq!(lane.resume_up_to(usize::MAX), 2);
                assert!(!lane.is_overcommitted());
                all.wait();
                let snapshot = arbiter.snapshot();
                let running = |label: &str| {
                    let holders = snapshot.holders.iter();
                    let of_label = holders.filter(move |h| h.label.as_str() == label);
                    of_label.filter(|h| h.state == HolderState::Running).map(|h| h.width).sum()
                };
                assert_eq!((running("lane"), running("operation")), (4_usize, 0_usize));
                assert!(snapshot.holders.iter().all(|holder| holder.owner == owner));
                all.wait();
            });
        }
    });
    assert_eq!(permit.resume(), 4);
    drop(permit);
    assert_all_returned(&arbiter);
}

#[test]
fn x17_x21_a_lane_lends_its_cpus_between_operations() {
    let arbiter = arbiter(2);
    let permit = arbiter.acquire(&Request::up_to(2)).unwrap();
    let shares = permit.split(2).unwrap();
    let lanes: Vec<_> = shares.into_iter().map(|share| share.take()).collect();
    lanes.iter().for_each(|lane| assert_eq!(lane.resume(), 1));
    lanes[0].lend();
    let visitor = arbiter.try_acquire(&Request::one_thread()).unwrap();
    // Nothing is left: the lane goes on all the same, and is counted.
    assert_eq!(lanes[0].resume(), 1);
    assert!(lanes[0].is_overcommitted());
    lanes[0].lend();
    drop(visitor);
    assert_eq!(lanes[0].resume(), 1);
    drop((lanes, permit));
    assert_all_returned(&arbiter);
}

#[test]
fn x17_lanes_of_a_restricted_permit_keep_to_its_set() {
    let arbiter = arbiter(4);
    let set = CpuSet::from_iter([1, 2]);
    let permit = arbiter.acquire(&Request::up_to(2).on(set.clone())).unwrap();
    let shares = permit.split(2).unwrap();
    let lanes: Vec<_> = shares.into_iter().map(|share| share.take()).collect();
    lanes.iter().for_each(|lane| assert_eq!(lane.resume(), 1));
    let holders = arbiter.snapshot().holders;
    assert!(holders.iter().all(|holder| holder.cpus.as_ref() == Some(&set)), "{holders:?}");
    assert!(arbiter.try_acquire(&Request::exclusive(set.clone())).is_err());
    assert!(arbiter.try_acquire(&Request::exclusive(CpuSet::from_iter([0, 3]))).is_ok());
    drop((lanes, permit));
    assert!(arbiter.try_acquire(&Request::exclusive(set)).is_ok());
    assert_all_returned(&arbiter);
}

#[test]
fn x17_a_permit_whose_cpus_stay_with_it_is_not_divided() {
    let arbiter = arbiter(4);
    let claim = |kind| Request::up_to(2).with_provider(ProviderClaim::new(ProviderKey(7), kind));
    let set = CpuSet::from_iter([0, 1]);
    for request in [
        Request::exclusive(set.clone()),
        claim(ClaimKind::Exclusive),
        claim(ClaimKind::Unbounded),
        claim(ClaimKind::Exclusive).on(set),
    ] {
        let permit = arbiter.acquire(&request).unwrap();
        assert!(permit.split(1).is_none(), "{request:?}");
        assert!(!permit.is_lent());
    }
    assert_all_returned(&arbiter);
}

#[test]
fn x17_a_share_that_nobody_takes_holds_nothing() {
    let arbiter = arbiter(2);
    let permit = arbiter.acquire(&Request::up_to(2)).unwrap();
    let shares = permit.split(2).unwrap();
    let other = arbiter.try_acquire(&Request::new(2..=2)).unwrap();
    drop((shares, permit, other));
    assert_all_returned(&arbiter);
}

#[test]
fn x17_x25_a_lane_that_panics_gives_its_cpus_back() {
    let arbiter = arbiter(2);
    let permit = arbiter.acquire(&Request::up_to(2)).unwrap();
    let mut shares = permit.split(2).unwrap();
    let share = shares.pop().unwrap();
    let thread = thread::spawn(move || {
        let lane = share.take();
        lane.resume();
        panic!("of the lane");
    });
    assert!(thread.join().is_err());
    assert_eq!(permit.resume(), 2);
    drop(permit);
    assert_all_returned(&arbiter);
}

#[test]
#[should_panic(expected = "3 shares of a permit 2 wide")]
fn x17_there_are_no_more_shares_than_cpus() {
    let arbiter = arbiter(2);
    let permit = arbiter.acquire(&Request::up_to(2)).unwrap();
    let _ = permit.split(3);
}
