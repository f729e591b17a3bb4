//! The built-in providers of matrix products, a file each.
//!
//! [`Naive`] is the reference for every number dtype. Nothing here reads an environment variable or starts a thread.

mod arithmetic;
mod naive;

pub use naive::Naive;
