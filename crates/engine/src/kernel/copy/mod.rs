//! Moving elements from one layout to another, without looking at what they are.
//!
//! Elements are plain bits of 1, 2, 4, 8 or 16 bytes. What is dense on both sides is one move, a handful of elements is
//! walked as it lies, and everything else is cut into tiles by a [`Plan`]: small boxes of elements whose cache lines are
//! used up while they are there. This file chooses; how a tile is filled is in `tile.rs`.

mod plan;
mod square;
pub(super) mod stream;
mod tile;

use std::ptr::NonNull;

use smallvec::SmallVec;
use tenferro_tensor::{Operand, OperandMut};

use super::{
    Grant,
    share::{Elements, Target},
    walk::{Axis, Walk},
};
pub(super) use plan::LINE;
use plan::Plan;
use square::Bits;
pub(super) use stream::prefetch;

/// Up to so many elements even merging axes costs more than it saves.
const FEW: usize = 32;

/// How much faster a copy moves bytes than [`Grant::share`] takes them to be: one that stays in the caches is done before
/// another thread has woken.
const FASTER: usize = 4;
/// Up to so many elements a plan costs more than it saves.
const SOME: usize = 256;

/// A copy of so many bytes or more goes past the caches: it would only push out what is used again.
const STREAM_FROM: usize = 4 << 20;

/// The bytes of one part of a dense copy.
const DENSE_PART: usize = 64 << 10;

type Strides = SmallVec<[isize; 6]>;

/// Copies every element of `source` to the same index of `out`, which has its dtype and shape.
pub(super) fn copy(grant: &Grant<'_>, source: &Operand<'_>, mut out: OperandMut<'_>) {
    debug_assert!(source.dtype() == out.dtype() && source.shape() == out.shape());
    let (elements, size) = (source.shape().elements(), source.dtype().size());
    if elements == 0 {
        return;
    }
    let (to, from) = (out.data(), source.data());
    if source.strides().is_none() && out.strides().is_none() {
        return copy_dense(grant, elements * size, to, from);
    }
    let strides = [out.strides_or_dense(), source.strides_or_dense()];
    let spans = Spans { extents: source.shape(), strides, to, from };
    if elements <= FEW {
        return spans.copy_few(size);
    }
    let walk = spans.walk();
    if elements <= SOME {
        return spans.copy_runs(&walk, size);
    }
    let plan = Plan::new(walk, size, to.as_ptr().addr());
    let bytes = Bytes { to: Target::new(to), from: Elements::new(from) };
    match plan.size() {
        1 => copy_tiles::<u8>(grant, &plan, bytes),
        2 => copy_tiles::<u16>(grant, &plan, bytes),
        4 => copy_tiles::<u32>(grant, &plan, bytes),
        8 => copy_tiles::<u64>(grant, &plan, bytes),
        _ => copy_tiles::<[u64; 2]>(grant, &plan, bytes),
    }
}

/// Writes `value`, one element of the dtype of `out`, to every index of `out`.
pub(super) fn fill(grant: &Grant<'_>, value: &Operand<'_>, out: OperandMut<'_>) {
    let zeros: Strides = out.shape().iter().map(|_| 0).collect();
    let shape = out.shape().clone();
    // SAFETY: with strides of 0 every index is the one element of `value`.
    let repeated = unsafe { Operand::from_raw(value.data(), value.dtype(), &shape, Some(&zeros)) };
    copy(grant, &repeated, out);
}

/// Moves `bytes` bytes that lie in the same order on both sides.
#[inline]
fn copy_dense(grant: &Grant<'_>, bytes: usize, to: NonNull<u8>, from: NonNull<u8>) {
    if bytes < DENSE_PART {
        // SAFETY: both operands are dense and have so many bytes; an output shares no element with an input.
        return unsafe { from.copy_to_nonoverlapping(to, bytes) };
    }
    let (to, from) = (Target::<u8>::new(to), Elements::<u8>::new(from));
    grant.share(bytes.div_ceil(DENSE_PART), DENSE_PART / FASTER, |range| {
        let (start, end) = (range.start * DENSE_PART, bytes.min(range.end * DENSE_PART));
        let at = start.cast_signed();
        // SAFETY: as above, and parts do not meet.
        unsafe { from.at(at).copy_to_nonoverlapping(to.at(at), end - start) };
    });
}

