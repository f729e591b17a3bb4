//! The one seam through which a model checker replaces locks, condition variables and the protocol's atomics.
//!
//! `--cfg loom` explores every interleaving of a small model, `--cfg shuttle` many random ones of a large
//! one. It is not a general abstraction: it has what the protocol uses. Words that only diagnostics
//! read stay with `std`, so that the model explores the protocol and nothing else.

#[cfg(not(any(loom, shuttle)))]
pub(super) use production::*;

#[cfg(any(loom, shuttle))]
pub(super) use model::*;

#[cfg(not(any(loom, shuttle)))]
mod production {
    pub(crate) use crate::bell::Bell;
    pub(crate) use parking_lot::MutexGuard;
    pub(crate) use std::sync::atomic::{AtomicU64, Ordering};
    pub(crate) use std::thread_local;

    /// Starts a thread that lives for itself.
    pub(crate) fn spawn(name: &str, body: impl FnOnce() + Send + 'static) -> std::io::Result<()> {
        std::thread::Builder::new().name(name.to_owned()).spawn(body).map(|_| ())
    }

    /// A lock that a panic does not poison.
    #[derive(Debug, Default)]
    pub(crate) struct Mutex<T>(parking_lot::Mutex<T>);

    impl<T> Mutex<T> {
        pub(crate) const fn new(value: T) -> Self {
            Self(parking_lot::Mutex::new(value))
        }

        pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
            self.0.lock()
        }

        pub(crate) fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
            self.0.try_lock()
        }
    }
}

#[cfg(any(loom, shuttle))]
mod model {
    use std::sync::PoisonError;
    use std::time::Instant;

    #[cfg(loom)]
    use loom as checker;
    #[cfg(shuttle)]
    use shuttle as checker;

    pub(crate) use checker::sync::MutexGuard;
    pub(crate) use checker::sync::atomic::{AtomicU64, Ordering};
    pub(crate) use checker::thread_local;

    /// A model has no clock, and so nobody who watches one.
    pub(crate) fn spawn(_name: &str, _body: impl FnOnce() + Send + 'static) -> std::io::Result<()> {
        Ok(())
    }

    #[derive(Debug, Default)]
    pub(crate) struct Mutex<T>(checker::sync::Mutex<T>);

    impl<T> Mutex<T> {
        pub(crate) fn new(value: T) -> Self {
            Self(checker::sync::Mutex::new(value))
        }

        pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
            self.0.lock().unwrap_or_else(PoisonError::into_inner)
        }

        pub(crate) fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
            self.0.try_lock().ok()
        }
    }

    #[derive(Debug)]
    pub(crate) struct Bell(checker::sync::Condvar);

    impl Default for Bell {
        fn default() -> Self {
            Self(checker::sync::Condvar::new())
        }
    }

    impl Bell {
        pub(crate) fn ring(&self) {
            self.0.notify_one();
        }

        /// Time does not pass in a model. A time-out is a cancellation: if `wake` has come, the lock is let go,
        /// whoever wants it runs, and time is up. A later moment never comes.
        pub(crate) fn wait<'a, T>(
            &self,
            lock: &'a Mutex<T>,
            guard: MutexGuard<'a, T>,
            wake: Option<Instant>,
        ) -> MutexGuard<'a, T> {
            if wake.is_some_and(|wake| wake <= Instant::now()) {
                drop(guard);
                return lock.lock();
            }
            self.0.wait(guard).unwrap_or_else(PoisonError::into_inner)
        }
    }
}
