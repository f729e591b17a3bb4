//! NumPy's file format, versions 1 to 3: what is read, what is written, and what is refused.
//!
//! Headers are parsed and elements decoded by the crate `npyz`; here stand the checks that make a damaged file a refusal
//! and not a wrong tensor. A file holds one array and nothing after it.

mod header;
mod problem;
mod reading;
mod writing;

pub(crate) use header::Order;
pub(crate) use problem::Problem;
pub(crate) use reading::{Array, Input};
pub(crate) use writing::write;
