//! What this thread is doing: the loan of CPUs that it runs under, and whose worker it is.
//!
//! The loan is a plain copyable record in a cell, so that an operation can look at it without a lock or a borrow. The
//! permit of an open scope or installation lies beside it and is released with the thread if nothing else does.

use std::cell::{Cell, RefCell};

use tenferro_arbiter::{ExecutionOwner, ResourcePermit};
use tenferro_provider::ClaimUse;

#[cfg(any(loom, shuttle))]
use crate::sync::LocalCell;
use crate::{Error, Result, RuntimeIdentity, sync::thread_local};

/// Whose CPUs a thread runs under.
#[derive(Clone, Copy)]
pub(super) struct Loan {
    pub(super) identity: RuntimeIdentity,
    /// Whose permit it is; `None` in a caller-managed domain, which has no permits.
    pub(super) owner: Option<ExecutionOwner>,
}

/// Whether a loan's CPUs are in use.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum LoanState {
    /// There is no loan.
    None,
    /// A scope between operations: its CPUs may be borrowed by others.
    IdleScope,
    /// The caller's own work, between operations: its CPUs stay with it.
    Installed,
    /// An operation, a session or a share of a fan-out is running.
    Running,
}

thread_local! {
    /// Apart from the loan, because an operation in a scope changes nothing else.
    static STATE: Cell<LoanState> = const { Cell::new(LoanState::None) };
    /// Meaningful unless the state is `None`.
    static LOAN: Cell<Option<Loan>> = const { Cell::new(None) };
    static WORKER: Cell<Option<RuntimeIdentity>> = const { Cell::new(None) };
    static PERMIT: RefCell<Option<ResourcePermit>> = const { RefCell::new(None) };
    /// The width of an installation, or of a lane whose permit another thread keeps; 0 if there is none.
    static INSTALLED: Cell<usize> = const { Cell::new(0) };
    static CLAIM: Cell<ClaimUse> = const { Cell::new(ClaimUse::Whole) };
}

/// Whether an execution scope, a session or an operation is active on this thread.
#[must_use]
pub fn has_active_execution() -> bool {
    state() != LoanState::None
}

/// The owner of the execution that is active on this thread. A share of a fan-out has its operation's owner.
#[must_use]
pub fn current_owner() -> Option<ExecutionOwner> {
    loan().and_then(|loan| loan.owner)
}

#[inline]
pub(super) fn state() -> LoanState {
    STATE.get()
}

/// The loan in force.
#[inline]
pub(super) fn loan() -> Option<Loan> {
    if state() == LoanState::None { None } else { LOAN.get() }
}

/// The runtime of the loan in force.
#[inline]
pub(super) fn active() -> Option<RuntimeIdentity> {
    loan().map(|loan| loan.identity)
}

/// Says that this thread is a worker of a managed pool, for as long as it lives.
pub(super) fn mark_worker(identity: RuntimeIdentity) {
    WORKER.set(Some(identity));
}

/// Whether this thread is no worker of a managed pool.
#[inline]
pub(super) fn is_no_worker() -> bool {
    WORKER.get().is_none()
}

/// Refuses what a managed worker may not do.
pub(super) fn refuse_worker() -> Result<()> {
    match WORKER.get() {
        Some(pool) => Err(Error::ManagedWorker { pool }),
        None => Ok(()),
    }
}

/// Puts a loan in force on this thread until the mark is dropped.
#[inline]
pub(super) fn mark(loan: Loan, state: LoanState) -> Mark {
    Mark { _state: mark_state(state), before: LOAN.replace(Some(loan)) }
}

/// Restores what a thread ran under before.
pub(super) struct Mark {
    _state: StateMark,
    before: Option<Loan>,
}

impl Drop for Mark {
    #[inline]
    fn drop(&mut self) {
        LOAN.set(self.before);
    }
}

/// Changes the state of the loan in force until the mark is dropped.
#[inline]
pub(super) fn mark_state(state: LoanState) -> StateMark {
    StateMark { before: STATE.replace(state) }
}

/// Restores the state of a loan.
pub(super) struct StateMark {
    before: LoanState,
}

impl Drop for StateMark {
    #[inline]
    fn drop(&mut self) {
        STATE.set(self.before);
    }
}

