//! Calls from where nobody may wait: providers, sessions, workers; and from where anybody may: plain threads.

#![allow(clippy::unwrap_used, reason = "a test fails by it")]

mod common;

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Barrier, mpsc},
    thread,
};

use common::{
    CountingArbiter, LARGE, backend, calling_back, core_error, ones, panic_message, runtime_state,
    vector, watchdog,
};
use tenferro_arbiter::{self as arbiter, Arbiter};
use tenferro_cpu::{CpuBackend, Error};
use tenferro_ops::TensorComposite;
use tenferro_scope::{self as scope, has_active_execution};
use tenferro_tensor::TensorElementwise;

#[test]
fn x15_a_call_from_a_provider_callback_is_refused_before_it_could_block() {
    watchdog(|| {
        let (seen, calls) = mpsc::channel();
        // The operation that calls the provider holds the only CPU: a second request would wait for itself.
        let arbiter = CountingArbiter::new(1);
        let mut backend = calling_back(1, &arbiter, move |mut again, _| {
            seen.send(runtime_state(again.add(&vector(2), &vector(2)))).unwrap();
            seen.send(runtime_state(again.with_execution_scope(|| ()))).unwrap();
            seen.send(panic_message(|| again.with_backend_session(|_| ()))).unwrap();
        });
        let product = backend.matmul(&ones(2), &ones(2)).unwrap();
        assert_eq!(product.as_slice::<f64>().unwrap(), [2.0; 4]);
        let owner = backend.clone();
        owner.with_execution_scope(|| backend.matmul(&ones(2), &ones(2))).unwrap().unwrap();
        let reasons: Vec<String> = calls.try_iter().collect();
        assert_eq!(reasons.len(), 6);
        for reason in reasons {
            assert!(
                reason.contains("is running on this thread; call the backend after"),
                "{reason}"
            );
        }
        assert_eq!(arbiter.requests(), 2);
    });
}

#[test]
fn x15_a_call_on_the_backend_from_inside_of_its_session_is_refused() {
    watchdog(|| {
        let (owner, arbiter) = backend(1, 1);
        let mut operations = owner.clone();
        owner.with_backend_session(|_| {
            let reason = runtime_state(operations.add(&vector(2), &vector(2)));
            assert!(reason.contains("use the session's own engine"), "{reason}");
            let panic = panic_message(|| operations.with_backend_session(|_| ()));
            assert_eq!(panic, format!("session: {reason}"));
        });
        assert_eq!(arbiter.requests(), 1);
    });
}

#[test]
fn x15_a_failed_operation_returns_its_loan() {
    let (owner, _) = backend(1, 1);
    let mut operations = owner.clone();
    owner
        .with_execution_scope(|| {
            for _ in 0..3 {
                let error = operations.add(&vector(2), &vector(3)).unwrap_err();
                assert!(matches!(error, Error::Validation { .. }), "{error:?}");
            }
            assert_eq!(operations.add(&vector(2), &vector(2)).unwrap().elements(), 2);
        })
        .unwrap();
}

#[test]
fn x15_a_panicking_operation_returns_its_loan() {
    let arbiter = CountingArbiter::new(1);
    let owner = calling_back(1, &arbiter, |_, _| panic!("of the provider"));
    let mut operations = owner.clone();
    owner
        .with_execution_scope(|| {
            let outcome = catch_unwind(AssertUnwindSafe(|| operations.matmul(&ones(2), &ones(2))));
            assert_eq!(*outcome.unwrap_err().downcast::<&str>().unwrap(), "of the provider");
            assert_eq!(operations.add(&vector(2), &vector(2)).unwrap().elements(), 2);
        })
        .unwrap();
    arbiter.assert_all_returned();
    assert_eq!(panic_message(|| drop(operations.matmul(&ones(2), &ones(2)))), "of the provider");
    arbiter.assert_all_returned();
    assert!(!has_active_execution());
}

#[test]
fn x16_x12_a_task_spawned_on_a_managed_pool_is_refused_at_once() {
    watchdog(|| {
        let (refusals, refused) = mpsc::channel();
        let arbiter = CountingArbiter::new(2);
        let mut backend = calling_back(2, &arbiter, move |again, workers| {
            assert_eq!(workers.width(), 2);
            let both = Barrier::new(2);
            workers.run(2, &|_| {
                both.wait();
                if rayon::current_thread_index().is_none() {
                    return;
                }
                let (mut again, refusals) = (again.clone(), refusals.clone());
                rayon::spawn(move || {
                    refusals.send(runtime_state(again.add(&vector(2), &vector(2)))).unwrap();
                    refusals.send(runtime_state(again.with_execution_scope(|| ()))).unwrap();
                    let panic = panic_message(|| again.with_backend_session(|_| ()));
                    refusals.send(panic).unwrap();
                });
            });
        });
        backend.matmul(&ones(128), &ones(128)).unwrap();
        for _ in 0..3 {
            let reason = refused.recv().unwrap();
            assert!(reason.contains("is a worker of the pool of"), "{reason}");
        }
        assert_eq!(arbiter.requests(), 1);
    });
}

