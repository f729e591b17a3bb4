//! Each library answers for itself, whatever else the process has opened.
//!
//! It has a process of its own, because what is opened for the whole process stays.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

mod common;

use std::ffi::c_int;

use common::{compiled, providers};
use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW};
use tenferro_provider::{Provider, conformance, foreign::Threading};
use tenferro_providers::loaded::{self, SearchPath};

#[test]
fn x44_no_library_s_symbols_are_replaced_by_those_of_another() {
    let (_intruder_folder, file) = compiled("intruder.c", "intruder", &[]);
    // SAFETY: the library has no initialiser.
    let intruder = unsafe { Library::open(Some(&file), RTLD_NOW | RTLD_GLOBAL) }.unwrap();
    // SAFETY: the function has this type.
    let calls = unsafe { intruder.get::<unsafe extern "C" fn() -> c_int>(b"intruder_calls") };
    let calls = calls.unwrap();
    // SAFETY: as above; the library stays open.
    let calls = || unsafe { calls() };

    // It does what it is here for: a library that is opened carelessly is served by it.
    let (_careless_folder, careless) = compiled("cblas.c", "careless", &[]);
    // SAFETY: the library has no initialiser.
    let careless = unsafe { Library::open(Some(&careless), RTLD_NOW) }.unwrap();
    // SAFETY: the function has this type, and reads the two vectors.
    unsafe {
        type Ddot = unsafe extern "C" fn(c_int, *const f64, c_int, *const f64, c_int) -> f64;
        let ddot = careless.get::<Ddot>(b"cblas_ddot").unwrap();
        ddot(1, [1.0].as_ptr(), 1, [1.0].as_ptr(), 1);
    }
    let intruded = calls();
    assert!(intruded > 0);

    let (_folder, file) = compiled("cblas.c", "whole", &[]);
    let library = loaded::Library::at(&file).single_threaded().load(&SearchPath::default());
    let mut all = providers(Threading::Workers);
    all.push(library.unwrap_or_else(|error| panic!("{error}")));
    for provider in all {
        conformance::run(&*provider).unwrap_or_else(|failure| panic!("{failure}"));
        assert_eq!(calls(), intruded, "{} called functions of another", provider.name());
    }
}
