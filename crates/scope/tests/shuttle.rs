//! X28 for scopes, installations and brief operations: random schedules of what is too large for `loom.rs`.
//!
//! `cargo xtask model` runs it; `MODEL_ITERATIONS` multiplies the schedules. Half of them are uniformly random, half
//! have few preemptions at random places. Panics are thrown past shuttle's hook, which takes others for failures.

#![cfg(shuttle)]
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    time::Duration,
};

use shuttle::{
    rand::{Rng, thread_rng},
    thread,
};
use tenferro_arbiter::{Arbiter, CpuSet, FairArbiter, Policy};
use tenferro_scope::{
    Affinity, Breadth, DomainConfig, DomainOwnership, Error, Executor, ExecutorCapabilities,
    ExecutorFault, ResourceDomain, Result, WaitLimit, current_owner, has_active_execution,
};

const CPUS: usize = 2;

/// Preemptions in a schedule of the second kind.
const DEPTH: usize = 4;

/// An executor of two threads that runs everything on the calling one.
struct Calling;

impl Executor for Calling {
    fn name(&self) -> &'static str {
        "calling"
    }

    fn capabilities(&self) -> ExecutorCapabilities {
        ExecutorCapabilities { width: CPUS, affinity: Affinity::Floating }
    }

    fn enter(
        &self,
        _: usize,
        job: &mut (dyn FnMut() + Send),
    ) -> std::result::Result<(), ExecutorFault> {
        job();
        Ok(())
    }

    fn fan_out(&self, _: usize, jobs: usize, job: &(dyn Fn(usize) + Sync)) {
        (0..jobs).for_each(job);
    }
}

/// Two domains on the same CPUs, and what an outside observer believes to be in use.
struct Model {
    arbiter: Arc<FairArbiter>,
    narrow: ResourceDomain,
    wide: ResourceDomain,
    in_use: AtomicUsize,
}

fn config(arbiter: &Arc<FairArbiter>, width: usize) -> DomainConfig {
    let wait_limit = WaitLimit::Policy;
    DomainConfig { width, cpus: None, arbiter: arbiter.clone(), provider: None, wait_limit }
}

impl Model {
    fn new() -> Self {
        let policy = Policy {
            wait_limit: None,
            bypass: Duration::ZERO,
            turn: Duration::ZERO,
            capacity: None,
        };
        let arbiter = Arc::new(FairArbiter::with_policy(CpuSet::first(CPUS), policy).unwrap());
        let narrow = ResourceDomain::managed(config(&arbiter, 1)).unwrap();
        let (managed, calling) = (DomainOwnership::Managed, Arc::new(Calling));
        let wide = ResourceDomain::with_executor(managed, config(&arbiter, CPUS), calling).unwrap();
        Self { arbiter, narrow, wide, in_use: AtomicUsize::new(0) }
    }

    /// An operation on `width` CPUs runs for a step.
    fn operate(&self, width: usize) {
        assert!((1..=CPUS).contains(&width));
        let width = if self.is_overcommitted() { 0 } else { width };
        let in_use = self.in_use.fetch_add(width, SeqCst) + width;
        assert!(in_use <= CPUS, "{in_use} of {CPUS} CPUs in use");
        thread::yield_now();
        self.in_use.fetch_sub(width, SeqCst);
    }

    /// Whether the scope open on this thread runs an operation without a CPU.
    fn is_overcommitted(&self) -> bool {
        let Some(owner) = current_owner() else { return false };
        let snapshot = self.arbiter.snapshot();
        snapshot.holders.iter().any(|holder| holder.owner == owner && holder.overcommitted)
    }

    fn check_conserved(&self) {
        let snapshot = self.arbiter.snapshot();
        assert!(snapshot.holders.is_empty() && snapshot.waiters.is_empty(), "{snapshot:#?}");
        assert_eq!(snapshot.free + snapshot.parked, snapshot.capacity, "{snapshot:#?}");
    }
}

type Body = fn(&Model);

/// Runs `bodies` under many schedules, each on a thread of its own.
fn check(schedules: usize, bodies: &'static [Body]) {
    let more = std::env::var("MODEL_ITERATIONS").map_or(1, |text| text.parse().unwrap());
    let schedules = schedules * more;
    let model = move || {
        let model = Arc::new(Model::new());
        let start = |body: &'static Body| {
            let model = model.clone();
            thread::spawn(move || {
                body(&model);
                assert!(!has_active_execution());
                // Whatever came before, the thread is admitted again.
                briefly(&model, &model.narrow);
            })
        };
        let threads: Vec<_> = bodies.iter().map(start).collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        model.check_conserved();
    };
    shuttle::check_random(model, schedules / 2);
    shuttle::check_pct(model, schedules / 2, DEPTH);
}

