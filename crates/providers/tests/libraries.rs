//! Real libraries, loaded: the contract, their threads, and that each answers for itself.
//!
//! `cargo xtask test --providers` names their folder. Without it these tests have nothing to test and say so.

#![allow(clippy::unwrap_used, reason = "a test fails by it")]

use std::{env, sync::Arc};

use tenferro_provider::{Provider, conformance};
use tenferro_providers::{
    cblas::{CblasProvider, Threading},
    loaded::{Found, Library, SearchPath},
};

/// The libraries that are there.
fn libraries() -> Vec<Found> {
    let Some(folder) = env::var_os("TENFERRO_TEST_LIBRARIES") else {
        eprintln!("SKIPPED: no libraries; `cargo xtask test --providers` runs this on real ones");
        return Vec::new();
    };
    let found = SearchPath::from_iter([folder]).libraries();
    assert!(!found.is_empty(), "the folder of libraries has none");
    found
}

/// Every library that is there, with its own threads or with the caller's.
fn providers(threading: Threading) -> Vec<Arc<CblasProvider>> {
    let load = |found: Found| {
        let library = Library::at(&found.path).called(&found.name).threading(threading);
        library.load(&SearchPath::default()).unwrap_or_else(|error| panic!("{error}"))
    };
    libraries().into_iter().map(load).collect()
}

#[test]
fn x46_every_library_keeps_the_contract() {
    for threading in [Threading::Workers, Threading::Library] {
        for provider in providers(threading) {
            println!(
                "{} {} {:?} {:?}",
                provider.name(),
                provider.version(),
                provider.notes(),
                provider.capabilities()
            );
            let report = conformance::run(&*provider).unwrap_or_else(|failure| panic!("{failure}"));
            assert!(report.executed > 2_000, "{}: {report:?}", provider.name());
        }
    }
}
