//! The built-in providers of matrix products, a file or a folder each.
//!
//! [`Naive`] is the reference, [`Native`] the default; both do every number dtype. With the feature `loaded` the module
//! `loaded` finds BLAS and LAPACK libraries at run time. Nothing here reads an environment variable or starts a thread.

mod arithmetic;
#[cfg(feature = "linalg")]
mod linalg;
#[cfg(not(feature = "linalg"))]
#[path = "linalg_disabled.rs"]
mod linalg;
#[cfg(feature = "loaded")]
pub mod loaded;
mod naive;
mod native;

pub use naive::Naive;
pub use native::Native;

/// The libraries that the feature `loaded` knows by name: each is a provider once it is asked for and found.
pub const LOADABLE: [&str; 3] = ["mkl", "openblas", "blis"];