fn below(n: usize) -> usize {
    thread_rng().gen_range(0..n)
}

fn briefly(model: &Model, domain: &ResourceDomain) {
    assert!(domain.run_briefly(|| model.operate(1)).unwrap().is_some());
}

/// An operation of the general kind, from inside of which nothing else is admitted.
fn generally(model: &Model, domain: &ResourceDomain) {
    let breadth = if below(2) == 0 { Breadth::Narrow } else { Breadth::Wide };
    let refusal = |error: Error| panic!("{error}");
    let outcome: Result<(), ()> = domain.run(
        breadth,
        |guard| {
            model.operate(guard.width());
            assert!(matches!(domain.run_briefly(|| ()), Ok(None)));
            let again = domain.with_execution_scope(|| ());
            assert!(matches!(again, Err(Error::OperationActive { .. })));
            Ok(())
        },
        refusal,
    );
    outcome.unwrap();
}

/// Operations of both kinds, under a scope.
fn operations(model: &Model, domain: &ResourceDomain) {
    for _ in 0..2 {
        match below(3) {
            0 => generally(model, domain),
            1 => panic_briefly(domain),
            _ => briefly(model, domain),
        }
        assert!(has_active_execution());
        if below(2) == 0 {
            thread::yield_now();
        }
    }
}

fn throw<R>() -> R {
    resume_unwind(Box::new("on purpose"))
}

fn caught<R>(body: impl FnOnce() -> R) -> Box<dyn Any + Send> {
    catch_unwind(AssertUnwindSafe(body)).err().unwrap()
}

fn panic_briefly(domain: &ResourceDomain) {
    let payload = caught(|| domain.run_briefly(throw::<()>));
    assert!(payload.is::<&str>());
}

fn alone(model: &Model) {
    briefly(model, &model.narrow);
    generally(model, &model.narrow);
    panic_briefly(&model.narrow);
    briefly(model, &model.narrow);
}

fn wide_alone(model: &Model) {
    generally(model, &model.wide);
    generally(model, &model.wide);
}

fn narrow_scope(model: &Model) {
    model.narrow.with_execution_scope(|| operations(model, &model.narrow)).unwrap();
}

fn wide_scope(model: &Model) {
    model.wide.with_execution_scope(|| operations(model, &model.wide)).unwrap();
}

fn panicking_scope(model: &Model) {
    let payload = caught(|| {
        model.wide.with_execution_scope(|| {
            operations(model, &model.wide);
            throw::<()>();
        })
    });
    assert!(payload.is::<&str>());
}

/// The caller's own work keeps its CPUs; what is not admitted in the plainest way is left to the general one.
fn installation(model: &Model) {
    model
        .wide
        .install(|| {
            let width = model.wide.scope_width().unwrap();
            model.operate(width);
            assert!(matches!(model.wide.run_briefly(|| ()), Ok(None)));
        })
        .unwrap();
}

/// In a scope of another domain nothing of this one is run.
fn foreign_scope(model: &Model) {
    model
        .wide
        .with_execution_scope(|| {
            assert!(matches!(model.narrow.run_briefly(|| ()), Ok(None)));
            let refused: Result<()> = model.narrow.run(Breadth::Narrow, |_| Ok(()), |error| error);
            assert!(matches!(refused, Err(Error::ForeignScope { .. })));
        })
        .unwrap();
}

#[test]
fn x28_brief_operations_beside_scopes_and_wide_operations() {
    check(10_000, &[alone, narrow_scope, wide_alone]);
}

#[test]
fn x28_scopes_of_two_domains_share_the_cpus() {
    check(10_000, &[narrow_scope, wide_scope, wide_scope, foreign_scope]);
}

#[test]
fn x28_f51_a_panic_in_a_scope_releases_everything() {
    check(10_000, &[panicking_scope, panicking_scope, alone]);
}

#[test]
fn x28_x35_installations_keep_their_cpus() {
    check(10_000, &[installation, installation, narrow_scope, alone]);
}
