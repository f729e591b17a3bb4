//! What is wrong with a text that was meant to be a program.

use tenferro_ops::Meta;

use crate::{Misfit, error::describe};

/// What is wrong with the text of a program, at the place that the error names.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// Something else has to stand here.
    #[error("expected {expected}, found {found}")]
    Expected {
        /// What would be right.
        expected: &'static str,
        /// What is there.
        found: String,
    },
    /// A value is used that no input and no step before it has.
    #[error("there is no value `{name}` before this place")]
    UnknownValue {
        /// The name.
        name: String,
    },
    /// Two values have one name.
    #[error("there is a value `{name}` already")]
    TakenName {
        /// The name.
        name: String,
    },
    /// No operation has this name.
    #[error("there is no operation `{name}`; give the parser custom ones with `Parser::custom`")]
    UnknownOperation {
        /// The name.
        name: String,
    },
    /// The parameters of an operation cannot be read.
    #[error("`{op}`: {reason}")]
    Parameter {
        /// The operation.
        op: String,
        /// What is wrong with them.
        reason: String,
    },
    /// An element of a constant is not of its dtype.
    #[error("`{text}` is no {dtype}")]
    Element {
        /// What is there.
        text: String,
        /// The dtype of the constant.
        dtype: tenferro_tensor::DType,
    },
    /// A constant has more or fewer elements than its shape.
    #[error("the constant has {actual} elements, and its shape {expected}")]
    Elements {
        /// How many the shape has.
        expected: usize,
        /// How many there are.
        actual: usize,
    },
    /// A step has another number of results than it is given names.
    #[error("`{op}` has {actual} results and is given {names} names")]
    Results {
        /// The operation.
        op: String,
        /// How many results it has.
        actual: usize,
        /// How many names stand before it.
        names: usize,
    },
    /// A result is not of the dtype and shape that is written before it.
    #[error("the result is {}, not {}", describe(actual), describe(written))]
    Type {
        /// What it is.
        actual: Box<Meta>,
        /// What the text says.
        written: Box<Meta>,
    },
    /// The operation refuses its operands.
    #[error(transparent)]
    Step(#[from] tenferro_tensor::Error),
    /// Control flow does not fit its operands.
    #[error(transparent)]
    Control(#[from] Misfit),
    /// Programs or parameters are nested too deeply to be read.
    #[error("nested more than {limit} times")]
    Depth {
        /// How deep they may be nested.
        limit: usize,
    },
}
