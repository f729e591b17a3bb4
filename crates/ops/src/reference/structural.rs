//! Structural rows: each element of the result is looked up where it came from.

use tenferro_tensor::{
    AsOperand, AxisPadding, Operand, Result, Structural, Tensor, TensorView, dispatch,
};

use super::{Call, element};
use crate::scalar::Cast;

pub(super) fn evaluate(row: &Structural, call: &Call<'_>) -> Result<Tensor> {
    if let Structural::Iota { axis, .. } = row {
        return iota(call, *axis);
    }
    let x = &call.inputs[0];
    match row {
        Structural::Iota { .. } => unreachable!("returned above"),
        Structural::Transpose { permutation } => {
            Ok(call.allocate()?.copied_from(&x.view().permute(permutation)?.as_operand()))
        }
        Structural::Reshape { .. } => reshape(call, x),
        Structural::BroadcastInDim { axes, .. } => broadcast_in_dim(call, x, axes),
        Structural::Concatenate { axis } => concatenate(call, *axis),
        Structural::Pad { padding } => pad(call, padding),
        Structural::Reverse { axes } => reverse(call, x, axes),
        Structural::Tril { rows, columns, offset } => triangle(call, x, |index| {
            index[*columns] as i128 <= index[*rows] as i128 + *offset as i128
        }),
        Structural::Triu { rows, columns, offset } => triangle(call, x, |index| {
            index[*columns] as i128 >= index[*rows] as i128 + *offset as i128
        }),
    }
}

fn iota(call: &Call<'_>, axis: usize) -> Result<Tensor> {
    dispatch!(call.result.dtype, any T => {
        call.filled_by_index(|index| <T as Cast>::from_u64(index[axis] as u64))
    })
}

fn reverse(call: &Call<'_>, x: &Operand<'_>, axes: &[usize]) -> Result<Tensor> {
    let view = x.view();
    let mut source = vec![0; view.shape().rank()];
    dispatch!(x.dtype(), any T => call.filled_by_index(|index| {
        source.copy_from_slice(index);
        for &axis in axes {
            source[axis] = view.shape()[axis] - 1 - index[axis];
        }
        element::<T>(&view, &source)
    }))
}

/// The elements whose index is kept; zeros elsewhere.
fn triangle(call: &Call<'_>, x: &Operand<'_>, keeps: impl Fn(&[usize]) -> bool) -> Result<Tensor> {
    let view = x.view();
    dispatch!(x.dtype(), any T => call.filled_by_index(|index| {
        if keeps(index) { element::<T>(&view, index) } else { T::default() }
    }))
}

fn reshape(call: &Call<'_>, x: &Operand<'_>) -> Result<Tensor> {
    dispatch!(x.dtype(), any T => {
        let mut elements = x.view().elements::<T>()?;
        Ok(call
            .allocate()?
            .filled(|| elements.next().expect("invariant: the numbers of elements agree")))
    })
}

fn broadcast_in_dim(call: &Call<'_>, x: &Operand<'_>, axes: &[usize]) -> Result<Tensor> {
    let view = x.view();
    let mut source = vec![0; view.shape().rank()];
    dispatch!(x.dtype(), any T => call.filled_by_index(|index| {
        for (own, &axis) in axes.iter().enumerate() {
            source[own] = if view.shape()[own] == 1 { 0 } else { index[axis] };
        }
        element::<T>(&view, &source)
    }))
}

fn concatenate(call: &Call<'_>, axis: usize) -> Result<Tensor> {
    let parts: Vec<TensorView<'_>> = call.inputs.iter().map(Operand::view).collect();
    let mut source = vec![0; call.result.shape.rank()];
    dispatch!(call.result.dtype, any T => call.filled_by_index(|index| {
        source.copy_from_slice(index);
        let part = parts.iter().find(|part| {
            let inside = source[axis] < part.shape()[axis];
            if !inside {
                source[axis] -= part.shape()[axis];
            }
            inside
        });
        element::<T>(part.expect("invariant: the parts cover the result"), &source)
    }))
}

fn pad(call: &Call<'_>, padding: &[AxisPadding]) -> Result<Tensor> {
    let (x, value) = (call.inputs[0].view(), call.inputs[1].view());
    let mut source = vec![0; x.shape().rank()];
    dispatch!(call.result.dtype, any T => {
        let value = element::<T>(&value, &[]);
        call.filled_by_index(|index| {
            let inside = (0..source.len()).all(|axis| {
                let at = unpadded(index[axis], x.shape()[axis], &padding[axis]);
                source[axis] = at.unwrap_or(0);
                at.is_some()
            });
            if inside { element::<T>(&x, &source) } else { value }
        })
    })
}

/// The index before padding; `None` where there is an edge or a gap.
fn unpadded(index: usize, extent: usize, padding: &AxisPadding) -> Option<usize> {
    let from_first = usize::try_from(index as i128 - padding.low as i128).ok()?;
    // An interior of `usize::MAX` has no second element in reach.
    let step = padding.interior.saturating_add(1);
    (from_first.is_multiple_of(step) && from_first / step < extent).then_some(from_first / step)
}
