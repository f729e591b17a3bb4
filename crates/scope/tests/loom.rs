//! X28 for domains: brief operations, the guard of a caller-managed domain and the audit, under every interleaving of
//! two threads; two scopes, of which there are too many, within five preemptions.
//!
//! `cargo xtask model` runs it. A lost wake-up, or CPUs that are not lent, show as a deadlock; an overlap of
//! those who exclude each other, or a missing happens-before between them, as an access of one of the cells. Threads
//! are registered before the schedules are explored. Panics are for `shuttle.rs`.

#![cfg(loom)]
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

#[path = "../../arbiter/tests/exploring/mod.rs"]
mod exploring;

use std::sync::{
    Arc, Mutex,
    atomic::{
        AtomicBool, AtomicUsize,
        Ordering::{Relaxed, SeqCst},
    },
    mpsc,
};
use std::time::Duration;

use exploring::explore;
use loom::{cell::UnsafeCell, sync::Notify, thread};
use tenferro_arbiter::{Arbiter, CpuSet, FairArbiter, Policy, Request};
use tenferro_provider::Workers;
use tenferro_scope::{
    Affinity, Breadth, DomainConfig, DomainOwnership, Error, Executor, ExecutorCapabilities,
    ExecutorFault, InlineExecutor, ResourceDomain, Result, WaitLimit, has_active_execution,
};

/// Threads that share a domain, and what its operations exclude each other from.
struct Model {
    arbiter: Arc<FairArbiter>,
    domain: ResourceDomain,
    machine: UnsafeCell<()>,
    signal: Signal,
    ran: AtomicUsize,
}

// SAFETY: the cell holds nothing; loom checks the accesses, which is what it is for.
unsafe impl Sync for Model {}

fn arbiter(cpus: usize) -> Arc<FairArbiter> {
    let policy =
        Policy { wait_limit: None, bypass: Duration::ZERO, turn: Duration::ZERO, capacity: None };
    Arc::new(FairArbiter::with_policy(CpuSet::first(cpus), policy).unwrap())
}

fn config(arbiter: &Arc<FairArbiter>, width: usize) -> DomainConfig {
    let wait_limit = WaitLimit::Policy;
    DomainConfig { width, cpus: None, arbiter: arbiter.clone(), provider: None, wait_limit }
}

impl Model {
    fn managed(cpus: usize) -> Self {
        let arbiter = arbiter(cpus);
        let domain = ResourceDomain::managed(config(&arbiter, 1)).unwrap();
        Self::new(arbiter, domain)
    }

    fn caller_managed() -> Self {
        let arbiter = arbiter(1);
        let domain = ResourceDomain::with_executor(
            DomainOwnership::CallerManaged,
            config(&arbiter, 1),
            Arc::new(InlineExecutor),
        );
        Self::new(arbiter, domain.unwrap())
    }

    fn new(arbiter: Arc<FairArbiter>, domain: ResourceDomain) -> Self {
        let (machine, signal) = (UnsafeCell::new(()), Signal::default());
        Self { arbiter, domain, machine, signal, ran: AtomicUsize::new(0) }
    }

    /// Every CPU is back.
    fn check_conserved(&self) {
        assert!(!has_active_execution());
        let snapshot = self.arbiter.snapshot();
        assert!(snapshot.holders.is_empty() && snapshot.waiters.is_empty());
        assert_eq!(snapshot.free + snapshot.parked, snapshot.capacity);
    }
}

/// What one thread tells another. Loom's own signal may also come for no reason.
#[derive(Default)]
struct Signal {
    told: AtomicBool,
    bell: Bell,
}

struct Bell(Notify);

impl Default for Bell {
    fn default() -> Self {
        Self(Notify::new())
    }
}

impl Signal {
    fn tell(&self) {
        self.told.store(true, SeqCst);
        self.bell.0.notify();
    }

    fn wait(&self) {
        while !self.told.load(SeqCst) {
            self.bell.0.wait();
        }
    }
}

type Body = fn(&Model);

/// Explores what two threads do to a model; `warm_up` is done by both before.
fn check(new: fn() -> Model, warm_up: Body, bodies: [Body; 2]) {
    check_within(None, new, warm_up, bodies);
}

