//! Which runtime a backend, a scope or a worker belongs to.

use std::{
    fmt,
    num::NonZeroU64,
    sync::atomic::{AtomicU64, Ordering},
};

/// The identity of a runtime, unique in the process. Clones of a backend share it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct RuntimeIdentity(NonZeroU64);

impl RuntimeIdentity {
    /// An identity that no other runtime has.
    pub(super) fn fresh() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        Self(NonZeroU64::new(number).expect("invariant: 2^64 runtimes are never made"))
    }
}

impl fmt::Display for RuntimeIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "runtime {}", self.0)
    }
}

impl fmt::Debug for RuntimeIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
