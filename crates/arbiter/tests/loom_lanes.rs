//! X28 for lanes: a permit is split among threads while others ask for its CPUs.
//!
//! Run as `loom.rs` is, whose conventions hold here: no clock, a time-out is a cancellation, and a lost wake-up shows
//! as a deadlock. Threads are registered before the schedules are explored.

#![cfg(loom)]
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

mod exploring;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use exploring::explore;
use loom::cell::UnsafeCell;
use loom::sync::{Notify, mpsc};
use loom::thread;
use tenferro_arbiter::{
    Arbiter, CpuSet, FairArbiter, PermitShare, Policy, Request, ResourcePermit,
};

struct Model {
    arbiter: FairArbiter,
    /// Written by whoever has every CPU by right, read by the others: loom reports an overlap.
    machine: UnsafeCell<()>,
    /// The CPUs that lanes use by right at the moment, and may not exceed the grant.
    in_lanes: AtomicUsize,
}

// SAFETY: the cell holds nothing; loom checks the accesses, which is what it is for.
unsafe impl Sync for Model {}

impl Model {
    fn operate(&self, permit: &ResourcePermit) {
        if !permit.is_overcommitted() && permit.width() == self.arbiter.capacity() {
            self.machine.with_mut(|_| ());
        } else if !permit.is_overcommitted() {
            self.machine.with(|_| ());
        }
    }

    /// Two operations of a lane that is `width` wide at most.
    fn lane(&self, share: PermitShare) {
        let (width, grant) = (share.width(), self.arbiter.capacity());
        let lane = share.take();
        for _ in 0..2 {
            let now = lane.resume();
            assert!(1 <= now && now <= width, "{now} of {width}");
            assert!(self.in_lanes.fetch_add(now, Relaxed) + now <= grant);
            self.operate(&lane);
            self.in_lanes.fetch_sub(now, Relaxed);
            lane.lend();
        }
    }
}

/// Splits a permit for two CPUs between the main thread and another, while `visitors` ask for CPUs.
fn check(preemptions: Option<usize>, visitors: &'static [fn(&Model)]) {
    explore(preemptions, move || run_once(visitors));
}

fn run_once(visitors: &'static [fn(&Model)]) {
    let policy =
        Policy { wait_limit: None, bypass: Duration::ZERO, turn: Duration::ZERO, capacity: None };
    let arbiter = FairArbiter::with_policy(CpuSet::first(2), policy).unwrap();
    let model =
        Arc::new(Model { arbiter, machine: UnsafeCell::new(()), in_lanes: AtomicUsize::new(0) });
    // The schedules are explored until everybody has done its part.
    let running = Arc::new(AtomicUsize::new(visitors.len() + 2));
    let finish = move || {
        if running.fetch_sub(1, Relaxed) == 1 {
            loom::stop_exploring();
        }
    };
    let go: Arc<Vec<Notify>> = Arc::new(visitors.iter().map(|_| Notify::new()).collect());
    let (ready, is_ready) = mpsc::channel();
    let threads: Vec<_> = (0..visitors.len())
        .map(|place| {
            let (model, go, ready) = (Arc::clone(&model), Arc::clone(&go), ready.clone());
            let finish = finish.clone();
            thread::spawn(move || {
                drop(model.arbiter.acquire(&Request::one_thread()).unwrap());
                ready.send(()).unwrap();
                go[place].wait();
                visitors[place](&model);
                finish();
            })
        })
        .collect();
    let (hand, in_hand) = mpsc::channel::<PermitShare>();
    let other_lane = {
        let (model, ready, finish) = (Arc::clone(&model), ready.clone(), finish.clone());
        thread::spawn(move || {
            drop(model.arbiter.acquire(&Request::one_thread()).unwrap());
            ready.send(()).unwrap();
            model.lane(in_hand.recv().unwrap());
            finish();
        })
    };
    for _ in 0..=visitors.len() {
        is_ready.recv().unwrap();
    }
    let permit = model.arbiter.acquire(&Request::new(2..=2)).unwrap();
    loom::explore();
    go.iter().for_each(Notify::notify);
    let mut shares = permit.split(2).unwrap();
    hand.send(shares.pop().unwrap()).unwrap();
    model.lane(shares.pop().unwrap());
    finish();
    other_lane.join().unwrap();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert!(permit.resume() >= 1);
    drop(permit);
    let snapshot = model.arbiter.snapshot();
    assert!(snapshot.holders.is_empty() && snapshot.waiters.is_empty());
    assert_eq!(snapshot.free + snapshot.parked, snapshot.capacity);
}

fn narrow(model: &Model) {
    model.operate(&model.arbiter.acquire(&Request::one_thread()).unwrap());
}

fn wide(model: &Model) {
    model.operate(&model.arbiter.acquire(&Request::new(2..=2)).unwrap());
}

fn cancelled(model: &Model) {
    if let Ok(permit) = model.arbiter.acquire_timeout(&Request::new(2..=2), Duration::ZERO) {
        model.operate(&permit);
    }
}

#[test]
fn x28_x17_two_lanes_share_a_permit() {
    check(None, &[]);
}

#[test]
fn x28_x17_lanes_lend_to_a_narrow_visitor() {
    check(Some(3), &[narrow]);
}

#[test]
fn x28_x17_lanes_make_way_for_a_wide_visitor() {
    check(Some(3), &[wide]);
}

#[test]
fn x28_x17_a_visitor_that_gives_up_leaves_lanes_their_cpus() {
    check(Some(3), &[cancelled]);
}
