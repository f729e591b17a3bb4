//! Everything at once on few CPUs: nobody hangs, every result is right, and every CPU comes back.

#![allow(clippy::unwrap_used, reason = "a test fails by it")]

mod common;

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    thread,
};

use common::{CountingArbiter, LARGE, ones, vector, watchdog};
use tenferro_cpu::CpuBackend;
use tenferro_ops::{Engine, TensorComposite};
use tenferro_scope::{DomainOwnership, has_active_execution};
use tenferro_tensor::{Tensor, TensorElementwise};

/// What the threads share.
struct Place {
    backends: Vec<CpuBackend>,
    foreign: rayon::ThreadPool,
    large: Tensor,
}

impl Place {
    fn new(cpus: usize) -> (Arc<Self>, Arc<CountingArbiter>) {
        let arbiter = CountingArbiter::new(cpus);
        let managed = |threads| {
            CpuBackend::builder().threads(threads).arbiter(arbiter.clone()).build().unwrap()
        };
        let executor = Arc::new(common::OwnPool::new(2));
        let external = CpuBackend::builder()
            .arbiter(arbiter.clone())
            .executor(DomainOwnership::External, executor)
            .build()
            .unwrap();
        let backends = vec![managed(1), managed(2), managed(cpus), external];
        let foreign = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        (Arc::new(Self { backends, foreign, large: vector(LARGE) }), arbiter)
    }

    /// One of the things that callers do with backend `which`; scopes on managed ones only.
    fn act(&self, which: usize, what: u32) {
        let owner = &self.backends[which];
        let managed = owner.domain().ownership() == DomainOwnership::Managed;
        let mut operations = owner.clone();
        match what {
            0 => self.check(&mut operations),
            1 => check_large(operations.add(&self.large, &self.large)),
            2 if managed => owner.with_execution_scope(|| self.check(&mut operations)).unwrap(),
            3 if managed => owner
                .with_execution_scope(|| {
                    self.check(&mut operations);
                    let mut plain = owner.clone();
                    thread::scope(|threads| {
                        threads.spawn(|| self.check(&mut plain)).join().unwrap()
                    });
                    check_large(operations.add(&self.large, &self.large));
                })
                .unwrap(),
            4 => owner.with_backend_session(|engine| self.check(engine)),
            5 => self.foreign.install(|| self.check(&mut operations)),
            6 if managed => {
                self.foreign.install(|| {
                    owner.with_execution_scope(|| self.check(&mut operations)).unwrap();
                });
            }
            7 if managed => {
                let outcome = catch_unwind(AssertUnwindSafe(|| {
                    owner.with_execution_scope(|| {
                        self.check(&mut operations);
                        std::panic::resume_unwind(Box::new("on purpose"));
                    })
                }));
                assert!(outcome.is_err());
            }
            8 if managed => owner.install(|| self.check(&mut operations)),
            _ => assert!(owner.diagnostics().arbiter.capacity > 0),
        }
        assert!(!has_active_execution());
    }

    fn check(&self, engine: &mut dyn Engine) {
        let x = ones(5);
        let square = engine.matmul(&x, &x).unwrap();
        let sum = engine.add(&square, &x).unwrap();
        assert_eq!(sum.as_slice::<f64>().unwrap(), [6.0; 25]);
    }
}

fn check_large(sum: tenferro_cpu::Result<Tensor>) {
    let sum = sum.unwrap();
    for index in [0, LARGE / 2, LARGE - 1] {
        assert_eq!(sum.get::<f64>(&[index]).unwrap(), 2.0 * (index + 1) as f64);
    }
}

fn many_callers_on(cpus: usize) {
    watchdog(move || {
        let (place, arbiter) = Place::new(cpus);
        let callers: Vec<_> = (0..6_u32)
            .map(|caller| {
                let place = place.clone();
                thread::spawn(move || {
                    let mut state = caller + 1;
                    for _ in 0..150 {
                        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                        let draw = state >> 16;
                        place.act((draw % 4) as usize, draw / 4 % 10);
                    }
                })
            })
            .collect();
        for caller in callers {
            caller.join().unwrap();
        }
        drop(place);
        let all = |snapshot: &tenferro_arbiter::Snapshot| {
            snapshot.free + snapshot.parked == snapshot.capacity && snapshot.holders.is_empty()
        };
        arbiter.await_snapshot(all);
        assert_eq!(tenferro_arbiter::Arbiter::snapshot(&*arbiter).statistics.refusals, 0);
    });
}

#[test]
fn x25_many_callers_of_every_kind_on_one_cpu_end_and_leave_nothing_behind() {
    many_callers_on(1);
}

#[test]
fn x25_many_callers_of_every_kind_on_three_cpus_end_and_leave_nothing_behind() {
    many_callers_on(3);
}
