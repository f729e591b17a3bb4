//! Scopes and installations: many operations under one permit and one entry.
//!
//! A scope lends its CPUs while no operation runs in it; an installation keeps them, because the caller's own work
//! uses them. Both run the caller's closure on the calling thread, and release everything on return and on unwind.

use std::{
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    thread,
};

use tenferro_arbiter::{Patience, ResourcePermit};
use tenferro_provider::ClaimUse;

use crate::{
    DomainOwnership, Error, ExecutorFault, ResourceDomain, Result,
    admission::Here,
    context::{self, Loan, LoanState},
    domain::Trust,
    spans,
};

impl ResourceDomain {
    /// Runs `operation` in one entered execution scope: operations inside share its permit.
    ///
    /// The scope lends its CPUs to others while none of its operations runs.
    ///
    /// # Errors
    /// Before anything is acquired: [`Error::ExternalDomain`], [`Error::ScopeActive`], [`Error::OperationActive`],
    /// [`Error::ManagedWorker`]. Then [`Error::Admission`] and [`Error::Executor`].
    pub fn with_execution_scope<R: Send>(&self, operation: impl FnOnce() -> R + Send) -> Result<R> {
        self.refuse_holder()?;
        let admitted = self.acquire(&self.requests().scope)?;
        self.hold(admitted, LoanState::IdleScope, operation)
    }

    /// The same without waiting: now or not.
    ///
    /// # Errors
    /// As [`ResourceDomain::with_execution_scope`]; [`Error::Admission`] of a scope that would have to wait.
    pub fn try_with_execution_scope<R: Send>(
        &self,
        operation: impl FnOnce() -> R + Send,
    ) -> Result<R> {
        self.refuse_holder()?;
        let admitted = if self.on_a_worker() {
            self.admit_worker()?
        } else {
            (self.arbiter().try_acquire(&self.requests().scope)?, Here::Anywhere)
        };
        self.hold(admitted, LoanState::IdleScope, operation)
    }

    /// The same for a caller that waits only as long as `patience` allows, and the wait limit.
    ///
    /// # Errors
    /// As [`ResourceDomain::with_execution_scope`]; [`Error::Admission`] also when time is up or the token is
    /// cancelled.
    pub fn with_execution_scope_within<R: Send>(
        &self,
        patience: &Patience,
        operation: impl FnOnce() -> R + Send,
    ) -> Result<R> {
        self.refuse_holder()?;
        let admitted = if self.on_a_worker() {
            self.admit_worker()?
        } else {
            (self.arbiter().acquire_within(&self.requests().scope, patience)?, Here::Anywhere)
        };
        self.hold(admitted, LoanState::IdleScope, operation)
    }

