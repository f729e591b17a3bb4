//! The hold on the ledger: who has it may decide, and calls the futures it decided for afterwards.
//!
//! Wakers are code of somebody else's. Invariant: none is called, cloned or dropped under the lock.

use std::ops::{Deref, DerefMut};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::task::Waker;
use std::time::Instant;

use crate::admission::Core;
use crate::ledger::Ledger;
use crate::seat::Seat;
use crate::sync::MutexGuard;

/// The ledger, until it is dropped.
pub(super) struct Locked<'a> {
    core: &'a Core,
    /// Taken out by drop and by sleep only.
    guard: Option<MutexGuard<'a, Ledger>>,
}

impl<'a> Locked<'a> {
    pub(super) fn new(core: &'a Core, guard: MutexGuard<'a, Ledger>) -> Self {
        Self { core, guard: Some(guard) }
    }

    /// Lets go until the seat's bell rings, or until `wake`; it may also return for no reason.
    pub(super) fn sleep(mut self, seat: &Seat, wake: Option<Instant>) -> Self {
        let core = self.core;
        if self.has_calls() {
            // Whoever sleeps calls nobody: look once more instead.
            drop(self);
            return core.lock();
        }
        self.statistics.sleeps += 1;
        self.set_alarm();
        let guard = self.guard.take().expect("invariant: the guard leaves last");
        Self::new(core, seat.bell.wait(core.mutex(), guard, wake))
    }

    /// The same for the alarm's thread.
    pub(super) fn sleep_for_alarm(mut self, wake: Option<Instant>) -> Self {
        let core = self.core;
        if self.has_calls() {
            drop(self);
            return core.lock();
        }
        let guard = self.guard.take().expect("invariant: the guard leaves last");
        Self::new(core, core.alarm_bell().wait(core.mutex(), guard, wake))
    }

    fn has_calls(&self) -> bool {
        !self.wakers.is_empty() || !self.rings.is_empty()
    }

    fn set_alarm(&mut self) {
        let core = self.core;
        if self.needs_earlier_alarm(core) {
            core.alarm_bell().ring();
        }
    }
}

impl Deref for Locked<'_> {
    type Target = Ledger;

    fn deref(&self) -> &Ledger {
        self.guard.as_deref().expect("invariant: the guard leaves last")
    }
}

impl DerefMut for Locked<'_> {
    fn deref_mut(&mut self) -> &mut Ledger {
        self.guard.as_deref_mut().expect("invariant: the guard leaves last")
    }
}

impl Drop for Locked<'_> {
    fn drop(&mut self) {
        if self.guard.is_none() {
            return;
        }
        self.set_alarm();
        let (rings, wakers) = (std::mem::take(&mut self.rings), std::mem::take(&mut self.wakers));
        self.guard = None;
        // Whoever wakes wants the lock.
        rings.iter().for_each(|seat| seat.bell.ring());
        if !wakers.is_empty() {
            wake_all(wakers);
        }
    }
}

/// Calls every waker, whatever the others do; the first panic goes on from here.
#[cold]
fn wake_all(wakers: Vec<Waker>) {
    let mut panic = None;
    for waker in wakers {
        if let Err(payload) = catch_unwind(AssertUnwindSafe(|| waker.wake())) {
            panic.get_or_insert(payload);
        }
    }
    if let Some(payload) = panic.filter(|_| !std::thread::panicking()) {
        resume_unwind(payload);
    }
}
