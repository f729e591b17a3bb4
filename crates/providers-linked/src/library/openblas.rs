//! OpenBLAS, whatever it was built with: its own threads, OpenMP, or none.

use std::ffi::{CStr, c_char, c_int};

use openblas_src as _;
use tenferro_provider::{
    Fork,
    foreign::{LapackFunctions, Repeatability, ThreadControl, ThreadCount},
};

pub(crate) const NAME: &str = "linked-openblas";
pub(crate) const REPEATABLE: Repeatability = Repeatability::Always;

unsafe extern "C" {
    safe fn openblas_get_num_threads() -> c_int;
    safe fn openblas_set_num_threads(threads: c_int);
    /// 0 for a build without threads, 1 for threads of its own, 2 for OpenMP.
    safe fn openblas_get_parallel() -> c_int;
    safe fn openblas_get_config() -> *const c_char;
}

extern "C" fn get() -> c_int {
    openblas_get_num_threads()
}

extern "C" fn set(threads: c_int) {
    openblas_set_num_threads(threads);
}

/// The version among what it says of its build: "OpenBLAS 0.3.21 NO_LAPACKE ...".
pub(crate) fn version() -> String {
    // SAFETY: it returns a string that stays.
    let config = unsafe { CStr::from_ptr(openblas_get_config()) }.to_string_lossy();
    config.split_whitespace().nth(1).unwrap_or("of unknown version").to_owned()
}

pub(crate) fn threads() -> ThreadControl {
    let count = ThreadCount::Int { get, set };
    match openblas_get_parallel() {
        0 => ThreadControl::one_caller(),
        // SAFETY: they are the getter and the setter.
        1 => unsafe { ThreadControl::process(count) },
        // SAFETY: as above. With OpenMP the setter is heard by the calling thread alone, and the getter is not.
        _ => unsafe { ThreadControl::exclusive(count) },
    }
}

pub(crate) fn fork() -> Fork {
    if openblas_get_parallel() == 2 { Fork::Lost } else { Fork::Survives }
}

pub(crate) fn lapack() -> Option<LapackFunctions<i32>> {
    Some(crate::linked::lapack::functions())
}
