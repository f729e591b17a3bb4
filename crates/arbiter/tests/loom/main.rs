//! X28: the production protocol under every interleaving of small models.
//!
//! `cargo xtask model` runs it. Two threads are explored exhaustively, three with bounded preemption
//! (`LOOM_MAX_PREEMPTIONS` sets a wider bound). Time does not pass: a time-out is a
//! cancellation, a bypass budget is nothing or for ever. A lost wake-up shows as a deadlock, which loom
//! reports. Unwinding drops a permit like any other way out; loom's threads share one thread of the system, on
//! which they cannot unwind one by one, so that panics are explored by shuttle. What a seeded bug must be
//! caught by is listed in `xtask/src/model`.

#![cfg(loom)]
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

mod bodies;
#[path = "../exploring/mod.rs"]
mod exploring;
mod pairs;
mod protocol;
mod triples;

use std::sync::Arc;
use std::sync::atomic::{
    AtomicBool, AtomicUsize,
    Ordering::{Relaxed, SeqCst},
};
use std::time::Duration;

use exploring::explore;
use loom::cell::UnsafeCell;
use loom::sync::Notify;
use loom::thread;
use tenferro_arbiter::{Arbiter, CpuSet, FairArbiter, Policy, Request, ResourcePermit};

/// The arbiter, and what its permits protect.
struct Model {
    arbiter: FairArbiter,
    /// Written by an operation that has every CPU, read by others: loom reports an overlap, and
    /// also a missing happens-before between one holder and the next.
    machine: UnsafeCell<()>,
    /// The same for the one CPU or provider that pinned and claiming bodies ask for.
    alone: UnsafeCell<()>,
    /// Told by one body to another.
    signal: Stop,
}

impl Model {
    fn new(cpus: usize) -> Arc<Self> {
        Self::with_bypass(cpus, Duration::ZERO)
    }

    fn with_bypass(cpus: usize, bypass: Duration) -> Arc<Self> {
        let policy = Policy { wait_limit: None, bypass, turn: 2 * bypass, capacity: None };
        let arbiter = FairArbiter::with_policy(CpuSet::first(cpus), policy).unwrap();
        let (machine, alone) = (UnsafeCell::new(()), UnsafeCell::new(()));
        Arc::new(Self { arbiter, machine, alone, signal: Stop::default() })
    }

    fn operate(&self, permit: &ResourcePermit) {
        assert!(1 <= permit.width() && permit.width() <= self.arbiter.capacity());
        if permit.is_overcommitted() {
            assert_eq!(permit.width(), 1);
        } else if permit.width() == self.arbiter.capacity() {
            self.machine.with_mut(|_| ());
        } else {
            self.machine.with(|_| ());
        }
    }

    fn run(&self, request: &Request) {
        let permit = self.arbiter.acquire(request).unwrap();
        assert!((request.min()..=request.max()).contains(&permit.width()));
        assert!(!permit.is_overcommitted());
        self.operate(&permit);
    }

    fn run_scope(&self, request: &Request, operations: usize) {
        let permit = self.arbiter.acquire(request).unwrap();
        self.operate(&permit);
        for _ in 0..operations {
            permit.lend();
            permit.resume();
            self.operate(&permit);
        }
    }

    /// Every CPU is back once every thread has ended.
    fn check_conserved(&self) {
        let snapshot = self.arbiter.snapshot();
        assert!(snapshot.holders.is_empty() && snapshot.waiters.is_empty());
        assert_eq!(snapshot.free + snapshot.parked, snapshot.capacity);
    }
}

// SAFETY: the cells hold nothing; loom checks the accesses, which is what they are for.
unsafe impl Sync for Model {}

type Body = fn(&Model);

/// Explores what `bodies` do to an arbiter over `cpus`, the last one on the main thread.
///
/// Registering the threads is not explored: it is the same every time.
fn check(cpus: usize, preemptions: Option<usize>, bodies: &'static [Body]) {
    explore(preemptions, move || run_once(&Model::new(cpus), bodies, Ends::Together));
}

/// When the threads of a model end.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ends {
    /// Once every body has: a wake-up must not be owed to a thread's end.
    Together,
    /// Each with its body, but for the main thread.
    EachForItself,
}

/// Where one thread stops: registered, told to go, and done with everybody else.
#[derive(Default)]
struct Gate {
    ready: Stop,
    go: Stop,
    done: Stop,
}

/// A signal from one thread to another. Loom's own may also come for no reason.
struct Stop {
    told: AtomicBool,
    bell: Notify,
}

impl Default for Stop {
    fn default() -> Self {
        Self { told: AtomicBool::new(false), bell: Notify::new() }
    }
}

impl Stop {
    fn notify(&self) {
        self.told.store(true, SeqCst);
        self.bell.notify();
    }

    fn wait(&self) {
        while !self.told.load(SeqCst) {
            self.bell.wait();
        }
    }
}

fn run_once(model: &Arc<Model>, bodies: &'static [Body], ends: Ends) {
    let (last, others) = bodies.split_last().unwrap();
    let gates: Arc<Vec<Gate>> = Arc::new(others.iter().map(|_| Gate::default()).collect());
    let running = Arc::new(AtomicUsize::new(bodies.len()));
    let all_done = Arc::new(Stop::default());
    let finish = {
        let (gates, all_done) = (Arc::clone(&gates), Arc::clone(&all_done));
        move || {
            if running.fetch_sub(1, Relaxed) == 1 {
                loom::stop_exploring();
                gates.iter().for_each(|gate| gate.done.notify());
                all_done.notify();
            }
        }
    };
    let threads: Vec<_> = (0..others.len())
        .map(|i| {
            let (model, gates, finish) = (Arc::clone(model), Arc::clone(&gates), finish.clone());
            thread::spawn(move || {
                bodies::once(&model);
                gates[i].ready.notify();
                gates[i].go.wait();
                others[i](&model);
                if ends == Ends::Together {
                    finish();
                    gates[i].done.wait();
                }
            })
        })
        .collect();
    gates.iter().for_each(|gate| gate.ready.wait());
    bodies::once(model);
    loom::explore();
    gates.iter().for_each(|gate| gate.go.notify());
    last(model);
    if ends == Ends::Together {
        finish();
        all_done.wait();
    }
    for thread in threads {
        thread.join().unwrap();
    }
    if ends == Ends::EachForItself {
        loom::stop_exploring();
    }
    model.check_conserved();
}
