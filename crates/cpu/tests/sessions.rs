//! Sessions and installations: many operations, or the caller's own work, under one permit and one entry.

#![allow(clippy::unwrap_used, reason = "a test fails by it")]

mod common;

use std::thread;

use common::{LARGE, backend, counted, ones, panic_message, runtime_state, vector, watchdog};
use tenferro_cpu::Result;
use tenferro_ops::{Engine, TensorComposite};
use tenferro_scope::has_active_execution;
use tenferro_tensor::{Tensor, TensorElementwise};

/// What any code that holds an engine may do.
fn quadratic(engine: &mut dyn Engine, x: &Tensor) -> Result<Tensor> {
    let square = engine.matmul(x, x)?;
    engine.add(&square, x)
}

#[test]
fn x35_a_session_is_one_permit_and_one_entry() {
    for budget in [1, 2] {
        let (backend, executor, arbiter) = counted(budget, 2);
        let x = ones(3);
        let y = backend.with_backend_session(|engine| {
            for _ in 0..100 {
                quadratic(engine, &x)?;
            }
            quadratic(engine, &x)
        });
        assert_eq!(y.unwrap().as_slice::<f64>().unwrap(), [4.0; 9]);
        assert_eq!((executor.entries(), arbiter.requests()), (1, 1));
        arbiter.assert_all_returned();
    }
}

#[test]
fn x35_a_session_inside_of_a_scope_shares_its_permit_and_entry() {
    let (owner, executor, arbiter) = counted(1, 2);
    let mut operations = owner.clone();
    owner
        .with_execution_scope(|| {
            let y = owner.with_backend_session(|engine| quadratic(engine, &ones(2))).unwrap();
            assert_eq!(y.as_slice::<f64>().unwrap(), [3.0; 4]);
            operations.add(&y, &y).unwrap();
        })
        .unwrap();
    assert_eq!((executor.entries(), arbiter.requests()), (1, 1));
}

#[test]
fn x35_an_installation_is_one_permit_and_one_entry_and_keeps_its_cpus() {
    let (backend, executor, arbiter) = counted(2, 2);
    let mut operations = backend.clone();
    let sum = backend.install(|| {
        for _ in 0..10 {
            operations.add(&vector(4), &vector(4)).unwrap();
            let snapshot = tenferro_arbiter::Arbiter::snapshot(&*arbiter);
            assert_eq!((snapshot.free, snapshot.parked), (0, 0));
        }
        operations.add(&vector(LARGE), &vector(LARGE))
    });
    assert_eq!(sum.unwrap().get::<f64>(&[1]).unwrap(), 4.0);
    assert_eq!((executor.entries(), arbiter.requests(), executor.fan_outs()), (1, 1, 1));
    arbiter.assert_all_returned();
}

#[test]
fn x35_an_installation_inside_of_a_scope_is_refused() {
    let (backend, _) = backend(1, 1);
    let reason =
        backend.with_execution_scope(|| runtime_state(backend.try_install(|| ()))).unwrap();
    assert!(reason.contains("is already open on this thread"), "{reason}");
}

#[test]
fn x35_clones_of_other_threads_work_while_a_session_runs() {
    watchdog(|| {
        let (owner, _) = backend(1, 2);
        let sums = owner.with_backend_session(|engine| {
            let mut clone = owner.clone();
            let elsewhere = thread::spawn(move || clone.add(&vector(3), &vector(3)));
            let elsewhere = elsewhere.join().unwrap().unwrap();
            engine.add(&elsewhere, &elsewhere)
        });
        assert_eq!(sums.unwrap().as_slice::<f64>().unwrap(), [4.0, 8.0, 12.0]);
        let other = owner.clone();
        let both = owner.with_backend_session(|_| {
            thread::spawn(move || other.with_backend_session(|engine| quadratic(engine, &ones(1))))
                .join()
                .unwrap()
        });
        assert_eq!(both.unwrap().as_slice::<f64>().unwrap(), [2.0]);
    });
}

#[test]
fn x35_a_panic_in_a_session_or_installation_releases_everything() {
    let (backend, arbiter) = backend(2, 2);
    let calls: [&dyn Fn(); 2] =
        [&|| backend.with_backend_session::<()>(|_| panic!("inside")), &|| {
            backend.install::<()>(|| panic!("inside"))
        }];
    for call in calls {
        assert_eq!(panic_message(call), "inside");
        assert!(!has_active_execution());
        arbiter.assert_all_returned();
    }
    let y = backend.with_backend_session(|engine| quadratic(engine, &ones(1))).unwrap();
    assert_eq!(y.as_slice::<f64>().unwrap(), [2.0]);
}

#[test]
fn f50_debug_of_a_backend_and_drop_of_a_tensor_inside_a_session_return_at_once() {
    watchdog(|| {
        let (owner, _) = backend(1, 1);
        let before = vector(1 << 16);
        let text = owner.with_backend_session(|engine| {
            let inside = engine.add(&before, &before).unwrap();
            drop(before);
            drop(inside);
            format!("{owner:?}")
        });
        assert!(text.starts_with("CpuBackend { identity: runtime "), "{text}");
        let dropped_elsewhere = owner.with_backend_session(|engine| {
            let inside = engine.add(&vector(9), &vector(9)).unwrap();
            thread::spawn(move || drop(inside)).join()
        });
        dropped_elsewhere.unwrap();
    });
}
