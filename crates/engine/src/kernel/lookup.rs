//! Looking up where the slices of a gather or scatter start.
//!
//! Indices are checked in one pass before anything is written; the offsets that they stand for are computed anew for
//! each block of slices when it is moved, which is cheaper than to keep them.

use std::{
    ops::Range,
    sync::atomic::{AtomicBool, Ordering},
};

use smallvec::SmallVec;
use tenferro_ops::{OutOfRange, slice_starts};
use tenferro_tensor::{DType, Gathering, Operand, Scalar, Shape, Validation, dispatch};

use super::{
    Grant,
    share::{Elements, ask_ahead},
    walk::{Axis, Walk},
};

/// How many slices are looked up at a time.
pub(super) const BLOCK: usize = 1024;

/// How many indices are asked for at a time.
const ASKED: usize = 64;

/// The offset of a slice that is left out.
pub(super) const LEFT_OUT: isize = isize::MIN;

/// One component of an index.
struct Component {
    /// Where it stands, from the first component of its index.
    offset: isize,
    /// The last place at which the slice fits; `None` where it never does.
    last: Option<usize>,
    /// The stride of the axis that it counts along.
    stride: isize,
}

/// Checked indices.
pub(super) struct Lookup<'a> {
    indices: &'a Operand<'a>,
    /// The axes that number slices: strides of the operand for those walked in step with it, and of the indices.
    axes: SmallVec<[Axis<2>; 6]>,
    /// The same, merged.
    numbers: Walk<2>,
    components: SmallVec<[Component; 6]>,
    mode: OutOfRange,
}

impl<'a> Lookup<'a> {
    /// Checks the indices of a gathering from an operand with these strides.
    ///
    /// # Errors
    /// As [`slice_starts`].
    pub(super) fn new(
        grant: &Grant<'_>,
        gathering: &Gathering,
        mode: OutOfRange,
        (shape, strides): (&Shape, &[isize]),
        indices: &'a Operand<'a>,
    ) -> Result<Self, Validation> {
        let own = indices.strides_or_dense();
        let component_stride = own.get(gathering.component_axis).copied().unwrap_or(0);
        let components = gathering.start_axes.iter().zip(0_isize..).map(|(&axis, place)| {
            let last = shape[axis].checked_sub(gathering.slice_extents[axis]);
            Component { offset: place.wrapping_mul(component_stride), last, stride: strides[axis] }
        });
        let number = |axis: usize| {
            let with = gathering.index_batch_axes.iter().position(|&other| other == axis);
            let step = with.map_or(0, |place| strides[gathering.batch_axes[place]]);
            Axis { extent: indices.shape()[axis], strides: [step, own[axis]] }
        };
        let axes: SmallVec<[Axis<2>; 6]> = (0..indices.shape().rank())
            .filter(|&axis| axis != gathering.component_axis)
            .map(number)
            .collect();
        let numbers = Walk::merging(axes.iter().copied());
        let lookup = Self { indices, axes, numbers, components: components.collect(), mode };
        if lookup.is_refused(grant) {
            slice_starts(gathering, shape, indices, mode)?;
            unreachable!("an index that is refused here is refused there");
        }
        Ok(lookup)
    }

    /// Whether there is an index that is neither in its axis nor moved there or left out.
    fn is_refused(&self, grant: &Grant<'_>) -> bool {
        let (refused, seen) = (&AtomicBool::new(false), Ordering::Relaxed);
        let cost = self.components.len() * self.indices.dtype().size();
        grant.share(self.numbers.elements(), cost, |range| {
            let wrong = dispatch!(self.indices.dtype(), integer T => {
                let mut components = self.components.iter();
                components.any(|component| self.is_wrong::<T>(range.clone(), component))
            }, else unreachable!("the rules have seen that indices are integers"));
            if wrong {
                refused.store(true, seen);
            }
        });
        refused.load(seen)
    }

