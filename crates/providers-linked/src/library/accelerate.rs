//! Apple's Accelerate, whose threads are the system's to choose: nothing here can bound them.

use tenferro_provider::{
    Fork,
    foreign::{LapackFunctions, Repeatability, ThreadControl},
};

pub(crate) const NAME: &str = "linked-accelerate";
pub(crate) const REPEATABLE: Repeatability = Repeatability::SameAlignment;

pub(crate) fn version() -> String {
    "of the system".to_owned()
}

pub(crate) fn threads() -> ThreadControl {
    ThreadControl::one_caller()
}

pub(crate) fn fork() -> Fork {
    Fork::Lost
}

pub(crate) fn lapack() -> Option<LapackFunctions<i32>> {
    Some(crate::linked::lapack::functions())
}
