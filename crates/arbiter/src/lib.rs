//! Fair, adaptive admission of every thread pool and BLAS call to the CPUs.
//!
//! An [`Arbiter`] grants CPUs to threads. A thread states a [`Request`] (where, how wide, with which
//! provider) and holds a [`ResourcePermit`] while it computes; a scope keeps one permit and lends
//! its CPUs between operations. Widths shrink under contention, older waiters are not starved,
//! and a grant nobody contends for costs two read-modify-writes on a cache line of the thread's own.
//!
//! The crate knows no thread pool, no BLAS and no tensor: what a permit is used for is not its
//! business. The protocol (state words, transitions, why no wake-up is lost) is in the README beside.

mod admission;
mod affinity;
mod alarm;
mod allowance;
mod allowed;
mod arbiter;
#[cfg(not(any(loom, shuttle)))]
mod bell;
mod cancel;
mod cgroup;
mod clock;
mod cpu_set;
mod dispatch;
mod era;
mod error;
mod fair;
mod home;
mod lane;
mod ledger;
mod locked;
mod matching;
mod once_box;
mod owner;
mod patience;
mod permit;
mod pool;
mod queue;
mod record;
mod request;
mod seat;
mod snapshot;
mod spans;
mod sync;
mod task;
mod topology;
mod trace;
mod turn;
mod waiting;

pub use affinity::{current_affinity, pin_current_thread};
pub use allowed::{AffinitySource, AllowedCpus, Quota, Sizing, allowed_cpus};
pub use arbiter::{Arbiter, process_arbiter};
pub use cancel::CancelToken;
pub use clock::{Clock, SystemClock};
pub use cpu_set::CpuSet;
pub use era::ProcessEra;
pub use error::{Error, Result};
pub use fair::{FairArbiter, Policy};
pub use lane::PermitShare;
pub use owner::ExecutionOwner;
pub use patience::Patience;
pub use permit::ResourcePermit;
pub use record::Recording;
pub use request::{ClaimKind, Exclusivity, Label, ProviderClaim, ProviderKey, Request};
pub use snapshot::{HolderInfo, HolderState, Snapshot, Statistics, WaitReason, WaiterInfo};
pub use task::PermitFuture;
pub use topology::{NumaNode, Topology};
pub use trace::{Span, SpanKind, Trace, WaitOutcome};
