//! The parameters that operations take beside tensors.

use std::ops::Deref;

use smallvec::SmallVec;

use crate::list::{INLINE_RANK, List};

/// A short list of axes, extents or positions, kept inline for small ranks.
///
/// Operations take `impl Into<Indices>`: arrays, slices and vectors of `usize`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Indices(List);

impl Deref for Indices {
    type Target = [usize];

    #[inline]
    fn deref(&self) -> &[usize] {
        &self.0
    }
}

impl From<&[usize]> for Indices {
    fn from(indices: &[usize]) -> Self {
        Self(List::new(indices))
    }
}

impl<const N: usize> From<[usize; N]> for Indices {
    fn from(indices: [usize; N]) -> Self {
        Self(List::new(&indices))
    }
}

impl<const N: usize> From<&[usize; N]> for Indices {
    fn from(indices: &[usize; N]) -> Self {
        Self(List::new(indices))
    }
}

impl From<Vec<usize>> for Indices {
    fn from(indices: Vec<usize>) -> Self {
        Self(List::new(&indices))
    }
}

impl FromIterator<usize> for Indices {
    fn from_iter<I: IntoIterator<Item = usize>>(indices: I) -> Self {
        let indices: SmallVec<[usize; INLINE_RANK]> = indices.into_iter().collect();
        Self(List::new(&indices))
    }
}

/// What becomes of the axes that a reduction runs over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum KeepAxes {
    /// They are gone from the result.
    #[default]
    Drop,
    /// They stay with extent 1, so that the result broadcasts against the operand.
    Keep,
}

/// What is made of the exponentials over axes, which composites do by many primitives and an engine may do at once.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Exponentials {
    /// What is made of them.
    pub form: ExponentialForm,
    /// The axes whose exponentials are summed.
    pub axes: Indices,
}

/// What is made of exponentials and their sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ExponentialForm {
    /// The logarithm of their sum: `logsumexp`.
    LogOfSum(KeepAxes),
    /// Each divided by their sum: `softmax`.
    Shares,
    /// The logarithms of these: `log_softmax`.
    LogOfShares,
}

/// Which relation `compare` tests. Any comparison with NaN is false but `Ne`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Comparison {
    /// Equal.
    Eq,
    /// Not equal.
    Ne,
    /// Less.
    Lt,
    /// Less or equal.
    Le,
    /// Greater.
    Gt,
    /// Greater or equal.
    Ge,
}

/// Which whole number `round` takes halfway between two.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Ties {
    /// The even one, as IEEE 754 rounds by default.
    #[default]
    Even,
    /// The one further from 0.
    Away,
}

/// How many elements `pad` puts before, after and between the elements of each axis.
///
/// Edges may be negative, which removes elements; the interior may not.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Padding(Vec<AxisPadding>);

/// The padding of one axis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct AxisPadding {
    /// Elements before the first; negative removes.
    pub low: isize,
    /// Elements after the last; negative removes.
    pub high: isize,
    /// Elements between neighbours.
    pub interior: usize,
}

impl Deref for Padding {
    type Target = [AxisPadding];

    fn deref(&self) -> &[AxisPadding] {
        &self.0
    }
}

impl From<&[(isize, isize, usize)]> for Padding {
    /// One `(low, high, interior)` an axis.
    fn from(axes: &[(isize, isize, usize)]) -> Self {
        Self(
            axes.iter().map(|&(low, high, interior)| AxisPadding { low, high, interior }).collect(),
        )
    }
}

impl<const N: usize> From<[(isize, isize, usize); N]> for Padding {
    fn from(axes: [(isize, isize, usize); N]) -> Self {
        Self::from(&axes[..])
    }
}

/// Whether an operand is conjugated while it is read. Without effect on real dtypes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Conjugation {
    /// Elements as they are.
    #[default]
    Plain,
    /// The complex conjugate of each element.
    Conjugated,
}

/// Where the batch axes of a contraction's result stand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum BatchPosition {
    /// First, as NumPy's `matmul` has them.
    #[default]
    Leading,
    /// Last, where column-major order keeps each product of the batch in one piece.
    Trailing,
}

/// Which axes a general product sums over and which it walks in step.
///
/// The result has the batch axes, the free axes of the left operand in order, then those of the right one; with
/// [`BatchPosition::Trailing`] the batch axes come last.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Contraction {
    /// Axes of the left operand that are summed over, in step with `rhs_contracting`.
    pub lhs_contracting: Indices,
    /// Axes of the right operand that are summed over.
    pub rhs_contracting: Indices,
    /// Axes of the left operand that index the batch, in step with `rhs_batch`.
    pub lhs_batch: Indices,
    /// Axes of the right operand that index the batch.
    pub rhs_batch: Indices,
    /// Where the result has its batch axes.
    pub batch: BatchPosition,
    /// Whether the left operand is conjugated.
    pub lhs: Conjugation,
    /// Whether the right operand is conjugated.
    pub rhs: Conjugation,
}

impl Contraction {
    /// The contraction over these pairs of axes, without batch axes and conjugation.
    #[must_use]
    pub fn over(lhs: impl Into<Indices>, rhs: impl Into<Indices>) -> Self {
        Self { lhs_contracting: lhs.into(), rhs_contracting: rhs.into(), ..Self::default() }
    }
}

/// How a reduction or a scatter gathers elements into one: associative and commutative up to
/// rounding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Combiner {
    /// The sum of numbers; 0 over nothing.
    Sum,
    /// The product of numbers; 1 over nothing.
    Prod,
    /// The largest of real numbers, NaN if there is one; the lowest number over nothing.
    Max,
    /// The smallest of real numbers, NaN if there is one; the highest number over nothing.
    Min,
    /// The conjunction of truth values, or of the bits of integers; true, or all bits, over nothing.
    And,
    /// The disjunction of truth values, or of the bits of integers; false, or 0, over nothing.
    Or,
    /// The parity of truth values, or of the bits of integers; false, or 0, over nothing.
    Xor,
}

/// Whether an element counts for its own place of a scan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Boundary {
    /// Each place has the elements up to its own.
    #[default]
    Inclusive,
    /// Each place has the elements before its own; the first has none.
    Exclusive,
}

/// From which end of an axis a scan starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Direction {
    /// From index 0 upwards.
    #[default]
    Forward,
    /// From the last index downwards.
    Reverse,
}

/// How a scan runs along its axis; by default inclusive, from index 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Sweep {
    /// Whether an element counts for its own place.
    pub boundary: Boundary,
    /// Where the scan starts.
    pub direction: Direction,
}

impl From<Boundary> for Sweep {
    fn from(boundary: Boundary) -> Self {
        Self { boundary, ..Self::default() }
    }
}

impl From<Direction> for Sweep {
    fn from(direction: Direction) -> Self {
        Self { direction, ..Self::default() }
    }
}

/// Which elements a sort puts first. Either way equal elements stay in the order in which they came.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum SortOrder {
    /// The least first, NaN last.
    #[default]
    Ascending,
    /// NaN first, then the greatest.
    Descending,
}
