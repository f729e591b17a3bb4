//! How many threads a library uses for a call: set, read back, and restored when the call is over.
//!
//! What can be set for the calling thread alone is. What is one number for the process is shared by users of one thread
//! and excludes everybody else for a user of several ([`Gate`]). A [`Bounded`] restores when it is dropped, so also
//! on unwinding. Nothing here decides how many threads there should be.

use std::{ffi::c_int, thread};

use parking_lot::{Mutex, MutexGuard};

use super::gate::Gate;

/// A library did not take the number of threads that it was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "it was told to use {asked} of its threads and says that it would use {answered}; another user of the library sets \
     its threads at the same time, or its build has no control of them: use it for one user at a time, or a \
     sequential build"
)]
pub struct ThreadsIgnored {
    /// The number set.
    pub asked: usize,
    /// The number read back.
    pub answered: i64,
}

/// A number of threads that a library keeps, and the functions that read and write it.
#[derive(Clone, Copy)]
pub enum ThreadCount {
    /// C's `int`.
    Int {
        /// Reads it.
        get: unsafe extern "C" fn() -> c_int,
        /// Writes it.
        set: unsafe extern "C" fn(c_int),
    },
    /// 64 bits, as BLIS has it.
    Long {
        /// Reads it.
        get: unsafe extern "C" fn() -> i64,
        /// Writes it.
        set: unsafe extern "C" fn(i64),
    },
}

impl ThreadCount {
    /// The number as the calling thread sees it.
    #[must_use]
    pub fn get(self) -> i64 {
        // SAFETY: who makes a `ThreadControl` vouches for the functions, which take nothing.
        unsafe {
            match self {
                ThreadCount::Int { get, .. } => get().into(),
                ThreadCount::Long { get, .. } => get(),
            }
        }
    }

    /// Writes the number.
    fn set(self, threads: i64) {
        // SAFETY: as in `get`; the number is one that a caller chose in the range of its type, or one that was read.
        unsafe {
            match self {
                ThreadCount::Int { set, .. } => set(clamped(threads)),
                ThreadCount::Long { set, .. } => set(threads),
            }
        }
    }

    /// Whether the number that one thread writes is its own: whether another thread does not see it.
    ///
    /// It is tried out, and restored.
    #[must_use]
    pub fn is_per_thread(self) -> bool {
        let before = self.get();
        let mark = if before == 1 { 2 } else { 1 };
        self.set(mark);
        // Where no thread can be started, nothing was seen: the process's is the safe answer.
        let there = thread::Builder::new().spawn(move || self.get()).map(thread::JoinHandle::join);
        self.set(before);
        matches!(there, Ok(Ok(there)) if there != mark)
    }

    /// Writes the number and reads it back; what it was before.
    fn replace(self, threads: usize) -> Result<i64, ThreadsIgnored> {
        let before = self.get();
        self.set(signed(threads));
        match self.get() {
            answered if answered >= 1 && answered <= signed(threads) => Ok(before),
            answered => {
                self.set(before);
                Err(ThreadsIgnored { asked: threads, answered })
            }
        }
    }
}

/// How the threads of a library are bounded.
pub struct ThreadControl(Control);

enum Control {
    CallingThread,
    /// No threads, and no word on whether two callers may be inside.
    OneCaller(Mutex<()>),
    /// MKL: a number for the calling thread that hides the one of the process.
    Local {
        swap: unsafe extern "C" fn(c_int) -> c_int,
        get: unsafe extern "C" fn() -> c_int,
        wide: Mutex<()>,
    },
    /// A number that belongs to the calling thread, and one of the process that follows it while several are used.
    PerThread {
        count: ThreadCount,
        follows: Option<ThreadCount>,
        gate: Gate,
    },
    Process {
        count: ThreadCount,
        gate: Gate,
    },
    /// A number that nobody can be sure to have set while somebody else is inside.
    Exclusive {
        count: ThreadCount,
        gate: Gate,
    },
}

impl ThreadControl {
    /// The library uses the calling thread alone.
    #[must_use]
    pub const fn calling_thread() -> Self {
        Self(Control::CallingThread)
    }

    /// The library uses the calling thread alone, and one caller at a time may be in it.
    #[must_use]
    pub const fn one_caller() -> Self {
        Self(Control::OneCaller(Mutex::new(())))
    }

    /// `swap` sets the number for the calling thread and returns the one before; 0 is none. `get` reads it.
    ///
    /// # Safety
    /// The functions do that, at any time and on any thread, for the rest of the process.
    #[must_use]
    pub const unsafe fn local(
        swap: unsafe extern "C" fn(c_int) -> c_int,
        get: unsafe extern "C" fn() -> c_int,
    ) -> Self {
        Self(Control::Local { swap, get, wide: Mutex::new(()) })
    }

    /// Each thread has a count of its own; `follows` is one of the process that a call may change.
    ///
    /// # Safety
    /// As for [`ThreadControl::local`].
    #[must_use]
    pub unsafe fn per_thread(count: ThreadCount, follows: Option<ThreadCount>) -> Self {
        Self(Control::PerThread { count, follows, gate: Gate::default() })
    }

    /// The process has one count.
    ///
    /// # Safety
    /// As for [`ThreadControl::local`].
    #[must_use]
    pub unsafe fn process(count: ThreadCount) -> Self {
        Self(Control::Process { count, gate: Gate::default() })
    }

    /// The process has one count, which not every thread hears: one caller at a time is let in, whatever it uses.
    ///
    /// # Safety
    /// As for [`ThreadControl::local`].
    #[must_use]
    pub unsafe fn exclusive(count: ThreadCount) -> Self {
        Self(Control::Exclusive { count, gate: Gate::default() })
    }

