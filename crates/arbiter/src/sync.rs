//! The one seam through which loom replaces locks, condition variables and the protocol's atomics.
//!
//! It is not a general abstraction: it has what the protocol uses. Words that only diagnostics read
//! stay with `std`, so that the model explores the protocol and nothing else.

#[cfg(not(loom))]
pub(super) use production::*;

#[cfg(loom)]
pub(super) use model::*;

#[cfg(not(loom))]
mod production {
    use std::time::Instant;

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

    /// Where one waiter sleeps.
    #[derive(Debug, Default)]
    pub(crate) struct Bell(parking_lot::Condvar);

    impl Bell {
        pub(crate) fn ring(&self) {
            self.0.notify_one();
        }

        /// Sleeps until rung, or until `wake`; it may also wake for no reason.
        pub(crate) fn wait<'a, T>(
            &self,
            _lock: &'a Mutex<T>,
            mut guard: MutexGuard<'a, T>,
            wake: Option<Instant>,
        ) -> MutexGuard<'a, T> {
            match wake {
                Some(wake) => {
                    self.0.wait_until(&mut guard, wake);
                }
                None => self.0.wait(&mut guard),
            }
            guard
        }
    }
}

#[cfg(loom)]
mod model {
    use std::sync::PoisonError;
    use std::time::Instant;

    pub(crate) use loom::sync::MutexGuard;
    pub(crate) use loom::sync::atomic::{AtomicU64, Ordering};
    pub(crate) use loom::thread_local;

    /// A model has no clock, and so nobody who watches one.
    pub(crate) fn spawn(_name: &str, _body: impl FnOnce() + Send + 'static) -> std::io::Result<()> {
        Ok(())
    }

    #[derive(Debug, Default)]
    pub(crate) struct Mutex<T>(loom::sync::Mutex<T>);

    impl<T> Mutex<T> {
        pub(crate) fn new(value: T) -> Self {
            Self(loom::sync::Mutex::new(value))
        }

        pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
            self.0.lock().unwrap_or_else(PoisonError::into_inner)
        }

        pub(crate) fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
            self.0.try_lock().ok()
        }
    }

    #[derive(Debug)]
    pub(crate) struct Bell(loom::sync::Condvar);

    impl Default for Bell {
        fn default() -> Self {
            Self(loom::sync::Condvar::new())
        }
    }

    impl Bell {
        pub(crate) fn ring(&self) {
            self.0.notify_one();
        }

        /// A time-out is a cancellation: the lock is let go, whoever wants it runs, and time is up.
        pub(crate) fn wait<'a, T>(
            &self,
            lock: &'a Mutex<T>,
            guard: MutexGuard<'a, T>,
            wake: Option<Instant>,
        ) -> MutexGuard<'a, T> {
            if wake.is_some() {
                drop(guard);
                loom::thread::yield_now();
                return lock.lock();
            }
            self.0.wait(guard).unwrap_or_else(PoisonError::into_inner)
        }
    }
}
