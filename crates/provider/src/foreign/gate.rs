//! Who may be in a library whose thread count is shared: many users of one thread, or one user of several.
//!
//! The first user of one thread sets the count and the last one restores it. A user of several waits until nobody is
//! inside, and who comes after it waits for it. Nobody waits while inside, so every wait ends with calls that are
//! running already. The lock is held to count and to set, never during a call.

use parking_lot::{Condvar, Mutex};

/// The gate of one library.
#[derive(Default)]
pub(super) struct Gate {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// Users of one thread that are inside.
    sharers: usize,
    /// Whether a user of several threads is inside.
    taken: bool,
    /// Users of several threads that wait.
    waiting: usize,
    /// What the last sharer restores.
    before: i64,
}

impl Gate {
    /// Enters with one thread; `first` sets the count if nobody is inside, and returns the count before.
    pub(super) fn share<E>(&self, first: impl FnOnce() -> Result<i64, E>) -> Result<(), E> {
        let mut state = self.state.lock();
        // Sharers join those that are inside unless somebody waits for them to leave.
        while state.taken || state.waiting > 0 {
            self.changed.wait(&mut state);
        }
        if state.sharers == 0 {
            state.before = first()?;
        }
        state.sharers += 1;
        Ok(())
    }

    /// Leaves what [`Gate::share`] entered; `last` gets the count to restore if nobody is left.
    pub(super) fn unshare(&self, last: impl FnOnce(i64)) {
        let mut state = self.state.lock();
        state.sharers -= 1;
        if state.sharers == 0 {
            last(state.before);
            if state.waiting > 0 {
                self.changed.notify_all();
            }
        }
    }

    /// Enters alone.
    pub(super) fn take(&self) {
        let mut state = self.state.lock();
        state.waiting += 1;
        while state.taken || state.sharers > 0 {
            self.changed.wait(&mut state);
        }
        state.waiting -= 1;
        state.taken = true;
    }

    /// Leaves what [`Gate::take`] entered, everything restored.
    pub(super) fn give_back(&self) {
        self.state.lock().taken = false;
        self.changed.notify_all();
    }
}
