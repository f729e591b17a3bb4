//! Time, for the slow path only: the fast path reads no clock.

use std::time::{Duration, Instant};

/// The moment.
pub(super) fn now() -> Instant {
    Instant::now()
}

/// The CPU time that all threads of the process have used, where the system tells.
///
/// A process that uses none while somebody waits runs no operation, whatever its permits say.
pub(super) fn process_cpu_time() -> Option<Duration> {
    #[cfg(unix)]
    {
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: `time` is a valid, exclusively borrowed timespec, all that clock_gettime asks for.
        let status = unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) };
        if status == 0 {
            let seconds = u64::try_from(time.tv_sec).ok()?;
            let nanoseconds = u32::try_from(time.tv_nsec).ok()?;
            return Some(Duration::new(seconds, nanoseconds));
        }
    }
    None
}
