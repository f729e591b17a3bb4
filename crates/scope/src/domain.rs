//! The right to use some CPUs through one executor, admitted by one arbiter.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use tenferro_arbiter::{
    self as arbiter, Arbiter, ClaimKind, CpuSet, Exclusivity, Label, ProviderClaim, Request,
};

use crate::{
    Affinity, Error, Executor, InlineExecutor, PinnedExecutor, RayonExecutor, Result,
    RuntimeIdentity, context,
    sync::{AtomicBool, Ordering},
};

/// Who owns the threads of a domain, and who accounts for its CPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DomainOwnership {
    /// Our executor; the arbiter admits. Scopes need this.
    Managed,
    /// The caller's executor; the arbiter admits its declared CPU set.
    External,
    /// The caller's executor and accounting; only guarded against overlapping calls.
    CallerManaged,
}

/// Whether an executor is known to run each job once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trust {
    /// One of this crate's, which enters on the calling thread.
    Ours,
    /// One of this crate's, which enters on a worker.
    Pinned,
    /// Anybody's: a job that ran twice would hand out a mutable slice twice, so each start is checked.
    Audited,
}

/// The settings of a domain.
pub struct DomainConfig {
    /// The most threads an operation may use.
    pub width: usize,
    /// The CPUs that operations may use; `None` for all of the arbiter's.
    pub cpus: Option<CpuSet>,
    /// Who admits.
    pub arbiter: Arc<dyn Arbiter>,
    /// A provider that others are kept out of while a permit for several threads is held: operations, scopes and
    /// the caller's own work. What uses one thread by nature excludes nobody.
    pub provider: Option<ProviderClaim>,
    /// How long operations and scopes wait while no holder runs an operation.
    pub wait_limit: WaitLimit,
}

/// How long a domain's requests wait while no holder runs an operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WaitLimit {
    /// As long as the arbiter's policy says.
    #[default]
    Policy,
    /// So long.
    After(Duration),
    /// For ever.
    Never,
}

impl WaitLimit {
    fn apply_to(self, request: Request) -> Request {
        match self {
            WaitLimit::Policy => request,
            WaitLimit::After(limit) => request.wait_limit(Some(limit)),
            WaitLimit::Never => request.wait_limit(None),
        }
    }
}

/// A set of CPUs, an executor that runs there and the arbiter that admits to it.
///
/// Immutable and shared by reference; its identity tells it from every other.
pub struct ResourceDomain {
    identity: RuntimeIdentity,
    ownership: DomainOwnership,
    trust: Trust,
    width: usize,
    executor: Arc<dyn Executor>,
    arbiter: Arc<dyn Arbiter>,
    /// What an operation that fans out, one that does not, a scope, the caller's own work, and a session ask for.
    requests: Requests,
    /// Whether a caller-managed domain is entered.
    entered: AtomicBool,
    fan_outs: AtomicU64,
}

/// The requests of a domain, made once.
pub(super) struct Requests {
    pub(super) wide: Request,
    pub(super) narrow: Request,
    pub(super) scope: Request,
    pub(super) installed: Request,
    pub(super) session: Request,
    /// One thread's use of the claimed provider, asked for where nobody may wait.
    pub(super) sharing: Option<Request>,
}

impl Requests {
    fn new(config: &DomainConfig, exclusivity: Exclusivity) -> Self {
        let unclaimed = |width: usize, label: Label| {
            let request = match (&config.cpus, exclusivity) {
                (Some(cpus), Exclusivity::Exclusive) => Request::exclusive(cpus.clone()),
                (Some(cpus), Exclusivity::Shared) => Request::up_to(width).on(cpus.clone()),
                (None, _) => Request::up_to(width),
            };
            config.wait_limit.apply_to(request.label(label))
        };
        let request = |width: usize, label: Label| match config.provider {
            Some(claim) => unclaimed(width, label).with_provider(claim),
            None => unclaimed(width, label),
        };
        Self {
            wide: request(config.width, Label::new(&"operation")),
            narrow: unclaimed(1, Label::new(&"operation")),
            scope: request(config.width, Label::new(&"scope")),
            installed: request(config.width, Label::new(&"install")),
            session: request(config.width, Label::new(&"session")),
            sharing: config.provider.map(|claim| {
                let shared = ProviderClaim::new(claim.key, ClaimKind::SharedOneThread);
                unclaimed(1, Label::new(&"operation")).with_provider(shared)
            }),
        }
    }
}

impl ResourceDomain {
    /// A domain whose threads are ours: the caller's thread alone for a width of 1, else a rayon pool beside it.
    ///
    /// # Errors
    /// [`Error::NoThreads`] for a width of 0; [`Error::Pool`] if the system has no threads for the pool.
    pub fn managed(config: DomainConfig) -> Result<Self> {
        let identity = RuntimeIdentity::fresh();
        let cpus = config.cpus.as_ref().map_or(usize::MAX, CpuSet::len);
        // No grant is wider than what there is: more threads would only be made and never used.
        let executor: Arc<dyn Executor> =
            match config.width.min(cpus).min(config.arbiter.capacity()) {
                0 | 1 => Arc::new(InlineExecutor),
                width => Arc::new(RayonExecutor::new(width, identity)?),
            };
        Self::new(identity, DomainOwnership::Managed, Trust::Ours, config, executor)
    }

