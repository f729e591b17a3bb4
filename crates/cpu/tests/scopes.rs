//! Execution scopes: one entry and one permit, what is refused inside, and what is given back.

#![allow(clippy::unwrap_used, reason = "a test fails by it")]

mod common;

use std::thread;

use common::{
    CountingArbiter, CountingExecutor, LARGE, Pinned, backend, core_error, counted, ones,
    panic_message, runtime_state, vector, watchdog,
};
use tenferro_arbiter::{self as arbiter, Arbiter};
use tenferro_cpu::{CpuBackend, Error, Result};
use tenferro_ops::TensorComposite;
use tenferro_scope::{self as scope, DomainOwnership, has_active_execution};
use tenferro_tensor::{
    KeepAxes, Tensor, TensorAnalytic, TensorElementwise, TensorIndexing, TensorReduction,
    TensorStructural,
};

/// Runs `n` operations of six kinds on a small matrix.
fn mixed(backend: &mut CpuBackend, n: usize) -> Result<()> {
    let x = ones(4);
    for i in 0..n {
        let result = match i % 6 {
            0 => backend.add(&x, &x)?,
            1 => backend.exp(&x)?,
            2 => backend.sum(&x, [1], KeepAxes::Drop)?,
            3 => backend.transpose(&x, [1, 0])?,
            4 => backend.matmul(&x, &x)?,
            _ => backend.slice(&x, [0, 0], [4, 4], [2, 2])?,
        };
        assert_eq!(result.elements(), [16, 16, 4, 16, 16, 4][i % 6]);
    }
    Ok(())
}

#[test]
fn x10_a_thousand_operations_in_a_scope_are_one_entry_and_one_permit() {
    for budget in [1, 2] {
        let (owner, executor, arbiter) = counted(budget, 2);
        let mut operations = owner.clone();
        let large = vector(LARGE);
        let sum = owner
            .with_execution_scope(|| {
                mixed(&mut operations, 1000)?;
                operations.add(&large, &large)
            })
            .unwrap()
            .unwrap();
        assert_eq!(sum.get::<f64>(&[9]).unwrap(), 20.0);
        assert_eq!((executor.entries(), arbiter.requests()), (1, 1), "budget {budget}");
        // Only the large addition has work for a second thread, and only where there is one.
        assert_eq!(executor.fan_outs(), budget - 1, "budget {budget}");
        assert_eq!(owner.diagnostics().fan_outs, budget as u64 - 1);
    }
}

#[test]
fn x10_outside_of_a_scope_each_operation_has_an_entry_and_a_permit() {
    let (mut backend, executor, arbiter) = counted(1, 2);
    mixed(&mut backend, 6).unwrap();
    assert_eq!((executor.entries(), arbiter.requests()), (6, 6));
}

#[test]
fn x11_the_value_of_the_callback_comes_back_unchanged() {
    let (backend, _) = backend(1, 1);
    assert_eq!(backend.with_execution_scope(|| vec![1, 2]).unwrap(), [1, 2]);
    let own: std::result::Result<u8, &str> =
        backend.with_execution_scope(|| Err("its own error")).unwrap();
    assert_eq!(own, Err("its own error"));
}

#[test]
fn x12_a_scope_inside_of_a_scope_is_refused() {
    let ((owner, arbiter), (other, _)) = (backend(1, 2), backend(1, 2));
    let reasons = owner
        .with_execution_scope(|| {
            [&owner, &other].map(|inner| runtime_state(inner.with_execution_scope(|| ())))
        })
        .unwrap();
    let name = owner.identity().to_string();
    for reason in reasons {
        insta::allow_duplicates! {
            insta::assert_snapshot!(reason.replace(&name, "runtime [n]"), @"an execution scope of runtime [n] is already open on this thread; open the scope outside of active scopes, operations inside of one need no other");
        }
    }
    assert_eq!(arbiter.requests(), 1);
    owner.with_execution_scope(|| ()).unwrap();
}

#[test]
fn x12_a_scope_inside_of_a_session_is_refused() {
    let (owner, arbiter) = backend(1, 1);
    let reason = owner.with_backend_session(|_| runtime_state(owner.with_execution_scope(|| ())));
    assert!(reason.contains("is running on this thread"), "{reason}");
    assert_eq!(arbiter.requests(), 1);
}