#[test]
fn x16_a_sibling_of_a_fan_out_is_refused_at_once() {
    watchdog(|| {
        let (refusals, refused) = mpsc::channel();
        let arbiter = CountingArbiter::new(2);
        let mut backend = calling_back(2, &arbiter, move |again, workers| {
            let both = Barrier::new(2);
            workers.run(2, &|_| {
                both.wait();
                refusals.send(runtime_state(again.clone().add(&vector(2), &vector(2)))).unwrap();
            });
        });
        backend.matmul(&ones(128), &ones(128)).unwrap();
        let reasons: Vec<String> = refused.try_iter().collect();
        assert!(reasons.len() == 2 && reasons[0] == reasons[1], "{reasons:?}");
        assert!(reasons[0].contains("is running on this thread"), "{reasons:?}");
    });
}

#[test]
fn x16_f50_a_plain_thread_that_a_scope_joins_gets_its_result() {
    watchdog(|| {
        let (owner, arbiter) = backend(1, 1);
        let sum = owner.with_execution_scope(|| {
            let mut inside = owner.clone();
            inside.add(&vector(2), &vector(2)).unwrap();
            let mut plain = owner.clone();
            thread::spawn(move || plain.add(&vector(3), &vector(3))).join().unwrap()
        });
        assert_eq!(sum.unwrap().unwrap().as_slice::<f64>().unwrap(), [2.0, 4.0, 6.0]);
        assert_eq!(arbiter.requests(), 2);
    });
}

#[test]
fn x16_a_plain_thread_gets_its_result_while_idle_scopes_hold_every_cpu() {
    watchdog(|| {
        let (owner, arbiter) = backend(2, 2);
        let (close, all_open) = (Barrier::new(4), Barrier::new(4));
        thread::scope(|threads| {
            for _ in 0..3 {
                threads.spawn(|| {
                    let mut operations = owner.clone();
                    owner
                        .with_execution_scope(|| {
                            operations.add(&vector(LARGE), &vector(LARGE)).unwrap();
                            all_open.wait();
                            close.wait();
                        })
                        .unwrap();
                });
            }
            all_open.wait();
            let sum = owner.with_execution_scope(|| {
                let mut plain = owner.clone();
                thread::spawn(move || plain.add(&vector(3), &vector(3))).join().unwrap()
            });
            assert_eq!(arbiter.snapshot().holders.len(), 3);
            assert_eq!(sum.unwrap().unwrap().as_slice::<f64>().unwrap(), [2.0, 4.0, 6.0]);
            close.wait();
        });
    });
}

#[test]
fn x16_what_can_never_be_granted_ends_in_the_wait_limit() {
    watchdog(|| {
        let arbiter = CountingArbiter::impatient(1);
        let owner = CpuBackend::builder().arbiter(arbiter.clone()).build().unwrap();
        // A session keeps its CPU, here the only one, and joins a thread that needs one.
        let result = owner.with_backend_session(|_| {
            let mut clone = owner.clone();
            thread::spawn(move || clone.add(&vector(2), &vector(2))).join().unwrap()
        });
        let error = core_error(result);
        let scope::Error::Admission(arbiter::Error::WaitLimit { holders, .. }) = error else {
            panic!("{error:?}")
        };
        assert_eq!(holders.len(), 1);
        arbiter.assert_all_returned();
    });
}

#[test]
fn x15_a_panic_of_one_share_of_a_fan_out_propagates_and_the_pool_goes_on() {
    watchdog(|| {
        let arbiter = CountingArbiter::new(2);
        let owner = calling_back(2, &arbiter, |_, workers| {
            let both = Barrier::new(2);
            workers.run(2, &|index| {
                both.wait();
                assert!(index != 1, "of the second share");
            });
        });
        let mut operations = owner.clone();
        let (in_a_scope, alone) = (owner.clone(), owner.clone());
        let multiply = |mut backend: CpuBackend| {
            panic_message(|| drop(backend.matmul(&ones(128), &ones(128))))
        };
        let sum = owner
            .with_execution_scope(|| {
                assert_eq!(multiply(in_a_scope), "of the second share");
                operations.add(&vector(LARGE), &vector(LARGE))
            })
            .unwrap();
        assert_eq!(sum.unwrap().get::<f64>(&[LARGE - 1]).unwrap(), 2.0 * LARGE as f64);
        assert_eq!(multiply(alone), "of the second share");
        arbiter.assert_all_returned();
        assert_eq!(operations.add(&vector(2), &vector(2)).unwrap().elements(), 2);
    });
}