/// The same within a number of preemptions, where all schedules are too many.
fn check_within(preemptions: Option<usize>, new: fn() -> Model, warm_up: Body, bodies: [Body; 2]) {
    explore(preemptions, move || {
        let model = Arc::new(new());
        let (ready, go) = (Arc::new(Signal::default()), Arc::new(Signal::default()));
        let other = thread::spawn({
            let (model, ready, go) = (model.clone(), ready.clone(), go.clone());
            move || {
                warm_up(&model);
                ready.tell();
                go.wait();
                bodies[0](&model);
            }
        });
        ready.wait();
        warm_up(&model);
        loom::explore();
        go.tell();
        bodies[1](&model);
        other.join().unwrap();
        loom::stop_exploring();
        model.check_conserved();
    });
}

fn nothing(_: &Model) {}

fn briefly(model: &Model) {
    assert!(model.domain.run_briefly(|| ()).unwrap().is_some());
}

/// A brief operation that has the only CPU to itself.
fn alone(model: &Model) {
    let ran = model.domain.run_briefly(|| model.machine.with_mut(|_| ())).unwrap();
    assert!(ran.is_some());
}

fn alone_twice(model: &Model) {
    alone(model);
    alone(model);
}

/// A brief operation on one CPU of two.
fn beside(model: &Model) {
    assert!(model.domain.run_briefly(|| model.machine.with(|_| ())).unwrap().is_some());
}

/// Takes both CPUs.
fn wide(model: &Model) {
    let _permit = model.arbiter.acquire(&Request::new(2..=2)).unwrap();
    model.machine.with_mut(|_| ());
}

fn in_a_scope(model: &Model) {
    model
        .domain
        .with_execution_scope(|| {
            briefly(model);
            briefly(model);
        })
        .unwrap();
}

/// A scope that waits, after a brief operation, for somebody who needs its CPU.
fn in_a_scope_that_waits(model: &Model) {
    model
        .domain
        .with_execution_scope(|| {
            briefly(model);
            model.signal.wait();
            briefly(model);
        })
        .unwrap();
}

fn briefly_and_tell(model: &Model) {
    briefly(model);
    model.signal.tell();
}

#[test]
fn x28_brief_operations_exclude_each_other_on_one_cpu() {
    check(|| Model::managed(1), briefly, [alone, alone_twice]);
}

#[test]
fn x28_brief_operations_and_a_wide_permit_exclude_each_other() {
    check(|| Model::managed(2), briefly, [beside, wide]);
}

#[test]
fn x28_brief_operations_of_a_scope_go_on_beside_others() {
    check(|| Model::managed(1), briefly, [briefly, in_a_scope]);
}

#[test]
fn x28_two_scopes_run_brief_operations_on_one_cpu() {
    check_within(Some(5), || Model::managed(1), briefly, [in_a_scope, in_a_scope]);
}

#[test]
fn x28_x16_a_scope_has_lent_its_cpu_after_a_brief_operation() {
    check(|| Model::managed(1), briefly, [briefly_and_tell, in_a_scope_that_waits]);
}

/// An operation of a caller-managed domain, or its refusal.
fn guarded(model: &Model) {
    let outcome: Result<()> = model.domain.run(
        Breadth::Narrow,
        |_| {
            model.machine.with_mut(|_| ());
            model.ran.fetch_add(1, Relaxed);
            Ok(())
        },
        |error| error,
    );
    assert!(matches!(outcome, Ok(()) | Err(Error::DomainBusy { .. })));
}

fn guarded_twice(model: &Model) {
    guarded(model);
    guarded(model);
    assert!(model.ran.load(Relaxed) > 0, "both were refused");
}

#[test]
fn x28_x30_a_caller_managed_domain_is_entered_by_one_thread_at_a_time() {
    check(Model::caller_managed, nothing, [guarded_twice, guarded_twice]);
}

