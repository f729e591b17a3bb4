//! The admission of one operation: shared with the scope it runs in, or with a permit of its own.
//!
//! Every refusal comes before anything could block. An admitted operation is an [`OperationEntry`]; running it hands an
//! [`OperationGuard`] to the closure, on the thread that runs it.

use std::{marker::PhantomData, sync::OnceLock};

use tenferro_arbiter::{ExecutionOwner, Request, ResourcePermit};

use crate::{
    DomainOwnership, Error, ExecutorFault, GrantedWorkers, ResourceDomain, Result,
    context::{self, Loan, LoanState, Mark},
    domain::Entered,
    execution::enter_once,
};

/// Under whose permit an operation runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExecutionAdmission {
    /// Its own.
    Standalone,
    /// That of the scope or session it was called in.
    Shared,
}

/// How many CPUs an operation has work for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Breadth {
    /// One: it will not be shared out.
    Narrow,
    /// As many as the domain has.
    Wide,
}

impl ResourceDomain {
    /// Admits one operation of this thread.
    ///
    /// # Errors
    /// Before anything blocks: [`Error::ForeignScope`], [`Error::OperationActive`], [`Error::ManagedWorker`],
    /// [`Error::DomainBusy`]. After waiting: [`Error::Admission`].
    #[inline]
    pub fn admit(&self, breadth: Breadth) -> Result<OperationEntry<'_>> {
        match context::loan() {
            Some(loan) => self.share(loan, breadth),
            None => self.admit_standalone(breadth),
        }
    }

    /// Admits an operation into what is active on this thread.
    #[inline]
    fn share(&self, loan: Loan, breadth: Breadth) -> Result<OperationEntry<'_>> {
        if loan.state == LoanState::Running {
            return Err(Error::OperationActive { running: loan.identity });
        }
        if loan.identity != self.identity() {
            return Err(Error::ForeignScope { open: loan.identity, called: self.identity() });
        }
        let width = match breadth {
            Breadth::Narrow => 1,
            Breadth::Wide => self.width(),
        };
        Ok(OperationEntry { domain: self, place: Place::Shared(loan), width })
    }

    fn admit_standalone(&self, breadth: Breadth) -> Result<OperationEntry<'_>> {
        context::refuse_worker()?;
        if self.ownership() == DomainOwnership::CallerManaged {
            let entered = Some(self.enter_exclusively()?);
            let own = Own { permit: None, _entered: entered, inline: self.executor().is_worker() };
            return Ok(OperationEntry {
                domain: self,
                place: Place::Own(own),
                width: self.width(),
            });
        }
        let request = match breadth {
            Breadth::Narrow => &self.requests().narrow,
            Breadth::Wide => &self.requests().wide,
        };
        let (permit, inline) = self.acquire(request)?;
        let width = permit.width();
        let own = Own { permit: Some(permit), _entered: None, inline };
        Ok(OperationEntry { domain: self, place: Place::Own(own), width })
    }

    /// A permit for `request`, or for one CPU on a worker of somebody's pool, which must never wait: its pool may hold
    /// the CPUs that it would wait for. Without a free CPU the arbiter lets such a worker go on, and counts it.
    ///
    /// The flag says that the caller must stay on this thread, for the same reason.
    pub(super) fn acquire(&self, request: &Request) -> Result<(ResourcePermit, bool)> {
        if rayon::current_thread_index().is_some() || self.executor().is_worker() {
            Ok((self.arbiter().admit_now(&self.requests().narrow)?, true))
        } else {
            Ok((self.arbiter().acquire(request)?, false))
        }
    }
}

/// An admitted operation that has not started.
pub struct OperationEntry<'d> {
    domain: &'d ResourceDomain,
    place: Place<'d>,
    /// What a standalone operation was granted, or what a shared one has work for.
    width: usize,
}

/// Where an operation runs.
enum Place<'d> {
    Shared(Loan),
    Own(Own<'d>),
}

/// What a standalone operation holds.
struct Own<'d> {
    permit: Option<ResourcePermit>,
    _entered: Option<Entered<'d>>,
    /// Whether it must run on this thread without entering the executor.
    inline: bool,
}

