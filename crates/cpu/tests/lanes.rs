//! Lanes: a scope divided among threads under one permit, batches over them, and what nests in what.

#![allow(clippy::unwrap_used, reason = "a test fails by it")]

mod common;

use std::{
    collections::HashSet,
    sync::{
        Barrier, Mutex,
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
    thread,
};

use common::{
    CountingArbiter, CountingExecutor, LARGE, backend, calling_back, core_error, counted, ones,
    panic_message, runtime_state, vector, watchdog,
};
use tenferro_arbiter::{Arbiter, HolderState};
use tenferro_cpu::{CpuBackend, Error, LaneCount};
use tenferro_ops::{Engine, LaneJob, TensorComposite, reference::Reference};
use tenferro_scope::{self as scope, DomainOwnership, current_owner};
use tenferro_tensor::{KeepAxes, Operand, TensorElementwise, TensorReduction};

fn add(backend: &mut CpuBackend, n: usize) {
    assert_eq!(
        backend.add(&vector(n), &vector(n)).unwrap().get::<f64>(&[n - 1]).unwrap(),
        2.0 * n as f64
    );
}

#[test]
fn x17_operations_in_lanes_take_no_permit_and_no_entry_of_their_own() {
    watchdog(|| {
        let (owner, executor, arbiter) = counted(4, 4);
        let (threads, together) = (Mutex::new(HashSet::new()), Barrier::new(4));
        owner
            .with_execution_scope(|| {
                let scope_owner = current_owner();
                let here = thread::current().id();
                let indices = owner.with_lanes(LaneCount::Exactly(4), |backend, lane| {
                    together.wait();
                    assert!(backend.domain().is_entered());
                    assert_eq!((current_owner(), lane.count(), lane.width()), (scope_owner, 4, 1));
                    (0..100).for_each(|_| add(backend, 8));
                    threads.lock().unwrap().insert(thread::current().id());
                    (lane.index(), thread::current().id() == here)
                });
                let expected = [(0, true), (1, false), (2, false), (3, false)];
                assert_eq!(indices.unwrap(), expected);
                add(&mut owner.clone(), 8);
            })
            .unwrap();
        assert_eq!(threads.into_inner().unwrap().len(), 4);
        assert_eq!((executor.entries(), arbiter.requests()), (1, 1));
        arbiter.assert_all_returned();
    });
}

#[test]
fn x17_the_widths_of_running_lanes_sum_to_the_grant() {
    watchdog(|| {
        // Each lane multiplies, and looks from inside of the product at what all of them use.
        let both = Barrier::new(2);
        let arbiter = CountingArbiter::new(5);
        let watched = arbiter.clone();
        let owner = calling_back(5, &arbiter, move |_, workers| {
            both.wait();
            let holders = watched.snapshot().holders;
            let running = holders.iter().filter(|holder| holder.state == HolderState::Running);
            assert_eq!(running.map(|holder| holder.width).sum::<usize>(), 5, "{holders:#?}");
            assert!(workers.width() == 2 || workers.width() == 3);
            both.wait();
        });
        let widths = owner.with_lanes(LaneCount::UpTo(2), |backend, lane| {
            assert_eq!(backend.scope_width(), Some(lane.width()));
            backend.matmul(&ones(128), &ones(128)).unwrap();
            lane.width()
        });
        assert_eq!(widths.unwrap(), [3, 2]);
        assert_eq!(arbiter.requests(), 1);
        arbiter.assert_all_returned();
    });
}

#[test]
fn x17_more_lanes_than_width_are_a_typed_error_where_exactness_is_asked() {
    watchdog(|| {
        let (owner, arbiter) = backend(2, 2);
        let none = |_: &mut CpuBackend, _| unreachable!("no lane runs");
        let error = core_error(owner.with_lanes(LaneCount::Exactly(3), none));
        assert!(matches!(error, scope::Error::TooManyLanes { lanes: 3, width: 2 }), "{error:?}");
        insta::assert_snapshot!(error, @"3 lanes need more CPUs than the scope has, which is 2; ask for up to so many lanes, or widen the backend");
        assert_eq!(arbiter.requests(), 0, "refused before anything is acquired");
        let error = core_error(owner.with_lanes(LaneCount::UpTo(0), none));
        assert!(matches!(error, scope::Error::NoLanes), "{error:?}");
        assert_eq!(owner.with_lanes(LaneCount::UpTo(3), |_, lane| lane.count()).unwrap(), [2, 2]);
        // Wide enough by its settings, but half of the CPUs are somebody else's now.
        let session = Barrier::new(2);
        thread::scope(|threads| {
            threads.spawn(|| {
                backend_on(&arbiter, 1).with_backend_session(|_| {
                    session.wait();
                    session.wait();
                });
            });
            session.wait();
            let error = core_error(owner.with_lanes(LaneCount::Exactly(2), none));
            assert!(matches!(error, scope::Error::TooManyLanes { lanes: 2, width: 1 }));
            assert_eq!(owner.with_lanes(LaneCount::UpTo(2), |_, lane| lane.width()).unwrap(), [1]);
            session.wait();
        });
        assert_eq!(
            owner.with_lanes(LaneCount::Exactly(2), |_, lane| lane.index()).unwrap(),
            [0, 1]
        );
        arbiter.assert_all_returned();
    });
}

fn backend_on(arbiter: &std::sync::Arc<CountingArbiter>, threads: usize) -> CpuBackend {
    CpuBackend::builder().threads(threads).arbiter(arbiter.clone()).build().unwrap()
}

#[test]
fn x17_a_panic_of_lanes_is_rethrown_after_all_have_stopped() {
    watchdog(|| {
        let (owner, arbiter) = backend(3, 3);
        for panicking in [[1, 1], [0, 0], [1, 2]] {
            let (ended, others) = (AtomicUsize::new(0), Barrier::new(3));
            let message = panic_message(|| {
                let lanes = owner.with_lanes(LaneCount::Exactly(3), |backend, lane| {
                    others.wait();
                    assert!(!panicking.contains(&lane.index()), "lane {}", lane.index());
                    (0..100).for_each(|_| add(backend, 8));
                    ended.fetch_add(1, Ordering::Relaxed);
                });
                drop(lanes);
            });
            let expected = panicking.map(|index| format!("lane {index}"));
            assert!(expected.contains(&message), "{message}");
            let stopped = if panicking[0] == panicking[1] { 2 } else { 1 };
            assert_eq!(ended.into_inner(), stopped);
            assert!(!scope::has_active_execution());
            arbiter.assert_all_returned();
            add(&mut owner.clone(), 8);
        }
    });
}

#[test]
fn x17_a_batch_is_balanced_over_lanes_and_its_results_keep_their_order() {
    watchdog(|| {
        let (owner, executor, arbiter) = counted(2, 2);
        let jobs: Vec<usize> = (0..50).collect();
        let others = AtomicUsize::new(0);
        let squares = owner.map_lanes(&jobs, |backend, &job| {
            if job == 0 {
                // As long as all the others together: one lane does those.
                while others.load(Ordering::Acquire) < 49 {
                    thread::yield_now();
                }
            } else {
                add(backend, 8);
                others.fetch_add(1, Ordering::Release);
            }
            job * job
        });
        assert_eq!(squares.unwrap(), jobs.iter().map(|job| job * job).collect::<Vec<_>>());
        assert_eq!((executor.entries(), arbiter.requests()), (1, 1));
        let none: [usize; 0] = [];
        assert!(owner.map_lanes(&none, |_, &job| job).unwrap().is_empty());
        let widths = owner.map_lanes(&[()], |backend, ()| backend.scope_width());
        assert_eq!(widths.unwrap(), [Some(2)], "one job has all the width");
        arbiter.assert_all_returned();
    });
}

#[test]
fn x17_a_panic_in_a_batch_lets_no_further_job_start() {
    watchdog(|| {
        let (owner, arbiter) = backend(1, 1);
        let ran = AtomicUsize::new(0);
        let jobs: Vec<usize> = (0..10).collect();
        let message = panic_message(|| {
            let results = owner.map_lanes(&jobs, |_, &job| {
                ran.fetch_add(1, Ordering::Relaxed);
                assert!(job < 3, "job {job}");
            });
            drop(results);
        });
        assert_eq!((message.as_str(), ran.into_inner()), ("job 3", 4));
        arbiter.assert_all_returned();
    });
}

#[test]
fn x17_lanes_fan_out_within_their_width_beside_each_other() {
    watchdog(|| {
        let (owner, arbiter) = backend(4, 4);
        let together = Barrier::new(2);
        for _ in 0..20 {
            owner
                .with_lanes(LaneCount::Exactly(2), |backend, _| {
                    together.wait();
                    add(backend, LARGE);
                    together.wait();
                    add(backend, LARGE);
                })
                .unwrap();
        }
        assert!(owner.diagnostics().fan_outs > 0);
        arbiter.assert_all_returned();
    });
}

#[test]
fn x17_x50_results_in_lanes_are_those_outside() {
    let (owner, _) = backend(4, 4);
    let x = vector(LARGE + 3);
    let bits = |mut backend: CpuBackend| {
        let root = backend.div(&x, &vector(LARGE + 3)).unwrap();
        let product = backend.mul(&root, &x).unwrap();
        backend.sum(&product, [0], KeepAxes::Drop).unwrap().get::<f64>(&[]).unwrap().to_bits()
    };
    let alone = bits(owner.clone());
    for lanes in [1, 2, 3, 4] {
        let all = owner.with_lanes(LaneCount::Exactly(lanes), |backend, _| bits(backend.clone()));
        assert_eq!(all.unwrap(), vec![alone; lanes]);
    }
}

#[test]
fn x17_x16_a_plain_thread_that_a_lane_joins_gets_its_result() {
    watchdog(|| {
        let (owner, arbiter) = backend(2, 2);
        owner
            .with_lanes(LaneCount::Exactly(2), |backend, _| {
                add(backend, 8);
                let mut plain = backend.clone();
                thread::spawn(move || add(&mut plain, 8)).join().unwrap();
                add(backend, 8);
            })
            .unwrap();
        arbiter.assert_all_returned();
    });
}

#[test]
fn x17_lanes_can_be_divided_again() {
    watchdog(|| {
        let (owner, executor, arbiter) = counted(4, 4);
        let all = Barrier::new(4);
        let inner = owner.with_lanes(LaneCount::Exactly(2), |backend, lane| {
            assert_eq!(lane.width(), 2);
            let inner = backend.with_lanes(LaneCount::Exactly(2), |backend, lane| {
                all.wait();
                add(backend, 8);
                (lane.index(), lane.width(), current_owner())
            });
            let narrow = backend.with_lanes(LaneCount::Exactly(3), |_, _| ());
            let error = core_error(narrow);
            assert!(matches!(error, scope::Error::TooManyLanes { lanes: 3, width: 2 }));
            add(backend, LARGE);
            inner.unwrap()
        });
        let inner = inner.unwrap();
        let owners: HashSet<_> = inner.iter().flatten().map(|&(_, _, owner)| owner).collect();
        assert_eq!(owners.len(), 1);
        for lanes in inner {
            assert_eq!(
                lanes.iter().map(|&(index, width, _)| (index, width)).collect::<Vec<_>>(),
                [(0, 1), (1, 1)]
            );
        }
        assert_eq!((executor.entries(), arbiter.requests()), (1, 1));
        arbiter.assert_all_returned();
    });
}

#[test]
fn x17_what_nests_in_a_lane_works_or_is_refused_before_it_could_block() {
    watchdog(|| {
        let (owner, arbiter) = backend(2, 2);
        let (other, _) = backend_pair();
        owner
            .with_lanes(LaneCount::Exactly(2), |backend, _| {
                let reason = runtime_state(backend.with_execution_scope(|| ()));
                assert!(reason.contains("is already open on this thread"), "{reason}");
                assert_eq!(runtime_state(backend.try_install(|| ())), reason);
                let reason = runtime_state(other.clone().add(&vector(2), &vector(2)));
                assert!(reason.contains("use a clone of the scope's backend"), "{reason}");
                assert_eq!(runtime_state(other.with_lanes(LaneCount::UpTo(2), |_, _| ())), reason);
                // A session shares the permit of the lane.
                let (clone, x) = (backend.clone(), vector(2));
                let sum = backend.with_backend_session(|session| {
                    let reason = runtime_state(clone.with_lanes(LaneCount::UpTo(2), |_, _| ()));
                    assert!(reason.contains("use the session's own engine"), "{reason}");
                    session.add(&x, &x)
                });
                assert_eq!(sum.unwrap().as_slice::<f64>().unwrap(), [2.0, 4.0]);
                add(backend, 8);
            })
            .unwrap();
        assert_eq!(arbiter.requests(), 1);
        arbiter.assert_all_returned();
    });
}

fn backend_pair() -> (CpuBackend, std::sync::Arc<CountingArbiter>) {
    backend(2, 2)
}

#[test]
fn x17_lanes_of_an_installation_keep_its_cpus() {
    watchdog(|| {
        let (owner, arbiter) = backend(2, 2);
        let together = Barrier::new(2);
        owner.install(|| {
            let widths = owner.with_lanes(LaneCount::Exactly(2), |backend, lane| {
                together.wait();
                add(backend, LARGE);
                let snapshot = arbiter.snapshot();
                assert_eq!((snapshot.holders.len(), snapshot.free + snapshot.parked), (1, 0));
                let reason = runtime_state(backend.with_execution_scope(|| ()));
                assert!(reason.contains("is already open"), "{reason}");
                let inner = backend.with_lanes(LaneCount::UpTo(5), |_, lane| lane.width());
                assert_eq!(inner.unwrap(), [1]);
                (lane.width(), backend.scope_width())
            });
            assert_eq!(widths.unwrap(), [(1, Some(1)); 2]);
            assert_eq!(owner.scope_width(), Some(2));
        });
        assert_eq!(owner.scope_width(), None);
        assert_eq!(arbiter.requests(), 1);
        arbiter.assert_all_returned();
    });
}

#[test]
fn x17_lanes_where_nobody_may_wait_are_refused_and_foreign_workers_have_one() {
    watchdog(|| {
        let (seen, reasons) = mpsc::channel();
        let arbiter = CountingArbiter::new(2);
        let mut owner = calling_back(2, &arbiter, move |again, workers| {
            let lanes = |backend: &CpuBackend| backend.with_lanes(LaneCount::UpTo(2), |_, _| ());
            seen.send(runtime_state(lanes(&again))).unwrap();
            let both = Barrier::new(2);
            workers.run(2, &|_| {
                both.wait();
                if rayon::current_thread_index().is_some() {
                    let (again, seen) = (again.clone(), seen.clone());
                    rayon::spawn(move || seen.send(runtime_state(lanes(&again))).unwrap());
                }
            });
        });
        owner.matmul(&ones(128), &ones(128)).unwrap();
        let reasons: Vec<String> = reasons.iter().take(2).collect();
        assert!(reasons[0].contains("is running on this thread"), "{reasons:?}");
        assert!(reasons[1].contains("is a worker of the pool of"), "{reasons:?}");
        let foreign = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        let widths = foreign.install(|| {
            let here = thread::current().id();
            owner.with_lanes(LaneCount::UpTo(2), |backend, lane| {
                add(backend, LARGE);
                (lane.width(), thread::current().id() == here)
            })
        });
        assert_eq!(widths.unwrap(), [(1, true)]);
        arbiter.assert_all_returned();
    });
}

#[test]
fn x17_x12_lanes_of_an_external_domain_are_unsupported() {
    for ownership in [DomainOwnership::External, DomainOwnership::CallerManaged] {
        let (executor, arbiter) = (CountingExecutor::new(2), CountingArbiter::new(2));
        let builder = CpuBackend::builder().arbiter(arbiter.clone());
        let mut backend = builder.executor(ownership, executor.clone()).build().unwrap();
        let error = backend.with_lanes(LaneCount::UpTo(2), |_, _| ()).unwrap_err();
        assert!(matches!(error, Error::Unsupported { .. }), "{error:?}");
        assert_eq!((executor.entries(), arbiter.requests()), (0, 0));
        // Independent jobs of an engine are run all the same: one after the other, by its ordinary operations.
        assert_eq!(orders(&mut backend), [0, 1, 2, 3]);
    }
}

/// The order in which an engine starts four jobs, each of which computes.
fn orders(engine: &mut dyn Engine) -> Vec<usize> {
    let started = Mutex::new(Vec::new());
    engine
        .run_lanes(4, &|engine, index| {
            started.lock().unwrap().push(index);
            engine.add(&vector(2), &vector(2)).map(drop)
        })
        .unwrap();
    started.into_inner().unwrap()
}

#[test]
fn x17_an_engine_runs_independent_jobs_in_lanes() {
    watchdog(|| {
        assert_eq!(orders(&mut Reference), [0, 1, 2, 3]);
        let (owner, executor, arbiter) = counted(2, 2);
        let together = Barrier::new(2);
        // Two jobs that meet need two lanes.
        let meet: &LaneJob<'_> = &|engine, index| {
            together.wait();
            let x = vector(2 + index);
            let x: [Operand<'_>; 2] = [tenferro_tensor::AsOperand::as_operand(&x); 2];
            let primitive = tenferro_tensor::Elementwise::Add.into();
            engine.apply(&primitive, &x).map(drop)
        };
        owner.clone().run_lanes(2, meet).unwrap();
        owner.with_execution_scope(|| owner.clone().run_lanes(2, meet)).unwrap().unwrap();
        owner.with_backend_session(|session| session.run_lanes(2, meet)).unwrap();
        owner
            .with_backend_session(|session| {
                // Divided down to one CPU: the inner jobs follow each other.
                session.run_lanes(2, &|session, _| {
                    assert_eq!(orders(session), [0, 1, 2, 3]);
                    Ok(())
                })
            })
            .unwrap();
        assert_eq!((executor.entries(), arbiter.requests()), (4, 4));
        arbiter.assert_all_returned();
    });
}

#[test]
fn x17_the_error_of_independent_jobs_is_that_of_the_first_by_number() {
    watchdog(|| {
        let (owner, arbiter) = backend(4, 4);
        let failing: &LaneJob<'_> = &|_, index| match index {
            7.. => Err(Error::RuntimeState { op: "job", reason: index.to_string().into() }),
            _ => Ok(()),
        };
        for _ in 0..50 {
            let of_backend = owner.clone().run_lanes(40, failing);
            let of_session = owner.with_backend_session(|session| session.run_lanes(40, failing));
            let of_reference = Reference.run_lanes(40, failing);
            for result in [of_backend, of_session, of_reference] {
                assert_eq!(runtime_state(result), "7");
            }
        }
        arbiter.assert_all_returned();
    });
}

#[test]
fn x17_a_panic_in_a_lane_of_a_session_propagates_and_the_next_one_works() {
    watchdog(|| {
        let (owner, arbiter) = backend(2, 2);
        let message = panic_message(|| {
            let _ = owner.with_backend_session(|session| {
                session.run_lanes(2, &|_, index| {
                    assert!(index == 0, "of job {index}");
                    Ok(())
                })
            });
        });
        assert_eq!(message, "of job 1");
        arbiter.assert_all_returned();
        assert_eq!(owner.with_backend_session(|session| orders(session)).len(), 4);
    });
}
