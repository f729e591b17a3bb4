//! The CPU backend: builder, execution scopes, sessions and diagnostics.
//!
//! This facade is the only crate that names a concrete arbiter, executor, engine and provider. It has no kernel and
//! makes no admission: it puts the parts together and hands calls on.
#![forbid(unsafe_code)]

mod backend;
mod builder;
mod calibration;
mod choices;
mod diagnostics;
mod lanes;
#[cfg(feature = "loaded")]
mod libraries;
#[cfg(not(feature = "loaded"))]
#[path = "no_libraries.rs"]
mod libraries;
mod memory;

pub use backend::CpuBackend;
pub use builder::CpuBackendBuilder;
pub use diagnostics::{AbsentProvider, Diagnostics, ProviderInfo};
/// How long the opening of a scope waits, and what ends the wait.
pub use tenferro_arbiter::{CancelToken, Patience};
/// BLAS libraries that a backend loads: which ones, and how they are used.
#[cfg(feature = "loaded")]
pub use tenferro_provider::foreign::Threading;
#[cfg(feature = "loaded")]
pub use tenferro_providers::loaded;
/// How many lanes a scope is divided into, and which one a closure runs in.
pub use tenferro_scope::{Lane, LaneCount};
/// What a call on a backend refuses: the error of tensors.
pub use tenferro_tensor::{Error, Result};
