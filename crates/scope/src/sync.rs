//! What the protocol of this crate is built on: a lock, a word, and what each thread keeps for itself.
//!
//! Production uses `parking_lot` and `std`; under `--cfg loom` and `--cfg shuttle` the same protocol runs on a model
//! checker. This is not a general abstraction: it has what the protocol uses. Counters that only diagnostics read stay
//! with `std`. So do lanes: loom has no scoped threads, and shuttle's wake their parent when the last of them ends,
//! whatever it waits for. How lanes share a permit is for the models of the arbiter.

#[cfg(not(any(loom, shuttle)))]
pub(super) use production::*;

#[cfg(any(loom, shuttle))]
pub(super) use model::*;

#[cfg(not(any(loom, shuttle)))]
mod production {
    pub(crate) use parking_lot::{Condvar, Mutex};
    pub(crate) use std::sync::atomic::{AtomicBool, Ordering};
    pub(crate) use std::thread_local;
}

#[cfg(any(loom, shuttle))]
mod model {
    use std::{
        cell::Cell,
        ops::{Deref, DerefMut},
        sync::PoisonError,
    };

    #[cfg(loom)]
    use loom as checker;
    #[cfg(shuttle)]
    use shuttle as checker;

    pub(crate) use checker::sync::atomic::{AtomicBool, Ordering};

    #[cfg(shuttle)]
    pub(crate) use shuttle::thread_local;

    /// Loom's has no `const` values.
    #[cfg(loom)]
    macro_rules! without_const {
        ($($(#[$meta:meta])* static $name:ident: $type:ty = const { $value:expr };)*) => {
            loom::thread_local! { $($(#[$meta])* static $name: $type = $value;)* }
        };
    }
    #[cfg(loom)]
    pub(crate) use without_const as thread_local;

    /// What `std` has for a cell that each thread keeps.
    pub(crate) trait LocalCell<T> {
        fn get(&'static self) -> T
        where
            T: Copy;
        fn set(&'static self, value: T);
        fn replace(&'static self, value: T) -> T;
    }

    impl<T: 'static> LocalCell<T> for checker::thread::LocalKey<Cell<T>> {
        fn get(&'static self) -> T
        where
            T: Copy,
        {
            self.with(Cell::get)
        }

        fn set(&'static self, value: T) {
            self.with(|cell| cell.set(value));
        }

        fn replace(&'static self, value: T) -> T {
            self.with(|cell| cell.replace(value))
        }
    }

    /// A lock that a panic does not poison.
    pub(crate) struct Mutex<T>(checker::sync::Mutex<T>);

    impl<T> Mutex<T> {
        pub(crate) fn new(value: T) -> Self {
            Self(checker::sync::Mutex::new(value))
        }

        pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
            MutexGuard(Some(self.0.lock().unwrap_or_else(PoisonError::into_inner)))
        }
    }

    /// Empty only while its thread waits.
    pub(crate) struct MutexGuard<'a, T>(Option<checker::sync::MutexGuard<'a, T>>);

    impl<T> Deref for MutexGuard<'_, T> {
        type Target = T;

        fn deref(&self) -> &T {
            self.0.as_ref().expect("invariant: who waits does not look")
        }
    }

    impl<T> DerefMut for MutexGuard<'_, T> {
        fn deref_mut(&mut self) -> &mut T {
            self.0.as_mut().expect("invariant: who waits does not look")
        }
    }

    pub(crate) struct Condvar(checker::sync::Condvar);

    impl Condvar {
        pub(crate) fn new() -> Self {
            Self(checker::sync::Condvar::new())
        }

        pub(crate) fn notify_all(&self) {
            self.0.notify_all();
        }

        pub(crate) fn wait<T>(&self, guard: &mut MutexGuard<'_, T>) {
            let inner = guard.0.take().expect("invariant: who waits does not look");
            guard.0 = Some(self.0.wait(inner).unwrap_or_else(PoisonError::into_inner));
        }
    }
}
