//! A bell: where one waiter sleeps, and who has something for it rings.
//!
//! It carries no message: whoever wakes looks under the lock. Invariant: a ring after the lock was let go by the
//! sleeper is not lost; a ring may be one too many.
//!
//! On Linux it is a pipe, for the first so many sleepers. A byte written to a pipe tells the scheduler that the writer is
//! about to sleep, so that it wakes the reader on the writer's CPU; a futex has no way to say that. It matters
//! because a CPU is handed on: the reader is to run where the ringer stops. Woken by a futex it is
//! queued behind whoever runs where it slept, and the ringer's CPU stays idle until the scheduler balances
//! its queues, which is longer than most operations. The others sleep on a condition variable.

use std::sync::OnceLock;
use std::time::Instant;

use parking_lot::{Condvar, MutexGuard};

use crate::sync::Mutex;

/// Where one waiter sleeps.
#[derive(Debug, Default)]
pub(crate) struct Bell {
    condvar: Condvar,
    /// Chosen by the first sleep, under the lock.
    pipe: OnceLock<Option<pipe::Pipe>>,
}

impl Bell {
    /// Wakes the sleeper; after the lock was let go, lest it wakes only to wait for that.
    pub(crate) fn ring(&self) {
        match self.pipe.get() {
            Some(Some(pipe)) => pipe.write(),
            _ => {
                self.condvar.notify_one();
            }
        }
    }

    /// Sleeps until rung, or until `wake`; it may also wake for no reason.
    pub(crate) fn wait<'a, T>(
        &self,
        lock: &'a Mutex<T>,
        mut guard: MutexGuard<'a, T>,
        wake: Option<Instant>,
    ) -> MutexGuard<'a, T> {
        if let Some(pipe) = self.pipe.get_or_init(pipe::Pipe::open) {
            drop(guard);
            pipe.read(wake);
            return lock.lock();
        }
        match wake {
            Some(wake) => {
                self.condvar.wait_until(&mut guard, wake);
            }
            None => self.condvar.wait(&mut guard),
        }
        guard
    }
}

#[cfg(target_os = "linux")]
mod pipe {
    use std::io::{PipeReader, PipeWriter, Read, Write};
    use std::os::fd::AsRawFd;
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
    use std::time::Instant;

    /// The most pipes of a process: each has two of its file descriptors.
    const MOST: usize = 32;

    static OPEN: AtomicUsize = AtomicUsize::new(0);

    /// A pipe to oneself.
    #[derive(Debug)]
    pub(super) struct Pipe {
        reader: PipeReader,
        writer: PipeWriter,
        /// Counted in [`OPEN`].
        _count: Count,
    }

    #[derive(Debug)]
    struct Count;

    impl Count {
        fn new() -> Option<Self> {
            let more = |open| (open < MOST).then_some(open + 1);
            OPEN.fetch_update(Relaxed, Relaxed, more).ok().map(|_| Self)
        }
    }

    impl Drop for Count {
        fn drop(&mut self) {
            OPEN.fetch_sub(1, Relaxed);
        }
    }

    impl Pipe {
        /// `None` if there are enough, or if the system has no more.
        pub(super) fn open() -> Option<Self> {
            let count = Count::new()?;
            let (reader, writer) = std::io::pipe().ok()?;
            Some(Self { reader, writer, _count: count })
        }

        pub(super) fn write(&self) {
            // A pipe to oneself is not closed, and takes more bytes than anybody rings before a sleep.
            let _ = (&self.writer).write(&[1]);
        }

        /// Waits for a byte, or until `wake`.
        pub(super) fn read(&self, wake: Option<Instant>) {
            let mut wanted =
                libc::pollfd { fd: self.reader.as_raw_fd(), events: libc::POLLIN, revents: 0 };
            let left = wake.map(|wake| wake.saturating_duration_since(Instant::now()));
            let left = left.map(|left| libc::timespec {
                tv_sec: left.as_secs().try_into().unwrap_or(libc::time_t::MAX),
                tv_nsec: left.subsec_nanos().into(),
            });
            let timeout = left.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
            // SAFETY: one pollfd is passed and is writable; `timeout` is null or points to a timespec
            // that outlives the call; no signal mask is given.
            let ready = unsafe { libc::ppoll(&raw mut wanted, 1, timeout, std::ptr::null()) };
            if ready == 1 {
                // What was rung since the last sleep is one ring.
                let _ = (&self.reader).read(&mut [0; 64]);
            }
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod pipe {
    use std::time::Instant;

    /// There is none.
    #[derive(Debug)]
    pub(super) enum Pipe {}

    impl Pipe {
        pub(super) fn open() -> Option<Self> {
            None
        }

        pub(super) fn write(&self) {
            match *self {}
        }

        pub(super) fn read(&self, _wake: Option<Instant>) {
            match *self {}
        }
    }
}
