//! Regions of few elements: one chunk, for which next to nothing is prepared.

use std::ptr::NonNull;

use tenferro_tensor::Operand;

use super::{
    chunks::{LITTLE, Scratch, steps},
    plan::{Plan, advanced},
};
use crate::kernel::stream::{CHUNK, copy_run};

/// The most slots of such a region.
const SLOTS: usize = 32;

/// Whether regions of so many elements may be run at once: few, and nothing is reduced.
#[inline]
pub(crate) fn is_brief(plan: &Plan, elements: usize) -> bool {
    elements <= CHUNK && plan.slots() <= SLOTS && plan.reduced_place().is_none()
}

/// Runs a region that [is brief](is_brief) at once, if all operands are single elements or lie next to each other, and
/// returns the first step that had no value for some element; `None` if they do not.
///
/// # Safety
/// Operands must have the metas of the plan, `outs` room for so many elements of its results, where no operand lies.
pub(crate) unsafe fn run(
    plan: &Plan,
    elements: usize,
    inputs: &[Operand<'_>],
    outs: &[NonNull<u8>],
) -> Option<Option<usize>> {
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
    written[..outs.len()].copy_from_slice(outs);
    for (slot, &size) in rest.iter_mut().zip(plan.registers()) {
        *slot = free(size)?;
    }
    // SAFETY: operands and results have so many elements, registers room for them, and all are apart.
    Some(unsafe { steps(plan, &slots, elements) })
}