    /// The same for a task: the wait for CPUs parks no thread.
    ///
    /// `operation` runs inside the poll that gets the permit, on the polling thread, from its start to its end: a scope
    /// never spans an await. Dropped before that, the future leaves no trace.
    ///
    /// # Errors
    /// The future's result: as [`ResourceDomain::with_execution_scope_within`].
    pub fn with_execution_scope_async<'d, R, F>(
        &'d self,
        patience: &Patience,
        operation: F,
    ) -> impl Future<Output = Result<R>> + Send + use<'d, R, F>
    where
        R: Send,
        F: FnOnce() -> R + Send,
    {
        let patience = patience.clone();
        async move {
            self.refuse_holder()?;
            if !self.on_a_worker() {
                let permit =
                    self.arbiter().acquire_async(&self.requests().scope, &patience).await?;
                // The thread may be another one by now.
                self.refuse_holder()?;
                if !self.on_a_worker() {
                    return self.hold((permit, Here::Anywhere), LoanState::IdleScope, operation);
                }
            }
            self.hold(self.admit_worker()?, LoanState::IdleScope, operation)
        }
    }

    /// Runs the caller's own work under one permit and one entry, which it holds to the end.
    ///
    /// # Errors
    /// As [`ResourceDomain::with_execution_scope`].
    pub fn install<R: Send>(&self, work: impl FnOnce() -> R + Send) -> Result<R> {
        self.refuse_holder()?;
        let admitted = self.acquire(&self.requests().installed)?;
        self.hold(admitted, LoanState::Installed, work)
    }

    /// The CPUs that the scope or installation on this thread was last granted; `None` outside of one of this domain.
    #[must_use]
    pub fn scope_width(&self) -> Option<usize> {
        self.is_entered().then(context::granted_width).flatten()
    }

    /// Refuses what may not hold a permit here, before anything is acquired.
    fn refuse_holder(&self) -> Result<()> {
        if self.ownership() != DomainOwnership::Managed {
            return Err(Error::ExternalDomain);
        }
        if let Some(open) = context::active() {
            return Err(match context::state() {
                LoanState::Running => Error::OperationActive { running: open },
                _ => Error::ScopeActive { open },
            });
        }
        context::refuse_worker()
    }

    fn hold<R: Send>(
        &self,
        (permit, here): (ResourcePermit, Here),
        state: LoanState,
        work: impl FnOnce() -> R + Send,
    ) -> Result<R> {
        let _claim =
            (here == Here::WithoutProvider).then(|| context::restrict_claim(ClaimUse::Nothing));
        let inline = here != Here::Anywhere;
        let width = if inline { 1 } else { permit.width() };
        // What is pinned keeps its CPUs, and is entered on another thread than the one that keeps the permit.
        let name = if state == LoanState::IdleScope { "scope" } else { "install" };
        let pinned = self.trust() == Trust::Pinned;
        // So does what a thread opens while it ends, for which a permit cannot be kept between operations.
        let stays = pinned || !context::keeps_permits();
        let state = if stays { LoanState::Installed } else { state };
        let loan = Loan { identity: self.identity(), owner: Some(permit.owner()) };
        let told = spans::held(name, &permit);
        let _held = Held::new(permit, state);
        let _told = told;
        let installed = if state == LoanState::Installed { width } else { 0 };
        let work = move || {
            let _width = context::install_width(installed);
            let _active = context::mark(loan, state);
            work()
        };
        if pinned && inline { Ok(work()) } else { enter_once(self, width, work) }
    }
}

/// The permit of a scope or installation, kept with the thread until this is dropped; here, if the thread is ending.
struct Held(Option<ResourcePermit>);

impl Held {
    fn new(permit: ResourcePermit, state: LoanState) -> Self {
        if state == LoanState::IdleScope {
            permit.lend();
        }
        Self(context::keep_permit(permit))
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        drop(self.0.take().or_else(context::take_permit));
    }
}

/// Enters the domain's executor, which must run `job` exactly once. The executor is never unwound: a panic of the job
/// propagates from here.
pub(super) fn enter_once<R: Send>(
    domain: &ResourceDomain,
    width: usize,
    job: impl FnOnce() -> R + Send,
) -> Result<R> {
    let mut job = Some(job);
    let mut outcome = None;
    let mut fault = None;
    let home = must_stay(domain).then(|| thread::current().id());
    let entered = domain.executor().enter(width, &mut || match job.take() {
        None => fault = Some(ExecutorFault::RunTwice { index: 0 }),
        Some(_) if home.is_some_and(|home| home != thread::current().id()) => {
            fault = Some(ExecutorFault::OtherThread);
        }
        Some(job) => outcome = Some(catch_unwind(AssertUnwindSafe(job))),
    });
    let fault = match (entered, fault) {
        (Err(refusal), _) => Some(refusal),
        (Ok(()), fault) => fault,
    };
    let refused = |source| Error::Executor { executor: domain.executor().name(), source };
    match (outcome, fault) {
        (Some(Err(payload)), _) => resume_unwind(payload),
        (_, Some(fault)) => Err(refused(fault)),
        (None, None) => Err(refused(ExecutorFault::NotRun)),
        (Some(Ok(result)), None) => Ok(result),
    }
}

/// Whether the executor is to enter on the calling thread, and nobody knows that it does.
fn must_stay(domain: &ResourceDomain) -> bool {
    domain.ownership() == DomainOwnership::Managed && domain.trust() == Trust::Audited
}
