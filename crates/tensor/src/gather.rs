//! Copies of strided elements into dense memory, in column-major order.
//!
//! Two axes matter to the cache: the first, along which places lie next to each other, and the one along which elements
//! do. The copy goes over these two in square tiles, so that neither side of it leaves the cache between neighbours.

use std::mem::MaybeUninit;

use smallvec::SmallVec;

use crate::{AsOperand, Scalar, TensorView, list::INLINE_RANK};

/// The side of a tile, in elements: two tiles of the widest dtype fit the smallest first-level cache.
const TILE: usize = 32;

/// An axis of more than one index.
#[derive(Clone, Copy)]
struct Walk {
    extent: usize,
    /// From element to element.
    stride: isize,
    /// From place to place.
    place: usize,
}

/// Copies every element of a view to its place in column-major order; all places are initialised then.
///
/// # Panics
/// If the view does not hold `T`, or does not have an element for each place.
pub(crate) fn gather<T: Scalar>(view: &TensorView<'_>, places: &mut [MaybeUninit<T>]) {
    assert!(
        view.dtype() == T::DTYPE && view.shape().elements() == places.len(),
        "invariant: the places are of the view's dtype and number"
    );
    if let Some(elements) = view.as_operand().as_slice() {
        places.write_copy_of_slice(elements);
        return;
    }
    // A view that is not dense has more than one element, and so an axis to walk.
    let mut axes = walks(view);
    let first = axes.remove(0);
    let nearest = (0..axes.len()).min_by_key(|&axis| axes[axis].stride.unsigned_abs());
    let near = match nearest {
        Some(axis) if axes[axis].stride.unsigned_abs() < first.stride.unsigned_abs() => {
            axes.remove(axis)
        }
        _ => Walk { extent: 1, stride: 0, place: 0 },
    };
    let data = view.as_operand().data().cast::<T>();
    each_start(&axes, |offset, place| {
        each_tile(first.extent, near.extent, |i, j| {
            let offset = offset + i.cast_signed() * first.stride + j.cast_signed() * near.stride;
            // SAFETY: the offset is that of an index of the view, which holds elements of `T`.
            let element = unsafe { data.offset(offset).read() };
            places[place + i * first.place + j * near.place].write(element);
        });
    });
}

/// The axes of more than one index.
fn walks(view: &TensorView<'_>) -> SmallVec<[Walk; INLINE_RANK]> {
    let places = view.shape().column_major_strides();
    view.shape()
        .iter()
        .zip(view.strides())
        .zip(places)
        .map(|((&extent, &stride), place)| Walk { extent, stride, place: place.unsigned_abs() })
        .filter(|axis| axis.extent > 1)
        .collect()
}

/// Calls `visit` with the offset and the place of every index of these axes.
fn each_start(axes: &[Walk], mut visit: impl FnMut(isize, usize)) {
    let mut index = SmallVec::<[usize; INLINE_RANK]>::from_elem(0, axes.len());
    let (mut offset, mut place) = (0_isize, 0_usize);
    loop {
        visit(offset, place);
        let mut moved = false;
        for (at, axis) in index.iter_mut().zip(axes) {
            if *at + 1 < axis.extent {
                *at += 1;
                offset += axis.stride;
                place += axis.place;
                moved = true;
                break;
            }
            offset -= at.cast_signed() * axis.stride;
            place -= *at * axis.place;
            *at = 0;
        }
        if !moved {
            return;
        }
    }
}

/// Calls `visit` with every pair below `first` and `second`, tile by tile, the first fastest.
#[inline]
fn each_tile(first: usize, second: usize, mut visit: impl FnMut(usize, usize)) {
    // A lone axis is walked in one piece.
    let side = if second == 1 { first } else { TILE };
    for far in (0..second).step_by(TILE) {
        for near in (0..first).step_by(side) {
            for j in far..second.min(far + TILE) {
                for i in near..first.min(near + side) {
                    visit(i, j);
                }
            }
        }
    }
}
