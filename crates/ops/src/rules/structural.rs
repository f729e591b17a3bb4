//! Rules of the structural family: where elements go. No size may overflow, even where another extent is 0.

use tenferro_tensor::{AxisPadding, Shape, Structural, Validation};

use super::{Checked, Extents, check_axes, check_length};
use crate::{Meta, meta::Facts};

pub(super) fn rule(row: &Structural, inputs: &[Facts<'_>]) -> Checked<Meta> {
    if let Structural::Iota { dtype, extents, axis } = row {
        let shape = Shape::new(extents)?;
        check_axes(&[*axis], &shape)?;
        return Ok(Meta { dtype: *dtype, shape });
    }
    let Facts { dtype, shape } = inputs[0];
    let shape = match row {
        Structural::Iota { .. } => unreachable!("returned above"),
        Structural::Transpose { permutation } => {
            check_length("permutation", shape.rank(), permutation.len())?;
            check_axes(permutation, shape)?;
            Shape::new(&permutation.iter().map(|&axis| shape[axis]).collect::<Extents>())?
        }
        Structural::Reshape { extents } => reshaped(shape, extents)?,
        Structural::BroadcastInDim { extents, axes } => stretched(shape, extents, axes)?,
        Structural::Concatenate { axis } => concatenated(inputs, *axis)?,
        Structural::Pad { padding } => {
            let value = inputs[1].shape;
            if value.rank() != 0 {
                let (lhs, rhs) = (Shape::default()[..].into(), value[..].into());
                return Err(Validation::ShapeMismatch { lhs, rhs });
            }
            padded(shape, padding)?
        }
        Structural::Reverse { axes } => {
            check_axes(axes, shape)?;
            shape.clone()
        }
        Structural::Tril { rows, columns, .. } | Structural::Triu { rows, columns, .. } => {
            check_axes(&[*rows, *columns], shape)?;
            shape.clone()
        }
    };
    Ok(Meta { dtype, shape })
}

/// `extents`, if they have as many elements.
fn reshaped(shape: &Shape, extents: &[usize]) -> Checked<Shape> {
    let reshaped = Shape::new(extents)?;
    let (expected, actual) = (reshaped.elements(), shape.elements());
    if expected == actual {
        Ok(reshaped)
    } else {
        Err(Validation::ElementCount { shape: extents.into(), expected, actual })
    }
}

/// `extents`, if axis `i` of the operand fits into axis `axes[i]` of them.
fn stretched(shape: &Shape, extents: &[usize], axes: &[usize]) -> Checked<Shape> {
    check_length("axes", shape.rank(), axes.len())?;
    check_axes(axes, extents)?;
    let fits = shape.iter().zip(axes).all(|(&own, &axis)| own == 1 || own == extents[axis]);
    if fits {
        Shape::new(extents)
    } else {
        Err(Validation::Broadcast { lhs: shape[..].into(), rhs: extents.into() })
    }
}

fn concatenated(parts: &[Facts<'_>], axis: usize) -> Checked<Shape> {
    let first = parts[0].shape;
    check_axes(&[axis], first)?;
    let mut extents = Extents::from_slice(first);
    for part in &parts[1..] {
        let (lhs_shape, rhs_shape) = (first[..].into(), part.shape[..].into());
        if part.shape.rank() != first.rank() {
            return Err(Validation::ShapeMismatch { lhs: lhs_shape, rhs: rhs_shape });
        }
        let differs = |other: &usize| *other != axis && first[*other] != part.shape[*other];
        if let Some(other) = (0..first.rank()).find(differs) {
            let (lhs, rhs) = (first[other], part.shape[other]);
            let what = "other axes";
            return Err(Validation::ExtentMismatch { what, lhs, rhs, lhs_shape, rhs_shape });
        }
        // Saturated, the extent is beyond what a shape can hold, and refused below.
        extents[axis] = extents[axis].saturating_add(part.shape[axis]);
    }
    Shape::new(&extents)
}

fn padded(shape: &Shape, padding: &[AxisPadding]) -> Checked<Shape> {
    check_length("padding", shape.rank(), padding.len())?;
    let extents: Extents = shape
        .iter()
        .zip(padding)
        .map(|(&extent, axis)| padded_extent(extent, axis))
        .collect::<Checked<_>>()?;
    Shape::new(&extents)
}

/// An extent with elements between neighbours, then at the edges; beyond `usize` it saturates.
pub(super) fn padded_extent(extent: usize, padding: &AxisPadding) -> Checked<usize> {
    // No overflow: extents are below 2^63 and interiors below 2^64.
    let gaps = extent.saturating_sub(1) as i128 * padding.interior as i128;
    let edges = padding.low as i128 + padding.high as i128;
    let padded = extent as i128 + gaps + edges;
    if padded < 0 {
        let rule = "negative padding removes more elements than the axis has";
        return Err(Validation::Rule { rule });
    }
    Ok(usize::try_from(padded).unwrap_or(usize::MAX))
}
