//! Backends with libraries that are loaded: how they are found, and in which order they are asked.
//!
//! `cargo xtask test --providers` names the folder of real libraries. What needs one says so where there is none.

#![allow(clippy::unwrap_used, reason = "a test fails by it")]

mod common;

use std::{env, path::PathBuf};

use common::ones;
use tenferro_cpu::{
    CpuBackend, Error, Threading,
    loaded::{Library, LoadError},
};
use tenferro_ops::TensorComposite;
use tenferro_provider::{self as provider, Preference};

/// The folder of real libraries, if there is one.
fn libraries() -> Option<PathBuf> {
    let folder = env::var_os("TENFERRO_TEST_LIBRARIES").map(PathBuf::from);
    if folder.is_none() {
        eprintln!("SKIPPED: no libraries; `cargo xtask test --providers` runs this on real ones");
    }
    folder
}

/// What a failure to build has as its source.
fn source<E: std::error::Error + 'static>(failed: tenferro_cpu::Result<CpuBackend>) -> E {
    match failed {
        Err(Error::BackendSource { source, .. }) => *source.downcast::<E>().unwrap(),
        other => panic!("it did not fail for that reason: {other:?}"),
    }
}

/// The names of a backend's providers, most preferred first.
fn names(backend: &CpuBackend) -> Vec<String> {
    backend.diagnostics().providers.into_iter().map(|provider| provider.name).collect()
}

#[test]
fn x44_a_library_that_is_nowhere_is_not_found_and_one_that_cannot_be_opened_says_so() {
    let nowhere = CpuBackend::builder().provider("blis-of-nowhere").build();
    let error: provider::Error = source(nowhere);
    assert!(matches!(error, provider::Error::NotFound { cause: Some(_), .. }), "{error}");
    let none = CpuBackend::builder().library(Library::at("/nowhere/libblis.so.4")).build();
    let error: LoadError = source(none);
    assert!(matches!(error, LoadError::Open { .. }), "{error}");
}

#[test]
fn x44_nothing_is_loaded_that_was_not_asked_for() {
    let backend = CpuBackend::with_threads(1).unwrap();
    let found = backend.diagnostics();
    assert_eq!(names(&backend), ["native", "naive"]);
    let absent: Vec<&str> = found.absent.iter().map(|absent| absent.name.as_str()).collect();
    assert_eq!(absent, ["blis", "mkl", "openblas"]);
    assert!(found.absent.iter().all(|absent| absent.reason.contains("named")));
}

#[test]
fn x41_libraries_in_the_path_come_after_the_built_in_providers_unless_they_are_preferred() {
    let Some(folder) = libraries() else { return };
    let builder = || CpuBackend::builder().threads(2).provider_path([&folder]);
    let backend = builder().build().unwrap();
    assert_eq!(names(&backend)[0], "native");
    assert!(names(&backend).len() > 2);
    for name in names(&backend) {
        let mut backend = builder().provider(&name).build().unwrap();
        assert_eq!(names(&backend)[0], name);
        let product = backend.matmul(&ones(200), &ones(200)).unwrap();
        assert!(product.as_slice::<f64>().unwrap().iter().all(|&sum| sum == 200.0), "{name}");
    }
    let order = Preference::Order(vec!["atlas".to_owned(), "blis".to_owned()]);
    assert_eq!(names(&builder().provider_preference(order).build().unwrap())[0], "blis");
}

#[test]
fn x41_a_library_that_the_builder_was_given_is_asked_first_and_hides_that_of_the_path() {
    let Some(folder) = libraries() else { return };
    let library = Library::named("openblas").threading(Threading::Library);
    let builder = CpuBackend::builder().threads(2).provider_path([&folder]).library(library);
    let backend = builder.build().unwrap();
    let found = backend.diagnostics();
    assert_eq!(found.providers[0].name, "openblas");
    assert_eq!(found.providers[0].threads, provider::ThreadOwnership::ProcessWide);
    assert_eq!(names(&backend).iter().filter(|name| *name == "openblas").count(), 1);
    assert!(found.to_string().contains("loaded from"), "{found}");
}
