//! The floating-point state of threads: rounding, and whether subnormals are flushed.
//!
//! It is never changed for a caller. A caller with another state than the default runs alone, so that its results are
//! its own; a pool's thread that some library left in another state works under the default while it has a job of ours.

use tenferro_provider::{ClaimUse, Workers};

/// Whether this thread rounds to nearest and keeps subnormals.
///
/// Operations of a thread that does not are computed by that thread alone.
#[must_use]
#[inline]
pub fn is_default() -> bool {
    state::current() == state::DEFAULT
}

/// Workers whose jobs run under the default state, on at most `width` threads.
pub(super) struct Checked<'w> {
    workers: &'w dyn Workers,
    width: usize,
}

impl<'w> Checked<'w> {
    pub(super) fn new(workers: &'w dyn Workers, width: usize) -> Self {
        Self { workers, width }
    }
}

impl Checked<'_> {
    /// The caller alone.
    pub(super) fn alone(&self) -> Self {
        Self { workers: self.workers, width: 1 }
    }
}

impl Workers for Checked<'_> {
    fn width(&self) -> usize {
        self.width
    }

    fn claim_use(&self) -> ClaimUse {
        self.workers.claim_use()
    }

    fn run(&self, jobs: usize, job: &(dyn Fn(usize) + Sync)) {
        if self.width == 1 {
            // The caller alone, in the state it is in.
            return (0..jobs).for_each(job);
        }
        self.workers.run(jobs, &|index| {
            let _state = (!is_default()).then(DefaultState::enter);
            job(index);
        });
    }
}

/// The default state on this thread, until dropped.
struct DefaultState {
    before: state::State,
}

impl DefaultState {
    fn enter() -> Self {
        let before = state::current();
        state::set(state::DEFAULT);
        Self { before }
    }
}

impl Drop for DefaultState {
    fn drop(&mut self) {
        state::set(self.before);
    }
}

#[cfg(target_arch = "x86_64")]
mod state {
    use std::arch::asm;

    /// The control bits of MXCSR: rounding, masks, flush-to-zero and denormals-are-zero.
    pub(super) type State = u32;

    /// All exceptions masked, round to nearest, subnormals kept: Intel SDM volume 1, section 10.2.3.
    pub(super) const DEFAULT: State = 0x1f80;
    /// The sticky exception flags, which every inexact operation sets.
    const FLAGS: u32 = 0x3f;

    #[inline]
    pub(super) fn current() -> State {
        let mut mxcsr = 0_u32;
        // SAFETY: stores the register to the four bytes given.
        unsafe { asm!("stmxcsr [{}]", in(reg) &raw mut mxcsr, options(nostack, preserves_flags)) };
        mxcsr & !FLAGS
    }

    pub(super) fn set(state: State) {
        // SAFETY: loads the register from the four bytes given; the value came from the register or is its default.
        unsafe {
            asm!("ldmxcsr [{}]", in(reg) &raw const state, options(nostack, preserves_flags, readonly))
        };
    }
}

#[cfg(target_arch = "aarch64")]
mod state {
    use std::arch::asm;

    /// The control register FPCR.
    pub(super) type State = u64;

    /// Round to nearest, subnormals kept, no traps: Arm ARM, FPCR.
    pub(super) const DEFAULT: State = 0;

    #[inline]
    pub(super) fn current() -> State {
        let fpcr: u64;
        // SAFETY: reads a register.
        unsafe { asm!("mrs {}, fpcr", out(reg) fpcr, options(nomem, nostack, preserves_flags)) };
        fpcr
    }

    pub(super) fn set(state: State) {
        // SAFETY: the value came from the register or is its default.
        unsafe { asm!("msr fpcr, {}", in(reg) state, options(nomem, nostack, preserves_flags)) };
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod state {
    /// Nothing is known of the state on this architecture.
    pub(super) type State = ();

    pub(super) const DEFAULT: State = ();

    pub(super) fn current() -> State {}

    pub(super) fn set((): State) {}
}
