//! Why an execution was refused. Every text names the way out.

use tenferro_arbiter::{self as arbiter, CpuSet};

use crate::{ExecutorFault, RuntimeIdentity};

/// The result of an admission.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why an operation, a session or a scope was refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A scope was to be opened where one is already open.
    #[error(
        "an execution scope of {open} is already open on this thread; open the scope outside of active scopes, \
         operations inside of one need no other"
    )]
    ScopeActive {
        /// The runtime of the open scope.
        open: RuntimeIdentity,
    },
    /// An operation was called inside of a scope of another backend.
    #[error(
        "an execution scope of {open} is open on this thread, and this backend is {called}; use a clone of the \
         scope's backend inside of it"
    )]
    ForeignScope {
        /// The runtime of the open scope.
        open: RuntimeIdentity,
        /// The runtime that was called.
        called: RuntimeIdentity,
    },
    /// A backend was called from inside of a running operation, session or provider.
    #[error(
        "an operation or session of {running} is running on this thread; call the backend after it has returned, \
         or use the session's own engine"
    )]
    OperationActive {
        /// The runtime whose operation is running.
        running: RuntimeIdentity,
    },
    /// A backend was called from a worker of a managed pool.
    #[error(
        "this thread is a worker of the pool of {pool}, and may not wait for CPUs; call the backend from a plain \
         thread"
    )]
    ManagedWorker {
        /// The runtime that the worker belongs to.
        pool: RuntimeIdentity,
    },
    /// Scopes need an executor that is ours.
    #[error(
        "execution scopes need a managed domain; use ordinary operations on an external domain"
    )]
    ExternalDomain,
    /// A caller-managed domain was entered twice at a time.
    #[error(
        "the caller-managed domain of {domain} is already entered; calls to it must not overlap, so wait for the \
         other call, or give each thread a backend of its own"
    )]
    DomainBusy {
        /// The runtime of the domain.
        domain: RuntimeIdentity,
    },
    /// A setting of a domain makes no sense.
    #[error("a domain needs at least one thread; ask for 1 or more")]
    NoThreads,
    /// Work was to be divided into no lanes.
    #[error("work cannot be divided into no lanes; ask for 1 or more")]
    NoLanes,
    /// More lanes were asked for by number than there are CPUs for them.
    #[error(
        "{lanes} lanes need more CPUs than the scope has, which is {width}; ask for up to so many lanes, or widen the \
         backend"
    )]
    TooManyLanes {
        /// The lanes that were asked for.
        lanes: usize,
        /// The width that they would have to share.
        width: usize,
    },
    /// The system has no thread for a lane. No lane has run.
    #[error("lane {lane} of {lanes} has no thread; ask for fewer lanes")]
    LaneThread {
        /// The number of the lane.
        lane: usize,
        /// The lanes that were asked for.
        lanes: usize,
        /// What the system said.
        source: std::io::Error,
    },
    /// A domain was to be wider than its executor.
    #[error(
        "a domain of {width} threads needs more than the executor \"{executor}\" has, which is {has}; ask for \
         {has} or fewer"
    )]
    ExecutorTooNarrow {
        /// The name of the executor.
        executor: &'static str,
        /// The threads that were asked for.
        width: usize,
        /// The threads that the executor has.
        has: usize,
    },
    /// A pool could not start its threads.
    #[error("the pool of {width} threads could not be started")]
    Pool {
        /// The threads that were asked for.
        width: usize,
        /// What the pool said.
        source: rayon::ThreadPoolBuildError,
    },
    /// A pinned domain was to have another width than its CPUs.
    #[error(
        "a pinned domain has one thread for each of its CPUs, which are {cpus}, and {width} were asked for; leave the \
         number out, or name {width} CPUs"
    )]
    PinnedWidth {
        /// The threads that were asked for.
        width: usize,
        /// The CPUs of the domain.
        cpus: CpuSet,
    },
    /// A worker could not be bound to its CPUs.
    #[error(
        "workers could not be pinned to CPUs {cpus}; leave them floating, or name CPUs that the system allows"
    )]
    Pinning {
        /// The CPUs of the domain.
        cpus: CpuSet,
        /// What the system said.
        source: std::io::Error,
    },
    /// A worker was bound, and is elsewhere all the same.
    #[error(
        "workers pinned to CPUs {cpus} may run on {found}; name CPUs that the system has and allows, or leave them \
         floating"
    )]
    NotPinned {
        /// The CPUs of the domain.
        cpus: CpuSet,
        /// The CPUs that were read back.
        found: CpuSet,
    },
    /// The executor broke its contract, or refused.
    #[error("the executor \"{executor}\" failed")]
    Executor {
        /// The name of the executor.
        executor: &'static str,
        /// What it did.
        source: ExecutorFault,
    },
    /// The arbiter did not grant the CPUs.
    #[error("no CPUs were granted")]
    Admission(#[from] arbiter::Error),
}
