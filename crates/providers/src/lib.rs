//! The built-in providers of matrix products, a file each.
//!
//! [`Naive`] is the reference, [`Native`] the default; both do every number dtype. Nothing here reads an environment variable or starts a thread.

mod arithmetic;
#[cfg(feature = "linalg")]
mod linalg;
#[cfg(not(feature = "linalg"))]
#[path = "linalg_disabled.rs"]
mod linalg;
mod naive;
mod native;

pub use naive::Naive;
pub use native::Native;
