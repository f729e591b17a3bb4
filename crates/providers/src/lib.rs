//! The built-in providers of matrix products, a file each.
//!
//! [`Naive`] is the reference, [`Native`] the default; both do every number dtype. Nothing here reads an environment variable or starts a thread.

mod arithmetic;
mod naive;
mod native;

pub use naive::Naive;
pub use native::Native;