/// A job that outlives, for the compiler, the call that it came with.
#[derive(Clone, Copy)]
struct Job(&'static (dyn Fn(usize) + Sync));

impl Job {
    /// # Safety
    /// It must not be called when whoever lent `job` has gone on.
    unsafe fn new(job: &(dyn Fn(usize) + Sync)) -> Self {
        // SAFETY: only the lifetime changes, which the caller answers for.
        Self(unsafe { std::mem::transmute::<&(dyn Fn(usize) + Sync), _>(job) })
    }

    fn start(self, index: usize) -> thread::JoinHandle<()> {
        thread::spawn(move || (self.0)(index))
    }
}

/// What an executor of two jobs does wrong.
#[derive(Clone, Copy)]
enum Wrong {
    /// It starts the first job on two threads.
    Twice,
    /// It returns while the second job runs.
    Hasty,
}

struct Rogue {
    wrong: Wrong,
    started: Arc<Signal>,
    /// To be joined once the operation has ended.
    left: Mutex<mpsc::Sender<thread::JoinHandle<()>>>,
}

// SAFETY: loom's threads share one thread of the system.
unsafe impl Send for Rogue {}
// SAFETY: as above.
unsafe impl Sync for Rogue {}

impl Executor for Rogue {
    fn name(&self) -> &'static str {
        "rogue"
    }

    fn capabilities(&self) -> ExecutorCapabilities {
        ExecutorCapabilities { width: 2, affinity: Affinity::Floating }
    }

    fn enter(
        &self,
        _: usize,
        job: &mut (dyn FnMut() + Send),
    ) -> std::result::Result<(), ExecutorFault> {
        job();
        Ok(())
    }

    fn fan_out(&self, _: usize, _: usize, job: &(dyn Fn(usize) + Sync)) {
        // SAFETY: the audit waits for jobs that have started, and each starts before this returns.
        let lent = unsafe { Job::new(job) };
        match self.wrong {
            Wrong::Twice => {
                let other = lent.start(0);
                job(0);
                job(1);
                other.join().unwrap();
            }
            Wrong::Hasty => {
                let left = lent.start(1);
                self.left.lock().unwrap().send(left).unwrap();
                job(0);
                self.started.wait();
            }
        }
    }
}

/// Shares out two jobs over an executor that does it wrong; each body runs once and has ended when the operation has.
fn audited(wrong: Wrong) -> Result<()> {
    let (keep, kept) = mpsc::channel();
    let started = Arc::new(Signal::default());
    let rogue = Rogue { wrong, started: started.clone(), left: Mutex::new(keep) };
    let arbiter = arbiter(2);
    let domain = ResourceDomain::with_executor(
        DomainOwnership::External,
        config(&arbiter, 2),
        Arc::new(rogue),
    );
    let domain = domain.unwrap();
    let parts = Parts([UnsafeCell::new(0), UnsafeCell::new(0)]);
    let outcome = domain.run(
        Breadth::Wide,
        |guard| {
            loom::explore();
            guard.workers().run(2, &|index| {
                if index == 1 {
                    started.tell();
                }
                parts.write(index);
            });
            loom::stop_exploring();
            parts.check();
            Ok(())
        },
        |error| error,
    );
    kept.try_iter().for_each(|left| left.join().unwrap());
    outcome
}

struct Parts([UnsafeCell<usize>; 2]);

// SAFETY: loom checks the accesses, which is what the cells are for.
unsafe impl Sync for Parts {}

impl Parts {
    fn write(&self, index: usize) {
        // SAFETY: loom lets nobody else in meanwhile.
        self.0[index].with_mut(|part| unsafe { *part += 1 });
    }

    /// Each was written once, before this.
    fn check(&self) {
        // SAFETY: as above.
        self.0.iter().for_each(|part| part.with_mut(|part| assert_eq!(unsafe { *part }, 1)));
    }
}

#[test]
fn x28_x31_a_job_that_is_started_on_two_threads_runs_once() {
    explore(None, || match audited(Wrong::Twice) {
        Err(Error::Executor { source: ExecutorFault::RunTwice { index: 0 }, .. }) => {}
        other => panic!("{other:?}"),
    });
}

#[test]
fn x28_x31_jobs_that_outlive_their_executors_call_are_waited_for() {
    explore(None, || audited(Wrong::Hasty).unwrap());
}
