//! What every arbiter offers, and the one that the process shares.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use crate::allowed::{Sizing, allowed_cpus};
use crate::cpu_set::CpuSet;
use crate::error::{Error, Result};
use crate::fair::{FairArbiter, Policy};
use crate::patience::Patience;
use crate::permit::ResourcePermit;
use crate::record::Recording;
use crate::request::Request;
use crate::seat::MAX_CPUS;
use crate::snapshot::Snapshot;
use crate::task::PermitFuture;

/// Grants CPUs to the threads that ask for them.
///
/// It is a value behind `dyn`, held by `Arc`. An implementation of your own delegates to a
/// [`FairArbiter`], the only source of permits, and counts, records or refuses on the way.
///
/// ```
/// use tenferro_arbiter::{Arbiter, CpuSet, FairArbiter, Request};
///
/// let arbiter = FairArbiter::new(CpuSet::first(4))?;
/// let permit = arbiter.acquire(&Request::up_to(8))?;
/// assert_eq!(permit.width(), 4);
/// permit.lend();
/// assert_eq!(permit.resume(), 4);
/// # Ok::<(), tenferro_arbiter::Error>(())
/// ```
pub trait Arbiter: Send + Sync {
    /// Waits for CPUs, up to the policy's wait limit.
    ///
    /// # Errors
    /// [`WaitLimit`](crate::Error::WaitLimit), and what is wrong with the request.
    fn acquire(&self, request: &Request) -> Result<ResourcePermit>;

    /// Takes CPUs if that is possible without waiting and without delaying older waiters.
    ///
    /// # Errors
    /// [`WouldBlock`](crate::Error::WouldBlock), and what is wrong with the request.
    fn try_acquire(&self, request: &Request) -> Result<ResourcePermit>;

    /// Waits for CPUs as long as `patience` allows; the wait limit counts too.
    ///
    /// # Errors
    /// [`TimedOut`](crate::Error::TimedOut), [`Cancelled`](crate::Error::Cancelled),
    /// [`WaitLimit`](crate::Error::WaitLimit), and what is wrong with the request.
    fn acquire_within(&self, request: &Request, patience: &Patience) -> Result<ResourcePermit>;

    /// Waits for CPUs for at most `timeout`; the wait limit counts too.
    ///
    /// # Errors
    /// As [`acquire_within`](Self::acquire_within).
    fn acquire_timeout(&self, request: &Request, timeout: Duration) -> Result<ResourcePermit> {
        self.acquire_within(request, &Patience::at_most(timeout))
    }

    /// The same as a future, which parks no thread and can be dropped at any time.
    ///
    /// The permit belongs to the thread that polls the future to its end; see [`PermitFuture`].
    ///
    /// # Errors
    /// The future's result: as [`acquire_within`](Self::acquire_within).
    fn acquire_async<'a>(&'a self, request: &Request, patience: &Patience) -> PermitFuture<'a>;

    /// Admits at once: on what is free, else overcommitted on one CPU, and counted.
    ///
    /// For a thread that must not wait, such as a worker of somebody else's pool.
    ///
    /// # Errors
    /// [`WouldBlock`](crate::Error::WouldBlock) if the request names CPUs or a provider that are
    /// taken, and what is wrong with the request.
    fn admit_now(&self, request: &Request) -> Result<ResourcePermit>;

    /// The CPUs that it governs.
    fn cpus(&self) -> &CpuSet;

    /// How many of them may be used at once: the widest grant.
    fn capacity(&self) -> usize;

    /// Who holds and who waits. It does not disturb running operations.
    fn snapshot(&self) -> Snapshot;

    /// Records operations and waits from now on, the latest `spans` of them.
    ///
    /// An implementation that delegates passes this on too; one that does not, records nothing.
    ///
    /// # Errors
    /// [`Recording`](crate::Error::Recording) if somebody records already,
    /// [`NotRecorded`](crate::Error::NotRecorded) if this arbiter cannot.
    fn record(&self, spans: usize) -> Result<Recording> {
        let _ = spans;
        Err(Error::NotRecorded)
    }
}

/// The arbiter that everything in the process shares unless told otherwise.
///
/// It governs the allowed CPUs; its capacity is the budget of [`Sizing`] without a cap.
///
/// # Panics
/// If the system allows the process no CPU, which none does.
#[must_use]
pub fn process_arbiter() -> &'static Arc<FairArbiter> {
    static PROCESS: OnceLock<Arc<FairArbiter>> = OnceLock::new();
    PROCESS.get_or_init(|| {
        let sizing = Sizing::new(allowed_cpus(), None);
        let policy = Policy { capacity: Some(sizing.budget().min(MAX_CPUS)), ..Policy::default() };
        let arbiter = FairArbiter::with_policy(sizing.cpus().clone(), policy);
        Arc::new(arbiter.expect("invariant: a process is allowed at least one CPU"))
    })
}