    /// How many threads a call from this thread would use now; 1 where the library has none of its own.
    ///
    /// Below 1 where nobody has said yet, which some libraries take for 1 and some for all CPUs.
    #[must_use]
    pub fn threads(&self) -> i64 {
        match &self.0 {
            Control::CallingThread | Control::OneCaller(_) => 1,
            // SAFETY: who made the control vouches for it.
            Control::Local { get, .. } => unsafe { get() }.into(),
            Control::PerThread { count, .. }
            | Control::Process { count, .. }
            | Control::Exclusive { count, .. } => count.get(),
        }
    }

    /// Whose count it is: `None` if the library has no threads.
    #[must_use]
    pub fn scope(&self) -> Option<CountScope> {
        match &self.0 {
            Control::CallingThread | Control::OneCaller(_) => None,
            Control::Local { .. } | Control::PerThread { .. } => Some(CountScope::Thread),
            Control::Process { .. } | Control::Exclusive { .. } => Some(CountScope::Process),
        }
    }

    /// Whether several callers may be inside at once, each with one thread.
    #[must_use]
    pub fn is_shared(&self) -> bool {
        !matches!(self.0, Control::OneCaller(_) | Control::Exclusive { .. })
    }

    /// Bounds the calls of this thread to `threads` of the library's threads until the result is dropped.
    ///
    /// With more than one it waits until nobody else is in the library, and keeps everybody else out.
    ///
    /// # Errors
    /// [`ThreadsIgnored`] if another number is read back; what was set is restored.
    pub fn bound(&self, threads: usize) -> Result<Bounded<'_>, ThreadsIgnored> {
        let one = threads <= 1;
        match &self.0 {
            Control::CallingThread => Ok(Bounded(Restore::Nothing)),
            Control::OneCaller(caller) => Ok(Bounded(Restore::Caller { _alone: caller.lock() })),
            Control::Local { swap, get, wide } => {
                let alone = (!one).then(|| wide.lock());
                // SAFETY: who made the control vouches for it.
                let before = unsafe { swap(clamped(signed(threads))) };
                let bounded = Bounded(Restore::Local { swap: *swap, before, _alone: alone });
                // SAFETY: as above.
                match i64::from(unsafe { get() }) {
                    answered if answered >= 1 && answered <= signed(threads) => Ok(bounded),
                    answered => Err(ThreadsIgnored { asked: threads, answered }),
                }
            }
            Control::PerThread { count, gate, .. } if one => {
                gate.share(|| Ok(0))?;
                match count.replace(1) {
                    Ok(before) => {
                        Ok(Bounded(Restore::Shared { gate, count, before: Some(before) }))
                    }
                    Err(ignored) => {
                        gate.unshare(|_| ());
                        Err(ignored)
                    }
                }
            }
            Control::Process { count, gate } if one => {
                gate.share(|| count.replace(1))?;
                Ok(Bounded(Restore::Shared { gate, count, before: None }))
            }
            Control::PerThread { count, follows, gate } => alone(gate, count, *follows, threads),
            Control::Process { count, gate } => alone(gate, count, None, threads),
            Control::Exclusive { count, gate } => alone(gate, count, None, threads.max(1)),
        }
    }
}

fn alone<'a>(
    gate: &'a Gate,
    count: &'a ThreadCount,
    follows: Option<ThreadCount>,
    threads: usize,
) -> Result<Bounded<'a>, ThreadsIgnored> {
    gate.take();
    let follows = follows.map(|follows| (follows, follows.get()));
    match count.replace(threads) {
        Ok(before) => Ok(Bounded(Restore::Alone { gate, count, before, follows })),
        Err(ignored) => {
            gate.give_back();
            Err(ignored)
        }
    }
}

/// Whose a thread count is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CountScope {
    /// The calling thread's.
    Thread,
    /// The process's.
    Process,
}

/// A bound on the calling thread's calls into a library; dropping it restores what was before.
#[must_use = "the bound ends when it is dropped"]
pub struct Bounded<'a>(Restore<'a>);

enum Restore<'a> {
    Nothing,
    Caller {
        _alone: MutexGuard<'a, ()>,
    },
    Local {
        swap: unsafe extern "C" fn(c_int) -> c_int,
        before: c_int,
        _alone: Option<MutexGuard<'a, ()>>,
    },
    /// `before` is this thread's own count; without one the last to leave restores the process's.
    Shared {
        gate: &'a Gate,
        count: &'a ThreadCount,
        before: Option<i64>,
    },
    Alone {
        gate: &'a Gate,
        count: &'a ThreadCount,
        before: i64,
        follows: Option<(ThreadCount, i64)>,
    },
}

impl Drop for Bounded<'_> {
    fn drop(&mut self) {
        match &self.0 {
            Restore::Nothing | Restore::Caller { .. } => {}
            Restore::Local { swap, before, .. } => {
                // SAFETY: who made the control vouches for it.
                unsafe { swap(*before) };
            }
            Restore::Shared { gate, count, before: Some(before) } => {
                count.set(*before);
                gate.unshare(|_| ());
            }
            Restore::Shared { gate, count, before: None } => {
                gate.unshare(|before| count.set(before))
            }
            Restore::Alone { gate, count, before, follows } => {
                // The process's first: writing it may write this thread's as well.
                if let Some((follows, before)) = follows {
                    follows.set(*before);
                }
                count.set(*before);
                gate.give_back();
            }
        }
    }
}

fn signed(threads: usize) -> i64 {
    i64::try_from(threads).unwrap_or(i64::MAX)
}

fn clamped(threads: i64) -> c_int {
    threads.clamp(c_int::MIN.into(), c_int::MAX.into()).try_into().unwrap_or(c_int::MAX)
}