    /// A domain whose threads are ours and bound to its CPUs, or to all of the arbiter's; they are read back.
    ///
    /// Everything runs on its workers: a scope or operation is handed to one of them when it is entered, and its
    /// requests take the CPUs by name and alone. The caller's own affinity is never changed.
    ///
    /// # Errors
    /// [`Error::PinnedWidth`] if the width is not the number of CPUs; [`Error::Admission`] if the arbiter can never
    /// grant them all; [`Error::Pool`], [`Error::Pinning`] and [`Error::NotPinned`] if the system does not do it.
    pub fn pinned(config: DomainConfig) -> Result<Self> {
        let cpus = config.cpus.clone().unwrap_or_else(|| config.arbiter.cpus().clone());
        let (width, capacity) = (cpus.len(), config.arbiter.capacity());
        if config.width != width {
            return Err(Error::PinnedWidth { width: config.width, cpus });
        }
        if width > capacity {
            return Err(arbiter::Error::TooWide { min: width, limit: capacity }.into());
        }
        let identity = RuntimeIdentity::fresh();
        let executor = PinnedExecutor::new(&cpus, identity)?;
        let config = DomainConfig { cpus: Some(cpus), ..config };
        Self::new(identity, DomainOwnership::Managed, Trust::Pinned, config, executor)
    }

    /// A domain over an executor of the caller's.
    ///
    /// `Managed` promises that [`Executor::enter`] runs its job on the calling thread, which scopes need. Either way
    /// what the executor runs is audited.
    ///
    /// # Errors
    /// [`Error::NoThreads`] for a width of 0; [`Error::ExecutorTooNarrow`] for one that the executor does not have.
    pub fn with_executor(
        ownership: DomainOwnership,
        config: DomainConfig,
        executor: Arc<dyn Executor>,
    ) -> Result<Self> {
        let has = executor.capabilities().width;
        if config.width > has {
            let (executor, width) = (executor.name(), config.width);
            return Err(Error::ExecutorTooNarrow { executor, width, has });
        }
        Self::new(RuntimeIdentity::fresh(), ownership, Trust::Audited, config, executor)
    }

    fn new(
        identity: RuntimeIdentity,
        ownership: DomainOwnership,
        trust: Trust,
        config: DomainConfig,
        executor: Arc<dyn Executor>,
    ) -> Result<Self> {
        if config.width == 0 {
            return Err(Error::NoThreads);
        }
        let exclusivity = match trust {
            Trust::Pinned => Exclusivity::Exclusive,
            Trust::Ours | Trust::Audited => Exclusivity::Shared,
        };
        Ok(Self {
            identity,
            ownership,
            trust,
            width: config.width,
            executor,
            requests: Requests::new(&config, exclusivity),
            arbiter: config.arbiter,
            entered: AtomicBool::new(false),
            fan_outs: AtomicU64::new(0),
        })
    }

    /// Which runtime this domain is.
    #[must_use]
    pub fn identity(&self) -> RuntimeIdentity {
        self.identity
    }

    /// Who owns its threads.
    #[must_use]
    pub fn ownership(&self) -> DomainOwnership {
        self.ownership
    }

    /// The most threads an operation may use.
    #[must_use]
    pub fn width(&self) -> usize {
        self.width
    }

    /// Who runs its work.
    #[must_use]
    pub fn executor(&self) -> &dyn Executor {
        &*self.executor
    }

    /// What is known of the CPUs of its threads. What an executor of the caller's says is a declaration.
    #[must_use]
    pub fn affinity(&self) -> Affinity {
        match (self.trust, self.executor.capabilities().affinity) {
            (Trust::Audited, Affinity::Verified) => Affinity::Declared,
            (_, affinity) => affinity,
        }
    }

    /// Who admits to it.
    #[must_use]
    pub fn arbiter(&self) -> &Arc<dyn Arbiter> {
        &self.arbiter
    }

    /// Whether a scope, session or operation of this very domain is active on this thread.
    #[must_use]
    pub fn is_entered(&self) -> bool {
        context::active() == Some(self.identity)
    }

    /// How often an operation was shared out over threads.
    #[must_use]
    pub fn fan_outs(&self) -> u64 {
        self.fan_outs.load(Relaxed)
    }

    pub(super) fn trust(&self) -> Trust {
        self.trust
    }

    pub(super) fn requests(&self) -> &Requests {
        &self.requests
    }

    pub(super) fn count_fan_out(&self) {
        self.fan_outs.fetch_add(1, Relaxed);
    }

    /// Marks a caller-managed domain as entered.
    pub(super) fn enter_exclusively(&self) -> Result<Entered<'_>> {
        if self.entered.swap(true, Ordering::Acquire) {
            return Err(Error::DomainBusy { domain: self.identity });
        }
        Ok(Entered(&self.entered))
    }
}

/// A caller-managed domain that is entered, until this is dropped.
pub(super) struct Entered<'d>(&'d AtomicBool);

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}
