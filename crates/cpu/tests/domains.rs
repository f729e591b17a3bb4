//! External and caller-managed domains: what arbitration they take part in, and the audit of their executors.

#![allow(clippy::unwrap_used, reason = "a test fails by it")]

mod common;

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
    thread,
};

use common::{
    CountingArbiter, CountingExecutor, LARGE, Pinned, Probe, core_error, ones, runtime_state,
    vector, watchdog,
};
use tenferro_arbiter::{self as arbiter, CpuSet};
use tenferro_cpu::{CpuBackend, Error};
use tenferro_ops::TensorComposite;
use tenferro_scope::{
    self as scope, Affinity, DomainOwnership, Executor, ExecutorCapabilities, ExecutorFault,
};
use tenferro_tensor::TensorElementwise;

/// A backend over a caller's executor of 2 threads.
fn external(
    ownership: DomainOwnership,
    arbiter: &Arc<CountingArbiter>,
    executor: Arc<dyn Executor>,
    cpus: Option<CpuSet>,
) -> CpuBackend {
    let builder = CpuBackend::builder().arbiter(arbiter.clone()).executor(ownership, executor);
    let builder = match cpus {
        Some(cpus) => builder.cpu_set(cpus),
        None => builder,
    };
    builder.build().unwrap()
}

#[test]
fn x30_ordinary_operations_work_on_every_domain() {
    for ownership in
        [DomainOwnership::Managed, DomainOwnership::External, DomainOwnership::CallerManaged]
    {
        let (executor, arbiter) = (CountingExecutor::new(2), CountingArbiter::new(2));
        let mut backend = external(ownership, &arbiter, executor.clone(), None);
        let sum = backend.add(&vector(LARGE), &vector(LARGE)).unwrap();
        assert_eq!(sum.get::<f64>(&[LARGE - 1]).unwrap(), 2.0 * LARGE as f64);
        let product = backend.matmul(&ones(3), &ones(3)).unwrap();
        assert_eq!(product.as_slice::<f64>().unwrap(), [3.0; 9]);
        assert_eq!((executor.entries(), executor.fan_outs()), (2, 1));
        let permits = if ownership == DomainOwnership::CallerManaged { 0 } else { 2 };
        assert_eq!(arbiter.requests(), permits, "{ownership:?}");
        assert_eq!(backend.diagnostics().ownership, ownership);
    }
}

#[test]
fn x30_a_declared_cpu_set_takes_part_in_arbitration() {
    watchdog(|| {
        let arbiter = CountingArbiter::impatient(4);
        let on = |cpus| {
            let executor = CountingExecutor::new(2);
            external(DomainOwnership::External, &arbiter, executor, Some(CpuSet::from_iter(cpus)))
        };
        let (mut overlapping, mut disjoint) = (on([1, 2]), on([2, 3]));
        let pinned = Pinned::on(&arbiter, CpuSet::from_iter([0, 1]));
        // One of its CPUs is left.
        assert_eq!(overlapping.add(&vector(2), &vector(2)).unwrap().elements(), 2);
        let second = Pinned::on(&arbiter, CpuSet::from_iter([2]));
        let error = core_error(overlapping.add(&vector(2), &vector(2)));
        let scope::Error::Admission(arbiter::Error::WaitLimit { holders, .. }) = error else {
            panic!("{error:?}")
        };
        assert!(holders.iter().all(|holder| holder.thread == "pinned"), "{holders:?}");
        assert_eq!(disjoint.add(&vector(2), &vector(2)).unwrap().elements(), 2);
        drop((pinned, second));
        assert_eq!(overlapping.add(&vector(2), &vector(2)).unwrap().elements(), 2);
    });
}

#[test]
fn x30_an_overlapping_call_to_a_caller_managed_domain_is_refused() {
    watchdog(|| {
        let ((start, started), (finish, finished)) = (mpsc::channel(), mpsc::channel::<()>());
        let finished = Mutex::new(finished);
        let probe = Probe::new(move |_| {
            start.send(()).unwrap();
            finished.lock().unwrap().recv().unwrap();
        });
        let backend = CpuBackend::builder()
            .register_provider(probe)
            .executor(DomainOwnership::CallerManaged, CountingExecutor::new(1))
            .build()
            .unwrap();
        let (mut first, mut second) = (backend.clone(), backend.clone());
        let first = thread::spawn(move || first.matmul(&ones(2), &ones(2)));
        started.recv().unwrap();
        let reason = runtime_state(second.add(&vector(2), &vector(2)));
        let name = backend.identity().to_string();
        insta::assert_snapshot!(reason.replace(&name, "runtime [n]"), @"the caller-managed domain of runtime [n] is already entered; calls to it must not overlap, so wait for the other call, or give each thread a backend of its own");
        finish.send(()).unwrap();
        first.join().unwrap().unwrap();
        assert_eq!(second.add(&vector(2), &vector(2)).unwrap().elements(), 2);
    });
}

