//! Regions of few elements: one chunk, for which next to nothing is prepared.

use std::ptr::NonNull;

use tenferro_tensor::{Operand, OperandMut};

use super::{
    chunks::{LITTLE, Scratch, steps},
    plan::{Plan, advanced},
};
use crate::kernel::stream::{CHUNK, copy_run};

/// The most slots of such a region.
const SLOTS: usize = 32;

/// Runs a region of so many elements at once, if all operands are single elements or lie next to each other, and returns
/// the first step that had no value for some element; `None` if the region is not of that kind.
///
/// Nothing is reduced, operands have the metas of the plan, and no result lies where an operand does.
pub(super) fn run(
    plan: &Plan,
    elements: usize,
    inputs: &[Operand<'_>],
    outs: &mut [OperandMut<'_>],
) -> Option<Option<usize>> {
    if plan.slots() > SLOTS || elements > CHUNK {
        return None;
    }
    let mut scratch = Scratch::<LITTLE>::new();
    let place = scratch.place();
    let mut end = 0;
    // Where so many bytes of the scratch are free.
    let mut free = |size: usize| {
        let start = advanced(&mut end, elements * size);
        // SAFETY: the start is inside of the scratch.
        (end <= LITTLE).then(|| unsafe { place.add(start) })
    };
    let mut slots = [NonNull::dangling(); SLOTS];
    let (read, rest) = slots.split_at_mut(inputs.len());
    for (slot, input) in read.iter_mut().zip(inputs) {
        let count = input.shape().elements();
        *slot = if count == elements && input.strides().is_none() {
            input.data()
        } else if count == 1 {
            let size = input.dtype().size();
            let copies = free(size)?;
            copy_run(size, input.data(), 0, copies, 1, elements);
            copies
        } else {
            return None;
        };
    }
    let (written, rest) = rest.split_at_mut(outs.len() + 1);
    for (slot, out) in written.iter_mut().zip(outs) {
        *slot = out.data();
    }
    for (slot, &size) in rest.iter_mut().zip(plan.registers()) {
        *slot = free(size)?;
    }
    // SAFETY: operands and results have so many elements, registers room for them, and they are apart.
    Some(unsafe { steps(plan, &slots, elements) })
}
