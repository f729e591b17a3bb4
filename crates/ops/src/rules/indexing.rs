//! Rules of the indexing family: picking and placing elements by position.

use tenferro_tensor::{Indexing, Layout, Shape, Validation};

use super::{Checked, Extents, check_axes, check_length};
use crate::{Meta, meta::Facts};

pub(super) fn rule(row: &Indexing, inputs: &[Facts<'_>]) -> Checked<Meta> {
    let Facts { dtype, shape } = inputs[0];
    let shape = match row {
        Indexing::Slice { starts, limits, strides } => sliced(shape, starts, limits, strides)?,
        Indexing::ExtractDiagonal { first, second } => {
            Layout::column_major(shape.clone()).diagonal(*first, *second)?.shape().clone()
        }
        Indexing::EmbedDiagonal { axis, new_axis } => embedded(shape, *axis, *new_axis)?,
    };
    Ok(Meta { dtype, shape })
}

fn sliced(shape: &Shape, starts: &[usize], limits: &[usize], strides: &[usize]) -> Checked<Shape> {
    check_length("starts", shape.rank(), starts.len())?;
    check_length("limits", shape.rank(), limits.len())?;
    check_length("strides", shape.rank(), strides.len())?;
    let mut layout = Layout::column_major(shape.clone());
    for axis in 0..shape.rank() {
        (layout, _) = layout.sliced(axis, starts[axis], limits[axis], strides[axis])?;
    }
    Ok(layout.shape().clone())
}

fn embedded(shape: &Shape, axis: usize, new_axis: usize) -> Checked<Shape> {
    check_axes(&[axis], shape)?;
    if new_axis > shape.rank() {
        return Err(Validation::AxisOutOfRange { axis: new_axis, shape: shape[..].into() });
    }
    let mut extents = Extents::from_slice(shape);
    extents.insert(new_axis, shape[axis]);
    Shape::new(&extents)
}