/// Two operands of one shape.
struct Spans<'a> {
    extents: &'a [usize],
    /// The strides of the output and of the input.
    strides: [Strides; 2],
    to: NonNull<u8>,
    from: NonNull<u8>,
}

impl Spans<'_> {
    /// The axes in the order that is cheapest to write: the output's smallest stride first.
    fn walk(&self) -> Walk<2> {
        let [to, from] = &self.strides;
        let mut order: SmallVec<[usize; 6]> = (0..self.extents.len()).collect();
        order.sort_by_key(|&axis| to[axis].unsigned_abs());
        Walk::merging(
            order
                .iter()
                .map(|&axis| Axis { extent: self.extents[axis], strides: [to[axis], from[axis]] }),
        )
    }

    /// Copies element by element, without a plan.
    fn copy_few(&self, size: usize) {
        match size {
            1 => self.step_through::<u8>(),
            2 => self.step_through::<u16>(),
            4 => self.step_through::<u32>(),
            8 => self.step_through::<u64>(),
            _ => self.step_through::<[u64; 2]>(),
        }
    }

    /// Copies run by run, without a plan.
    fn copy_runs(&self, walk: &Walk<2>, size: usize) {
        match size {
            1 => self.step_through_runs::<u8>(walk),
            2 => self.step_through_runs::<u16>(walk),
            4 => self.step_through_runs::<u32>(walk),
            8 => self.step_through_runs::<u64>(walk),
            _ => self.step_through_runs::<[u64; 2]>(walk),
        }
    }

    fn step_through_runs<T: Bits>(&self, walk: &Walk<2>) {
        let (to, from) = (self.to.cast::<T>(), self.from.cast::<T>());
        let [to_step, from_step] = walk.strides();
        for ([out, input], length) in walk.runs(0..walk.elements()) {
            for at in 0..length.cast_signed() {
                // SAFETY: the walk reaches indices of the two operands only.
                unsafe {
                    let element = from.offset(input + at * from_step).read_unaligned();
                    to.offset(out + at * to_step).write_unaligned(element);
                }
            }
        }
    }

    fn step_through<T: Bits>(&self) {
        let [to_steps, from_steps] = &self.strides;
        let (mut to, mut from) = (self.to.cast::<T>(), self.from.cast::<T>());
        let mut index = SmallVec::<[usize; 6]>::from_elem(0, self.extents.len());
        loop {
            // SAFETY: the index is inside of the extents, so both places are those of elements.
            unsafe { to.write_unaligned(from.read_unaligned()) };
            let mut axis = 0;
            loop {
                if axis == index.len() {
                    return;
                }
                index[axis] += 1;
                let wrapped = index[axis] == self.extents[axis];
                let steps = if wrapped { 1 - self.extents[axis].cast_signed() } else { 1 };
                // SAFETY: the step leads to another index of the same axis, or back to its first.
                unsafe {
                    to = to.offset(steps * to_steps[axis]);
                    from = from.offset(steps * from_steps[axis]);
                }
                if !wrapped {
                    break;
                }
                index[axis] = 0;
                axis += 1;
            }
        }
    }
}

/// Where the two operands of a planned copy begin.
#[derive(Clone, Copy)]
struct Bytes {
    to: Target<u8>,
    from: Elements<u8>,
}

fn copy_tiles<T: Bits>(grant: &Grant<'_>, plan: &Plan, bytes: Bytes) {
    grant.share(plan.tiles(), plan.tile_bytes().div_ceil(FASTER), |range| {
        // SAFETY: the plan was made from the shapes and strides of the two operands; parts have different tiles.
        unsafe {
            let (to, from) = (bytes.to.at(0).cast().as_ptr(), bytes.from.at(0).cast().as_ptr());
            T::copy(tile::Part { plan, tiles: range, to, from });
        }
    });
}
