//! Indexing rows: the index of the result says which element of the operand it is.

use tenferro_tensor::{Indexing, Result, Tensor, dispatch};

use super::{Call, element};

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
    }
}

/// Copies an index that lacks axis `gone` to the other places of `source`.
fn without_axis(index: &[usize], gone: usize, source: &mut [usize]) {
    source[..gone].copy_from_slice(&index[..gone]);
    source[gone + 1..].copy_from_slice(&index[gone..]);
}
