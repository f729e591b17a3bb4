//! Structural and indexing rows: each is a view of the input or of the output, and a copy.

use tenferro_ops::{Meta, infer, part_starts};
use tenferro_tensor::{
    AsOperand, DType, Indexing, Layout, Operand, OperandMut, Padding, Primitive, Result, Shape,
    Structural, TensorView, Validation, dispatch,
};

use super::{
    Grant, copy,
    fill::{self, Part, Triangle},
    gather,
    scatter::{self, Scattering},
};

/// Computes a structural row.
pub(super) fn structural(
    grant: &Grant<'_>,
    row: &Structural,
    inputs: &[Operand<'_>],
    out: OperandMut<'_>,
) -> Result<()> {
    let named = |problem: Validation| problem.of(Primitive::Structural(row.clone()).name());
    match row {
        Structural::Transpose { permutation } => {
            copy_view(grant, &inputs[0].view().permute(permutation)?, out);
        }
        Structural::Reshape { .. } => reshape(grant, &inputs[0], out)?,
        Structural::BroadcastInDim { axes, .. } => {
            let stretched = broadcast_in_dim(&inputs[0], axes, &out).map_err(named)?;
            copy_view(grant, &stretched, out);
        }
        Structural::Concatenate { axis } => {
            concatenate(grant, inputs, *axis, out).map_err(named)?
        }
        Structural::Pad { padding } => {
            pad(grant, &inputs[0], &inputs[1], padding, out).map_err(named)?;
        }
        Structural::Reverse { axes } => {
            let reversed = axes.iter().try_fold(inputs[0].view(), |view, &axis| view.reverse(axis));
            copy_view(grant, &reversed?, out);
        }
        Structural::Tril { rows, columns, offset } => {
            let kept =
                Triangle { rows: *rows, columns: *columns, offset: *offset, part: Part::Lower };
            fill::triangle(grant, &kept, &inputs[0], out).map_err(named)?;
        }
        Structural::Triu { rows, columns, offset } => {
            let kept =
                Triangle { rows: *rows, columns: *columns, offset: *offset, part: Part::Upper };
            fill::triangle(grant, &kept, &inputs[0], out).map_err(named)?;
        }
        Structural::Iota { axis, .. } => fill::iota(grant, *axis, out)?,
    }
    Ok(())
}

/// Computes an indexing row.
pub(super) fn indexing(
    grant: &Grant<'_>,
    row: &Indexing,
    inputs: &[Operand<'_>],
    mut out: OperandMut<'_>,
) -> Result<()> {
    let input = &inputs[0];
    let named = |problem: Validation| problem.of(Primitive::Indexing(row.clone()).name());
    match row {
        Indexing::Slice { starts, limits, strides } => {
            let mut layout = input.view().layout().clone();
            let mut first = 0;
            for axis in 0..starts.len() {
                let sliced = layout.sliced(axis, starts[axis], limits[axis], strides[axis]);
                let (next, offset) = sliced.map_err(named)?;
                layout = next;
                first += offset;
            }
            copy_view(grant, &viewed(input, layout, first), out);
        }
        Indexing::ExtractDiagonal { first, second } => {
            copy_view(grant, &input.view().diagonal(*first, *second)?, out);
        }
        Indexing::EmbedDiagonal { axis, new_axis } => {
            fill_zeros(grant, out.reborrow());
            // In the result the operand's own axis stands after the new one if that came before it.
            let own = if new_axis <= axis { axis + 1 } else { *axis };
            let (first, second) = (own, *new_axis);
            let diagonal = layout_of(&out).diagonal(first, second).map_err(named)?;
            copy_into_part(grant, input, out, diagonal, 0);
        }
        Indexing::DynamicSlice { extents, mode } => {
            let starts = part_starts(input.shape(), extents, &inputs[1], (*mode).into());
            let layout = input.view().layout().clone();
            let (layout, first) = part(layout, &starts.map_err(named)?, extents).map_err(named)?;
            copy_view(grant, &viewed(input, layout, first), out);
        }
        Indexing::DynamicUpdate { mode } => {
            let update = &inputs[1];
            let starts = part_starts(input.shape(), update.shape(), &inputs[2], (*mode).into());
            let starts = starts.map_err(named)?;
            let (layout, first) = part(layout_of(&out), &starts, update.shape()).map_err(named)?;
            copy::copy(grant, input, out.reborrow());
            copy_into_part(grant, update, out, layout, first);
        }
        Indexing::Gather { gathering, mode } => {
            gather::gather(grant, gathering, *mode, &[inputs[0], inputs[1]], out).map_err(named)?;
        }
        Indexing::Scatter { gathering, placement, mode } => {
            let scattering = Scattering { gathering, placement: *placement, mode: *mode };
            scatter::scatter(grant, &scattering, &[inputs[0], inputs[1], inputs[2]], out)?;
        }
    }
    Ok(())
}

/// The layout of `extents` elements of each axis from `starts`, and the offset of its first.
fn part(
    mut layout: Layout,
    starts: &[usize],
    extents: &[usize],
) -> Result<(Layout, isize), Validation> {
    let mut first = 0;
    for (axis, (&start, &extent)) in starts.iter().zip(extents).enumerate() {
        let (next, offset) = layout.sliced(axis, start, start + extent, 1)?;
        layout = next;
        first += offset;
    }
    Ok((layout, first))
}

/// The layout of an output.
pub(super) fn layout_of(out: &OperandMut<'_>) -> Layout {
    match out.strides() {
        None => Layout::column_major(out.shape().clone()),
        Some(strides) => Layout::strided(out.shape(), strides)
            .expect("invariant: an output's shape is valid and has a stride for each axis"),
    }
}

/// The input under a layout that starts `offset` elements after its first.
pub(super) fn viewed<'a>(input: &Operand<'a>, layout: Layout, offset: isize) -> TensorView<'a> {
    let step = offset * input.dtype().size().cast_signed();
    // SAFETY: the layout was derived from the input's own, which says that it reaches only the input's elements.
    unsafe { TensorView::from_raw(input.data().offset(step), input.dtype(), layout) }
}

