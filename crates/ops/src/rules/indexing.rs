//! Rules of the indexing family: picking and placing elements by position.

use tenferro_tensor::{DType, Indexing, Layout, Shape, Validation};

use super::{Checked, Extents, check_axes, check_length, gather, same_dtype};
use crate::{Meta, meta::Facts};

/// The operands that must have a dtype that the row accepts; those that are indices must be integers.
pub(super) fn judged_operands<'f, 's>(
    row: &Indexing,
    inputs: &'f [Facts<'s>],
) -> Checked<&'f [Facts<'s>]> {
    match row {
        Indexing::Slice { .. }
        | Indexing::ExtractDiagonal { .. }
        | Indexing::EmbedDiagonal { .. } => Ok(inputs),
        Indexing::DynamicSlice { .. } | Indexing::Gather { .. } => {
            check_indices(inputs[1].dtype)?;
            Ok(&inputs[..1])
        }
        Indexing::DynamicUpdate { .. } => {
            check_indices(inputs[2].dtype)?;
            Ok(&inputs[..2])
        }
        Indexing::Scatter { .. } => {
            check_indices(inputs[1].dtype)?;
            same_dtype(&[inputs[0], inputs[2]])?;
            Ok(&inputs[..1])
        }
    }
}

fn check_indices(dtype: DType) -> Checked<()> {
    if dtype.is_integer() {
        Ok(())
    } else {
        let expected = "indices are integers; convert them first";
        Err(Validation::MeaninglessDType { dtype, expected })
    }
}

pub(super) fn rule(row: &Indexing, inputs: &[Facts<'_>]) -> Checked<Meta> {
    let Facts { dtype, shape } = inputs[0];
    let shape = match row {
        Indexing::Slice { starts, limits, strides } => sliced(shape, starts, limits, strides)?,
        Indexing::ExtractDiagonal { first, second } => {
            Layout::column_major(shape.clone()).diagonal(*first, *second)?.shape().clone()
        }
        Indexing::EmbedDiagonal { axis, new_axis } => embedded(shape, *axis, *new_axis)?,
        Indexing::DynamicSlice { extents, .. } => {
            check_length("extents", shape.rank(), extents.len())?;
            let part = Shape::new(extents)?;
            check_part(&part, shape)?;
            check_starts(inputs[1].shape, shape)?;
            part
        }
        Indexing::DynamicUpdate { .. } => {
            check_part(inputs[1].shape, shape)?;
            check_starts(inputs[2].shape, shape)?;
            shape.clone()
        }
        Indexing::Gather { gathering, .. } => gather::gathered(gathering, shape, inputs[1].shape)?,
        Indexing::Scatter { gathering, placement, .. } => {
            gather::check_placement(*placement, dtype)?;
            let expected = gather::gathered(gathering, shape, inputs[1].shape)?;
            if expected != *inputs[2].shape {
                let (lhs, rhs) = (expected[..].into(), inputs[2].shape[..].into());
                return Err(Validation::ShapeMismatch { lhs, rhs });
            }
            shape.clone()
        }
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

/// Checks that a part fits into an operand somewhere.
fn check_part(part: &Shape, whole: &Shape) -> Checked<()> {
    let fits =
        part.rank() == whole.rank() && part.iter().zip(&**whole).all(|(own, all)| own <= all);
    if fits {
        return Ok(());
    }
    Err(Validation::Rule {
        rule: "the part must have the rank of the operand and no larger extents",
    })
}

/// Checks that there is one start for each axis of an operand.
fn check_starts(starts: &Shape, whole: &Shape) -> Checked<()> {
    if **starts == [whole.rank()] {
        return Ok(());
    }
    let (lhs, rhs) = ([whole.rank()][..].into(), starts[..].into());
    Err(Validation::ShapeMismatch { lhs, rhs })
}
