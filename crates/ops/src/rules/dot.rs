//! Rules of contractions: axes pair up, and every extent is checked even where the result is empty.

use tenferro_tensor::{BatchPosition, Contraction, Dot, Shape, Validation};

use super::{Checked, Extents, check_axes, check_length, convolution};
use crate::{Meta, meta::Facts};

pub(super) fn rule(row: &Dot, inputs: &[Facts<'_>]) -> Checked<Meta> {
    match row {
        Dot::DotGeneral { contraction } => contracted(contraction, inputs),
        Dot::Convolve { convolution } => convolution::convolved(convolution, inputs),
    }
}

/// Batch axes, free axes of the left operand, free axes of the right one; or batch axes last.
pub(super) fn contracted(contraction: &Contraction, inputs: &[Facts<'_>]) -> Checked<Meta> {
    let (lhs, rhs) = (inputs[0], inputs[1]);
    let Contraction { lhs_contracting, rhs_contracting, lhs_batch, rhs_batch, .. } = contraction;
    // Of two matrices the shape is read off at once: a small product takes no longer than the lists below.
    if let (&[left], &[right], &[], &[]) =
        (&lhs_contracting[..], &rhs_contracting[..], &lhs_batch[..], &rhs_batch[..])
        && (lhs.shape.rank(), rhs.shape.rank()) == (2, 2)
        && left < 2
        && right < 2
        && lhs.shape[left] == rhs.shape[right]
    {
        let shape = Shape::new(&[lhs.shape[1 - left], rhs.shape[1 - right]])?;
        return Ok(Meta { dtype: lhs.dtype, shape });
    }
    check_length("rhs_contracting", lhs_contracting.len(), rhs_contracting.len())?;
    check_length("rhs_batch", lhs_batch.len(), rhs_batch.len())?;
    let lhs_used = used(lhs.shape, lhs_batch, lhs_contracting)?;
    let rhs_used = used(rhs.shape, rhs_batch, rhs_contracting)?;
    check_extents("contracted axes", lhs.shape, lhs_contracting, rhs.shape, rhs_contracting)?;
    check_extents("batch axes", lhs.shape, lhs_batch, rhs.shape, rhs_batch)?;

    let batch = lhs_batch.iter().map(|&axis| lhs.shape[axis]);
    let free = free(lhs.shape, &lhs_used).chain(free(rhs.shape, &rhs_used));
    let extents: Extents = match contraction.batch {
        BatchPosition::Leading => batch.chain(free).collect(),
        BatchPosition::Trailing => free.chain(batch).collect(),
    };
    Ok(Meta { dtype: lhs.dtype, shape: Shape::new(&extents)? })
}

/// The batch and contracted axes of one operand, which must exist and be named once.
fn used(shape: &Shape, batch: &[usize], contracting: &[usize]) -> Checked<Extents> {
    let mut used = Extents::from_slice(batch);
    used.extend_from_slice(contracting);
    check_axes(&used, shape)?;
    Ok(used)
}

/// Extents of the axes that are neither contracted nor batch axes.
fn free<'a>(shape: &'a Shape, used: &'a [usize]) -> impl Iterator<Item = usize> + 'a {
    shape.iter().enumerate().filter(|(axis, _)| !used.contains(axis)).map(|(_, &extent)| extent)
}

fn check_extents(
    what: &'static str,
    lhs_shape: &Shape,
    lhs_axes: &[usize],
    rhs_shape: &Shape,
    rhs_axes: &[usize],
) -> Checked<()> {
    for (&left, &right) in lhs_axes.iter().zip(rhs_axes) {
        let (lhs, rhs) = (lhs_shape[left], rhs_shape[right]);
        if lhs != rhs {
            let (lhs_shape, rhs_shape) = (lhs_shape[..].into(), rhs_shape[..].into());
            return Err(Validation::ExtentMismatch { what, lhs, rhs, lhs_shape, rhs_shape });
        }
    }
    Ok(())
}
