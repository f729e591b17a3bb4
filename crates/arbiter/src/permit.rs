//! The right to use CPUs, held by the thread that acquired it.
//!
//! It is the only thing that other crates hold of an arbiter's inside. Invariant: it stands on the
//! seat of its own thread, never leaves that thread, and gives everything back when dropped.

use std::fmt;
use std::marker::PhantomData;

use crate::home::{self, Home};
use crate::owner::ExecutionOwner;

/// CPUs granted to the thread that asked for them, until drop.
///
/// A new permit runs an operation. A scope lends its CPUs between operations with
/// [`lend`](Self::lend) and starts the next one with [`resume`](Self::resume); each is one
/// uncontended read-modify-write on a cache line of the thread's own.
///
/// It cannot leave its thread:
///
/// ```compile_fail
/// fn needs_send<T: Send>() {}
/// needs_send::<tenferro_arbiter::ResourcePermit>();
/// ```
#[must_use = "the CPUs go back as soon as the permit is dropped"]
pub struct ResourcePermit {
    /// Taken out by drop only.
    home: Option<Box<Home>>,
    thread: PhantomData<*mut ()>,
}

impl ResourcePermit {
    #[inline]
    pub(super) fn new(home: Box<Home>) -> Self {
        home.note_start();
        Self { home: Some(home), thread: PhantomData }
    }

    #[inline]
    pub(super) fn home(&self) -> &Home {
        self.home.as_deref().expect("invariant: the home leaves in drop only")
    }

    /// The CPUs of the running operation, or of the last one while lent. At least one.
    #[inline]
    #[must_use]
    pub fn width(&self) -> usize {
        self.home().width() as usize
    }

    /// The most CPUs that the request asked for and the arbiter could grant.
    #[must_use]
    pub fn max_width(&self) -> usize {
        self.home().max() as usize
    }

    /// Who holds it, in diagnostics.
    #[inline]
    #[must_use]
    pub fn owner(&self) -> ExecutionOwner {
        self.home().owner()
    }

    /// Whether no operation runs and the CPUs may be taken by others.
    #[inline]
    #[must_use]
    pub fn is_lent(&self) -> bool {
        self.home().is_idle()
    }

    /// Whether the running operation has no CPU of its own.
    #[must_use]
    pub fn is_overcommitted(&self) -> bool {
        self.home().is_overcommitted()
    }

    /// The operation has ended: others may take the CPUs until the next one starts.
    ///
    /// A pinned set, and a provider's claim, stay with the permit. Does nothing when lent already.
    #[inline]
    pub fn lend(&self) {
        if !self.is_lent() {
            self.home().note_end();
            self.home().lend();
        }
    }

    /// The next operation starts: answers its width, at least one. It never waits for CPUs.
    ///
    /// It takes back what is left and what is free, up to the request's maximum; where nothing is,
    /// it runs overcommitted on one CPU and is counted. Now and then it also takes CPUs that an
    /// idle thread has not used. While an operation runs it only answers the width.
    #[inline]
    pub fn resume(&self) -> usize {
        let home = self.home();
        if home.is_idle() {
            home.resume(home.max(), home::Growth::Sometimes);
            home.note_start();
        }
        home.width() as usize
    }

    /// The same for an operation that has no use for more than `width` CPUs.
    ///
    /// An operation that gains from several CPUs says so: it takes those of idle threads at once,
    /// which costs a lock when its own do not suffice. The rest of the permit's CPUs stays lent.
    #[inline]
    pub fn resume_up_to(&self, width: usize) -> usize {
        let home = self.home();
        if home.is_idle() {
            let width = u32::try_from(width).unwrap_or(u32::MAX).clamp(1, home.max());
            home.resume(width, home::Growth::Always);
            home.note_start();
        }
        home.width() as usize
    }
}

impl Drop for ResourcePermit {
    #[inline]
    fn drop(&mut self) {
        if let Some(home) = self.home.take() {
            home.note_end();
            home.release();
            home::put_back(home);
        }
    }
}

impl fmt::Debug for ResourcePermit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResourcePermit")
            .field("owner", &self.owner())
            .field("width", &self.width())
            .field("lent", &self.is_lent())
            .finish_non_exhaustive()
    }
}
