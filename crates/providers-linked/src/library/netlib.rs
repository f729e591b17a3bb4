//! The reference implementation, which has no threads.

use tenferro_provider::{
    Fork,
    foreign::{LapackFunctions, Repeatability, ThreadControl},
};

pub(crate) const NAME: &str = "linked-netlib";
pub(crate) const REPEATABLE: Repeatability = Repeatability::Always;

pub(crate) fn version() -> String {
    "reference".to_owned()
}

/// Old Fortran keeps local arrays in static memory unless it is told otherwise, so one caller at a time is let in.
pub(crate) fn threads() -> ThreadControl {
    ThreadControl::one_caller()
}

pub(crate) fn fork() -> Fork {
    Fork::Survives
}

pub(crate) fn lapack() -> Option<LapackFunctions<i32>> {
    Some(crate::linked::lapack::functions())
}
