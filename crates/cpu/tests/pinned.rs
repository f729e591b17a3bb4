//! Pinned domains: everything on pinned workers, one hop a scope, CPUs by name and alone, and the caller left as it was.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

mod common;

use std::{
    collections::HashSet,
    sync::{Arc, Barrier, Mutex, mpsc},
    thread,
};

use common::{
    CountingArbiter, CountingExecutor, LARGE, core_error, ones, panic_message, runtime_state,
    vector, watchdog,
};
use tenferro_arbiter::{self as arbiter, Arbiter, CpuSet, allowed_cpus, current_affinity};
use tenferro_cpu::{CpuBackend, CpuBackendBuilder, Error, LaneCount};
use tenferro_ops::TensorComposite;
use tenferro_scope::{self as scope, Affinity, DomainOwnership, has_active_execution};
use tenferro_tensor::TensorElementwise;

/// An arbiter over this machine's CPUs that counts, with a short wait limit.
fn machine() -> (Arc<CountingArbiter>, CpuSet) {
    let cpus = allowed_cpus().cpus().clone();
    let highest = cpus.iter().last().unwrap();
    (CountingArbiter::impatient(highest + 1), cpus)
}

fn builder(arbiter: &Arc<CountingArbiter>, cpus: &CpuSet) -> CpuBackendBuilder {
    CpuBackend::builder().arbiter(arbiter.clone()).cpu_set(cpus.clone()).pinned()
}

fn one(cpus: &CpuSet) -> CpuSet {
    cpus.iter().take(1).collect()
}

fn add(backend: &mut CpuBackend, n: usize) {
    let sum = backend.add(&vector(n), &vector(n)).unwrap();
    assert_eq!(sum.get::<f64>(&[n - 1]).unwrap(), 2.0 * n as f64);
}

#[test]
fn x30_x32_workers_are_pinned_and_that_is_verified() {
    watchdog(|| {
        let (arbiter, cpus) = machine();
        for set in [one(&cpus), cpus] {
            let (before, here) = (current_affinity(), thread::current().id());
            let owner = builder(&arbiter, &set).build().unwrap();
            let found = owner.diagnostics();
            assert_eq!((found.affinity, found.executor), (Affinity::Verified, "pinned"));
            assert_eq!((found.threads, found.ownership), (set.len(), DomainOwnership::Managed));
            let (thread, affinity) = owner
                .with_execution_scope(|| (thread::current().id(), current_affinity()))
                .unwrap();
            assert_ne!(thread, here, "it runs on a worker");
            assert_eq!(affinity, Some(set.clone()));
            let of_session = owner.with_backend_session(|_| current_affinity());
            assert_eq!(of_session, Some(set.clone()));
            assert_eq!(owner.install(current_affinity), Some(set));
            assert_eq!(current_affinity(), before, "the caller's own is never changed");
        }
    });
}

#[test]
fn x30_x10_a_scope_is_one_hop_and_one_permit() {
    watchdog(|| {
        let (arbiter, cpus) = machine();
        let owner = builder(&arbiter, &cpus).build().unwrap();
        let mut operations = owner.clone();
        let threads = owner
            .with_execution_scope(|| {
                let mut threads = HashSet::new();
                for _ in 0..100 {
                    add(&mut operations, 8);
                    threads.insert(thread::current().id());
                }
                add(&mut operations, LARGE);
                operations.matmul(&ones(128), &ones(128)).unwrap();
                assert_eq!(owner.scope_width(), Some(cpus.len()));
                assert!(owner.domain().is_entered() && has_active_execution());
                threads.len()
            })
            .unwrap();
        assert_eq!((threads, arbiter.requests()), (1, 1));
        assert!(!has_active_execution());
        add(&mut operations, LARGE);
        assert_eq!(arbiter.requests(), 2);
        arbiter.assert_all_returned();
    });
}

#[test]
fn x30_x20_pinned_sets_that_overlap_follow_each_other_and_disjoint_ones_run_together() {
    watchdog(|| {
        let (arbiter, cpus) = machine();
        let set = one(&cpus);
        let (first, mut same) =
            (builder(&arbiter, &set).build().unwrap(), builder(&arbiter, &set).build().unwrap());
        let rest = arbiter.cpus().difference(&set);
        first
            .with_execution_scope(|| {
                let elsewhere = thread::scope(|threads| {
                    threads.spawn(|| same.add(&vector(2), &vector(2))).join().unwrap()
                });
                let scope::Error::Admission(arbiter::Error::WaitLimit { .. }) =
                    core_error(elsewhere)
                else {
                    panic!("another error")
                };
                if !rest.is_empty() {
                    let floating = CpuBackend::builder().arbiter(arbiter.clone()).cpu_set(rest);
                    let mut floating = floating.build().unwrap();
                    thread::scope(|threads| {
                        threads.spawn(|| add(&mut floating, 8)).join().unwrap();
                    });
                }
            })
            .unwrap();
        add(&mut same, 8);
        arbiter.assert_all_returned();
    });
}

#[test]
fn x30_x51_a_pinned_scope_refuses_what_any_scope_does() {
    watchdog(|| {
        let (arbiter, cpus) = machine();
        let owner = builder(&arbiter, &cpus).build().unwrap();
        let other = builder(&arbiter, &one(&cpus)).build().unwrap();
        owner
            .with_execution_scope(|| {
                let reason = runtime_state(owner.with_execution_scope(|| ()));
                assert!(reason.contains("is already open on this thread"), "{reason}");
                let reason = runtime_state(other.clone().add(&vector(2), &vector(2)));
                assert!(reason.contains("use a clone of the scope's backend"), "{reason}");
            })
            .unwrap();
        // A task that the scope leaves behind on a worker is refused.
        let (seen, refused) = mpsc::channel();
        let mut clone = owner.clone();
        owner
            .with_execution_scope(|| {
                rayon::spawn(move || {
                    seen.send(runtime_state(clone.add(&vector(2), &vector(2)))).unwrap();
                });
            })
            .unwrap();
        assert!(refused.recv().unwrap().contains("is a worker of the pool of"));
        arbiter.assert_all_returned();
    });
}

