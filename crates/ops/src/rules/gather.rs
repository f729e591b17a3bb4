//! Rules of gather and scatter: the shape of what is gathered, and that every axis of it has one origin.

use tenferro_tensor::{DType, Gathering, Placement, Shape, Validation};

use super::{Checked, Extents, check_axes, check_length};
use crate::scalar::check_combiner;

/// The shape of the slices that `indices` picks from an operand of shape `x`.
pub(super) fn gathered(gathering: &Gathering, x: &Shape, indices: &Shape) -> Checked<Shape> {
    let Gathering { slice_extents, collapsed_axes, batch_axes, start_axes, .. } = gathering;
    check_length("slice_extents", x.rank(), slice_extents.len())?;
    let mut gone = Extents::from_slice(collapsed_axes);
    gone.extend_from_slice(batch_axes);
    check_axes(&gone, x)?;
    if gone.iter().any(|&axis| slice_extents[axis] != 1) {
        let rule = "a slice has extent 1 along the axes that the result lacks";
        return Err(Validation::Rule { rule });
    }
    check_axes(start_axes, x)?;
    check_slices(gathering, x)?;
    if batch_axes.iter().any(|axis| start_axes.contains(axis)) {
        let rule = "an axis walked in step with the indices has no start among their components";
        return Err(Validation::Rule { rule });
    }
    check_components(gathering, indices)?;
    check_batch(gathering, x, indices)?;

    let mut slice =
        (0..x.rank()).filter(|axis| !gone.contains(axis)).map(|axis| slice_extents[axis]);
    let mut numbering = (0..indices.rank())
        .filter(|&axis| axis != gathering.component_axis)
        .map(|axis| indices[axis]);
    let rank = x.rank() - gone.len() + numbering.clone().count();
    check_length("slice_axes", x.rank() - gone.len(), gathering.slice_axes.len())?;
    let unordered = gathering.slice_axes.windows(2).any(|pair| pair[0] >= pair[1]);
    if unordered || gathering.slice_axes.last().is_some_and(|&last| last >= rank) {
        return Err(Validation::Rule { rule: "slice_axes must be axes of the result, ascending" });
    }
    let extents: Extents = (0..rank)
        .map(
            |axis| {
                if gathering.slice_axes.contains(&axis) { slice.next() } else { numbering.next() }
            },
        )
        .map(|extent| {
            extent.expect("invariant: the axes of slices and of their numbers make up the rank")
        })
        .collect();
    Shape::new(&extents)
}

/// A slice fits into the operand. Where indices say the start, an empty axis is no error until there is an index.
fn check_slices(gathering: &Gathering, x: &Shape) -> Checked<()> {
    let fits = |(axis, (&slice, &extent)): (usize, (&usize, &usize))| {
        let chosen = gathering.start_axes.contains(&axis) || gathering.batch_axes.contains(&axis);
        slice <= extent || (slice == 1 && chosen)
    };
    if gathering.slice_extents.iter().zip(&**x).enumerate().all(fits) {
        return Ok(());
    }
    Err(Validation::Rule { rule: "a slice must not be larger than the operand" })
}

/// Each index has a component for each start.
fn check_components(gathering: &Gathering, indices: &Shape) -> Checked<()> {
    if gathering.component_axis > indices.rank() {
        let (axis, shape) = (gathering.component_axis, indices[..].into());
        return Err(Validation::AxisOutOfRange { axis, shape });
    }
    let components = indices.get(gathering.component_axis).copied().unwrap_or(1);
    check_length("start_axes", components, gathering.start_axes.len())
}

/// Axes walked in step exist on both sides and have one extent.
fn check_batch(gathering: &Gathering, x: &Shape, indices: &Shape) -> Checked<()> {
    let Gathering { batch_axes, index_batch_axes, component_axis, .. } = gathering;
    check_length("index_batch_axes", batch_axes.len(), index_batch_axes.len())?;
    check_axes(index_batch_axes, indices)?;
    if index_batch_axes.contains(component_axis) {
        let rule = "the axis of components is not walked in step with an axis of the operand";
        return Err(Validation::Rule { rule });
    }
    for (&own, &other) in batch_axes.iter().zip(&**index_batch_axes) {
        if x[own] != indices[other] {
            return Err(Validation::ExtentMismatch {
                what: "batch axes",
                lhs: x[own],
                rhs: indices[other],
                lhs_shape: x[..].into(),
                rhs_shape: indices[..].into(),
            });
        }
    }
    Ok(())
}

/// Refuses a dtype whose elements cannot be combined so.
pub(super) fn check_placement(placement: Placement, dtype: DType) -> Checked<()> {
    match placement {
        Placement::Replace => Ok(()),
        Placement::Combine(combiner) => check_combiner(combiner, dtype),
    }
}
