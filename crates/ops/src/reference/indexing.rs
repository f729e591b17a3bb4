//! Indexing rows: the index of the result says which element of the operand it is.

use tenferro_tensor::{Indexing, Result, Tensor, dispatch};

use super::{Call, element, gather};
use crate::part_starts;

pub(super) fn evaluate(row: &Indexing, call: &Call<'_>) -> Result<Tensor> {
    let x = call.inputs[0].view();
    let mut source = vec![0; x.shape().rank()];
    match row {
        Indexing::Slice { starts, strides, .. } => {
            dispatch!(x.dtype(), any T => call.filled_by_index(|index| {
                for axis in 0..source.len() {
                    source[axis] = starts[axis] + index[axis] * strides[axis];
                }
                element::<T>(&x, &source)
            }))
        }
        Indexing::ExtractDiagonal { first, second } => {
            dispatch!(x.dtype(), any T => call.filled_by_index(|index| {
                without_axis(index, *second, &mut source);
                // `first` stands one place earlier in the result if the removed axis was before it.
                source[*second] = index[first - usize::from(second < first)];
                element::<T>(&x, &source)
            }))
        }
        Indexing::EmbedDiagonal { axis, new_axis } => {
            dispatch!(x.dtype(), any T => call.filled_by_index(|index| {
                let mut kept = index.iter().enumerate().filter(|(place, _)| place != new_axis);
                source.fill_with(|| *kept.next().expect("invariant: one axis is new").1);
                if index[*new_axis] == source[*axis] { element::<T>(&x, &source) } else { T::default() }
            }))
        }
        Indexing::DynamicSlice { extents, mode } => {
            let starts = part_starts(x.shape(), extents, &call.inputs[1], (*mode).into())
                .map_err(|problem| problem.of(call.op))?;
            dispatch!(x.dtype(), any T => call.filled_by_index(|index| {
                for axis in 0..source.len() {
                    source[axis] = starts[axis] + index[axis];
                }
                element::<T>(&x, &source)
            }))
        }
        Indexing::DynamicUpdate { mode } => {
            let update = call.inputs[1].view();
            let starts = part_starts(x.shape(), update.shape(), &call.inputs[2], (*mode).into())
                .map_err(|problem| problem.of(call.op))?;
            dispatch!(x.dtype(), any T => call.filled_by_index(|index| {
                let inside = (0..source.len()).all(|axis| {
                    source[axis] = index[axis].wrapping_sub(starts[axis]);
                    source[axis] < update.shape()[axis]
                });
                if inside { element::<T>(&update, &source) } else { element::<T>(&x, index) }
            }))
        }
        Indexing::Gather { gathering, mode } => gather::gather(call, gathering, *mode),
        Indexing::Scatter { gathering, placement, mode } => {
            gather::scatter(call, gathering, *placement, *mode)
        }
    }
}

/// Copies an index that lacks axis `gone` to the other places of `source`.
fn without_axis(index: &[usize], gone: usize, source: &mut [usize]) {
    source[..gone].copy_from_slice(&index[..gone]);
    source[gone + 1..].copy_from_slice(&index[gone..]);
}