#[test]
fn x12_scopes_of_an_external_domain_are_unsupported_before_anything_is_acquired() {
    for ownership in [DomainOwnership::External, DomainOwnership::CallerManaged] {
        let (executor, arbiter) = (CountingExecutor::new(1), CountingArbiter::new(1));
        let builder = CpuBackend::builder().arbiter(arbiter.clone());
        let mut backend = builder.executor(ownership, executor.clone()).build().unwrap();
        let error = backend.with_execution_scope(|| unreachable!("refused")).unwrap_err();
        assert!(matches!(error, Error::Unsupported { .. }), "{error:?}");
        insta::allow_duplicates! {
            insta::assert_snapshot!(error, @"with_execution_scope: execution scopes need a managed domain; use ordinary operations on an external domain");
        }
        assert_eq!((executor.entries(), arbiter.requests()), (0, 0));
        assert_eq!(backend.add(&vector(2), &vector(2)).unwrap().elements(), 2);
    }
}

#[test]
fn x12_a_failed_admission_arrives_with_its_typed_source() {
    watchdog(|| {
        let arbiter = CountingArbiter::impatient(2);
        let backend = CpuBackend::builder().arbiter(arbiter.clone()).build().unwrap();
        let pinned = Pinned::all(&arbiter);
        let error = core_error(backend.with_execution_scope(|| unreachable!("not admitted")));
        let scope::Error::Admission(arbiter::Error::WaitLimit { holders, .. }) = error else {
            panic!("{error:?}")
        };
        assert_eq!(holders[0].thread, "pinned");
        drop(pinned);
        backend.with_execution_scope(|| ()).unwrap();
    });
}

#[test]
fn x13_the_permit_is_held_until_the_callback_returns() {
    let (backend, arbiter) = backend(2, 2);
    let inside = backend.with_execution_scope(|| arbiter.snapshot().holders.len()).unwrap();
    assert_eq!(inside, 1);
    arbiter.assert_all_returned();
}

#[test]
fn x13_f51_a_panic_in_the_callback_releases_everything_and_the_next_scope_works() {
    let (owner, executor, arbiter) = counted(2, 2);
    let mut operations = owner.clone();
    let message = panic_message(|| {
        owner
            .with_execution_scope(|| {
                operations.add(&vector(3), &vector(3)).unwrap();
                panic!("of the callback")
            })
            .unwrap()
    });
    assert_eq!(message, "of the callback");
    assert!(!has_active_execution());
    arbiter.assert_all_returned();
    let next = owner.with_execution_scope(|| operations.add(&vector(3), &vector(3))).unwrap();
    assert_eq!(next.unwrap().as_slice::<f64>().unwrap(), [2.0, 4.0, 6.0]);
    assert_eq!((executor.entries(), arbiter.requests()), (2, 2));
}

#[test]
fn x14_a_backend_of_another_identity_is_refused_inside_of_a_scope() {
    let ((owner, _), (mut other, arbiter)) = (backend(1, 2), backend(1, 2));
    owner
        .with_execution_scope(|| {
            let of_add = other.add(&vector(2), &vector(2)).unwrap_err();
            let reason = runtime_state::<()>(Err(of_add));
            let names = [(owner.identity(), "runtime [open]"), (other.identity(), "runtime [called]")];
            let text = names.iter().fold(reason.clone(), |text, (identity, name)| {
                text.replace(&identity.to_string(), name)
            });
            insta::assert_snapshot!(text, @"an execution scope of runtime [open] is open on this thread, and this backend is runtime [called]; use a clone of the scope's backend inside of it");
            let session = other.try_with_backend_session(|_| ()).unwrap_err();
            assert_eq!(session.to_string(), format!("session: {reason}"));
            let panic = panic_message(|| other.with_backend_session(|_| ()));
            assert_eq!(panic, session.to_string());
            let install = other.try_install(|| ()).unwrap_err();
            assert_eq!(panic_message(|| other.install(|| ())), install.to_string());
        })
        .unwrap();
    assert_eq!(arbiter.requests(), 0);
    assert_eq!(other.add(&vector(2), &vector(2)).unwrap().elements(), 2);
}

#[test]
fn x13_scopes_follow_each_other_on_every_thread() {
    watchdog(|| {
        let (owner, arbiter) = backend(2, 2);
        thread::scope(|threads| {
            for _ in 0..4 {
                threads.spawn(|| {
                    let mut operations = owner.clone();
                    for _ in 0..50 {
                        let sum: Result<Tensor> = owner
                            .with_execution_scope(|| operations.add(&vector(5), &vector(5)))
                            .unwrap();
                        assert_eq!(sum.unwrap().get::<f64>(&[0]).unwrap(), 2.0);
                    }
                });
            }
        });
        arbiter.await_snapshot(|snapshot| snapshot.free + snapshot.parked == 2);
    });
}
