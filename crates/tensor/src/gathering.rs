//! Which slices a gather reads and a scatter writes, and what becomes of indices that leave an axis.
//!
//! The two are each other's transpose: a scatter's updates have the shape of what the same gather returns.

use crate::Indices;

/// What a gather or a dynamic slice does with an index past the last place of an axis. Negative ones are errors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum GatherMode {
    /// The operation is refused, naming index and axis.
    #[default]
    Refuse,
    /// The last place that the slice fits in is taken instead, along each axis alone.
    Clamp,
}

/// What a scatter does with a slice that leaves an axis. Negative indices are errors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ScatterMode {
    /// The operation is refused, naming index and axis.
    #[default]
    Refuse,
    /// The whole slice is left out.
    Drop,
}

/// What a scatter does where it places an element.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Placement {
    /// The element takes the place; of several for one place the last in column-major order of the indices stays.
    #[default]
    Replace,
    /// The element is combined with what is there, one after the other in column-major order of the indices.
    Combine(crate::Combiner),
}

impl From<crate::Combiner> for Placement {
    fn from(combiner: crate::Combiner) -> Self {
        Placement::Combine(combiner)
    }
}

/// Which slice of an operand each index of a gather or scatter stands for, and where slices stand in the result.
///
/// The tensor of indices has an axis of components, `component_axis`, whose entries are the start of a slice along
/// `start_axes`; all its other axes number the slices. A slice has `slice_extents` of the operand, one an axis.
///
/// The result has the axes of a slice at `slice_axes`, in order, without those in `collapsed_axes` and
/// `batch_axes`, which have slice extent 1; its other axes, in order, are those that number the slices.
///
/// ```
/// use tenferro_tensor::Gathering;
///
/// // Whole rows of a matrix of three columns, put into a matrix again.
/// let rows = Gathering {
///     slice_extents: [1, 3].into(),
///     collapsed_axes: [0].into(),
///     start_axes: [0].into(),
///     slice_axes: [1].into(),
///     component_axis: 1,
///     ..Gathering::default()
/// };
/// assert_eq!(rows, Gathering::along(0, &[5, 3]));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Gathering {
    /// The extents of a slice, one for each axis of the operand.
    pub slice_extents: Indices,
    /// Axes of the operand, with slice extent 1, that the result lacks.
    pub collapsed_axes: Indices,
    /// Axes of the operand, with slice extent 1, that are walked in step with `index_batch_axes`, and that the result
    /// lacks.
    pub batch_axes: Indices,
    /// Axes of the indices, in step with `batch_axes`.
    pub index_batch_axes: Indices,
    /// The axis of the operand along which each component of an index counts.
    pub start_axes: Indices,
    /// Axes of the result that are a slice's, ascending.
    pub slice_axes: Indices,
    /// The axis of the indices that holds components; past the last axis if every index has one component.
    pub component_axis: usize,
}

impl Gathering {
    /// Whole slices across axis `axis` of an operand of these extents, for a vector of indices: the vector's axis
    /// takes the place of the operand's.
    ///
    /// An axis that the operand does not have makes a gathering that is refused.
    #[must_use]
    pub fn along(axis: usize, extents: &[usize]) -> Self {
        let mut slice_extents: Vec<usize> = extents.to_vec();
        if let Some(extent) = slice_extents.get_mut(axis) {
            *extent = 1;
        }
        Self {
            slice_extents: slice_extents.into(),
            collapsed_axes: [axis].into(),
            start_axes: [axis].into(),
            slice_axes: (0..extents.len()).filter(|&other| other != axis).collect(),
            component_axis: 1,
            ..Self::default()
        }
    }

    /// Single elements of an operand of `rank` axes, for indices whose axis `component_axis` holds one component an
    /// axis of the operand.
    #[must_use]
    pub fn of_elements(rank: usize, component_axis: usize) -> Self {
        Self {
            slice_extents: vec![1; rank].into(),
            collapsed_axes: (0..rank).collect(),
            start_axes: (0..rank).collect(),
            component_axis,
            ..Self::default()
        }
    }
}
