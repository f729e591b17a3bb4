//! Gather: slices of an operand, to where their numbers stand in the result.
//!
//! Elements are moved as plain bits, along the result's fast axis where that pays.

use std::ops::Range;

use smallvec::SmallVec;
use tenferro_tensor::{GatherMode, Gathering, Operand, OperandMut, Shape, Validation};

use super::{
    Grant,
    bits::{Bits, BitsVisitor, visit_bits},
    lookup::{BLOCK, Lookup},
    share::{Elements, Target},
    walk::{Axis, Walk},
};

/// How many slices make it worth to walk along them rather than along each.
const MANY: usize = 16;

/// How many elements a job moves at most, unless a block of slices has more in one place.
const JOB: usize = 1 << 15;

/// Computes a gather of `[x, indices]`.
pub(super) fn gather(
    grant: &Grant<'_>,
    gathering: &Gathering,
    mode: GatherMode,
    [x, indices]: &[Operand<'_>; 2],
    mut out: OperandMut<'_>,
) -> Result<(), Validation> {
    let strides = x.strides_or_dense();
    let lookup = Lookup::new(grant, gathering, mode.into(), (x.shape(), &strides), indices)?;
    if out.shape().contains(&0) {
        return Ok(());
    }
    let slices = Slices::new(gathering, &strides, out.shape(), &out.strides_or_dense());
    visit_bits(x.dtype(), Moves { grant, slices: &slices, lookup: &lookup, x, out: &mut out });
    Ok(())
}

/// Where slices stand: in the operand that they are of, and in the result that has them side by side.
pub(super) struct Slices {
    /// The axes that number slices: strides of the result.
    pub(super) numbers: Walk<1>,
    /// The axes of a slice: strides of the result and of the operand.
    pub(super) within: Walk<2>,
}

impl Slices {
    pub(super) fn new(
        gathering: &Gathering,
        operand: &[isize],
        result: &Shape,
        strides: &[isize],
    ) -> Self {
        let Gathering { slice_axes, slice_extents, collapsed_axes, batch_axes, .. } = gathering;
        let number = (0..result.rank())
            .filter(|axis| !slice_axes.contains(axis))
            .map(|axis| Axis { extent: result[axis], strides: [strides[axis]] });
        let within: SmallVec<[Axis<2>; 6]> = (0..operand.len())
            .filter(|axis| !collapsed_axes.contains(axis) && !batch_axes.contains(axis))
            .zip(&**slice_axes)
            .map(|(axis, &own)| Axis {
                extent: slice_extents[axis],
                strides: [strides[own], operand[axis]],
            })
            .collect();
        Self { numbers: Walk::merging(number), within: Walk::merging(within.into_iter()) }
    }
}

/// The moves of a gather.
struct Moves<'a, 'o> {
    grant: &'a Grant<'a>,
    slices: &'a Slices,
    lookup: &'a Lookup<'a>,
    x: &'a Operand<'a>,
    out: &'a mut OperandMut<'o>,
}

impl BitsVisitor for Moves<'_, '_> {
    fn visit<B: Bits>(self) {
        let (from, to) = (Elements::<B>::new(self.x.data()), Target::<B>::new(self.out.data()));
        let Slices { numbers, within } = self.slices;
        let (count, size) = (numbers.elements(), within.elements());
        let moves = Pointers { from, to, slices: self.slices };
        let ([across], [along, _]) = (numbers.strides(), within.strides());
        // The result's fast axis goes inside, if there is something to walk along it.
        let crosses = size == 1 || (count >= MANY && across.unsigned_abs() < along.unsigned_abs());
        // A job is a block of slices and some of their places.
        let block = count.min(BLOCK);
        let places = (JOB / block).clamp(1, size);
        let (blocks, parts) = (count.div_ceil(block), size.div_ceil(places));
        let cost = (2 * size_of::<B>()).saturating_mul(block * places);
        self.grant.share(blocks * parts, cost, |range| {
            let mut offsets = [0; BLOCK];
            let mut known = None;
            for job in range {
                let (number, part) = (job / parts, job % parts);
                let slices = number * block..count.min((number + 1) * block);
                let starts = &mut offsets[..slices.len()];
                if known.replace(number) != Some(number) {
                    self.lookup.offsets(slices.clone(), starts);
                }
                let part = part * places..size.min((part + 1) * places);
                if crosses {
                    moves.across(starts, slices, part);
                } else {
                    moves.along(starts, slices, part);
                }
            }
        });
    }
}

struct Pointers<'a, B> {
    from: Elements<B>,
    to: Target<B>,
    slices: &'a Slices,
}

impl<B: Bits> Pointers<'_, B> {
    /// Moves some places of some slices, one place of all slices after the other.
    fn across(&self, starts: &[isize], slices: Range<usize>, places: Range<usize>) {
        let Slices { numbers, within } = self.slices;
        let [step] = numbers.strides();
        let [to_step, from_step] = within.strides();
        let mut known = starts;
        for ([first], length) in numbers.runs(slices) {
            let (starts, rest) = known.split_at(length);
            known = rest;
            for ([out, input], length) in within.runs(places.clone()) {
                for place in 0..length.cast_signed() {
                    let (out, input) = (first + out + place * to_step, input + place * from_step);
                    for (at, &start) in (0_isize..).zip(starts) {
                        // SAFETY: the start leaves room for the slice; the walks reach the result's places.
                        unsafe {
                            let element = self.from.at(start + input).read();
                            self.to.at(out + at * step).write(element);
                        }
                    }
                }
            }
        }
    }

    /// Moves some places of some slices, one slice after the other.
    fn along(&self, starts: &[isize], slices: Range<usize>, places: Range<usize>) {
        let Slices { numbers, within } = self.slices;
        let [step] = numbers.strides();
        let [to_step, from_step] = within.strides();
        let mut known = starts.iter();
        for ([first], length) in numbers.runs(slices) {
            for (at, &start) in (0..length.cast_signed()).zip(&mut known) {
                for ([out, input], length) in within.runs(places.clone()) {
                    // SAFETY: as above.
                    unsafe {
                        let to = self.to.at(first + at * step + out);
                        let from = self.from.at(start + input);
                        if (to_step, from_step) == (1, 1) {
                            from.copy_to_nonoverlapping(to, length);
                        } else {
                            for at in 0..length.cast_signed() {
                                to.offset(at * to_step).write(from.offset(at * from_step).read());
                            }
                        }
                    }
                }
            }
        }
    }
}