#[test]
fn x30_a_failed_call_leaves_a_caller_managed_domain() {
    let executor = CountingExecutor::new(1);
    let arbiter = CountingArbiter::new(1);
    let mut backend = external(DomainOwnership::CallerManaged, &arbiter, executor, None);
    for _ in 0..2 {
        let error = backend.add(&vector(2), &vector(3)).unwrap_err();
        assert!(matches!(error, Error::Validation { .. }), "{error:?}");
    }
}

#[test]
fn x32_a_declared_affinity_is_not_reported_as_verified() {
    for (said, reported) in [
        (Affinity::Declared, Affinity::Declared),
        (Affinity::Verified, Affinity::Declared),
        (Affinity::Floating, Affinity::Floating),
    ] {
        let executor = CountingExecutor::with_affinity(1, said);
        let backend = external(DomainOwnership::External, &CountingArbiter::new(1), executor, None);
        assert_eq!(backend.diagnostics().affinity, reported);
    }
    assert_eq!(CpuBackend::with_threads(2).unwrap().diagnostics().affinity, Affinity::Floating);
}

#[test]
fn x32_a_width_that_the_executor_lacks_is_a_typed_error() {
    let build = |threads| {
        CpuBackend::builder()
            .threads(threads)
            .executor(DomainOwnership::External, CountingExecutor::new(2))
            .build()
    };
    let error = core_error(build(3));
    insta::assert_snapshot!(error, @r#"a domain of 3 threads needs more than the executor "counting" has, which is 2; ask for 2 or fewer"#);
    assert!(matches!(error, scope::Error::ExecutorTooNarrow { width: 3, has: 2, .. }));
    assert_eq!(build(2).unwrap().threads(), 2);
    let unnamed = CpuBackend::builder()
        .arbiter(CountingArbiter::new(8))
        .executor(DomainOwnership::External, CountingExecutor::new(2));
    assert_eq!(unnamed.build().unwrap().threads(), 2);
}

/// What an executor does wrong.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    NeverEnters,
    EntersTwice,
    EntersElsewhere,
    Refuses,
    SkipsJobs,
    RunsTwice,
    InventsJobs,
    Panics,
}

/// An executor that breaks its contract.
struct Rogue(Fault);

impl Executor for Rogue {
    fn name(&self) -> &'static str {
        "rogue"
    }

    fn capabilities(&self) -> ExecutorCapabilities {
        ExecutorCapabilities { width: 2, affinity: Affinity::Floating }
    }

    fn enter(&self, _width: usize, job: &mut (dyn FnMut() + Send)) -> Result<(), ExecutorFault> {
        match self.0 {
            Fault::NeverEnters => {}
            Fault::EntersTwice => {
                job();
                job();
            }
            Fault::EntersElsewhere => thread::scope(|threads| threads.spawn(job).join().unwrap()),
            Fault::Refuses => return Err(ExecutorFault::Refused { reason: "closed".into() }),
            _ => job(),
        }
        Ok(())
    }

    fn fan_out(&self, _width: usize, jobs: usize, job: &(dyn Fn(usize) + Sync)) {
        match self.0 {
            Fault::SkipsJobs => (0..jobs / 2).for_each(job),
            Fault::RunsTwice => (0..jobs).flat_map(|index| [index; 2]).for_each(job),
            Fault::InventsJobs => (0..jobs + 2).for_each(job),
            Fault::Panics => panic!("of the executor"),
            _ => (0..jobs).for_each(job),
        }
    }
}

/// A backend over a rogue executor, and how often each of 4 jobs of its products ran.
fn rogue(ownership: DomainOwnership, fault: Fault) -> (CpuBackend, Arc<[AtomicUsize; 4]>) {
    let runs: Arc<[AtomicUsize; 4]> = Arc::default();
    let counts = runs.clone();
    let probe = Probe::new(move |workers| {
        workers.run(4, &|index| _ = counts[index].fetch_add(1, Ordering::Relaxed));
    });
    let backend = CpuBackend::builder()
        .arbiter(CountingArbiter::new(2))
        .executor(ownership, Arc::new(Rogue(fault)))
        .register_provider(probe)
        .build()
        .unwrap();
    (backend, runs)
}

/// The fault that a failure carries.
fn fault_of<T>(result: Result<T, Error>) -> ExecutorFault {
    match core_error(result) {
        scope::Error::Executor { executor: "rogue", source } => source,
        other => panic!("another error: {other:?}"),
    }
}

#[test]
fn x31_an_executor_that_does_not_enter_once_is_a_typed_error() {
    for (fault, expected) in [
        (Fault::NeverEnters, ExecutorFault::NotRun),
        (Fault::EntersTwice, ExecutorFault::RunTwice { index: 0 }),
        (Fault::Refuses, ExecutorFault::Refused { reason: "closed".into() }),
    ] {
        for ownership in [DomainOwnership::External, DomainOwnership::CallerManaged] {
            let (mut backend, _) = rogue(ownership, fault);
            assert_eq!(fault_of(backend.add(&vector(2), &vector(2))), expected);
        }
        let (backend, _) = rogue(DomainOwnership::Managed, fault);
        let entered = AtomicUsize::new(0);
        let scope = backend.with_execution_scope(|| entered.fetch_add(1, Ordering::Relaxed));
        assert_eq!(fault_of(scope), expected);
        assert_eq!(entered.into_inner(), usize::from(fault == Fault::EntersTwice));
        assert!(backend.domain().arbiter().snapshot().holders.is_empty());
        assert!(!scope::has_active_execution());
    }
}

