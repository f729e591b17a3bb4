//! A place that is filled once, by whoever comes first, without a lock.
//!
//! `std`'s lets one thread make the value while others wait. A fork may leave that thread behind; here
//! nobody waits, and who comes second drops what it made.

use std::marker::PhantomData;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

/// At most one value, made on demand.
pub(super) struct OnceBox<T> {
    value: AtomicPtr<T>,
    owns: PhantomData<Box<T>>,
}

impl<T> OnceBox<T> {
    pub(super) const fn new() -> Self {
        Self { value: AtomicPtr::new(ptr::null_mut()), owns: PhantomData }
    }

    /// The value; made by `make` if there is none yet.
    pub(super) fn get_or_make(&self, make: impl FnOnce() -> T) -> &T {
        let mut value = self.value.load(Ordering::Acquire);
        if value.is_null() {
            let made = Box::into_raw(Box::new(make()));
            let empty = ptr::null_mut();
            value =
                match self.value.compare_exchange(empty, made, Ordering::AcqRel, Ordering::Acquire)
                {
                    Ok(_) => made,
                    Err(first) => {
                        // SAFETY: `made` came from `Box::into_raw` above and was given to nobody.
                        drop(unsafe { Box::from_raw(made) });
                        first
                    }
                };
        }
        // SAFETY: a value that is not null came from `Box::into_raw`, and stays until `self` is dropped.
        unsafe { &*value }
    }
}

impl<T> Drop for OnceBox<T> {
    fn drop(&mut self) {
        let value = *self.value.get_mut();
        if !value.is_null() {
            // SAFETY: it came from `Box::into_raw`, and nobody borrows it: `self` is ours alone.
            drop(unsafe { Box::from_raw(value) });
        }
    }
}
