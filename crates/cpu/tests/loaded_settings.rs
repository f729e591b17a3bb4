//! What a process says of its libraries' threads before a backend is built and after it is gone.
//!
//! It has a process of its own, because libraries stay once they are open. `cargo xtask test --providers` names the
//! folder of real libraries; where there is none it says so.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

mod common;

use std::{
    env,
    ffi::c_int,
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
    thread,
};

use common::ones;
use libloading::os::unix::{Library as Opened, RTLD_LOCAL, RTLD_NOW};
use tenferro_cpu::{
    CpuBackend, Threading,
    loaded::{Found, Library, SearchPath},
};
use tenferro_ops::TensorComposite;

/// Functions without arguments that return a number of threads, for the process or the calling thread.
const NUMBERS: &[&str] = &[
    "MKL_Get_Max_Threads",
    "openblas_get_num_threads",
    "scipy_openblas_get_num_threads",
    "bli_thread_get_num_threads",
    "omp_get_max_threads",
];

/// The library and the runtimes beside it that it needs, open as the backend will open them.
fn open(path: &Path) -> Vec<Opened> {
    /// `RTLD_DEEPBIND`.
    const DEEP: c_int = 0x8;
    let companions = ["libquadmath.so.0", "libgfortran.so.5", "libgomp.so.1"];
    let beside = companions.map(|name| path.with_file_name(name));
    let files = beside.iter().map(|file| &**file).filter(|file| file.is_file()).chain([path]);
    // SAFETY: the libraries' initialisers are run, which is what a backend does with them.
    files
        .map(|file| unsafe { Opened::open(Some(file), RTLD_NOW | RTLD_LOCAL | DEEP) }.unwrap())
        .collect()
}

/// The numbers that a library has, on this thread and on a new one.
fn numbers(library: &Opened) -> [Vec<(&'static str, c_int)>; 2] {
    let read = || {
        let number = |&name: &&'static str| {
            // SAFETY: functions of these names take nothing and return an int, or 64 bits of which an int is enough.
            let ask =
                unsafe { library.get::<unsafe extern "C" fn() -> c_int>(name.as_bytes()) }.ok()?;
            // SAFETY: as above.
            Some((name, unsafe { ask() }))
        };
        NUMBERS.iter().filter_map(number).collect::<Vec<_>>()
    };
    [read(), thread::scope(|scope| scope.spawn(read).join().unwrap())]
}

/// Products on this thread and others, in scopes and outside of them, and a panic.
fn use_backend(found: &Found, threading: Threading) {
    let library = Library::at(&found.path).called(&found.name).threading(threading);
    let backend = CpuBackend::builder().threads(2).library(library).provider(&found.name);
    let backend = backend.build().unwrap();
    let product = || {
        let product = backend.clone().matmul(&ones(300), &ones(300)).unwrap();
        assert!(product.as_slice::<f64>().unwrap().iter().all(|&sum| sum == 300.0));
    };
    product();
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(product);
        }
    });
    backend.with_execution_scope(product).unwrap();
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        backend.with_execution_scope(|| {
            product();
            panic!("in a scope");
        })
    }));
    assert!(panicked.is_err());
    product();
}

#[test]
fn x42_loading_a_provider_using_it_and_dropping_the_backend_leaves_the_process_s_settings() {
    let Some(folder) = env::var_os("TENFERRO_TEST_LIBRARIES") else {
        eprintln!("SKIPPED: no libraries; `cargo xtask test --providers` runs this on real ones");
        return;
    };
    for found in SearchPath::from_iter([folder]).libraries() {
        // The first question that MKL is asked decides about its threads, so it is asked after a backend has decided.
        if found.name.starts_with("mkl") {
            use_backend(&found, Threading::Workers);
        }
        let opened = open(&found.path);
        let library = opened.last().unwrap();
        let before = numbers(library);
        println!("{}: {before:?}", found.name);
        for threading in [Threading::Workers, Threading::Library] {
            use_backend(&found, threading);
            assert_eq!(numbers(library), before, "{} {threading:?}", found.name);
        }
    }
}