fn copy_view(grant: &Grant<'_>, view: &TensorView<'_>, out: OperandMut<'_>) {
    copy::copy(grant, &view.as_operand(), out);
}

/// Copies `source` into the part of `out` that `layout`, `offset` elements after its first, describes.
pub(super) fn copy_into_part(
    grant: &Grant<'_>,
    source: &Operand<'_>,
    mut out: OperandMut<'_>,
    layout: Layout,
    offset: isize,
) {
    // SAFETY: the layout was derived from the output's own, which reaches each of its elements once.
    let part = unsafe { out.relaid(offset, &layout) };
    copy::copy(grant, source, part);
}

pub(super) fn fill_zeros(grant: &Grant<'_>, out: OperandMut<'_>) {
    dispatch!(out.dtype(), any T => {
        let zero = [T::default()];
        let zero = TensorView::from_slice(&zero, &[], &[], 0).expect("invariant: one element is a scalar");
        copy::fill(grant, &zero.as_operand(), out);
    });
}

/// The same elements in column-major order under other extents: one of the two sides is dense, or a copy is made so.
fn reshape(grant: &Grant<'_>, input: &Operand<'_>, mut out: OperandMut<'_>) -> Result<()> {
    if let Ok(view) = input.view().reshape(out.shape()) {
        copy_view(grant, &view, out);
    } else if out.strides().is_none() {
        let layout = Layout::column_major(input.shape().clone());
        // SAFETY: a dense output has its elements in column-major order, as one of the input's shape has.
        let unfolded = unsafe { out.relaid(0, &layout) };
        copy::copy(grant, input, unfolded);
    } else {
        let dense = grant.packed("reshape", input)?;
        copy_view(grant, &dense.view().reshape(out.shape())?, out);
    }
    Ok(())
}

/// The input with axis `i` as axis `axes[i]` of the output, and stretched to it.
fn broadcast_in_dim<'a>(
    input: &Operand<'a>,
    axes: &[usize],
    out: &OperandMut<'_>,
) -> Result<TensorView<'a>, Validation> {
    let own = input.strides_or_dense();
    let mut strides: smallvec::SmallVec<[isize; 6]> = smallvec::smallvec![0; out.shape().rank()];
    for (place, &axis) in axes.iter().enumerate() {
        if input.shape()[place] == out.shape()[axis] {
            strides[axis] = own[place];
        }
    }
    Ok(viewed(input, Layout::strided(out.shape(), &strides)?, 0))
}

fn concatenate(
    grant: &Grant<'_>,
    parts: &[Operand<'_>],
    axis: usize,
    mut out: OperandMut<'_>,
) -> Result<(), Validation> {
    let whole = layout_of(&out);
    let mut start = 0;
    for part in parts {
        let limit = start + part.shape()[axis];
        let (layout, offset) = whole.sliced(axis, start, limit, 1)?;
        copy_into_part(grant, part, out.reborrow(), layout, offset);
        start = limit;
    }
    Ok(())
}

/// The shape of a padded operand.
pub(super) fn padded_shape(shape: &Shape, padding: &Padding) -> Result<Shape, Validation> {
    let padded = Structural::Pad { padding: padding.clone() }.into();
    let [operand, value] =
        [shape.clone(), Shape::default()].map(|shape| Meta { dtype: DType::F64, shape });
    let meta = infer(&padded, &[operand, value]);
    meta.map(|meta| meta.shape).map_err(|error| match error.validation() {
        Some(problem) => problem.clone(),
        None => unreachable!("rules refuse with validations"),
    })
}

/// Fills the output with `value`, then copies what negative edges leave of the input to its places.
pub(super) fn pad(
    grant: &Grant<'_>,
    input: &Operand<'_>,
    value: &Operand<'_>,
    padding: &Padding,
    mut out: OperandMut<'_>,
) -> Result<(), Validation> {
    copy::fill(grant, value, out.reborrow());
    let (mut from, mut to) = (input.view().layout().clone(), layout_of(&out));
    let (mut from_first, mut to_first) = (0, 0);
    for (axis, edges) in padding.iter().enumerate() {
        let extent = input.shape()[axis];
        let step = edges.interior.saturating_add(1);
        // Element `i` lands at `low + i * step`; those that land inside of the output stay.
        let first = edges.low.min(0).unsigned_abs().div_ceil(step).min(extent);
        let reach = out.shape()[axis].cast_signed().saturating_sub(edges.low);
        let limit = usize::try_from(reach).unwrap_or(0).div_ceil(step).clamp(first, extent);
        if first == limit {
            return Ok(());
        }
        let at = |index: usize| (edges.low + (index * step).cast_signed()).cast_unsigned();
        let (sliced, offset) = from.sliced(axis, first, limit, 1)?;
        (from, from_first) = (sliced, from_first + offset);
        let (sliced, offset) = to.sliced(axis, at(first), at(limit - 1) + 1, step)?;
        (to, to_first) = (sliced, to_first + offset);
    }
    copy_into_part(grant, &viewed(input, from, from_first).as_operand(), out, to, to_first);
    Ok(())
}
