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
use tenferro_tensor::{Gathering, Operand, Scalar, Shape, Validation, dispatch};

use super::{
    Grant,
    share::Elements,
    walk::{Axis, Walk},
};

/// How many slices are looked up at a time.
pub(super) const BLOCK: usize = 1024;

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
        let numbers = (0..indices.shape().rank())
            .filter(|&axis| axis != gathering.component_axis)
            .map(number);
        let numbers = Walk::merging(numbers);
        let lookup = Self { indices, numbers, components: components.collect(), mode };
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
            let mut wrong = false;
            self.each(range, |component, index| {
                let fits = component.last.is_some_and(|last| index <= last as u64);
                // Indices that were negative are beyond every axis.
                let negative = index > i64::MAX as u64;
                wrong |= !fits
                    && match self.mode {
                        OutOfRange::Refuse => true,
                        OutOfRange::Clamp => negative || component.last.is_none(),
                        OutOfRange::Drop => negative,
                    };
            });
            if wrong {
                refused.store(true, seen);
            }
        });
        refused.load(seen)
    }

    /// Calls `visit(component, index)` for each index of `range`, a component after the other.
    fn each(&self, range: Range<usize>, mut visit: impl FnMut(&Component, u64)) {
        dispatch!(self.indices.dtype(), integer T => {
            for component in &self.components {
                self.read::<T>(range.clone(), component, |_, _, index| visit(component, index));
            }
        }, else unreachable!("the rules have seen that indices are integers"));
    }

    /// Calls `visit(number from the start of the range, offset of the axes walked in step, index)`.
    fn read<T: Scalar + TryInto<i64> + Copy>(
        &self,
        range: Range<usize>,
        component: &Component,
        mut visit: impl FnMut(usize, isize, u64),
    ) {
        let from = Elements::<T>::new(self.indices.data());
        let [step, own_step] = self.numbers.strides();
        let mut number = 0;
        for ([offset, own], length) in self.numbers.runs(range) {
            for at in 0..length {
                let along = at.cast_signed();
                // SAFETY: the walk and the component reach indices of the operand only.
                let index = unsafe { from.at(own + along * own_step + component.offset).read() };
                let index: i64 = index.try_into().unwrap_or(i64::MAX);
                visit(number + at, offset + along * step, index.cast_unsigned());
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
            for at in 0..length {
                offsets[number + at] = offset + at.cast_signed() * step;
            }
            number += length;
        }
        dispatch!(self.indices.dtype(), integer T => {
            for component in &self.components {
                self.read::<T>(range.clone(), component, |number, _, index| {
                    let offset = &mut offsets[number];
                    let last = component.last.map_or(-1, usize::cast_signed);
                    // Checked indices are not negative.
                    let index = index as isize;
                    let place = index.min(last);
                    *offset = match self.mode {
                        OutOfRange::Drop if index > last || *offset == LEFT_OUT => LEFT_OUT,
                        _ => *offset + place * component.stride,
                    };
                });
            }
        }, else unreachable!("the rules have seen that indices are integers"));
    }
}
