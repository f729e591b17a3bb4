//! Programs as text: printed so that they read back as they were.

mod literal;
mod parser;
mod print;
mod problem;
mod reader;
mod tree;

pub(super) use literal::written;
pub use parser::Parser;
pub(super) use print::{control_parameters, control_tree, parameter_tree, parameters};
pub use problem::Problem;
pub(super) use tree::{Tree, parameter, primitive};

/// Whether an axis of a template can have this name, so that no text has two meanings.
pub(super) fn is_axis_name(name: &str) -> bool {
    print::is_identifier(name) && !name.contains('.') && !tree::is_word(name)
}
