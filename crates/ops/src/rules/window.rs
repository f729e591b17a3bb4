//! Rules of reductions over windows: how often a window stands on each axis.

use tenferro_tensor::{AxisPadding, Shape, Validation, WindowAxis, Windowed};

use super::{Checked, Extents, check_length, structural::padded_extent};
use crate::{Meta, meta::Facts, scalar::check_combiner};

pub(super) fn rule(row: &Windowed, inputs: &[Facts<'_>]) -> Checked<Meta> {
    let Facts { dtype, shape } = inputs[0];
    let Windowed::ReduceWindow { combiner, window } = row;
    check_combiner(*combiner, dtype)?;
    check_length("window", shape.rank(), window.len())?;
    let extents: Extents = shape
        .iter()
        .zip(&**window)
        .map(|(&extent, axis)| places(extent, axis))
        .collect::<Checked<_>>()?;
    Ok(Meta { dtype, shape: Shape::new(&extents)? })
}

/// How often the window stands on an axis of `extent` elements.
fn places(extent: usize, axis: &WindowAxis) -> Checked<usize> {
    let &WindowAxis { extent: own, stride, dilation, low, high } = axis;
    if own == 0 || stride == 0 || dilation == 0 {
        let rule = "the extent, stride and dilation of a window must be at least 1";
        return Err(Validation::Rule { rule });
    }
    let padded = padded_extent(extent, &AxisPadding { low, high, interior: 0 })?;
    Ok(standing(padded, own, stride, dilation))
}

/// How often a window of `extent` elements stands on `padded` places. Stride and dilation are at least 1.
pub(super) fn standing(padded: usize, extent: usize, stride: usize, dilation: usize) -> usize {
    let covered = match extent {
        0 => 0,
        // Saturated, it covers more than there is.
        _ => (extent - 1).saturating_mul(dilation).saturating_add(1),
    };
    match padded.checked_sub(covered) {
        Some(room) => (room / stride).saturating_add(1),
        None => 0,
    }
}
