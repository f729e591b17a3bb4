//! Kernels, buffer pool and scheduling inside a grant.
//!
//! A [`CpuEngine`] carries out the vocabulary: it has each operation admitted by its domain, takes memory from its pool
//! and runs kernels with the threads that were granted. It knows no concrete arbiter, executor or provider.
//!
//! Invariant: no lock is held while a kernel or a closure of the caller's runs.

mod calibration;
mod donation;
mod engine;
mod error;
mod kernel;
mod lanes;
mod pool;
mod region;
mod schedule;
mod session;

pub use engine::CpuEngine;
pub use error::refused;
pub use kernel::has_default_float_state;
pub use pool::{BufferPool, PoolStatistics};
pub use schedule::Mode;
