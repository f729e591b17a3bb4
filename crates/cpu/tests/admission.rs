//! Operations of several threads beside each other: nobody waits without need, and nobody for ever.

#![allow(clippy::unwrap_used, reason = "a test fails by it")]

mod common;

use std::{
    sync::{Barrier, mpsc},
    thread,
};

use common::{CountingArbiter, LARGE, Pinned, backend, core_error, ones, vector, watchdog};
use tenferro_arbiter::{self as arbiter, Arbiter};
use tenferro_cpu::CpuBackend;
use tenferro_ops::TensorComposite;
use tenferro_scope as scope;
use tenferro_tensor::{Tensor, TensorElementwise};

#[test]
fn x20_one_thread_operations_of_two_threads_on_two_cpus_never_wait() {
    let (owner, arbiter) = backend(1, 2);
    let together = Barrier::new(2);
    thread::scope(|threads| {
        for _ in 0..2 {
            threads.spawn(|| {
                let (mut operations, x) = (owner.clone(), ones(4));
                together.wait();
                for _ in 0..2000 {
                    operations.add(&x, &x).unwrap();
                    operations.matmul(&x, &x).unwrap();
                }
            });
        }
    });
    let statistics = arbiter.snapshot().statistics;
    assert_eq!((statistics.waits, statistics.overcommits), (0, 0), "{statistics:?}");
}

#[test]
fn x20_small_operations_of_a_wide_backend_ask_for_one_cpu() {
    watchdog(|| {
        // One thread sits in an operation on one CPU of two; the other thread's are not kept waiting by it.
        let ((start, started), (finish, finished)) = (mpsc::channel(), mpsc::channel::<()>());
        let finished = std::sync::Mutex::new(finished);
        let probe = common::Probe::new(move |_| {
            start.send(()).unwrap();
            finished.lock().unwrap().recv().unwrap();
        });
        let arbiter = CountingArbiter::new(2);
        let builder = CpuBackend::builder().arbiter(arbiter.clone());
        let owner = builder.register_provider(probe).build().unwrap();
        let (mut first, mut second) = (owner.clone(), owner.clone());
        let first = thread::spawn(move || first.matmul(&ones(2), &ones(2)));
        started.recv().unwrap();
        for _ in 0..100 {
            second.add(&vector(2), &vector(2)).unwrap();
        }
        assert_eq!(arbiter.snapshot().statistics.waits, 0);
        finish.send(()).unwrap();
        first.join().unwrap().unwrap();
    });
}

#[test]
fn x21_under_contention_operations_shrink_instead_of_queueing() {
    watchdog(|| {
        let (owner, arbiter) = backend(4, 4);
        let holders: Vec<usize> = owner
            .with_execution_scope(|| {
                thread::scope(|threads| {
                    let wide = || {
                        let mut operations = owner.clone();
                        let sum = operations.add(&vector(LARGE), &vector(LARGE)).unwrap();
                        sum.get::<f64>(&[1]).unwrap() as usize
                    };
                    let handles: Vec<_> = (0..6).map(|_| threads.spawn(wide)).collect();
                    handles.into_iter().map(|handle| handle.join().unwrap()).collect()
                })
            })
            .unwrap();
        assert_eq!(holders, [4; 6]);
        arbiter.await_snapshot(|snapshot| snapshot.free + snapshot.parked == 4);
    });
}

#[test]
fn x27_a_wait_limit_is_a_typed_error_that_names_the_holders() {
    watchdog(|| {
        let arbiter = CountingArbiter::impatient(2);
        let mut backend = CpuBackend::builder().arbiter(arbiter.clone()).build().unwrap();
        let pinned = Pinned::all(&arbiter);
        let (error, waited, holders) = match core_error(backend.add(&vector(2), &vector(2))) {
            scope::Error::Admission(
                ref error @ arbiter::Error::WaitLimit { waited, ref holders },
            ) => (error.to_string(), waited, holders.clone()),
            other => panic!("another error: {other:?}"),
        };
        let [holder] = &holders[..] else { panic!("{holders:?}") };
        assert_eq!(holder.thread, "pinned");
        let text = error
            .replace(&format!("{waited:.3?}"), "[waited]")
            .replace(&format!("{:.1?}, thread", holder.age), "[age], thread")
            .replace(&holder.owner.to_string(), "[n]");
        insta::assert_snapshot!(text, @r#"no admission: for [waited] no holder ran an operation; held by "operation" (2 CPUs, idle, seen for [age], thread pinned, owner [n]): end the holding scope or permit, do not wait inside it for this thread, or raise the wait limit"#);
        drop(pinned);
        let sum: Tensor = backend.add(&vector(2), &vector(2)).unwrap();
        assert_eq!(sum.as_slice::<f64>().unwrap(), [2.0, 4.0]);
        assert_eq!(arbiter.snapshot().statistics.refusals, 1);
    });
}

#[test]
fn x27_a_wait_limit_of_a_backend_holds_under_a_shared_arbiter() {
    watchdog(|| {
        // The arbiter's own limit is longer than the watchdog's patience.
        let arbiter = CountingArbiter::new(1);
        let limit = Some(std::time::Duration::from_millis(50));
        let hasty = CpuBackend::builder().wait_limit(limit).arbiter(arbiter.clone());
        let mut hasty = hasty.build().unwrap();
        let pinned = Pinned::all(&arbiter);
        let error = core_error(hasty.add(&vector(2), &vector(2)));
        let scope::Error::Admission(arbiter::Error::WaitLimit { waited, .. }) = error else {
            panic!("another error: {error:?}");
        };
        assert!(waited < std::time::Duration::from_secs(5), "{waited:?}");
        drop(pinned);
        assert!(hasty.add(&vector(2), &vector(2)).is_ok());
    });
}

#[test]
fn x27_a_policy_makes_an_arbiter_of_the_backends_own() {
    let policy = arbiter::Policy { wait_limit: None, ..arbiter::Policy::default() };
    let backend = CpuBackend::builder().admission_policy(policy).build().unwrap();
    let process: *const () = std::sync::Arc::as_ptr(arbiter::process_arbiter()).cast();
    assert_ne!(std::sync::Arc::as_ptr(backend.domain().arbiter()).cast::<()>(), process);
    let arbiter = CountingArbiter::new(1);
    let both = CpuBackend::builder().admission_policy(policy).arbiter(arbiter).build();
    assert!(matches!(both, Err(tenferro_cpu::Error::Validation { .. })));
}

#[test]
fn x24_warm_operations_take_no_lock_of_the_arbiter() {
    let (owner, arbiter) = backend(2, 2);
    let (mut operations, x) = (owner.clone(), vector(16));
    let mut warm = || {
        for _ in 0..100 {
            operations.add(&x, &x).unwrap();
        }
        owner
            .with_execution_scope(|| {
                for _ in 0..100 {
                    operations.add(&x, &x).unwrap();
                }
            })
            .unwrap();
    };
    warm();
    let before = arbiter.snapshot().statistics.slow_paths;
    warm();
    assert_eq!(arbiter.snapshot().statistics.slow_paths, before);
}
