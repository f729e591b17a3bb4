//! The affinity of threads: reading it, and setting it for threads of ours.
//!
//! It never touches another thread than the calling one, and decides nothing. Platforms without affinity masks have
//! none to read and refuse to set one.

use std::io;

use crate::cpu_set::CpuSet;

/// The CPUs that the calling thread may run on; `None` where the platform does not tell.
#[must_use]
pub fn current_affinity() -> Option<CpuSet> {
    system::mask().filter(|mask| !mask.is_empty())
}

/// Binds the calling thread to `cpus` for the rest of its life, and answers where it may run now, as read back.
///
/// For threads of one's own: whoever pins a thread that it did not start leaves it slower for its owner. The answer
/// differs from `cpus` if the system does not have or allow some of them.
///
/// # Errors
/// What the system says: of CPUs of which it has or allows none, or that the platform has no affinity masks.
///
/// ```
/// use tenferro_arbiter::{current_affinity, pin_current_thread};
///
/// if let Some(allowed) = current_affinity() {
///     let first = allowed.iter().take(1).collect();
///     std::thread::spawn(move || assert_eq!(pin_current_thread(&first).ok(), Some(first)));
/// }
/// ```
pub fn pin_current_thread(cpus: &CpuSet) -> io::Result<CpuSet> {
    system::pin(cpus)?;
    current_affinity().ok_or_else(|| io::Error::other("the affinity cannot be read back"))
}

#[cfg(any(target_os = "linux", target_os = "android"))]
mod system {
    use std::io;

    use super::CpuSet;

    /// Words enough for a million CPUs; no kernel is built for more.
    const MOST_WORDS: usize = 1 << 14;

    /// The mask of the calling thread, whatever the kernel's number of CPUs.
    pub(super) fn mask() -> Option<CpuSet> {
        let mut words = 16;
        while words <= MOST_WORDS {
            let mut mask = vec![0_u64; words];
            // SAFETY: `mask` is writable for `words * 8` bytes, the size passed, and 8-aligned as
            // cpu_set_t needs; 0 names the calling thread.
            let status = unsafe {
                libc::sched_getaffinity(0, words * 8, mask.as_mut_ptr().cast::<libc::cpu_set_t>())
            };
            if status == 0 {
                let cpus = (0..words * 64).filter(|cpu| mask[cpu / 64] >> (cpu % 64) & 1 == 1);
                return Some(cpus.collect());
            }
            if io::Error::last_os_error().raw_os_error() != Some(libc::EINVAL) {
                return None;
            }
            words *= 2;
        }
        None
    }

    pub(super) fn pin(cpus: &CpuSet) -> io::Result<()> {
        let words = cpus.iter().last().map_or(0, |last| last / 64 + 1);
        if !(1..=MOST_WORDS).contains(&words) {
            let text = "no CPUs, or more than any kernel has";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        let mut mask = vec![0_u64; words];
        cpus.iter().for_each(|cpu| mask[cpu / 64] |= 1 << (cpu % 64));
        // SAFETY: `mask` is readable for `words * 8` bytes, the size passed, and 8-aligned as cpu_set_t needs; 0 names
        // the calling thread.
        let status = unsafe {
            libc::sched_setaffinity(0, words * 8, mask.as_ptr().cast::<libc::cpu_set_t>())
        };
        if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
mod system {
    use std::io;

    use super::CpuSet;

    /// This platform has no affinity mask.
    pub(super) fn mask() -> Option<CpuSet> {
        None
    }

    pub(super) fn pin(_cpus: &CpuSet) -> io::Result<()> {
        Err(io::Error::new(io::ErrorKind::Unsupported, "this platform has no affinity masks"))
    }
}

/// The CPU that the calling thread is on, where the system says so without a call into it. A hint.
#[cfg(all(target_os = "linux", not(any(loom, shuttle))))]
pub(super) fn current_cpu() -> Option<usize> {
    // SAFETY: it takes no argument and has no precondition.
    usize::try_from(unsafe { libc::sched_getcpu() }).ok()
}

/// Unknown.
#[cfg(not(any(target_os = "linux", loom, shuttle)))]
pub(super) fn current_cpu() -> Option<usize> {
    None
}

/// The only one: an interleaving is what a model chooses.
#[cfg(loom)]
pub(super) fn current_cpu() -> Option<usize> {
    Some(0)
}

/// One of two, at random.
#[cfg(shuttle)]
pub(super) fn current_cpu() -> Option<usize> {
    use shuttle::rand::Rng;
    Some(shuttle::rand::thread_rng().gen_range(0..2))
}
