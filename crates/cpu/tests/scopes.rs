//! Execution scopes: one entry and one permit, what is refused inside, and what is given back.

#![allow(clippy::unwrap_used, reason = "a test fails by it")]

mod common;

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, Barrier, OnceLock,
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
    thread,
};

use common::{
    CountingArbiter, CountingExecutor, LARGE, Pinned, Probe, backend, core_error, counted, ones,
    panic_message, runtime_state, vector, watchdog,
};
use tenferro_arbiter::{self as arbiter, Arbiter};
use tenferro_cpu::{CpuBackend, Error, Result};
use tenferro_ops::TensorComposite;
use tenferro_scope::{
    self as scope, Breadth, DomainOwnership, ExecutionAdmission, current_owner,
    has_active_execution,
};
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

/// A backend whose products call `hook` with a clone of it first.
fn calling_back(
    threads: usize,
    arbiter: &Arc<CountingArbiter>,
    hook: impl Fn(CpuBackend, &dyn tenferro_provider::Workers) + Send + Sync + 'static,
) -> CpuBackend {
    let itself = Arc::new(OnceLock::<CpuBackend>::new());
    let known = itself.clone();
    let probe = Probe::new(move |workers| hook(known.get().unwrap().clone(), workers));
    let builder = CpuBackend::builder().threads(threads).arbiter(arbiter.clone());
    let backend = builder.register_provider(probe).build().unwrap();
    assert!(itself.set(backend.clone()).is_ok());
    backend
}

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
