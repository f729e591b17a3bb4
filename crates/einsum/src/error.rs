//! What einsum refuses, with the facts that explain it.
//!
//! Everything about subscripts, extents and paths is refused before any engine is called. What an engine refuses comes
//! through unchanged as [`Error::Tensor`].

use tenferro_tensor::DType;

use crate::Label;

/// The result of an einsum.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why an einsum was refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The text does not say what the result keeps.
    #[error(
        "subscripts \"{text}\" have no arrow; say what the result keeps, as in \"ij,jk->ik\", or nothing to sum over all: \"ij->\""
    )]
    NoArrow {
        /// The subscripts.
        text: String,
    },
    /// A character that cannot be a label.
    #[error(
        "'{character}' at character {position} of subscripts \"{text}\" is no label; write inputs separated by commas, one arrow \"->\" and \"...\" for axes without a label"
    )]
    BadCharacter {
        /// The subscripts.
        text: String,
        /// The character.
        character: char,
        /// How many characters come before it.
        position: usize,
    },
    /// A label of the programmatic form that the text form could not say.
    #[error("{character:?} is no label; take another character or a number")]
    BadLabel {
        /// The character.
        character: char,
    },
    /// Two ellipses in one term.
    #[error("{term} has more than one ellipsis; one stands for all axes without a label")]
    ManyEllipses {
        /// Which operand, or the output.
        term: Term,
    },
    /// A label of the output that no operand has.
    #[error(
        "label {label} of the output is in no operand; only a label of an operand has an extent"
    )]
    UnknownOutputLabel {
        /// The label.
        label: Label,
    },
    /// There is nothing to contract.
    #[error("there are no operands; einsum needs at least one")]
    NoOperands,
    /// Subscripts and operands differ in number.
    #[error("subscripts \"{subscripts}\" are for {expected} operands, but there are {actual}")]
    OperandCount {
        /// The subscripts.
        subscripts: String,
        /// The operands that the subscripts describe.
        expected: usize,
        /// The operands given.
        actual: usize,
    },
    /// An operand's labels do not cover its axes.
    #[error(
        "operand {operand} has rank {rank}, but its subscripts \"{labels}\" are for {wanted} {named}; every axis needs a label, or an ellipsis"
    )]
    LabelCount {
        /// The operand's position.
        operand: usize,
        /// The operand's part of the subscripts.
        labels: String,
        /// `exactly` or `at least`.
        wanted: &'static str,
        /// How many axes the labels name.
        named: usize,
        /// How many axes the operand has.
        rank: usize,
    },
    /// A label stands for two extents. Only an ellipsis broadcasts.
    #[error(
        "label {label} has extent {lhs} in operand {lhs_operand} and {rhs} in operand {rhs_operand}; a label has one extent everywhere, only an ellipsis broadcasts"
    )]
    ExtentMismatch {
        /// The label.
        label: Label,
        /// The operand that had the label first.
        lhs_operand: usize,
        /// Its extent.
        lhs: usize,
        /// The operand that disagrees; the same one if the label is repeated there.
        rhs_operand: usize,
        /// Its extent.
        rhs: usize,
    },
    /// The axes of two ellipses do not broadcast.
    #[error(
        "axis {from_last} from the last of the ellipsis has extent {lhs} in operand {lhs_operand} and {rhs} in operand {rhs_operand}; they must agree or be 1"
    )]
    EllipsisMismatch {
        /// The axis of the ellipsis, 1 for the last.
        from_last: usize,
        /// The operand that had the axis first.
        lhs_operand: usize,
        /// Its extent.
        lhs: usize,
        /// The operand that disagrees.
        rhs_operand: usize,
        /// Its extent.
        rhs: usize,
    },
    /// The operands' ellipses stand for axes, and the output has none.
    #[error(
        "the ellipsis stands for axes ({axes}) that the output does not keep; write \"...\" in the output, or labels to sum them"
    )]
    LostEllipsis {
        /// How many axes would be lost.
        axes: usize,
    },
    /// Operands of different dtypes; there is no silent promotion.
    #[error(
        "operand 0 holds {first} and operand {operand} holds {dtype}; convert one of them first"
    )]
    MixedDTypes {
        /// The dtype of the first operand.
        first: DType,
        /// The operand that differs.
        operand: usize,
        /// Its dtype.
        dtype: DType,
    },
    /// The shapes are not those that the plan was made for.
    #[error(
        "operand {operand} does not have the shape that the plan was made for; make a plan for these operands"
    )]
    OtherShape {
        /// The operand that differs.
        operand: usize,
    },
    /// A path of the wrong length.
    #[error("the path has {actual} steps, but {operands} operands are contracted in {expected}")]
    PathLength {
        /// The number of operands.
        operands: usize,
        /// The steps needed: one fewer.
        expected: usize,
        /// The steps given.
        actual: usize,
    },
    /// A step of a path that names no pair of operands.
    #[error(
        "step {step} of the path names positions {first} and {second}, but {length} operands are left then; it needs two different ones of them"
    )]
    PathPosition {
        /// The step, 0 for the first.
        step: usize,
        /// The first position.
        first: usize,
        /// The second position.
        second: usize,
        /// The operands left at that step.
        length: usize,
    },
    /// A tensor operation was refused.
    #[error(transparent)]
    Tensor(#[from] tenferro_tensor::Error),
}

/// Which part of subscripts an error is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Term {
    /// The operand at this position.
    Operand(usize),
    /// The output.
    Output,
}

impl std::fmt::Display for Term {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Term::Operand(position) => write!(f, "operand {position}"),
            Term::Output => f.write_str("the output"),
        }
    }
}

impl From<Error> for tenferro_tensor::Error {
    /// The tensor error as it was; anything else as the typed source of a `BackendSource`.
    fn from(error: Error) -> Self {
        match error {
            Error::Tensor(error) => error,
            other => Self::BackendSource { op: "einsum", source: Box::new(other) },
        }
    }
}
