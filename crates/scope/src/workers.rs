//! The threads that an operation was granted, as providers and kernels see them.

use std::sync::OnceLock;

use tenferro_provider::{ClaimUse, Workers};

use crate::{
    DomainOwnership, ExecutorFault, ResourceDomain, audit,
    context::{self, Loan, LoanState, Mark},
    domain::Trust,
};

/// The granted width of one operation, and the way to share out work over it.
///
/// Work shared out takes no further permit; inside of it the operation counts as running, so that a call back into a
/// backend is refused instead of waiting.
pub struct GrantedWorkers<'g> {
    domain: &'g ResourceDomain,
    /// The operation's loan, under which its shares run.
    loan: Option<Loan>,
    width: usize,
    fault: &'g OnceLock<ExecutorFault>,
}

impl<'g> GrantedWorkers<'g> {
    #[inline]
    pub(super) fn new(
        domain: &'g ResourceDomain,
        width: usize,
        fault: &'g OnceLock<ExecutorFault>,
    ) -> Self {
        Self { domain, loan: context::loan(), width, fault }
    }

    /// The granted width.
    pub(super) fn granted(&self) -> usize {
        self.width
    }

    /// Whether the threads are ours.
    pub(super) fn is_managed(&self) -> bool {
        self.domain.ownership() == DomainOwnership::Managed
    }

    /// The same operation's workers on fewer threads.
    pub(super) fn narrowed(&self, width: usize) -> Self {
        Self { width, ..*self }
    }

    /// Says that the calling thread runs a part of the operation.
    pub(super) fn mark_running(&self) -> Option<Mark> {
        self.loan.map(|loan| context::mark(loan, LoanState::Running))
    }
}

impl Workers for GrantedWorkers<'_> {
    fn width(&self) -> usize {
        self.width
    }

    fn claim_use(&self) -> ClaimUse {
        context::claim_use()
    }

    fn run(&self, jobs: usize, job: &(dyn Fn(usize) + Sync)) {
        if self.width == 1 || jobs <= 1 {
            return (0..jobs).for_each(job);
        }
        let executor = self.domain.executor();
        if let Err(fault) = executor.ready() {
            // Reported when the operation ends; until then it is whole, on this thread.
            let _ = self.fault.set(fault);
            return (0..jobs).for_each(job);
        }
        self.domain.count_fan_out();
        let lent = |index| {
            let _running = self.mark_running();
            job(index);
        };
        match self.domain.trust() {
            Trust::Ours | Trust::Pinned => executor.fan_out(self.width, jobs, &lent),
            Trust::Audited => {
                if let Err(fault) = audit::fan_out(executor, self.width, jobs, &lent) {
                    // The first fault is reported when the operation ends.
                    let _ = self.fault.set(fault);
                }
            }
        }
    }
}
