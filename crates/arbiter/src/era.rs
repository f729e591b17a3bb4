//! Forks: which process this is, as a number that a fork changes.
//!
//! A child has one thread, the one that forked: pools, holders and locks that it inherits belong to threads that
//! are not there. Asking costs a load and no system call. It repairs nothing; whoever keeps threads or
//! holders keeps the era that they are of.

use std::sync::Once;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

static FORKS: AtomicU64 = AtomicU64::new(0);

/// A process in a line of forks: the one that it was made in.
///
/// ```
/// use tenferro_arbiter::ProcessEra;
///
/// assert!(!ProcessEra::now().is_over());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessEra(u64);

impl ProcessEra {
    /// The process that calls. The first call asks the system to tell about forks.
    #[must_use]
    pub fn now() -> Self {
        static REGISTERED: Once = Once::new();
        REGISTERED.call_once(register);
        Self(FORKS.load(Relaxed))
    }

    /// Whether the caller is a child, made by a fork since.
    #[inline]
    #[must_use]
    pub fn is_over(self) -> bool {
        self.0 != FORKS.load(Relaxed)
    }
}

#[cfg(unix)]
fn register() {
    extern "C" fn in_child() {
        // A lock-free atomic: all that a child of a process with threads may touch.
        FORKS.fetch_add(1, Relaxed);
    }
    // SAFETY: the handler is async-signal-safe and lives as long as the program; the others are not
    // given. Without memory for its list the system refuses, and forks go unnoticed as before.
    let status = unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
    debug_assert_eq!(status, 0, "the system has memory for a handler");
}

#[cfg(not(unix))]
fn register() {}