#[test]
fn x31_a_managed_executor_that_leaves_the_thread_is_a_typed_error() {
    let (backend, _) = rogue(DomainOwnership::Managed, Fault::EntersElsewhere);
    let scope = backend.with_execution_scope(|| unreachable!("on another thread"));
    assert_eq!(fault_of(scope), ExecutorFault::OtherThread);
    let (mut backend, _) = rogue(DomainOwnership::External, Fault::EntersElsewhere);
    assert_eq!(backend.add(&vector(2), &vector(2)).unwrap().elements(), 2);
}

#[test]
fn x31_each_job_of_a_fan_out_runs_once_whatever_the_executor_does() {
    for (fault, expected) in [
        (Fault::SkipsJobs, ExecutorFault::ReturnedEarly { missing: 2, jobs: 4 }),
        (Fault::RunsTwice, ExecutorFault::RunTwice { index: 0 }),
        (Fault::InventsJobs, ExecutorFault::IndexOutOfRange { index: 4, jobs: 4 }),
    ] {
        let (mut backend, runs) = rogue(DomainOwnership::External, fault);
        assert_eq!(fault_of(backend.matmul(&ones(128), &ones(128))), expected);
        for count in &*runs {
            assert_eq!(count.load(Ordering::Relaxed), 1, "{fault:?}");
        }
    }
}

/// Starts the last job on a thread of its own and returns without waiting for it.
struct Hasty;

impl Executor for Hasty {
    fn name(&self) -> &'static str {
        "rogue"
    }

    fn capabilities(&self) -> ExecutorCapabilities {
        ExecutorCapabilities { width: 2, affinity: Affinity::Floating }
    }

    fn enter(&self, _width: usize, job: &mut (dyn FnMut() + Send)) -> Result<(), ExecutorFault> {
        job();
        Ok(())
    }

    fn fan_out(&self, _width: usize, jobs: usize, job: &(dyn Fn(usize) + Sync)) {
        // SAFETY: as wrong as an executor in unsafe code can be; but the job is started before this returns, and a
        // started job is waited for, so that the borrow is not used when it has ended.
        let job: &'static (dyn Fn(usize) + Sync) = unsafe { std::mem::transmute(job) };
        thread::spawn(move || job(jobs - 1));
        (0..jobs - 1).for_each(job);
    }
}

#[test]
fn x31_started_jobs_of_an_executor_that_returned_early_are_waited_for() {
    watchdog(|| {
        let ended = Arc::new(AtomicUsize::new(0));
        let (count, started) = (ended.clone(), std::sync::Barrier::new(2));
        let probe = Probe::new(move |workers| {
            workers.run(2, &|index| {
                started.wait();
                if index == 1 {
                    // Long after the executor has returned.
                    thread::sleep(std::time::Duration::from_millis(30));
                }
                count.fetch_add(1, Ordering::Relaxed);
            });
            assert_eq!(count.load(Ordering::Relaxed), 2);
        });
        let builder = CpuBackend::builder().arbiter(CountingArbiter::new(2));
        let builder = builder.executor(DomainOwnership::External, Arc::new(Hasty));
        let mut backend = builder.register_provider(probe).build().unwrap();
        backend.matmul(&ones(128), &ones(128)).unwrap();
        assert_eq!(ended.load(Ordering::Relaxed), 2);
    });
}

#[test]
fn x31_a_panic_of_an_executor_propagates_and_everything_is_released() {
    let (mut backend, _) = rogue(DomainOwnership::External, Fault::Panics);
    let message = common::panic_message(|| drop(backend.matmul(&ones(128), &ones(128))));
    assert_eq!(message, "of the executor");
    assert!(backend.domain().arbiter().snapshot().holders.is_empty());
    assert_eq!(backend.add(&vector(2), &vector(2)).unwrap().elements(), 2);
}

#[test]
fn x30_a_call_back_from_an_external_executors_thread_is_refused() {
    watchdog(|| {
        let (seen, reasons) = mpsc::channel();
        let itself: Arc<std::sync::OnceLock<CpuBackend>> = Arc::default();
        let known = itself.clone();
        let probe = Probe::new(move |_| {
            let mut again = known.get().unwrap().clone();
            seen.send(runtime_state(again.add(&vector(2), &vector(2)))).unwrap();
        });
        let mut backend = CpuBackend::builder()
            .arbiter(CountingArbiter::new(1))
            .register_provider(probe)
            .executor(DomainOwnership::External, Arc::new(common::OwnPool::new(1)))
            .build()
            .unwrap();
        assert!(itself.set(backend.clone()).is_ok());
        backend.matmul(&ones(2), &ones(2)).unwrap();
        assert!(reasons.recv().unwrap().contains("is running on this thread"));
    });
}
