//! Programs as text: printed so that they read back as they were.

mod literal;
mod parser;
mod print;
mod problem;
mod tree;

pub use parser::Parser;
pub(super) use print::{control_parameters, parameters};
pub use problem::Problem;
