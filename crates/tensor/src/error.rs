//! Everything that can be refused, with the facts that explain it.
//!
//! The facts of a wrong argument are a [`Validation`]; an [`Error`] adds which operation refused it. Errors of the
//! execution core arrive as [`Error::BackendSource`] with their typed source.

use std::fmt;

use crate::{DType, shape::write_tuple};

/// The result of a tensor operation.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Dims as an error reports them.
#[derive(Clone, PartialEq, Eq)]
pub struct Dims(Box<[usize]>);

impl From<&[usize]> for Dims {
    fn from(extents: &[usize]) -> Self {
        Self(extents.into())
    }
}

impl std::ops::Deref for Dims {
    type Target = [usize];

    fn deref(&self) -> &[usize] {
        &self.0
    }
}

impl fmt::Display for Dims {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_tuple(f, &self.0)
    }
}

impl fmt::Debug for Dims {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Why an operation was refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An argument does not fit the operation; nothing was computed.
    #[error("{op}: {problem}")]
    Validation {
        /// The operation that refused.
        op: &'static str,
        /// What does not fit. Boxed, because every result of an operation carries the room for its error.
        problem: Box<Validation>,
    },
    /// A computation has no result in its dtype, such as an integer division by zero.
    #[error("{op}: {problem}")]
    NumericalFailure {
        /// The operation that failed.
        op: &'static str,
        /// What has no result.
        problem: Numerical,
    },
    /// The execution state of this thread does not allow the operation now.
    #[error("{op}: {reason}")]
    RuntimeState {
        /// The operation that was refused.
        op: &'static str,
        /// What is active, and the way out.
        reason: Box<str>,
    },
    /// This engine, domain or dtype does not have the operation.
    #[error("{op}: {reason}")]
    Unsupported {
        /// The operation that is not there.
        op: &'static str,
        /// What is missing, and the way out.
        reason: Box<str>,
    },
    /// The execution core failed; the source says how and can be downcast.
    #[error("{op}: {source}")]
    BackendSource {
        /// The operation that failed.
        op: &'static str,
        /// The typed error of the execution core.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The allocator has no memory for a result.
    #[error("{op}: no memory for {bytes} bytes")]
    OutOfMemory {
        /// The operation whose result did not fit.
        op: &'static str,
        /// The bytes that were asked for.
        bytes: usize,
    },
}

impl Error {
    /// What does not fit about an argument, if that is what was refused.
    #[must_use]
    pub fn validation(&self) -> Option<&Validation> {
        match self {
            Error::Validation { problem, .. } => Some(problem),
            _ => None,
        }
    }

    /// Which operation refused.
    #[must_use]
    pub fn op(&self) -> &'static str {
        match self {
            Error::Validation { op, .. }
            | Error::NumericalFailure { op, .. }
            | Error::RuntimeState { op, .. }
            | Error::Unsupported { op, .. }
            | Error::BackendSource { op, .. }
            | Error::OutOfMemory { op, .. } => op,
        }
    }
}

