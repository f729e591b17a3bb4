//! Brief operations: on one CPU, and over before a guard would pay.
//!
//! A brief operation takes its CPU and gives it back as every operation does, and nothing more is noted: it shares
//! nothing out and runs no code that could ask what is active on its thread. Invariant: whatever is not admitted in the
//! plainest way is left to [`ResourceDomain::run`], which knows all ways and every refusal.

use tenferro_arbiter::ResourcePermit;

use crate::{
    Error, ResourceDomain, Result,
    context::{self, LoanState},
    domain::Trust,
    spans,
};

impl ResourceDomain {
    /// Admits and runs an operation that is brief: in an open scope of this domain, or with a permit of its own.
    ///
    /// `operation` must not call back into a domain, nor wait for anybody who does. `None` says that it was not run and
    /// has to go the general way.
    ///
    /// # Errors
    /// [`Error::Admission`] of an operation that waited in vain for its CPU.
    #[inline(always)]
    pub fn run_briefly<R>(&self, operation: impl FnOnce() -> R) -> Result<Option<R>> {
        match context::state() {
            _ if spans::ARE_TOLD => Ok(None),
            LoanState::IdleScope if context::active() == Some(self.identity()) => {
                Ok(context::with_own_permit(|permit| {
                    permit.resume_up_to(1);
                    let _lends = Lends(permit);
                    operation()
                }))
            }
            LoanState::None
                if self.trust() == Trust::Ours
                    && context::is_no_worker()
                    && rayon::current_thread_index().is_none() =>
            {
                match self.arbiter().acquire(&self.requests().narrow) {
                    Ok(_permit) => Ok(Some(operation())),
                    Err(error) => Err(refused(error)),
                }
            }
            _ => Ok(None),
        }
    }
}

#[cold]
fn refused(error: tenferro_arbiter::Error) -> Error {
    error.into()
}

/// Lends the CPU of a scope when dropped.
struct Lends<'p>(&'p ResourcePermit);

impl Drop for Lends<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        self.0.lend();
    }
}
