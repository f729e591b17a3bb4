//! Elements picked along one axis, as gathers.

use tenferro_tensor::{GatherMode, Gathering, Indices, Result, Validation};

use crate::{Build, Builder};

/// Slices of `x` across `axis`, one for each index; the axes of the indices take the place of `axis`.
///
/// # Errors
/// [`Validation::AxisOutOfRange`]; what `gather` refuses.
pub fn take<B: Builder + ?Sized>(
    builder: &mut B,
    x: &B::Value,
    indices: &B::Value,
    axis: usize,
    mode: GatherMode,
) -> Result<B::Value> {
    let (shape, own) = (builder.meta(x).shape, builder.meta(indices).shape.rank());
    if axis >= shape.rank() {
        return Err(Validation::AxisOutOfRange { axis, shape: shape[..].into() }.of("take"));
    }
    let across = Gathering::along(axis, &shape);
    let after = (axis + own)..(shape.rank() - 1 + own);
    let gathering =
        Gathering { slice_axes: (0..axis).chain(after).collect(), component_axis: own, ..across };
    builder.gather(x, indices, gathering, mode)
}

/// The elements of `x` whose place along `axis` an index says, and whose other places are the index's own.
///
/// What `argsort` and `argmax` return are such indices.
///
/// # Errors
/// [`Validation::AxisOutOfRange`]; [`Validation::ShapeMismatch`] unless the ranks agree; what `gather` refuses, extents
/// of the other axes that differ among it.
pub fn take_along_axis<B: Builder + ?Sized>(
    builder: &mut B,
    x: &B::Value,
    indices: &B::Value,
    axis: usize,
    mode: GatherMode,
) -> Result<B::Value> {
    const OP: &str = "take_along_axis";
    let (shape, own) = (builder.meta(x).shape, builder.meta(indices).shape);
    if axis >= shape.rank() {
        return Err(Validation::AxisOutOfRange { axis, shape: shape[..].into() }.of(OP));
    }
    if shape.rank() != own.rank() {
        let (lhs, rhs) = (shape[..].into(), own[..].into());
        return Err(Validation::ShapeMismatch { lhs, rhs }.of(OP));
    }
    let others: Indices = (0..shape.rank()).filter(|&other| other != axis).collect();
    let gathering = Gathering {
        slice_extents: vec![1; shape.rank()].into(),
        collapsed_axes: [axis].into(),
        batch_axes: others.clone(),
        index_batch_axes: others,
        start_axes: [axis].into(),
        component_axis: shape.rank(),
        ..Gathering::default()
    };
    builder.gather(x, indices, gathering, mode)
}
