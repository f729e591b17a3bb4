//! X28: the production protocol, model-checked.
//!
//! Run with `RUSTFLAGS="--cfg loom" cargo test -p tenferro-arbiter --release --test loom`. Two threads
//! are explored exhaustively, three with bounded preemption (`LOOM_MAX_PREEMPTIONS` sets another
//! bound). A time-out is modelled as a cancellation; the bypass budget is zero, since a model has no
//! clock. A lost wake-up shows as a deadlock, which loom reports. Unwinding drops a permit like any
//! other way out; loom's threads share one OS thread, so that a panic in a model is not told apart,
//! and `lifetime.rs` tests it with real threads.

#![cfg(loom)]
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use loom::cell::UnsafeCell;
use loom::sync::Notify;
use loom::thread;
use tenferro_arbiter::{
    Arbiter, ClaimKind, CpuSet, Error, FairArbiter, Policy, ProviderClaim, ProviderKey, Request,
    ResourcePermit,
};

/// The arbiter, and what its permits protect.
struct Model {
    arbiter: FairArbiter,
    /// Written by an operation that has every CPU, read by others: loom reports an overlap, and
    /// also a missing happens-before between one holder and the next.
    machine: UnsafeCell<()>,
    /// The same for the one CPU or provider that pinned and claiming bodies ask for.
    alone: UnsafeCell<()>,
}