    /// Whether a component of an index of `range` is wrong.
    fn is_wrong<T: Scalar + TryInto<i64> + Copy>(
        &self,
        range: Range<usize>,
        component: &Component,
    ) -> bool {
        let last = match (self.mode, component.last) {
            // Nothing fits an axis that is too short, and nothing can be moved there.
            (OutOfRange::Refuse | OutOfRange::Clamp, None) => return !range.is_empty(),
            (OutOfRange::Refuse, Some(last)) => last as i64,
            (OutOfRange::Clamp | OutOfRange::Drop, _) => i64::MAX,
        };
        // One is wrong if it is negative, or what is left to the last place is.
        let mut signs = 0;
        self.read::<T>(range, component, |_, _, index| signs |= index | last.wrapping_sub(index));
        signs < 0
    }

    /// Calls `visit(number from the start of the range, offset of the axes walked in step, index)`.
    #[inline(always)]
    fn read<T: Scalar + TryInto<i64> + Copy>(
        &self,
        range: Range<usize>,
        component: &Component,
        mut visit: impl FnMut(usize, isize, i64),
    ) {
        let from = Elements::<T>::new(self.indices.data());
        let [step, own_step] = self.numbers.strides();
        let mut number = 0;
        for ([offset, own], length) in self.numbers.runs(range) {
            // SAFETY: the walk and the component reach indices of the operand only.
            let first = unsafe { from.at(own + component.offset) };
            let mut each = |own_step: isize| {
                for start in (0..length).step_by(ASKED) {
                    ask_ahead(
                        first.as_ptr().wrapping_offset(start.cast_signed() * own_step),
                        ASKED,
                    );
                    for at in start..length.min(start + ASKED) {
                        let along = at.cast_signed();
                        // SAFETY: as above.
                        let index = unsafe { first.offset(along * own_step).read() };
                        let index = index.try_into().unwrap_or(i64::MAX);
                        visit(number + at, offset + along * step, index);
                    }
                }
            };
            // Neighbours are read many at a time.
            if own_step == 1 {
                each(1)
            } else {
                each(own_step)
            }
            number += length;
        }
    }

    /// The offsets of the slices of `range`, which are not more than `offsets`; [`LEFT_OUT`] for those left out.
    pub(super) fn offsets(&self, range: Range<usize>, offsets: &mut [isize]) {
        let offsets = &mut offsets[..range.len()];
        let [step, _] = self.numbers.strides();
        let mut number = 0;
        for ([offset, _], length) in self.numbers.runs(range.clone()) {
            for (to, at) in offsets[number..number + length].iter_mut().zip(0_isize..) {
                *to = offset + at * step;
            }
            number += length;
        }
        dispatch!(self.indices.dtype(), integer T => {
            for component in &self.components {
                let last = component.last.map_or(-1, |last| last as i64);
                self.read::<T>(range.clone(), component, |number, _, index| {
                    let offset = &mut offsets[number];
                    // Checked indices are not negative.
                    let place = index.min(last) as isize;
                    *offset = match self.mode {
                        OutOfRange::Drop if index > last || *offset == LEFT_OUT => LEFT_OUT,
                        _ => *offset + place * component.stride,
                    };
                });
            }
        }, else unreachable!("the rules have seen that indices are integers"));
    }

    /// The picks of single elements by indices of one component, to places that are numbered by axes of these strides;
    /// `None` where another form of indices asks for more.
    pub(super) fn picks(&self, to: impl Iterator<Item = isize>) -> Option<Picks> {
        let [component] = &self.components[..] else { return None };
        if self.indices.dtype() != DType::I64 || self.mode == OutOfRange::Drop {
            return None;
        }
        let axes = self.axes.iter().zip(to).map(|(axis, to)| {
            let [with, own] = axis.strides;
            Axis { extent: axis.extent, strides: [to, with, own] }
        });
        let first = component.offset * size_of::<i64>().cast_signed();
        // SAFETY: the first index lies there.
        let indices = Elements::new(unsafe { self.indices.data().offset(first) });
        let last = component.last? as i64;
        Some(Picks { walk: Walk::merging(axes), indices, last, stride: component.stride })
    }
}

/// Elements that are picked one by one.
pub(super) struct Picks {
    /// The axes that number them: strides of the result, of the operand for those walked in step with it, and of the
    /// indices.
    pub(super) walk: Walk<3>,
    /// The checked indices, which are not negative.
    pub(super) indices: Elements<i64>,
    /// The last place, which larger indices stand for.
    pub(super) last: i64,
    /// The operand's stride from place to place.
    pub(super) stride: isize,
}