/// What does not fit about an argument.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Validation {
    /// Two operands must have one dtype; there is no silent promotion.
    #[error("dtypes {lhs} and {rhs} differ; convert one of them first")]
    DTypeMismatch {
        /// The first operand's dtype.
        lhs: DType,
        /// The other operand's dtype.
        rhs: DType,
    },
    /// An element type was asked for that is not the tensor's.
    #[error("the tensor holds {actual}, not {requested}; convert it first")]
    WrongDType {
        /// The tensor's dtype.
        actual: DType,
        /// The dtype asked for.
        requested: DType,
    },
    /// The operation has no meaning for this dtype.
    #[error("not defined for {dtype}; {expected}")]
    MeaninglessDType {
        /// The operand's dtype.
        dtype: DType,
        /// Which dtypes would do.
        expected: &'static str,
    },
    /// The bits of one dtype are not those of another.
    #[error(
        "the bits of {from} are no {to}; use a dtype of the same size that is not bool, or convert"
    )]
    Bitcast {
        /// The operand's dtype.
        from: DType,
        /// The dtype asked for.
        to: DType,
    },
    /// Shapes do not broadcast: right-aligned extents differ and neither is 1.
    #[error("shapes {lhs} and {rhs} do not broadcast")]
    Broadcast {
        /// The first shape.
        lhs: Dims,
        /// The other shape.
        rhs: Dims,
    },
    /// Two shapes must be equal.
    #[error("shapes {lhs} and {rhs} differ")]
    ShapeMismatch {
        /// The first shape, or the one expected.
        lhs: Dims,
        /// The other shape, or the one given.
        rhs: Dims,
    },
    /// The product of extents cannot be represented.
    #[error("shape {shape} has more elements than can be addressed")]
    SizeOverflow {
        /// The shape that is too large.
        shape: Dims,
    },
    /// Data and shape have different numbers of elements.
    #[error("shape {shape} needs {expected} elements, but there are {actual}")]
    ElementCount {
        /// The shape.
        shape: Dims,
        /// The number of elements the shape has.
        expected: usize,
        /// The number of elements given.
        actual: usize,
    },
    /// An axis does not exist.
    #[error("axis {axis} does not exist in shape {shape}")]
    AxisOutOfRange {
        /// The axis.
        axis: usize,
        /// The shape.
        shape: Dims,
    },
    /// An axis is named twice.
    #[error("axis {axis} is named twice")]
    DuplicateAxis {
        /// The axis.
        axis: usize,
    },
    /// A list does not have one entry for each axis, or one for each of another list.
    #[error("{what} has {actual} entries where {expected} are needed")]
    WrongLength {
        /// The list.
        what: &'static str,
        /// The number of entries needed.
        expected: usize,
        /// The number of entries given.
        actual: usize,
    },
    /// Two extents that must agree do not.
    #[error("{what}: extents {lhs} and {rhs} differ in shapes {lhs_shape} and {rhs_shape}")]
    ExtentMismatch {
        /// Which extents must agree.
        what: &'static str,
        /// The first extent.
        lhs: usize,
        /// The other extent.
        rhs: usize,
        /// The first operand's shape.
        lhs_shape: Dims,
        /// The other operand's shape.
        rhs_shape: Dims,
    },
    /// A slice leaves its axis, runs backwards or does not advance.
    #[error(
        "slice {start}..{limit} with stride {stride} of axis {axis} with extent {extent}: {rule}"
    )]
    Slice {
        /// The axis.
        axis: usize,
        /// The first index.
        start: usize,
        /// One past the last index.
        limit: usize,
        /// The distance between indices.
        stride: usize,
        /// The extent of the axis.
        extent: usize,
        /// The rule that is broken.
        rule: &'static str,
    },
    /// An index leaves its axis.
    #[error("index {index} is outside of axis {axis} with extent {extent}")]
    IndexOutOfRange {
        /// The index.
        index: i64,
        /// The axis.
        axis: usize,
        /// The extent of the axis.
        extent: usize,
    },
    /// The operation has no result for an empty axis.
    #[error("no {what} over axis {axis} of shape {shape}, which is empty")]
    EmptyReduction {
        /// What was asked for.
        what: &'static str,
        /// The empty axis.
        axis: usize,
        /// The operand's shape.
        shape: Dims,
    },
    /// The operation needs at least one operand.
    #[error("needs at least one operand")]
    NoOperands,
    /// Elements are not next to each other in column-major order.
    #[error("the view of shape {shape} is not dense; copy it with to_tensor first")]
    NotDense {
        /// The view's shape.
        shape: Dims,
    },
    /// Two elements of a destination share memory.
    #[error(
        "cannot write through a view of shape {shape} whose elements share memory; copy it with to_tensor first"
    )]
    OverlappingDestination {
        /// The view's shape.
        shape: Dims,
    },
    /// A view would leave its data.
    #[error("a view of shape {shape} with these strides leaves its {elements} elements")]
    OutOfBounds {
        /// The view's shape.
        shape: Dims,
        /// The number of elements of the data.
        elements: usize,
    },
    /// Any other broken rule.
    #[error("{rule}")]
    Rule {
        /// The rule that is broken.
        rule: &'static str,
    },
}

impl Validation {
    /// This problem, found by the operation named.
    #[must_use]
    #[cold]
    pub fn of(self, op: &'static str) -> Error {
        Error::Validation { op, problem: Box::new(self) }
    }
}

/// What has no result in its dtype.
// Aligned like the facts of other errors, so that the tag of an [`Error`] is a whole word: every result of an operation has
// one, and copying the bytes beside a shorter tag waits for the store of the tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[repr(align(8))]
pub enum Numerical {
    /// An integer was divided by zero.
    #[error("division of {dtype} by zero")]
    DivisionByZero {
        /// The dtype of the operands.
        dtype: DType,
    },
    /// An integer was raised to a negative power.
    #[error("negative exponent of {dtype}")]
    NegativeExponent {
        /// The dtype of the operands.
        dtype: DType,
    },
}

impl Numerical {
    /// This failure, met by the operation named.
    #[must_use]
    pub fn of(self, op: &'static str) -> Error {
        Error::NumericalFailure { op, problem: self }
    }
}
