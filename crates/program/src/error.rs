//! What can go wrong with a program.

use std::{panic::Location, sync::Arc};

use tenferro_ops::Meta;

use crate::{Misfit, Problem};

/// The result of making, transforming or running a program.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a program could not be made, transformed or run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A step of a trace does not fit.
    #[error("`{op}` of {} at {location}: {source}", list(operands))]
    Step {
        /// The operation.
        op: &'static str,
        /// The dtypes and shapes of its operands.
        operands: Vec<Meta>,
        /// Where the trace called it.
        location: &'static Location<'static>,
        /// What it refused.
        source: tenferro_tensor::Error,
    },
    /// The parts of a loop, a choice or a call do not fit.
    #[error("`{op}`{}: {source}", at(*location))]
    Control {
        /// The operation.
        op: &'static str,
        /// Where the trace called it, if it was traced.
        location: Option<&'static Location<'static>>,
        /// What does not fit.
        source: Misfit,
    },
    /// A value of one trace was used in another.
    #[error(
        "`{op}` at {location} has a value of another trace, or of a closure that has returned; pass it in as an input, or return it"
    )]
    ForeignValue {
        /// The operation.
        op: &'static str,
        /// Where the trace called it.
        location: &'static Location<'static>,
    },
    /// A text is no program.
    #[error("line {line}, column {column}: {problem}")]
    Parse {
        /// The line, from 1.
        line: usize,
        /// The column, in characters, from 1.
        column: usize,
        /// What is wrong there.
        #[source]
        problem: Problem,
    },
    /// A program was run on another number of inputs than it has.
    #[error("the program has {expected} inputs and was given {actual}")]
    InputCount {
        /// The program's inputs.
        expected: usize,
        /// What was given.
        actual: usize,
    },
    /// An input is not of the dtype and shape that the program was traced for.
    #[error(
        "input {input} is {} and the program was traced for {}; trace it again for these shapes",
        describe(actual),
        describe(expected)
    )]
    InputMismatch {
        /// The number of the input.
        input: usize,
        /// What the program was traced for.
        expected: Box<Meta>,
        /// What was given.
        actual: Box<Meta>,
    },
    /// A program was run into another number of outputs than it has results.
    #[error("the program has {expected} results and was given {actual} outputs")]
    OutputCount {
        /// The program's results.
        expected: usize,
        /// What was given.
        actual: usize,
    },
    /// An output is not of the dtype and shape of the result.
    #[error("output {output} is {} and the result is {}", describe(actual), describe(expected))]
    OutputMismatch {
        /// The number of the output.
        output: usize,
        /// What the result is.
        expected: Box<Meta>,
        /// What was given.
        actual: Box<Meta>,
    },
    /// Elements of an output are also those of an input or of another output.
    #[error("output {output} shares elements with {other}; give it memory of its own")]
    Overlap {
        /// The number of the output.
        output: usize,
        /// What it shares them with, such as "input 0".
        other: String,
    },
    /// An input does not fit the dtype and extents that a template takes.
    #[error("input {input} is {} and it has to be {expected}", describe(actual))]
    PatternMismatch {
        /// The number of the input.
        input: usize,
        /// What the template takes, as it prints it.
        expected: String,
        /// What was given.
        actual: Box<Meta>,
    },
    /// Two extents that are the size of one named axis differ.
    #[error(
        "axis `{axis}` is {first} in input {first_input} and {second} in input {second_input}; give it one size"
    )]
    AxisMismatch {
        /// The name of the axis.
        axis: Arc<str>,
        /// Its size where it occurs first.
        first: usize,
        /// The input where that is.
        first_input: usize,
        /// The other size.
        second: usize,
        /// The input that has it.
        second_input: usize,
    },
    /// A computation is not the same for all sizes of its named axes.
    #[error("{reason}")]
    NoTemplate {
        /// What depends on sizes in a way that a template cannot say, or which name is none.
        reason: String,
    },
    /// What a template makes an extent of is no extent at these sizes.
    #[error("{extent} is no extent with {sizes}")]
    NoExtent {
        /// As the template prints it.
        extent: String,
        /// The sizes of named axes.
        sizes: String,
    },
    /// A template does not fit some sizes of its named axes.
    #[error("with {sizes}: {source}")]
    AtSizes {
        /// The sizes.
        sizes: String,
        /// What does not fit.
        source: Box<Error>,
    },
    /// A gradient was asked of a program whose result is not one real number.
    #[error(
        "a gradient is that of one real scalar result, and the program has {}; sum the result, or use `vjp`",
        list(outputs)
    )]
    NoScalar {
        /// The results of the program.
        outputs: Vec<Meta>,
    },
    /// An operation was refused, by a rule or by the engine.
    #[error(transparent)]
    Tensor(#[from] tenferro_tensor::Error),
}

fn at(location: Option<&'static Location<'static>>) -> String {
    location.map(|location| format!(" at {location}")).unwrap_or_default()
}

/// Dtype and extents, as programs print them.
pub(super) fn describe(meta: &Meta) -> String {
    let extents: Vec<String> = meta.shape.iter().map(usize::to_string).collect();
    format!("{}[{}]", meta.dtype, extents.join(", "))
}

fn list(metas: &[Meta]) -> String {
    if metas.is_empty() {
        return "no operand".into();
    }
    metas.iter().map(describe).collect::<Vec<_>>().join(", ")
}
