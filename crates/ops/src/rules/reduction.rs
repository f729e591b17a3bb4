//! Rules of the reductions: axes exist and are named once; an extreme needs something to choose from.

use tenferro_tensor::{KeepAxes, Reduction, Shape, Validation};

use super::{Checked, Extents, check_axes};
use crate::{Meta, meta::Facts};

pub(super) fn rule(row: &Reduction, inputs: &[Facts<'_>]) -> Checked<Meta> {
    let (axes, keep) = match row {
        Reduction::Sum { axes, keep } | Reduction::Prod { axes, keep } => (axes, keep),
        Reduction::Max { axes, keep } => (check_populated("maximum", axes, inputs[0].shape)?, keep),
        Reduction::Min { axes, keep } => (check_populated("minimum", axes, inputs[0].shape)?, keep),
    };
    let shape = reduced(inputs[0].shape, axes, *keep)?;
    Ok(Meta { dtype: inputs[0].dtype, shape })
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