impl Model {
    fn new(cpus: usize) -> Arc<Self> {
        let policy = Policy { wait_limit: None, bypass: Duration::ZERO, capacity: None };
        let arbiter = FairArbiter::with_policy(CpuSet::first(cpus), policy).unwrap();
        Arc::new(Self { arbiter, machine: UnsafeCell::new(()), alone: UnsafeCell::new(()) })
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
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = builder.preemption_bound.or(preemptions);
    builder.max_branches = 20_000;
    builder.expect_explicit_explore = true;
    let runs = Arc::new(AtomicUsize::new(0));
    builder.check({
        let runs = Arc::clone(&runs);
        move || {
            runs.fetch_add(1, Relaxed);
            run_once(&Model::new(cpus), bodies);
        }
    });
    println!("{} schedules", runs.load(Relaxed));
}

/// Where one thread stops: registered, told to go, and done with everybody else.
#[derive(Default)]
struct Gate {
    ready: Stop,
    go: Stop,
    done: Stop,
}

struct Stop(Notify);

impl Default for Stop {
    fn default() -> Self {
        Self(Notify::new())
    }
}

/// No thread ends before every body has: a wake-up must not be owed to a thread's end.
fn run_once(model: &Arc<Model>, bodies: &'static [Body]) {
    let (last, others) = bodies.split_last().unwrap();
    let gates: Arc<Vec<Gate>> = Arc::new(others.iter().map(|_| Gate::default()).collect());
    let running = Arc::new(AtomicUsize::new(bodies.len()));
    let all_done = Arc::new(Stop::default());
    let finish = {
        let (gates, all_done) = (Arc::clone(&gates), Arc::clone(&all_done));
        move || {
            if running.fetch_sub(1, Relaxed) == 1 {
                loom::stop_exploring();
                gates.iter().for_each(|gate| gate.done.0.notify());
                all_done.0.notify();
            }
        }
    };
    let threads: Vec<_> = (0..others.len())
        .map(|i| {
            let (model, gates, finish) = (Arc::clone(model), Arc::clone(&gates), finish.clone());
            thread::spawn(move || {
                once(&model);
                gates[i].ready.0.notify();
                gates[i].go.0.wait();
                others[i](&model);
                finish();
                gates[i].done.0.wait();
            })
        })
        .collect();
    gates.iter().for_each(|gate| gate.ready.0.wait());
    once(model);
    loom::explore();
    gates.iter().for_each(|gate| gate.go.0.notify());
    last(model);
    finish();
    all_done.0.wait();
    for thread in threads {
        thread.join().unwrap();
    }
    model.check_conserved();
}

fn claim(kind: ClaimKind) -> Request {
    Request::up_to(2).with_provider(ProviderClaim::new(ProviderKey(1), kind))
}

fn once(model: &Model) {
    model.run(&Request::one_thread());
}

fn twice(model: &Model) {
    model.run(&Request::one_thread());
    model.run(&Request::one_thread());
}

fn wide(model: &Model) {
    model.run(&Request::new(2..=2));
}

fn adaptive(model: &Model) {
    model.run(&Request::up_to(2));
}

fn adaptive_twice(model: &Model) {
    adaptive(model);
    adaptive(model);
}

fn scope(model: &Model) {
    model.run_scope(&Request::one_thread(), 1);
}

fn wide_scope(model: &Model) {
    model.run_scope(&Request::up_to(2), 1);
}

fn unbounded(model: &Model) {
    let permit = model.arbiter.acquire(&claim(ClaimKind::Unbounded)).unwrap();
    model.operate(&permit);
}

fn claiming(model: &Model) {
    let permit = model.arbiter.acquire(&claim(ClaimKind::Exclusive)).unwrap();
    model.alone.with_mut(|_| ());
    model.operate(&permit);
}

fn pinned(model: &Model) {
    let permit = model.arbiter.acquire(&Request::exclusive(CpuSet::from_iter([1]))).unwrap();
    model.alone.with_mut(|_| ());
    permit.lend();
    assert_eq!(permit.resume(), 1);
    model.alone.with_mut(|_| ());
}

fn cancelled(model: &Model) {
    match model.arbiter.acquire_timeout(&Request::one_thread(), Duration::ZERO) {
        Ok(permit) => model.operate(&permit),
        Err(error) => assert!(matches!(error, Error::TimedOut { .. })),
    }
}

fn wide_cancelled(model: &Model) {
    match model.arbiter.acquire_timeout(&Request::new(2..=2), Duration::ZERO) {
        Ok(permit) => model.operate(&permit),
        Err(error) => assert!(matches!(error, Error::TimedOut { .. })),
    }
}

fn trying(model: &Model) {
    match model.arbiter.try_acquire(&Request::one_thread()) {
        Ok(permit) => model.operate(&permit),
        Err(error) => assert!(matches!(error, Error::WouldBlock { .. })),
    }
}

#[test]
fn x28_two_threads_exclude_each_other_on_one_cpu() {
    check(1, None, &[twice, once]);
}

#[test]
fn x28_two_threads_conserve_the_width() {
    check(2, None, &[adaptive_twice, adaptive]);
}

#[test]
fn x28_a_wide_request_is_woken_by_narrow_releases() {
    check(2, None, &[twice, wide]);
}

#[test]
fn x28_a_lent_cpu_is_taken_and_taken_back() {
    check(1, None, &[scope, once]);
}

#[test]
fn x28_two_scopes_share_one_cpu() {
    check(1, None, &[scope, scope]);
}

#[test]
fn x28_a_wide_scope_lends_and_resumes() {
    check(2, None, &[wide_scope, adaptive]);
}

#[test]
fn x28_a_cancelled_waiter_leaves_no_trace() {
    check(1, None, &[cancelled, twice]);
}

#[test]
fn x28_a_try_never_blocks_others() {
    check(1, None, &[trying, twice]);
}

#[test]
fn x28_an_unbounded_provider_excludes_scopes() {
    check(1, None, &[scope, unbounded]);
}

#[test]
fn x28_a_provider_has_one_user() {
    check(2, None, &[claiming, claiming]);
}

#[test]
fn x28_a_pinned_cpu_has_one_user() {
    check(2, None, &[pinned, pinned]);
}

#[test]
fn x28_three_threads_exclude_each_other_on_one_cpu() {
    check(1, Some(3), &[once, once, once]);
}

#[test]
fn x28_three_threads_with_a_wide_request() {
    check(2, Some(3), &[wide, once, scope]);
}

#[test]
fn x28_three_threads_with_a_cancelled_wide_request() {
    check(2, Some(3), &[wide_cancelled, once, once]);
}

#[test]
fn x28_three_threads_adapt_their_widths() {
    check(2, Some(2), &[adaptive, once, adaptive]);
}

#[test]
fn x28_three_threads_with_an_unbounded_provider() {
    check(2, Some(2), &[unbounded, once, scope]);
}
