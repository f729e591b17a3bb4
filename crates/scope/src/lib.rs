//! Resource domains, executors and execution scopes: how a call gets its CPUs and keeps them.
//!
//! A [`ResourceDomain`] is the right to use some CPUs through one executor, admitted by one arbiter. An operation is
//! admitted by the domain ([`ResourceDomain::admit`]): inside of an execution scope of its own domain it shares the
//! scope's permit, anywhere else it takes a permit of its own. What this crate names of arbiters and providers are
//! their abstractions; it knows no kernel, no tensor and no concrete BLAS.
//!
//! Invariant: a thread runs at most one operation at a time, and whatever cannot be admitted is refused before it
//! could block.
#![forbid(unsafe_code)]

mod admission;
mod audit;
mod brief;
mod context;
mod domain;
mod error;
mod execution;
mod executor;
mod identity;
mod inline;
mod lanes;
mod pinned_pool;
mod pool;
mod rayon_pool;
mod spans;
mod sync;
mod workers;

pub use admission::{Breadth, ExecutionAdmission, OperationEntry, OperationGuard};
pub use context::{current_owner, has_active_execution};
pub use domain::{DomainConfig, DomainOwnership, ResourceDomain, WaitLimit};
pub use error::{Error, Result};
pub use executor::{Affinity, Executor, ExecutorCapabilities, ExecutorFault};
pub use identity::RuntimeIdentity;
pub use inline::InlineExecutor;
pub use lanes::{Lane, LaneCount};
pub use pinned_pool::PinnedExecutor;
pub use rayon_pool::RayonExecutor;
pub use workers::GrantedWorkers;
