//! Levels of differentiation, and which of them this thread leaves out.

use std::{
    cell::Cell,
    sync::atomic::{AtomicU64, Ordering},
};

/// The place of a transformation among those around it: inner ones are higher.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Level(u64);

/// The last level that was given out. Only that each is above those before counts, not what else a thread sees.
static LAST: AtomicU64 = AtomicU64::new(0);

thread_local! {
    /// The highest level that is left out.
    static PAUSED: Cell<Option<Level>> = const { Cell::new(None) };
}

impl Level {
    /// The level of leaves whose gradients `backward` accumulates.
    pub(super) const BASE: Level = Level(0);

    /// A level above all there are.
    pub(super) fn fresh() -> Self {
        Level(LAST.fetch_add(1, Ordering::Relaxed) + 1)
    }

    /// Whether operations of this thread leave out the derivatives of this level.
    pub(super) fn is_paused(self) -> bool {
        PAUSED.get().is_some_and(|paused| self <= paused)
    }
}

/// Runs `f` without recording: its results on this thread are constants to every transformation around.
///
/// Transformations within `f` work as ever. Recording goes on when `f` returns or panics.
pub fn no_grad<R>(f: impl FnOnce() -> R) -> R {
    struct Resume(Option<Level>);
    impl Drop for Resume {
        fn drop(&mut self) {
            PAUSED.set(self.0);
        }
    }
    let _resume = Resume(PAUSED.replace(Some(Level(LAST.load(Ordering::Relaxed)))));
    f()
}
