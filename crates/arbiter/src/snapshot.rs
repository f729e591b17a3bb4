//! What diagnostics see: holders, waiters and counts at one moment. Plain data, no handle.

use std::fmt;
use std::time::Duration;

use crate::cpu_set::CpuSet;
use crate::owner::ExecutionOwner;
use crate::request::{Label, ProviderClaim, ProviderKey};

/// What a permit's holder is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HolderState {
    /// An operation runs.
    Running,
    /// Between operations; what it does not keep may be taken by others.
    Idle,
    /// Its thread has ended without releasing it: leaked.
    Leaked,
    /// Granted to a future that has not come for it yet; it is not kept for long.
    Granted,
}

/// One permit.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct HolderInfo {
    /// The request's name.
    pub label: Label,
    /// The permit's identity.
    pub owner: ExecutionOwner,
    /// The CPUs that its running operation uses, or that it has at hand while idle.
    pub width: usize,
    /// What it is doing.
    pub state: HolderState,
    /// Whether its width is not covered by a CPU of its own.
    pub overcommitted: bool,
    /// The CPU set it is restricted to, if it is.
    pub cpus: Option<CpuSet>,
    /// The provider it claims, if it does.
    pub provider: Option<ProviderClaim>,
    /// How long ago a waiter or a snapshot first saw this permit.
    pub age: Duration,
    /// Name or number of the thread.
    pub thread: String,
}

impl fmt::Display for HolderInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = match self.state {
            HolderState::Running => "running",
            HolderState::Idle => "idle",
            HolderState::Leaked => "leaked",
            HolderState::Granted => "granted",
        };
        let plural = if self.width == 1 { "" } else { "s" };
        write!(f, "\"{}\" ({} CPU{plural}, {state}", self.label, self.width)?;
        write!(f, ", seen for {:.1?}, thread {}, owner {})", self.age, self.thread, self.owner)
    }
}

/// What a waiter waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WaitReason {
    /// Enough CPUs.
    Cpus,
    /// The CPUs of its set.
    CpuSet,
    /// A provider that another permit claims.
    Provider(ProviderKey),
    /// Waiters that came before and that it would delay.
    OlderWaiters,
    /// Its own future: it was granted CPUs, did not come for them, and others run until it does.
    Poll,
}

/// One waiting request.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct WaiterInfo {
    /// The request's name.
    pub label: Label,
    /// The fewest CPUs it needs.
    pub min: usize,
    /// The most it would use.
    pub max: usize,
    /// The CPU set it is restricted to, if it is.
    pub cpus: Option<CpuSet>,
    /// The provider it claims, if it does.
    pub provider: Option<ProviderClaim>,
    /// What it waits for.
    pub reason: WaitReason,
    /// How long it has waited.
    pub waited: Duration,
    /// Name or number of the thread.
    pub thread: String,
}

/// Counts since the arbiter was made. They only grow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Statistics {
    /// Admissions, releases, loans and resumptions that took the lock.
    pub slow_paths: u64,
    /// Threads (more exactly, seats) that were registered.
    pub registrations: u64,
    /// Requests that had to wait, of threads and of futures.
    pub waits: u64,
    /// How often a thread went to sleep for its own request. No future does.
    pub sleeps: u64,
    /// Waiters that were woken.
    pub notifications: u64,
    /// Waiters that were woken with their grant in hand.
    pub hand_offs: u64,
    /// Releases that kept their CPUs although somebody waited, and grants ahead of an older waiter, within the
    /// bypass budget.
    pub passes: u64,
    /// Operations that ran without a CPU of their own.
    pub overcommits: u64,
    /// Waits given up: deadlines, wait limits and cancellations.
    pub refusals: u64,
}

/// An arbiter at one moment.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Snapshot {
    /// The CPUs it governs.
    pub cpus: CpuSet,
    /// How many of them may be used at once.
    pub capacity: usize,
    /// CPUs that nobody has.
    pub free: usize,
    /// CPUs that stay with a thread that last used them and that anybody may take.
    pub parked: usize,
    /// Who holds permits.
    pub holders: Vec<HolderInfo>,
    /// Who waits, oldest first.
    pub waiters: Vec<WaiterInfo>,
    /// Permits that run an operation without a CPU of their own.
    pub overcommitted: usize,
    /// Counts so far.
    pub statistics: Statistics,
}
