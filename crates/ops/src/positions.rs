//! Where slices start: indices read from operands, checked axis by axis.
//!
//! What an engine may do faster it must answer alike: the index that is reported is the first bad one in column-major
//! order.

use smallvec::SmallVec;
use tenferro_tensor::{
    AsOperand, GatherMode, Gathering, Operand, Scalar, ScatterMode, Shape, Validation, dispatch,
};

use crate::running_index::RunningIndex;

/// What becomes of a slice that leaves an axis at its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OutOfRange {
    /// An error.
    Refuse,
    /// It is moved back into the axis.
    Clamp,
    /// It is left out.
    Drop,
}

impl From<GatherMode> for OutOfRange {
    fn from(mode: GatherMode) -> Self {
        match mode {
            GatherMode::Refuse => OutOfRange::Refuse,
            GatherMode::Clamp => OutOfRange::Clamp,
        }
    }
}

impl From<ScatterMode> for OutOfRange {
    fn from(mode: ScatterMode) -> Self {
        match mode {
            ScatterMode::Refuse => OutOfRange::Refuse,
            ScatterMode::Drop => OutOfRange::Drop,
        }
    }
}

/// The start of a slice, one index an axis of the operand.
pub type Start = SmallVec<[usize; 6]>;

/// The elements of an operand of integers, in column-major order; those past i64 are its largest number.
///
/// # Panics
/// If the operand does not hold integers.
#[must_use]
pub fn index_elements(indices: &Operand<'_>) -> Vec<i64> {
    const HOLDS: &str = "invariant: the rules have seen that indices are integers";
    dispatch!(indices.dtype(), integer T => saturated::<T>(indices), else panic!("{HOLDS}"))
}

fn saturated<T: Scalar + TryInto<i64>>(indices: &Operand<'_>) -> Vec<i64> {
    let elements = indices.view().elements::<T>().expect("invariant: the dtype was matched");
    elements.map(|index| index.try_into().unwrap_or(i64::MAX)).collect()
}

impl OutOfRange {
    /// Where along `axis` a slice of `length` of `extent` elements starts; `None` if it is left out.
    fn start(
        self,
        index: i64,
        axis: usize,
        [length, extent]: [usize; 2],
    ) -> Result<Option<usize>, Validation> {
        let Ok(wanted) = usize::try_from(index) else {
            return Err(Validation::IndexOutOfRange { index, axis, extent });
        };
        let last = extent.checked_sub(length);
        match (self, last) {
            (_, Some(last)) if wanted <= last => Ok(Some(wanted)),
            (OutOfRange::Clamp, Some(last)) => Ok(Some(last)),
            (OutOfRange::Drop, _) => Ok(None),
            _ => {
                // The last element of the slice is the one that is not there.
                let past = i64::try_from(length.saturating_sub(1)).unwrap_or(i64::MAX);
                let index = index.saturating_add(past);
                Err(Validation::IndexOutOfRange { index, axis, extent })
            }
        }
    }
}

/// Where a part of an operand of shape `x` starts, by an index an axis.
///
/// # Errors
/// [`Validation::IndexOutOfRange`] for a negative index, or one past the last place where the part fits.
pub fn part_starts(
    x: &[usize],
    part: &[usize],
    starts: &Operand<'_>,
    mode: OutOfRange,
) -> Result<Start, Validation> {
    index_elements(starts)
        .into_iter()
        .enumerate()
        .map(|(axis, index)| {
            let start = mode.start(index, axis, [part[axis], x[axis]])?;
            Ok(start.expect("invariant: parts are not left out"))
        })
        .collect()
}

/// The starts of the slices of a gathering from an operand of shape `x`, in column-major order of the axes that number
/// them; `None` for one that is left out.
///
/// # Errors
/// [`Validation::IndexOutOfRange`] for a negative index, or one past the last place where the slice fits, unless it is
/// clamped or left out.
pub fn slice_starts(
    gathering: &Gathering,
    x: &Shape,
    indices: &Operand<'_>,
    mode: OutOfRange,
) -> Result<Vec<Option<Start>>, Validation> {
    let components = gathering.component_axis;
    // Components first, so that the components of an index are neighbours.
    let mut order: Vec<usize> =
        (0..indices.shape().rank()).filter(|&axis| axis != components).collect();
    let numbering: Vec<usize> = order.iter().map(|&axis| indices.shape()[axis]).collect();
    let number_of = |axis: &usize| order.iter().position(|other| other == axis);
    let batch: Vec<Option<usize>> = gathering.index_batch_axes.iter().map(number_of).collect();
    if components < indices.shape().rank() {
        order.insert(0, components);
    }
    let permuted =
        indices.view().permute(&order).expect("invariant: the order names each axis once");
    let elements = index_elements(&permuted.as_operand());
    let numbering = Shape::new(&numbering)?;
    let count = gathering.start_axes.len();
    let mut number = RunningIndex::of(&numbering);
    let mut starts = Vec::with_capacity(numbering.elements());
    for at in 0..numbering.elements() {
        let mut start: Option<Start> = Some(SmallVec::from_elem(0, x.rank()));
        for (component, &axis) in gathering.start_axes.iter().enumerate() {
            let lengths = [gathering.slice_extents[axis], x[axis]];
            match mode.start(elements[at * count + component], axis, lengths)? {
                Some(along) => start.iter_mut().for_each(|start| start[axis] = along),
                None => start = None,
            }
        }
        for (&axis, place) in gathering.batch_axes.iter().zip(&batch) {
            let place = place.expect("invariant: batch axes of the indices number slices");
            start.iter_mut().for_each(|start| start[axis] = number.0[place]);
        }
        starts.push(start);
        number.advance(&numbering);
    }
    Ok(starts)
}
