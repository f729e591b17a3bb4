//! Which threads belong to an execution, and what runs inline on those that belong to another pool.

#![allow(clippy::unwrap_used, reason = "a test fails by it")]

mod common;

use std::{
    sync::{
        Arc, Barrier,
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
    thread,
};

use common::{CountingArbiter, LARGE, backend, calling_back, counted, ones, vector, watchdog};
use tenferro_cpu::CpuBackend;
use tenferro_ops::TensorComposite;
use tenferro_scope::{
    Breadth, DomainOwnership, ExecutionAdmission, current_owner, has_active_execution,
};
use tenferro_tensor::TensorElementwise;

#[test]
fn x19_a_domain_is_entered_on_the_threads_of_its_own_executions_only() {
    let ((owner, _), (other, _)) = (backend(1, 2), backend(1, 2));
    let look = || (owner.domain().is_entered(), other.domain().is_entered());
    assert_eq!((look(), has_active_execution()), ((false, false), false));
    owner
        .with_execution_scope(|| {
            assert_eq!((look(), has_active_execution()), ((true, false), true));
            let plain = thread::scope(|threads| {
                threads.spawn(|| (look(), has_active_execution())).join().unwrap()
            });
            assert_eq!(plain, ((false, false), false));
        })
        .unwrap();
    assert_eq!((look(), has_active_execution()), ((false, false), false));
    other.with_backend_session(|_| assert_eq!(look(), (false, true)));
}

#[test]
fn x19_an_operation_and_its_fan_out_bodies_have_the_owner_of_their_scope() {
    watchdog(|| {
        let (owners, seen) = mpsc::channel();
        let arbiter = CountingArbiter::new(2);
        let owner = calling_back(2, &arbiter, move |again, workers| {
            let note = || {
                assert!(again.domain().is_entered() && has_active_execution());
                owners.send(current_owner()).unwrap();
            };
            note();
            let both = Barrier::new(2);
            workers.run(2, &|_| {
                both.wait();
                note();
            });
        });
        let mut operations = owner.clone();
        let of_scope = owner
            .with_execution_scope(|| {
                operations.matmul(&ones(128), &ones(128)).unwrap();
                current_owner()
            })
            .unwrap();
        assert!(of_scope.is_some());
        assert_eq!(seen.try_iter().collect::<Vec<_>>(), [of_scope; 3]);
        assert_eq!(current_owner(), None);
        // Outside each operation is an owner of its own.
        operations.matmul(&ones(128), &ones(128)).unwrap();
        let alone: Vec<_> = seen.try_iter().collect();
        assert!(alone.len() == 3 && alone.iter().all(|&owner| owner == alone[0]), "{alone:?}");
        assert!(alone[0].is_some() && alone[0] != of_scope);
    });
}

#[test]
fn x19_an_operation_shares_the_permit_iff_its_own_scope_is_open_on_its_thread() {
    let (owner, executor, arbiter) = counted(1, 2);
    let admission = |backend: &CpuBackend| {
        let entry = backend.domain().admit(Breadth::Narrow).unwrap();
        (entry.admission(), entry.run(|guard| (guard.admission(), guard.owner())).unwrap())
    };
    let (standalone, shared) = (ExecutionAdmission::Standalone, ExecutionAdmission::Shared);
    let (before, (during, _)) = admission(&owner);
    assert_eq!((before, during), (standalone, standalone));
    owner
        .with_execution_scope(|| {
            assert_eq!(admission(&owner), (shared, (shared, current_owner())));
            let (before, (_, elsewhere)) =
                thread::scope(|threads| threads.spawn(|| admission(&owner)).join().unwrap());
            assert_eq!(before, standalone);
            assert_ne!(elsewhere, current_owner());
        })
        .unwrap();
    assert_eq!((executor.entries(), arbiter.requests()), (3, 3));
}

#[test]
fn x33_f50_a_scope_on_foreign_rayon_workers_runs_inline_at_width_one() {
    watchdog(|| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        let (owner, arbiter) = backend(2, 1);
        let done = AtomicUsize::new(0);
        pool.install(|| {
            use rayon::prelude::*;
            (0..64).into_par_iter().for_each(|_| {
                let (mut operations, here) = (owner.clone(), thread::current().id());
                owner
                    .with_execution_scope(|| {
                        assert_eq!(thread::current().id(), here);
                        assert_eq!(owner.scope_width(), Some(1));
                        let sum = operations.add(&vector(LARGE), &vector(LARGE)).unwrap();
                        assert_eq!(sum.get::<f64>(&[4]).unwrap(), 10.0);
                        assert_eq!(owner.scope_width(), Some(1));
                    })
                    .unwrap();
                done.fetch_add(1, Ordering::Relaxed);
            });
        });
        assert_eq!(done.into_inner(), 64);
        assert_eq!(owner.diagnostics().fan_outs, 0);
        arbiter.assert_all_returned();
    });
}

#[test]
fn x33_a_foreign_rayon_worker_is_overcommitted_rather_than_kept_waiting() {
    watchdog(|| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        let (owner, arbiter) = backend(1, 1);
        let mut operations = owner.clone();
        // The session keeps the only CPU while it waits for the worker.
        let sum =
            owner.with_backend_session(|_| pool.install(|| operations.add(&vector(2), &vector(2))));
        assert_eq!(sum.unwrap().as_slice::<f64>().unwrap(), [2.0, 4.0]);
        assert_eq!(owner.diagnostics().arbiter.statistics.overcommits, 1);
        arbiter.assert_all_returned();
    });
}

#[test]
fn x33_the_own_idle_worker_of_an_external_pool_runs_inline() {
    watchdog(|| {
        let executor = Arc::new(common::OwnPool::new(2));
        let arbiter = CountingArbiter::new(2);
        let builder = CpuBackend::builder().arbiter(arbiter.clone());
        let mut backend =
            builder.executor(DomainOwnership::External, executor.clone()).build().unwrap();
        let (here, sum) = executor.on_a_worker(move || {
            (thread::current().id(), backend.add(&vector(LARGE), &vector(LARGE)))
        });
        assert_eq!(sum.unwrap().get::<f64>(&[4]).unwrap(), 10.0);
        assert_ne!(here, thread::current().id());
        // It did not enter, hand over to another worker, or fan out.
        assert_eq!((executor.entries(), executor.fan_outs()), (0, 0));
        arbiter.assert_all_returned();
    });
}

#[test]
fn x33_a_foreign_rayon_worker_is_not_sent_to_an_external_pool() {
    watchdog(|| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        let executor = Arc::new(common::OwnPool::new(2));
        let builder = CpuBackend::builder().arbiter(CountingArbiter::new(2));
        let mut backend =
            builder.executor(DomainOwnership::External, executor.clone()).build().unwrap();
        let sum = pool.install(|| backend.add(&vector(LARGE), &vector(LARGE)));
        assert_eq!(sum.unwrap().get::<f64>(&[4]).unwrap(), 10.0);
        assert_eq!((executor.entries(), executor.fan_outs()), (0, 0));
        backend.add(&vector(LARGE), &vector(LARGE)).unwrap();
        assert_eq!((executor.entries(), executor.fan_outs()), (1, 1));
    });
}
