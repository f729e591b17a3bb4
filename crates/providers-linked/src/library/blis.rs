//! BLIS, which has no LAPACK.

use std::ffi::{CStr, c_char};

use blis_src as _;
use tenferro_provider::{
    Fork,
    foreign::{LapackFunctions, Repeatability, ThreadControl, ThreadCount},
};

pub(crate) const NAME: &str = "linked-blis";
pub(crate) const REPEATABLE: Repeatability = Repeatability::Always;

unsafe extern "C" {
    safe fn bli_thread_get_num_threads() -> i64;
    safe fn bli_thread_set_num_threads(threads: i64);
    safe fn bli_info_get_version_str() -> *const c_char;
}

extern "C" fn get() -> i64 {
    bli_thread_get_num_threads()
}

extern "C" fn set(threads: i64) {
    bli_thread_set_num_threads(threads);
}

pub(crate) fn version() -> String {
    // SAFETY: it returns a string that stays.
    unsafe { CStr::from_ptr(bli_info_get_version_str()) }.to_string_lossy().into_owned()
}

pub(crate) fn threads() -> ThreadControl {
    let count = ThreadCount::Long { get, set };
    if count.is_per_thread() {
        // SAFETY: they are the getter and the setter of the calling thread's number.
        unsafe { ThreadControl::per_thread(count, None) }
    } else {
        // SAFETY: they are the getter and the setter.
        unsafe { ThreadControl::process(count) }
    }
}

/// Nothing tells whether it uses OpenMP.
pub(crate) fn fork() -> Fork {
    Fork::Lost
}

pub(crate) fn lapack() -> Option<LapackFunctions<i32>> {
    None
}
