//! MKL without threads of its own.

use tenferro_provider::{
    Fork,
    foreign::{LapackFunctions, Repeatability, ThreadControl},
};

pub(crate) const NAME: &str = "linked-mkl";
/// Its results depend on where operands lie in memory.
pub(crate) const REPEATABLE: Repeatability = Repeatability::SameAlignment;

pub(crate) fn version() -> String {
    "static, sequential".to_owned()
}

pub(crate) fn threads() -> ThreadControl {
    ThreadControl::calling_thread()
}

pub(crate) fn fork() -> Fork {
    Fork::Survives
}

pub(crate) fn lapack() -> Option<LapackFunctions<i32>> {
    Some(crate::linked::lapack::functions())
}
