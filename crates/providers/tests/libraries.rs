//! Real libraries, loaded: the contract, their settings, and several callers at once.
//!
//! `cargo xtask test --providers` names their folder. Without it these tests have nothing to test and say so.

#![allow(clippy::unwrap_used, reason = "a test fails by it")]

mod common;

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
};

use common::{
    libraries, load, providers, second_difference, second_difference_values, square_of_ones,
};
use tenferro_provider::{
    Chain, Provider, Sequential, Workers,
    conformance::{self, Threads},
    foreign::{ForeignProvider, IntegerWidth, Threading},
};
use tenferro_providers::{
    Naive,
    loaded::{Found, Library, SearchPath},
};

/// Taken by each test, because what they look at is the process's.
static ALONE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

const THREADINGS: [Threading; 2] = [Threading::Workers, Threading::Library];

/// The number of threads that a call would use, as this thread sees it and as a new one does.
fn settings(provider: &ForeignProvider) -> [i64; 2] {
    let threads = || provider.library().threads.threads();
    [threads(), thread::scope(|scope| scope.spawn(threads).join().unwrap())]
}

#[test]
fn x46_every_library_keeps_the_contract() {
    let _alone = alone();
    for threading in THREADINGS {
        for provider in providers(threading) {
            let (name, capabilities) = (provider.name(), provider.capabilities());
            println!("{name} {} {:?} {capabilities:?}", provider.version(), provider.notes());
            let report = conformance::run(&*provider).unwrap_or_else(|failure| panic!("{failure}"));
            assert!(report.executed > 2_000, "{name}: {report:?}");
            // Of those known, BLIS alone is no LAPACK.
            let has_lapack = !name.starts_with("blis");
            assert_eq!(!capabilities.lapack.is_empty(), has_lapack, "{name}");
            assert_eq!(report.solved > 300, has_lapack, "{name}: {report:?}");
            let chain = Chain::new([provider.clone() as Arc<dyn Provider>, Arc::new(Naive::new())]);
            let right = conformance::composed(&chain).unwrap_or_else(|failure| panic!("{failure}"));
            assert_eq!(right, 62 * 4 + 3 * 2, "{name}");
        }
    }
}

#[test]
fn x42_the_number_of_threads_inside_of_a_bound_is_the_bound_and_after_it_what_it_was() {
    let _alone = alone();
    for provider in providers(Threading::Workers) {
        let (name, control) = (provider.name(), &provider.library().threads);
        let before = settings(&provider);
        let most = if control.scope().is_some() { 2 } else { 1 };
        for threads in [1, most] {
            let bounded = control.bound(threads).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(control.threads(), i64::try_from(threads).unwrap(), "{name}");
            drop(bounded);
            assert_eq!(settings(&provider), before, "{name}");
            let unwound = catch_unwind(AssertUnwindSafe(|| {
                let _bounded = control.bound(threads).unwrap();
                panic!("in a call");
            }));
            assert!(unwound.is_err());
            assert_eq!(settings(&provider), before, "{name} after a panic");
        }
    }
}

/// Workers that panic after some of the jobs.
struct Failing;

impl Workers for Failing {
    fn width(&self) -> usize {
        2
    }

    fn run(&self, _: usize, job: &(dyn Fn(usize) + Sync)) {
        job(0);
        panic!("a worker");
    }
}

#[test]
fn x42_settings_are_what_they_were_after_products_decompositions_and_panics() {
    let _alone = alone();
    for threading in THREADINGS {
        for provider in providers(threading) {
            let (name, before) = (provider.name(), settings(&provider));
            square_of_ones(300, &*provider, &Threads::new(2));
            assert_eq!(settings(&provider), before, "{name} after a product");
            if !provider.capabilities().lapack.is_empty() {
                second_difference(140, &*provider, &Threads::new(2));
                assert_eq!(settings(&provider), before, "{name} after a decomposition");
            }
            let shared = provider.threading() == Threading::Workers
                && provider.library().threads.is_shared();
            let product = catch_unwind(AssertUnwindSafe(|| {
                square_of_ones(300, &*provider, &Failing);
            }));
            assert_eq!(product.is_err(), shared, "{name}");
            assert_eq!(settings(&provider), before, "{name} after a panic");
        }
    }
}

/// Products of ones on two threads beside eigen-decompositions on two more, each on one thread of the library or more.
fn beside_each_other(provider: &dyn Provider, workers: &(dyn Workers + Sync)) {
    let name = provider.name();
    let has_lapack = !provider.capabilities().lapack.is_empty();
    thread::scope(|scope| {
        for n in [96, 130] {
            scope.spawn(move || {
                for _ in 0..40 {
                    let product = square_of_ones(n, provider, workers);
                    assert!(product.iter().all(|&sum| sum == n as f64), "{name}");
                }
            });
        }
        for n in [40, 70].into_iter().filter(|_| has_lapack) {
            scope.spawn(move || {
                let expected = second_difference_values(n);
                for _ in 0..20 {
                    let (values, distance) = second_difference(n, provider, workers);
                    let near = |(value, expected): (&f64, &f64)| (value - expected).abs() < 1e-12;
                    assert!(values.iter().zip(&expected).all(near), "{name}: {values:?}");
                    assert!(distance < 1e-12, "{name}: vectors are off by {distance:e}");
                }
            });
        }
    });
}

#[test]
fn x42_products_of_ones_beside_eigen_decompositions_are_right() {
    let _alone = alone();
    for threading in THREADINGS {
        for provider in providers(threading) {
            let before = settings(&provider);
            beside_each_other(&*provider, &Sequential);
            beside_each_other(&*provider, &Threads::new(2));
            assert_eq!(settings(&provider), before, "{}", provider.name());
        }
    }
}

#[test]
fn x44_one_library_uses_the_threads_of_an_openmp_runtime_and_the_next_one_says_why_it_does_not() {
    let _alone = alone();
    let on_gomp = |found: &Found| ["openblas-openmp", "blis-openmp"].contains(&&*found.name);
    let both: Vec<_> = libraries().into_iter().filter(on_gomp).collect();
    let [first, second] = &both[..] else { return };
    let both = [load(first, Threading::Library), load(second, Threading::Library)];
    let (users, denied): (Vec<_>, Vec<_>) =
        both.iter().partition(|provider| provider.threading() == Threading::Library);
    assert_eq!((users.len(), denied.len()), (1, 1));
    let told = |note: &String| note.contains("OpenMP runtime") && note.contains(users[0].name());
    assert!(denied[0].notes().iter().any(told), "{:?}", denied[0].notes());
}

#[test]
fn x40_both_widths_of_integers_keep_the_contract_where_a_library_has_both() {
    let _alone = alone();
    for found in libraries().iter().filter(|found| found.name == "mkl") {
        let wide = Library::at(&found.path).symbols("", "_64").integers(IntegerWidth::Ilp64);
        let wide = wide.load(&SearchPath::default()).unwrap_or_else(|error| panic!("{error}"));
        assert!(!wide.capabilities().lapack.is_empty());
        conformance::run(&*wide).unwrap_or_else(|failure| panic!("{failure}"));
    }
}

#[test]
fn x40_a_library_that_is_loaded_again_is_the_same_one() {
    let _alone = alone();
    for found in libraries() {
        let [first, second] = THREADINGS.map(|threading| load(&found, threading));
        assert!(Arc::ptr_eq(first.library(), second.library()), "{}", found.name);
    }
}
