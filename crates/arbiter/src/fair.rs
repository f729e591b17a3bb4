//! The arbiter: fair, adaptive, over a fixed set of CPUs.
//!
//! This file is its public face; the protocol lives in the modules that the README names.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::admission::{Core, Form};
use crate::arbiter::Arbiter;
use crate::clock::{Clock, SystemClock};
use crate::cpu_set::CpuSet;
use crate::error::{Error, Result};
use crate::once_box::OnceBox;
use crate::patience::Patience;
use crate::permit::ResourcePermit;
use crate::record::Recording;
use crate::request::Request;
use crate::seat::MAX_CPUS;
use crate::snapshot::Snapshot;
use crate::task::{Acquire, PermitFuture};

/// How a [`FairArbiter`] treats its waiters.
///
/// ```
/// use tenferro_arbiter::{CpuSet, FairArbiter, Policy};
///
/// let policy = Policy { wait_limit: None, ..Policy::default() };
/// let arbiter = FairArbiter::with_policy(CpuSet::first(2), policy)?;
/// # let _ = arbiter;
/// # Ok::<(), tenferro_arbiter::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// How long a request waits while no holder runs an operation; `None` is for ever.
    pub wait_limit: Option<Duration>,
    /// How long in all a waiter may be passed by a thread that runs short operations in a row.
    pub bypass: Duration,
    /// How long a turn lasts at most while all who wait take turns: threads that were stopped at the end of a
    /// turn, and ask for one CPU again. It is shorter where it would take more than three such turns until each of them
    /// has one, and they are passed for four of them at most. If it is no longer than `bypass`, these threads wait
    /// like all others.
    pub turn: Duration,
    /// How many of the CPUs may be used at once; `None` is all of them.
    pub capacity: Option<usize>,
}

impl Default for Policy {
    /// 10 s, 1 ms, 16 ms, every CPU.
    fn default() -> Self {
        Self {
            wait_limit: Some(Duration::from_secs(10)),
            bypass: Duration::from_millis(1),
            turn: Duration::from_millis(16),
            capacity: None,
        }
    }
}

/// Grants CPUs fairly and as wide as contention allows.
///
/// Alone, a caller gets its maximum. Under contention grants shrink towards the minimum, so that
/// as many callers run as there are CPUs; older waiters are not starved by narrower or luckier ones.
///
/// The CPUs may be synthetic: it counts them and never looks at the machine.
///
/// ```
/// use tenferro_arbiter::{Arbiter, CpuSet, FairArbiter, Request};
///
/// let arbiter = FairArbiter::new(CpuSet::first(2))?;
/// let permit = arbiter.try_acquire(&Request::up_to(2))?;
/// assert_eq!(arbiter.snapshot().holders.len(), 1);
/// drop(permit);
/// assert!(arbiter.snapshot().holders.is_empty());
/// # Ok::<(), tenferro_arbiter::Error>(())
/// ```
pub struct FairArbiter {
    core: Arc<Core>,
    /// The arbiter of a child process, once this one's threads are gone.
    heir: OnceBox<FairArbiter>,
}

impl FairArbiter {
    /// An arbiter over `cpus` with the default policy.
    ///
    /// # Errors
    /// [`Error::EmptyCpuSet`], or [`Error::TooManyCpus`] beyond 65535.
    pub fn new(cpus: CpuSet) -> Result<Self> {
        Self::with_policy(cpus, Policy::default())
    }

    /// An arbiter over `cpus` with a policy of your own.
    ///
    /// # Errors
    /// [`Error::EmptyCpuSet`]; [`Error::InvalidWidth`] for a capacity of zero;
    /// [`Error::TooManyCpus`] for one beyond 65535.
    pub fn with_policy(cpus: CpuSet, policy: Policy) -> Result<Self> {
        Self::with_clock(cpus, policy, SystemClock)
    }

    /// The same under a clock of your own, for a test that moves the time by hand.
    ///
    /// # Errors
    /// As [`FairArbiter::with_policy`].
    pub fn with_clock(cpus: CpuSet, policy: Policy, clock: impl Clock + 'static) -> Result<Self> {
        if cpus.is_empty() {
            return Err(Error::EmptyCpuSet);
        }
        let capacity = cpus.len().min(policy.capacity.unwrap_or(usize::MAX));
        match capacity {
            0 => Err(Error::InvalidWidth { min: 0, max: 0 }),
            1..=MAX_CPUS => {
                let core = Core::new(cpus, capacity as u32, policy, Arc::new(clock));
                Ok(Self { core: Arc::new(core), heir: OnceBox::new() })
            }
            _ => Err(Error::TooManyCpus { cpus: capacity, limit: MAX_CPUS }),
        }
    }

    /// The policy in force.
    #[must_use]
    pub fn policy(&self) -> Policy {
        *self.core.policy()
    }

    /// The state of this process. After a fork the child starts with every CPU: those who held them are not there.
    #[inline]
    fn core(&self) -> &Arc<Core> {
        if self.core.is_orphaned() { self.heir().core() } else { &self.core }
    }

    #[cold]
    fn heir(&self) -> &Self {
        self.heir.get_or_make(|| {
            let (old, clock) = (&self.core, Arc::clone(self.core.clock()));
            let core = Core::new(old.cpus().clone(), old.capacity(), *old.policy(), clock);
            Self { core: Arc::new(core), heir: OnceBox::new() }
        })
    }
}

impl Arbiter for FairArbiter {
    #[inline]
    fn acquire(&self, request: &Request) -> Result<ResourcePermit> {
        const UNLIMITED: &Patience = &Patience::unlimited();
        self.core().admit(request, Form::Wait(UNLIMITED))
    }

    fn try_acquire(&self, request: &Request) -> Result<ResourcePermit> {
        self.core().admit(request, Form::Try)
    }

    fn acquire_within(&self, request: &Request, patience: &Patience) -> Result<ResourcePermit> {
        if patience.is_cancelled() {
            return Err(Error::Cancelled { waited: Duration::ZERO });
        }
        self.core().admit(request, Form::Wait(patience))
    }

    fn acquire_async(&self, request: &Request, patience: &Patience) -> PermitFuture<'static> {
        Box::pin(Acquire::new(Arc::clone(self.core()), request.clone(), patience.clone()))
    }

    fn admit_now(&self, request: &Request) -> Result<ResourcePermit> {
        self.core().admit(request, Form::Overcommit)
    }

    fn cpus(&self) -> &CpuSet {
        self.core.cpus()
    }

    fn capacity(&self) -> usize {
        self.core.capacity() as usize
    }

    fn snapshot(&self) -> Snapshot {
        self.core().snapshot()
    }

    fn record(&self, spans: usize) -> Result<Recording> {
        Recording::start(&self.core, spans)
    }
}

impl fmt::Debug for FairArbiter {
    /// Does not wait for a lock.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FairArbiter")
            .field("cpus", self.cpus())
            .field("capacity", &self.capacity())
            .field("policy", self.core.policy())
            .finish_non_exhaustive()
    }
}

impl Drop for FairArbiter {
    fn drop(&mut self) {
        self.core.close();
    }
}
