//! Rules of the reductions: axes exist and are named once; an extreme needs something to choose from.

use tenferro_tensor::{DType, Indices, KeepAxes, Reduction, Shape, Validation};

use super::{Checked, Extents, check_axes};
use crate::{Meta, meta::Facts, scalar::check_combiner};

/// The axes over which a reduction runs.
#[must_use]
pub fn reduced_axes(row: &Reduction) -> &Indices {
    match row {
        Reduction::Sum { axes, .. }
        | Reduction::Prod { axes, .. }
        | Reduction::Max { axes, .. }
        | Reduction::Min { axes, .. }
        | Reduction::All { axes, .. }
        | Reduction::Any { axes, .. }
        | Reduction::Argmax { axes, .. }
        | Reduction::Argmin { axes, .. }
        | Reduction::SumOfSquares { axes, .. }
        | Reduction::Reduce { axes, .. } => axes,
    }
}

pub(super) fn rule(row: &Reduction, inputs: &[Facts<'_>]) -> Checked<Meta> {
    let Facts { dtype, shape } = inputs[0];
    let populated = |what, axes| check_populated(what, axes, shape);
    let (axes, keep, result) = match row {
        Reduction::Sum { axes, keep }
        | Reduction::Prod { axes, keep }
        | Reduction::All { axes, keep }
        | Reduction::Any { axes, keep } => (axes, keep, dtype),
        Reduction::Max { axes, keep } => (populated("maximum", axes)?, keep, dtype),
        Reduction::Min { axes, keep } => (populated("minimum", axes)?, keep, dtype),
        Reduction::Argmax { axes, keep } => {
            (populated("place of a maximum", axes)?, keep, DType::I64)
        }
        Reduction::Argmin { axes, keep } => {
            (populated("place of a minimum", axes)?, keep, DType::I64)
        }
        Reduction::SumOfSquares { axes, keep } => (axes, keep, dtype.real()),
        Reduction::Reduce { combiner, axes, keep } => {
            check_combiner(*combiner, dtype)?;
            (axes, keep, dtype)
        }
    };
    Ok(Meta { dtype: result, shape: reduced(shape, axes, *keep)? })
}

/// The axes, unless one is empty: a result over it would have no element to be.
fn check_populated<'a, A: std::ops::Deref<Target = [usize]>>(
    what: &'static str,
    axes: &'a A,
    shape: &Shape,
) -> Checked<&'a A> {
    match axes.iter().find(|&&axis| shape.get(axis) == Some(&0)) {
        Some(&axis) => Err(Validation::EmptyReduction { what, axis, shape: shape[..].into() }),
        None => Ok(axes),
    }
}

/// The shape without the axes, or with extent 1 in their place.
fn reduced(shape: &Shape, axes: &[usize], keep: KeepAxes) -> Checked<Shape> {
    check_axes(axes, shape)?;
    let extents: Extents = match keep {
        KeepAxes::Keep => shape
            .iter()
            .enumerate()
            .map(|(axis, &extent)| if axes.contains(&axis) { 1 } else { extent })
            .collect(),
        KeepAxes::Drop => shape
            .iter()
            .enumerate()
            .filter(|(axis, _)| !axes.contains(axis))
            .map(|(_, &extent)| extent)
            .collect(),
    };
    Shape::new(&extents)
}
