//! Moving elements from one layout to another, without looking at what they are.
//!
//! Elements are plain bits of 1, 2, 4, 8 or 16 bytes. Where the output's fast axis is not the input's, both are walked
//! in square tiles, so that each cache line is used while it is there.

use std::ptr::NonNull;

use tenferro_tensor::{DType, Operand, OperandMut};

use super::{
    Grant,
    share::{Elements, Target},
    walk::{Axis, Walk},
};

/// The side of a tile, in elements.
const TILE: usize = 16;

/// Bits that are moved as one.
trait Bits: Copy + Send + Sync {}
impl Bits for u8 {}
impl Bits for u16 {}
impl Bits for u32 {}
impl Bits for u64 {}
impl Bits for [u32; 2] {}
impl Bits for [u64; 2] {}

/// Copies every element of `source` to the same index of `out`, which has its dtype and shape.
pub(super) fn copy(grant: &Grant<'_>, source: &Operand<'_>, out: OperandMut<'_>) {
    debug_assert!(source.dtype() == out.dtype() && source.shape() == out.shape());
    match source.dtype().size() {
        1 => copy_bits::<u8>(grant, source, out),
        2 => copy_bits::<u16>(grant, source, out),
        4 => copy_bits::<u32>(grant, source, out),
        // Aligned as its components are, not as a `u64` is.
        8 if source.dtype() == DType::C32 => copy_bits::<[u32; 2]>(grant, source, out),
        8 => copy_bits::<u64>(grant, source, out),
        _ => copy_bits::<[u64; 2]>(grant, source, out),
    }
}

/// Writes `value`, one element of the dtype of `out`, to every index of `out`.
pub(super) fn fill(grant: &Grant<'_>, value: &Operand<'_>, out: OperandMut<'_>) {
    let zeros = out.shape().iter().map(|_| 0).collect::<smallvec::SmallVec<[isize; 6]>>();
    let shape = out.shape().clone();
    // SAFETY: with strides of 0 every index is the one element of `value`.
    let repeated = unsafe { Operand::from_raw(value.data(), value.dtype(), &shape, Some(&zeros)) };
    copy(grant, &repeated, out);
}

fn copy_bits<T: Bits>(grant: &Grant<'_>, source: &Operand<'_>, mut out: OperandMut<'_>) {
    if source.shape().contains(&0) {
        return;
    }
    let extents = source.shape();
    let (to, from) = (out.strides_or_dense(), source.strides_or_dense());
    // The output's own order is the cheapest to write: its smallest stride goes first.
    let mut order: smallvec::SmallVec<[usize; 6]> = (0..extents.len()).collect();
    order.sort_by_key(|&axis| to[axis].unsigned_abs());
    let walk = Walk::<2>::merging(
        order.iter().map(|&axis| Axis { extent: extents[axis], strides: [to[axis], from[axis]] }),
    );
    let (to, from) = (Target::<T>::new(out.data()), Elements::<T>::new(source.data()));
    let near = nearest(walk.axes());
    if near == 0 {
        copy_runs(grant, &walk, to, from);
    } else {
        copy_tiles(grant, &walk, near, to, from);
    }
}

/// The axis along which the input's elements lie closest together, the first one if it is as close.
fn nearest(axes: &[Axis<2>]) -> usize {
    let near = (0..axes.len()).min_by_key(|&axis| match axes[axis].strides[1].unsigned_abs() {
        // A broadcast axis reads nothing new: as the output's fast axis it is best, elsewhere it does not matter.
        0 if axis > 0 => usize::MAX,
        stride => stride,
    });
    near.unwrap_or(0)
}

fn copy_runs<T: Bits>(grant: &Grant<'_>, walk: &Walk<2>, to: Target<T>, from: Elements<T>) {
    let strides = walk.strides();
    grant.share(walk.elements(), size_of::<T>(), |range| {
        walk.runs(range, |[out, input], length| {
            // SAFETY: the walk reaches indices of the two operands only, and ranges of different jobs do not meet.
            unsafe {
                let (out, input) = (to.at(out), from.at(input));
                match strides {
                    [1, 1] => input.copy_to_nonoverlapping(out, length),
                    [out_step, step] => {
                        for i in 0..length.cast_signed() {
                            out.offset(i * out_step).write(input.offset(i * step).read());
                        }
                    }
                }
            }
        });
    });
}

/// Copies in tiles of the first axis and axis `near`; the others are walked outside.
fn copy_tiles<T: Bits>(
    grant: &Grant<'_>,
    walk: &Walk<2>,
    near: usize,
    to: Target<T>,
    from: Elements<T>,
) {
    let (rows, columns) = (walk.axes()[0], walk.axes()[near]);
    let outer = Walk::<2>::merging(
        walk.axes()
            .iter()
            .enumerate()
            .filter(|(axis, _)| ![0, near].contains(axis))
            .map(|(_, axis)| *axis),
    );
    let bands = columns.extent.div_ceil(TILE);
    let band_elements = rows.extent * columns.extent.min(TILE);
    grant.share(outer.elements() * bands, band_elements * size_of::<T>(), |range| {
        for job in range {
            let (place, band) = (job / bands, job % bands);
            let columns_here = band * TILE..columns.extent.min((band + 1) * TILE);
            outer.runs(place..place + 1, |[out, input], _| {
                for start in (0..rows.extent).step_by(TILE) {
                    let tile = start..rows.extent.min(start + TILE);
                    // SAFETY: tiles stay inside of the two axes, and different jobs write different tiles.
                    unsafe {
                        copy_tile(
                            to.at(out),
                            from.at(input),
                            [tile, columns_here.clone()],
                            rows,
                            columns,
                        );
                    }
                }
            });
        }
    });
}

/// Copies one tile.
///
/// # Safety
/// The indices of the tile must be inside of the axes, whose elements must be readable and writable.
unsafe fn copy_tile<T: Bits>(
    out: NonNull<T>,
    input: NonNull<T>,
    [rows, columns]: [std::ops::Range<usize>; 2],
    row: Axis<2>,
    column: Axis<2>,
) {
    for j in columns {
        for i in rows.clone() {
            let (i, j) = (i.cast_signed(), j.cast_signed());
            let to = i * row.strides[0] + j * column.strides[0];
            let from = i * row.strides[1] + j * column.strides[1];
            // SAFETY: the caller says that the index is inside of both operands.
            unsafe { out.offset(to).write(input.offset(from).read()) };
        }
    }
}