#[test]
fn x30_x13_a_panic_in_a_pinned_scope_releases_everything() {
    watchdog(|| {
        let (arbiter, cpus) = machine();
        let owner = builder(&arbiter, &cpus).build().unwrap();
        let message = panic_message(|| owner.with_execution_scope(|| panic!("inside")).unwrap());
        assert_eq!(message, "inside");
        assert!(!has_active_execution());
        arbiter.assert_all_returned();
        owner.with_execution_scope(|| add(&mut owner.clone(), LARGE)).unwrap();
    });
}

#[test]
fn x30_x17_lanes_of_a_pinned_scope_are_pinned_too() {
    watchdog(|| {
        let (arbiter, cpus) = machine();
        let owner = builder(&arbiter, &cpus).build().unwrap();
        let together = Barrier::new(cpus.len());
        let affinities = owner.with_lanes(LaneCount::Exactly(cpus.len()), |backend, lane| {
            together.wait();
            add(backend, LARGE);
            assert_eq!(lane.width(), 1);
            current_affinity()
        });
        assert!(affinities.unwrap().iter().all(|affinity| affinity.as_ref() == Some(&cpus)));
        assert_eq!(arbiter.requests(), 1);
        arbiter.assert_all_returned();
    });
}

#[test]
fn x30_x33_a_foreign_worker_computes_inline_and_is_never_sent_to_a_pinned_pool() {
    watchdog(|| {
        let (arbiter, cpus) = machine();
        let owner = builder(&arbiter, &cpus).build().unwrap();
        let foreign = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        let (before, after) = foreign.install(|| {
            let here = thread::current().id();
            add(&mut owner.clone(), LARGE);
            let inside = owner
                .with_execution_scope(|| {
                    assert_eq!(owner.scope_width(), Some(1));
                    add(&mut owner.clone(), LARGE);
                    thread::current().id()
                })
                .unwrap();
            (here, inside)
        });
        assert_eq!(before, after);
        // Its CPUs are taken: it must not wait, and there is no other CPU that would do.
        let refused = owner
            .with_execution_scope(|| foreign.install(|| owner.clone().add(&vector(2), &vector(2))))
            .unwrap();
        let scope::Error::Admission(arbiter::Error::WouldBlock { .. }) = core_error(refused) else {
            panic!("another error")
        };
        arbiter.assert_all_returned();
    });
}

#[test]
fn x30_x32_what_cannot_be_pinned_is_a_typed_error() {
    watchdog(|| {
        let (arbiter, cpus) = machine();
        let named = builder(&arbiter, &one(&cpus)).threads(2).build();
        let error = core_error(named.map(drop));
        assert!(matches!(error, scope::Error::PinnedWidth { width: 2, .. }), "{error:?}");
        let text = error.to_string().replace(&one(&cpus).to_string(), "[set]");
        insta::assert_snapshot!(text, @"a pinned domain has one thread for each of its CPUs, which are [set], and 2 were asked for; leave the number out, or name 2 CPUs");

        // CPUs that the arbiter counts and the machine does not have: some of the set, or all of it.
        let absent = 1 << 13;
        let wide = CountingArbiter::new(absent + 1);
        let mut some = one(&cpus);
        some.insert(absent);
        let error = core_error(builder(&wide, &some).build().map(drop));
        let scope::Error::NotPinned { found, .. } = error else { panic!("{error:?}") };
        assert_eq!(found, one(&cpus));
        let error = core_error(builder(&wide, &CpuSet::from_iter([absent])).build().map(drop));
        assert!(matches!(error, scope::Error::Pinning { .. }), "{error:?}");

        let policy = arbiter::Policy { capacity: Some(1), ..Default::default() };
        let narrow = CountingArbiter::with_policy(2, policy);
        let error = core_error(builder(&narrow, &CpuSet::first(2)).build().map(drop));
        let scope::Error::Admission(arbiter::Error::TooWide { min: 2, limit: 1 }) = error else {
            panic!("{error:?}")
        };
        let both = builder(&arbiter, &cpus)
            .executor(DomainOwnership::Managed, CountingExecutor::new(1))
            .build();
        assert!(matches!(both, Err(Error::Validation { .. })));
    });
}

#[test]
fn f48_subnormals_stay_on_every_pinned_worker() {
    watchdog(|| {
        let (arbiter, cpus) = machine();
        let owner = builder(&arbiter, &cpus).build().unwrap();
        let tiny = tenferro_tensor::Tensor::full(vec![LARGE], 1e-310_f64).unwrap();
        let ones = tenferro_tensor::Tensor::full(vec![LARGE], 1.0_f64).unwrap();
        let product = owner.clone().mul(&tiny, &ones).unwrap();
        assert!(product.as_slice::<f64>().unwrap().iter().all(|&x| x == 1e-310));
        let seen = Mutex::new(Vec::new());
        let lanes = owner.with_lanes(LaneCount::UpTo(usize::MAX), |backend, _| {
            let product = backend.mul(&tiny, &ones).unwrap();
            seen.lock().unwrap().push(product.get::<f64>(&[LARGE - 1]).unwrap());
        });
        lanes.unwrap();
        assert!(seen.into_inner().unwrap().iter().all(|&x| x == 1e-310));
    });
}