impl OperationEntry<'_> {
    /// Under whose permit the operation will run.
    #[must_use]
    pub fn admission(&self) -> ExecutionAdmission {
        match self.place {
            Place::Shared(_) => ExecutionAdmission::Shared,
            Place::Own(_) => ExecutionAdmission::Standalone,
        }
    }

    /// Runs the operation: in place inside of a scope, else through the domain's executor.
    ///
    /// A panic of the operation propagates after everything is released.
    ///
    /// # Errors
    /// [`Error::Executor`] if the executor did not run what it was given as it was told to.
    #[inline]
    pub fn run<R: Send>(
        self,
        operation: impl FnOnce(&OperationGuard<'_>) -> R + Send,
    ) -> Result<R> {
        match self.place {
            Place::Shared(loan) => {
                OperationGuard::shared(self.domain, loan, self.width).run(operation)
            }
            Place::Own(ref own) => self.run_standalone(own, operation),
        }
    }

    fn run_standalone<R: Send>(
        &self,
        own: &Own<'_>,
        operation: impl FnOnce(&OperationGuard<'_>) -> R + Send,
    ) -> Result<R> {
        let (domain, width) = (self.domain, self.width);
        let owner = own.permit.as_ref().map(ResourcePermit::owner);
        let loan = Loan { identity: domain.identity(), owner, state: LoanState::Running };
        if own.inline {
            return OperationGuard::standalone(domain, loan, 1).run(operation);
        }
        // An external executor may run the job on a thread of its own; this one is busy all the same.
        let _busy = (domain.ownership() != DomainOwnership::Managed).then(|| context::mark(loan));
        enter_once(domain, width, move || {
            OperationGuard::standalone(domain, loan, width).run(operation)
        })?
    }
}

/// A running operation: the granted width, and the way to share out work.
///
/// It stays on its thread and borrows its scope for as long as it lives:
///
/// ```compile_fail,E0277
/// fn must_be_send<T: Send>() {}
/// must_be_send::<tenferro_scope::OperationGuard<'static>>();
/// ```
pub struct OperationGuard<'d> {
    domain: &'d ResourceDomain,
    loan: Loan,
    width: usize,
    admission: ExecutionAdmission,
    fault: OnceLock<ExecutorFault>,
    _running: Mark,
    /// Whether the scope's CPUs are lent out again when the operation ends.
    _lends: Lends,
    stays_on_its_thread: PhantomData<*const ()>,
}

/// Lends a scope's CPUs to others when dropped, if it is a scope's.
struct Lends(bool);

impl Drop for Lends {
    #[inline]
    fn drop(&mut self) {
        if self.0 {
            context::with_permit(ResourcePermit::lend);
        }
    }
}

impl<'d> OperationGuard<'d> {
    #[inline]
    fn shared(domain: &'d ResourceDomain, before: Loan, breadth: usize) -> Self {
        let idle = before.state == LoanState::IdleScope;
        let width = context::with_permit(|permit| {
            if idle { permit.resume_up_to(breadth) } else { permit.width().min(breadth) }
        });
        let width = width.expect("invariant: a loan that is not running keeps its permit here");
        let loan = Loan { state: LoanState::Running, ..before };
        Self::new(domain, loan, width, ExecutionAdmission::Shared, Lends(idle))
    }

    fn standalone(domain: &'d ResourceDomain, loan: Loan, width: usize) -> Self {
        Self::new(domain, loan, width, ExecutionAdmission::Standalone, Lends(false))
    }

    #[inline]
    fn new(
        domain: &'d ResourceDomain,
        loan: Loan,
        width: usize,
        admission: ExecutionAdmission,
        _lends: Lends,
    ) -> Self {
        Self {
            domain,
            loan,
            width,
            admission,
            fault: OnceLock::new(),
            _running: context::mark(loan),
            _lends,
            stays_on_its_thread: PhantomData,
        }
    }

    /// Runs the operation and reports what the executor did wrong meanwhile.
    #[inline]
    fn run<R>(mut self, operation: impl FnOnce(&Self) -> R) -> Result<R> {
        let result = operation(&self);
        match self.fault.take() {
            None => Ok(result),
            Some(source) => {
                Err(Error::Executor { executor: self.domain.executor().name(), source })
            }
        }
    }

    /// The domain that admitted the operation.
    #[must_use]
    pub fn domain(&self) -> &'d ResourceDomain {
        self.domain
    }

    /// How many CPUs the operation was granted.
    #[must_use]
    pub fn width(&self) -> usize {
        self.width
    }

    /// Under whose permit the operation runs.
    #[must_use]
    pub fn admission(&self) -> ExecutionAdmission {
        self.admission
    }

    /// Who holds the permit: inside of a scope, the scope's owner. `None` in a caller-managed domain.
    #[must_use]
    pub fn owner(&self) -> Option<ExecutionOwner> {
        self.loan.owner
    }

    /// The granted threads.
    #[must_use]
    pub fn workers(&self) -> GrantedWorkers<'_> {
        GrantedWorkers::new(self.domain, self.loan, self.width, &self.fault)
    }
}
