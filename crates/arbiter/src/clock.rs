//! Time, for the slow path only: the fast path reads no clock.

use std::time::{Duration, Instant};

/// What an arbiter takes for the time.
///
/// A test gives an arbiter a clock of its own, moves it by hand, and need not sleep.
pub trait Clock: Send + Sync {
    /// The moment.
    fn now(&self) -> Instant;

    /// The CPU time that all threads of the process have used, where it is known.
    ///
    /// A process that uses none while somebody waits runs no operation, whatever its permits say.
    fn cpu_time(&self) -> Option<Duration>;

    /// The real moment at which a sleeper looks whether `wake` has come.
    fn real(&self, wake: Instant) -> Instant;
}

/// The time of the system.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Instant {
        Instant::now()
    }

    fn cpu_time(&self) -> Option<Duration> {
        process_cpu_time()
    }

    fn real(&self, wake: Instant) -> Instant {
        wake
    }
}

#[cfg(unix)]
fn process_cpu_time() -> Option<Duration> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid, exclusively borrowed timespec, all that clock_gettime asks for.
    let status = unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) };
    if status != 0 {
        return None;
    }
    let seconds = u64::try_from(time.tv_sec).ok()?;
    let nanoseconds = u32::try_from(time.tv_nsec).ok()?;
    Some(Duration::new(seconds, nanoseconds))
}

#[cfg(not(unix))]
fn process_cpu_time() -> Option<Duration> {
    None
}
