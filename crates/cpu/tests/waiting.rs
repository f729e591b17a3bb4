//! X26: scopes that are tried, timed, cancelled and awaited.

#![allow(clippy::unwrap_used, reason = "a test fails by it")]

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use common::{Pinned, backend, core_error, counted, runtime_state, vector, watchdog};
use tenferro_arbiter::{self as arbiter, Arbiter, CancelToken};
use tenferro_cpu::{CpuBackend, Error, Patience};
use tenferro_scope as scope;
use tenferro_tensor::TensorElementwise;

fn runtime(workers: usize) -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(workers).build().unwrap()
}

#[test]
fn x26_a_tried_scope_is_refused_at_once_and_opens_when_the_cpus_are_free() {
    watchdog(|| {
        let (owner, arbiter) = backend(1, 1);
        let pinned = Pinned::all(&arbiter);
        let error = core_error(owner.try_with_execution_scope(|| unreachable!("not admitted")));
        let scope::Error::Admission(arbiter::Error::WouldBlock { holders, .. }) = error else {
            panic!("{error:?}")
        };
        assert_eq!(holders[0].thread, "pinned");
        drop(pinned);
        assert_eq!(owner.try_with_execution_scope(|| 7).unwrap(), 7);
        arbiter.assert_all_returned();
    });
}

#[test]
fn x26_a_scope_waits_until_its_deadline_or_its_token() {
    watchdog(|| {
        let (owner, arbiter) = backend(1, 1);
        let pinned = Pinned::all(&arbiter);
        let patience = Patience::at_most(Duration::from_millis(20));
        let late = owner.with_execution_scope_within(&patience, || unreachable!("too late"));
        let error = core_error(late);
        assert!(
            matches!(error, scope::Error::Admission(arbiter::Error::TimedOut { .. })),
            "{error:?}"
        );
        let token = CancelToken::new();
        let patience = Patience::unlimited().unless(&token);
        thread::scope(|threads| {
            let waiter = threads.spawn(|| {
                core_error(
                    owner.with_execution_scope_within(&patience, || unreachable!("cancelled")),
                )
            });
            arbiter.await_snapshot(|snapshot| snapshot.waiters.len() == 1);
            token.cancel();
            let error = waiter.join().unwrap();
            assert!(
                matches!(error, scope::Error::Admission(arbiter::Error::Cancelled { .. })),
                "{error:?}"
            );
        });
        drop(pinned);
        assert_eq!(owner.with_execution_scope_within(&Patience::default(), || 3).unwrap(), 3);
        arbiter.assert_all_returned();
    });
}

#[test]
fn x26_an_awaited_scope_is_one_entry_and_one_permit_of_the_polling_thread() {
    watchdog(|| {
        let (owner, executor, arbiter) = counted(1, 1);
        let mut operations = owner.clone();
        let value = runtime(2).block_on(async {
            let scope = owner.with_execution_scope_async(&Patience::unlimited(), || {
                for _ in 0..100 {
                    operations.add(&vector(4), &vector(4)).unwrap();
                }
                thread::current().id()
            });
            scope.await.unwrap()
        });
        assert_eq!(value, thread::current().id());
        assert_eq!((executor.entries(), arbiter.requests()), (1, 1));
        arbiter.assert_all_returned();
    });
}

#[test]
fn x26_an_awaited_scope_is_refused_where_a_scope_would_be() {
    let (owner, arbiter) = backend(1, 1);
    let runtime = runtime(1);
    let inner = || owner.with_execution_scope_async(&Patience::unlimited(), || ());
    let reason = owner.with_execution_scope(|| runtime_state(runtime.block_on(inner()))).unwrap();
    assert!(reason.contains("is already open on this thread"), "{reason}");
    assert_eq!(arbiter.requests(), 1);
    let external = CpuBackend::builder()
        .executor(scope::DomainOwnership::External, common::CountingExecutor::new(1))
        .build()
        .unwrap();
    let refused =
        runtime.block_on(external.with_execution_scope_async(&Patience::unlimited(), || ()));
    assert!(matches!(refused, Err(Error::Unsupported { .. })));
}

#[test]
fn x26_a_panic_in_an_awaited_scope_releases_everything() {
    watchdog(|| {
        let (owner, arbiter) = backend(1, 1);
        let runtime = runtime(2);
        let task = runtime.spawn({
            let owner = owner.clone();
            async move {
                let patience = Patience::unlimited();
                owner.with_execution_scope_async(&patience, || panic!("of the callback")).await
            }
        });
        assert!(runtime.block_on(task).unwrap_err().is_panic());
        arbiter.assert_all_returned();
        owner.with_execution_scope(|| ()).unwrap();
    });
}

#[test]
fn x26_thousands_of_awaited_scopes_on_two_workers_park_none() {
    const TASKS: usize = 3000;
    watchdog(|| {
        let (owner, arbiter) = backend(2, 2);
        let runtime = runtime(2);
        let pinned = Pinned::all(&arbiter);
        let sum = Arc::new(AtomicUsize::new(0));
        let tasks: Vec<_> = (0..TASKS)
            .map(|i| {
                let (owner, sum) = (owner.clone(), Arc::clone(&sum));
                runtime.spawn(async move {
                    let mut operations = owner.clone();
                    let scope = owner.with_execution_scope_async(&Patience::unlimited(), || {
                        let y = operations.add(&vector(8), &vector(8)).unwrap();
                        operations.mul(&y, &y).unwrap().get::<f64>(&[0]).unwrap()
                    });
                    assert_eq!(scope.await.unwrap(), 4.0);
                    sum.fetch_add(i, Ordering::Relaxed);
                })
            })
            .collect();
        arbiter.await_snapshot(|snapshot| snapshot.waiters.len() == TASKS);
        drop(pinned);
        for task in tasks {
            runtime.block_on(task).unwrap();
        }
        assert_eq!(sum.load(Ordering::Relaxed), TASKS * (TASKS - 1) / 2);
        let statistics = arbiter.snapshot().statistics;
        assert_eq!(statistics.sleeps, 0, "{statistics:?}");
        drop(runtime);
        arbiter.assert_all_returned();
    });
}