/// Whether this thread has a place for a permit. One that is ending has none.
#[inline]
pub(super) fn keeps_permits() -> bool {
    PERMIT.try_with(|_| ()).is_ok()
}

/// Leaves the permit of a scope or installation with this thread; it comes back if there is no place for it.
pub(super) fn keep_permit(permit: ResourcePermit) -> Option<ResourcePermit> {
    let mut permit = Some(permit);
    let _ = PERMIT.try_with(|kept| *kept.borrow_mut() = permit.take());
    permit
}

/// Takes back the permit of a scope or installation.
pub(super) fn take_permit() -> Option<ResourcePermit> {
    // Taken out before it is dropped: a release may run code that looks at this thread's context.
    PERMIT.try_with(|kept| kept.borrow_mut().take()).ok().flatten()
}

/// What the kept permit says; `None` outside of scopes and installations.
pub(super) fn with_permit<R>(ask: impl FnOnce(&ResourcePermit) -> R) -> Option<R> {
    PERMIT.try_with(|kept| kept.borrow().as_ref().map(ask)).ok().flatten()
}

/// Uses the kept permit for something that asks nothing of this thread's context; `None` outside of scopes and
/// installations. Compiled into its caller, as `try_with` is and `with` is not.
#[inline(always)]
pub(super) fn with_own_permit<R>(using: impl FnOnce(&ResourcePermit) -> R) -> Option<R> {
    PERMIT.try_with(|kept| kept.try_borrow().ok()?.as_ref().map(using)).ok()?
}

/// Starts the next operation of the scope open here, on up to `width` CPUs: how many it has got.
///
/// Compiled once and not into every operation, as [`lend`] is; and `try_with` is inlined, which `with` is not.
#[inline(never)]
pub(super) fn resume(width: usize) -> Option<usize> {
    let resume = |permit: &ResourcePermit| permit.resume_up_to(width);
    PERMIT.try_with(|kept| kept.borrow().as_ref().map(resume)).ok()?
}

/// Ends an operation of the scope open here: its CPUs may be borrowed by others.
#[inline(never)]
pub(super) fn lend() {
    // A thread that ends has given its permit back.
    let _ = PERMIT.try_with(|kept| kept.borrow().as_ref().map(ResourcePermit::lend));
}

/// Puts a lane's permit in the place of what is kept here, until the exchange is dropped.
pub(super) fn exchange_permit(permit: ResourcePermit) -> Exchange {
    Exchange { before: PERMIT.with(|kept| kept.borrow_mut().replace(permit)) }
}

/// Restores the permit that was kept before.
pub(super) struct Exchange {
    before: Option<ResourcePermit>,
}

impl Drop for Exchange {
    fn drop(&mut self) {
        let before = self.before.take();
        // Dropped outside of the borrow, as above.
        drop(PERMIT.with(|kept| std::mem::replace(&mut *kept.borrow_mut(), before)));
    }
}

/// The width of the installation, or of the lane without a permit of its own, that is open here.
#[inline]
pub(super) fn installed_width() -> Option<usize> {
    Some(INSTALLED.get()).filter(|&width| width > 0)
}

/// Sets the width of an installation or lane until the mark is dropped.
pub(super) fn install_width(width: usize) -> InstalledWidth {
    InstalledWidth { before: INSTALLED.replace(width) }
}

/// Restores the width of an installation.
pub(super) struct InstalledWidth {
    before: usize,
}

impl Drop for InstalledWidth {
    fn drop(&mut self) {
        INSTALLED.set(self.before);
    }
}

/// The CPUs that the scope, installation or lane open here was last granted.
pub(super) fn granted_width() -> Option<usize> {
    installed_width().or_else(|| with_permit(ResourcePermit::width))
}

/// What operations of this thread may do with the provider that permits of their domain claim.
pub(super) fn claim_use() -> ClaimUse {
    CLAIM.get()
}

/// Restricts the use of the claimed provider until the mark is dropped; it is never widened.
pub(super) fn restrict_claim(claim: ClaimUse) -> ClaimMark {
    let before = CLAIM.get();
    if before != ClaimUse::Nothing {
        CLAIM.set(claim);
    }
    ClaimMark { before }
}

/// Restores the use of a claimed provider.
pub(super) struct ClaimMark {
    before: ClaimUse,
}

impl Drop for ClaimMark {
    fn drop(&mut self) {
        CLAIM.set(self.before);
    }
}
