//! The admission of one operation: shared with the scope it runs in, or with a permit of its own.
//!
//! Every refusal comes before anything could block. An admitted operation is an [`OperationEntry`]; running it hands an
//! [`OperationGuard`] to the closure, on the thread that runs it.

use std::{marker::PhantomData, sync::OnceLock};

use tenferro_arbiter::{self as arbiter, ExecutionOwner, Request, ResourcePermit};
use tenferro_provider::ClaimUse;

use crate::{
    DomainOwnership, Error, ExecutorFault, GrantedWorkers, ResourceDomain, Result,
    context::{self, Loan, LoanState, Mark, StateMark},
    domain::{Entered, Trust},
    execution::enter_once,
    spans::{self, Told},
};

/// Under whose permit an operation runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExecutionAdmission {
    /// Its own.
    Standalone,
    /// That of the scope or installation it was called in.
    Shared,
}

/// How many CPUs an operation has work for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Breadth {
    /// One: it will not be shared out.
    Narrow,
    /// As many as the domain has.
    Wide,
    /// As many, for any number of operations of one session.
    Session,
}

impl ResourceDomain {
    /// Admits one operation of this thread.
    ///
    /// # Errors
    /// Before anything blocks: [`Error::ForeignScope`], [`Error::OperationActive`], [`Error::ManagedWorker`],
    /// [`Error::DomainBusy`]. After waiting: [`Error::Admission`].
    #[inline]
    pub fn admit(&self, breadth: Breadth) -> Result<OperationEntry<'_>> {
        match context::state() {
            LoanState::None => self.admit_standalone(breadth),
            idle if self.shares(idle) => {
                let width = self.breadth(breadth);
                Ok(OperationEntry { domain: self, place: Place::Shared(idle), width })
            }
            active => Err(self.not_shared(active)),
        }
    }

    /// Admits and runs one operation of this thread.
    ///
    /// `refused` says what a refusal is in the operation's own error type; so a result is never wrapped and moved.
    ///
    /// # Errors
    /// The operation's own, and what `refused` makes of the errors of [`ResourceDomain::admit`] and
    /// [`OperationEntry::run`].
    #[inline]
    pub fn run<R: Send, E: Send>(
        &self,
        breadth: Breadth,
        operation: impl FnOnce(&OperationGuard<'_>) -> Result<R, E> + Send,
        refused: impl Fn(Error) -> E,
    ) -> Result<R, E> {
        if breadth != Breadth::Narrow
            && let Err(error) = self.refuse_orphan()
        {
            return Err(refused(error));
        }
        match context::state() {
            LoanState::None => {}
            idle if self.shares(idle) => {
                let guard = || OperationGuard::shared(self, idle, self.breadth(breadth));
                return run_under(guard, operation, refused);
            }
            active => return Err(refused(self.not_shared(active))),
        }
        if self.trust() == Trust::Ours {
            return self.run_here(breadth, operation, refused);
        }
        let ran = self.admit_standalone(breadth).and_then(|entry| entry.run(operation));
        ran.unwrap_or_else(|error| Err(refused(error)))
    }

    /// Runs a standalone operation under a permit of its own. Our executors enter by calling the job on this thread,
    /// which is done here without the detour.
    #[inline]
    fn run_here<R, E>(
        &self,
        breadth: Breadth,
        operation: impl FnOnce(&OperationGuard<'_>) -> Result<R, E>,
        refused: impl Fn(Error) -> E,
    ) -> Result<R, E> {
        let permit =
            match context::refuse_worker().and_then(|()| self.acquire(self.request(breadth))) {
                Ok((permit, here)) => {
                    if here == Here::WithoutProvider {
                        return self.run_without_provider(permit, operation);
                    }
                    permit
                }
                Err(error) => return Err(refused(error)),
            };
        let loan = Loan { identity: self.identity(), owner: Some(permit.owner()) };
        let guard = || OperationGuard::standalone(self, loan, permit.width());
        run_under(guard, operation, refused)
    }

    /// Refuses work for several threads, before any output is written, where a fork has left them behind.
    fn refuse_orphan(&self) -> Result<()> {
        let executor = self.executor();
        executor.ready().map_err(|source| Error::Executor { executor: executor.name(), source })
    }

    /// Runs a standalone operation on a thread that must not wait for the claimed provider.
    #[cold]
    fn run_without_provider<R>(
        &self,
        permit: ResourcePermit,
        operation: impl FnOnce(&OperationGuard<'_>) -> R,
    ) -> R {
        let _claim = context::restrict_claim(ClaimUse::Nothing);
        let loan = Loan { identity: self.identity(), owner: Some(permit.owner()) };
        operation(&OperationGuard::standalone(self, loan, permit.width()))
    }

    fn request(&self, breadth: Breadth) -> &Request {
        match breadth {
            Breadth::Narrow => &self.requests().narrow,
            Breadth::Wide => &self.requests().wide,
            Breadth::Session => &self.requests().session,
        }
    }

    /// Whether an operation of this domain may run under what is active on this thread.
    #[inline]
    fn shares(&self, state: LoanState) -> bool {
        state != LoanState::Running && context::active() == Some(self.identity())
    }

    #[inline]
    fn breadth(&self, breadth: Breadth) -> usize {
        match breadth {
            Breadth::Narrow => 1,
            Breadth::Wide | Breadth::Session => self.width(),
        }
    }

    /// Why an operation cannot share what is active on this thread.
    #[cold]
    fn not_shared(&self, state: LoanState) -> Error {
        let called = self.identity();
        let open = context::active().unwrap_or(called);
        match state {
            LoanState::Running => Error::OperationActive { running: open },
            _ => Error::ForeignScope { open, called },
        }
    }

    fn admit_standalone(&self, breadth: Breadth) -> Result<OperationEntry<'_>> {
        context::refuse_worker()?;
        if self.ownership() == DomainOwnership::CallerManaged {
            let entered = Some(self.enter_exclusively()?);
            let here = if self.executor().is_worker() { Here::Inline } else { Here::Anywhere };
            let own = Own { permit: None, _entered: entered, here };
            return Ok(OperationEntry {
                domain: self,
                place: Place::Own(own),
                width: self.width(),
            });
        }
        let (permit, here) = self.acquire(self.request(breadth))?;
        let width = permit.width();
        let own = Own { permit: Some(permit), _entered: None, here };
        Ok(OperationEntry { domain: self, place: Place::Own(own), width })
    }

    /// A permit for `request`, or for one CPU on a worker of somebody's pool, which must never wait: its pool may hold
    /// the CPUs that it would wait for.
    pub(super) fn acquire(&self, request: &Request) -> Result<(ResourcePermit, Here)> {
        if self.on_a_worker() {
            self.admit_worker()
        } else {
            Ok((self.arbiter().acquire(request)?, Here::Anywhere))
        }
    }

    /// Whether this thread is a worker of somebody's pool.
    pub(super) fn on_a_worker(&self) -> bool {
        rayon::current_thread_index().is_some() || self.executor().is_worker()
    }

    /// A permit for one CPU, now. Without a free CPU the arbiter lets such a worker go on, and counts it. If
    /// somebody else holds the claimed provider, it goes on without that.
    pub(super) fn admit_worker(&self) -> Result<(ResourcePermit, Here)> {
        if let Some(sharing) = &self.requests().sharing {
            match self.arbiter().admit_now(sharing) {
                Ok(permit) => return Ok((permit, Here::Inline)),
                Err(arbiter::Error::WouldBlock { .. }) => {}
                Err(other) => return Err(other.into()),
            }
        }
        let here =
            if self.requests().sharing.is_some() { Here::WithoutProvider } else { Here::Inline };
        Ok((self.arbiter().admit_now(&self.requests().narrow)?, here))
    }
}

/// Runs an operation under a guard, which is made where it stays.
#[inline]
fn run_under<'d, R, E>(
    guard: impl FnOnce() -> OperationGuard<'d>,
    operation: impl FnOnce(&OperationGuard<'_>) -> Result<R, E>,
    refused: impl Fn(Error) -> E,
) -> Result<R, E> {
    let mut guard = guard();
    let result = operation(&guard);
    match guard.fault() {
        None => result,
        Some(fault) => Err(refused(fault)),
    }
}

/// Where an admitted execution may run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Here {
    /// Wherever its executor runs it.
    Anywhere,
    /// On the calling thread, without entering the executor: it is a worker of somebody's pool.
    Inline,
    /// The same, and without the provider that the domain claims: somebody holds it.
    WithoutProvider,
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
    /// Under what is active on this thread, which is in this state.
    Shared(LoanState),
    Own(Own<'d>),
}

/// What a standalone operation holds.
struct Own<'d> {
    permit: Option<ResourcePermit>,
    _entered: Option<Entered<'d>>,
    here: Here,
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
            Place::Shared(idle) => {
                OperationGuard::shared(self.domain, idle, self.width).run(operation)
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
        let loan = Loan { identity: domain.identity(), owner };
        if own.here != Here::Anywhere {
            let _claim = (own.here == Here::WithoutProvider)
                .then(|| context::restrict_claim(ClaimUse::Nothing));
            return OperationGuard::standalone(domain, loan, 1).run(operation);
        }
        // An external executor may run the job on a thread of its own; this one is busy all the same.
        let _busy = (domain.ownership() != DomainOwnership::Managed)
            .then(|| context::mark(loan, LoanState::Running));
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
    width: usize,
    admission: ExecutionAdmission,
    fault: OnceLock<ExecutorFault>,
    // In this order: the thread is idle again, that is told, then its scope's CPUs are lent out.
    _running: Running,
    _told: Told,
    _lends: Lends,
    stays_on_its_thread: PhantomData<*const ()>,
}

/// Says that this thread runs an operation: of the loan in force, or under a loan of its own.
enum Running {
    Shared { _state: StateMark },
    Own { _loan: Mark },
}

/// Lends a scope's CPUs to others when dropped, if it is a scope's.
struct Lends(bool);

impl Drop for Lends {
    #[inline]
    fn drop(&mut self) {
        if self.0 {
            context::lend();
        }
    }
}

impl<'d> OperationGuard<'d> {
    #[inline]
    fn shared(domain: &'d ResourceDomain, before: LoanState, breadth: usize) -> Self {
        let idle = before == LoanState::IdleScope;
        let width = if idle {
            context::resume(breadth)
        } else {
            context::installed_width().map(|width| width.min(breadth))
        };
        let width = width.expect("invariant: a loan that is not running has a width here");
        let told = spans::operation(context::current_owner, width);
        Self {
            domain,
            width,
            admission: ExecutionAdmission::Shared,
            fault: OnceLock::new(),
            _running: Running::Shared { _state: context::mark_state(LoanState::Running) },
            _told: told,
            _lends: Lends(idle),
            stays_on_its_thread: PhantomData,
        }
    }

    #[inline]
    fn standalone(domain: &'d ResourceDomain, loan: Loan, width: usize) -> Self {
        Self {
            domain,
            width,
            admission: ExecutionAdmission::Standalone,
            fault: OnceLock::new(),
            _running: Running::Own { _loan: context::mark(loan, LoanState::Running) },
            _told: spans::operation(|| loan.owner, width),
            _lends: Lends(false),
            stays_on_its_thread: PhantomData,
        }
    }

    /// Runs the operation and reports what the executor did wrong meanwhile.
    fn run<R>(mut self, operation: impl FnOnce(&Self) -> R) -> Result<R> {
        let result = operation(&self);
        self.fault().map_or(Ok(result), Err)
    }

    /// What the executor did wrong during the operation, if anything. The guard stays where it is: moving it costs as much
    /// as all else that ends an operation.
    #[inline]
    fn fault(&mut self) -> Option<Error> {
        let executor = self.domain.executor();
        self.fault.take().map(|source| Error::Executor { executor: executor.name(), source })
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
        context::current_owner()
    }

    /// The granted threads.
    #[must_use]
    #[inline]
    pub fn workers(&self) -> GrantedWorkers<'_> {
        GrantedWorkers::new(self.domain, self.width, &self.fault)
    }
}
