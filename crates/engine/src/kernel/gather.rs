//! Gather: slices of an operand, to where their numbers stand in the result.
//!
//! Elements are moved as plain bits, along the result's fast axis where that pays.

use std::{ops::Range, ptr::NonNull};

use smallvec::SmallVec;
use tenferro_tensor::{GatherMode, Gathering, Operand, OperandMut, Shape, Validation};

use super::{
    Grant,
    bits::{Bits, BitsVisitor, visit_bits},
    copy::stream,
    lookup::{BLOCK, Lookup, Picks},
    share::{Elements, Target, ask, ask_ahead},
    walk::{Axis, Walk},
};

/// How many slices make it worth to walk along them rather than along each.
const MANY: usize = 16;

/// How many elements a job moves at most, unless a block of slices has more in one place.
const JOB: usize = 1 << 15;

/// Runs of so many bytes go past the caches, where the result does.
const STREAMED_RUN: usize = 1024;

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
    let to = out.strides_or_dense();
    let slices = Slices::new(gathering, &strides, out.shape(), &to);
    let numbering = (0..to.len()).filter(|axis| !gathering.slice_axes.contains(axis));
    let picks = match slices.within.elements() {
        1 => lookup.picks(numbering.map(|axis| to[axis])),
        _ => None,
    };
    match picks {
        Some(picks) => visit_bits(x.dtype(), Picking { grant, picks, x, out: &mut out }),
        None => visit_bits(
            x.dtype(),
            Moves { grant, slices: &slices, lookup: &lookup, x, out: &mut out },
        ),
    }
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

/// A gather of single elements.
struct Picking<'a, 'o> {
    grant: &'a Grant<'a>,
    picks: Picks,
    x: &'a Operand<'a>,
    out: &'a mut OperandMut<'o>,
}

impl BitsVisitor for Picking<'_, '_> {
    fn visit<B: Bits>(self) {
        let (from, to) = (Elements::<B>::new(self.x.data()), Target::<B>::new(self.out.data()));
        let Picks { ref walk, indices, last, stride } = self.picks;
        let cost = 2 * size_of::<B>() + size_of::<i64>();
        let [to_step, with_step, own_step] = walk.strides();
        let is_dense = [to_step, with_step, own_step] == [1, 0, 1];
        let bytes = walk.elements() * size_of::<B>();
        let streamed = stream::EXISTS && is_dense && bytes >= stream::RESULT_FROM;
        self.grant.share(walk.elements(), cost, |range| {
            for ([out, with, own], length) in walk.runs(range) {
                // SAFETY: the walk reaches the result's places and the indices, each place once, and an index that is
                // not negative stands for an element that is there.
                unsafe {
                    let (to, indices) = (to.at(out), indices.at(own));
                    let run = Run { from: from.at(with), indices, last, stride };
                    if streamed && length * size_of::<B>() >= STREAMED_RUN {
                        run.pick_streamed(to, length);
                    } else if is_dense {
                        run.pick(to, length, [1, 0, 1]);
                    } else {
                        run.pick(to, length, [to_step, with_step, own_step]);
                    }
                }
            }
            if streamed {
                stream::finish();
            }
        });
    }
}

/// A run of picks. By value, since what lies in memory would be read again after each write.
#[derive(Clone, Copy)]
struct Run<B> {
    from: NonNull<B>,
    indices: NonNull<i64>,
    last: i64,
    stride: isize,
}

impl<B: Bits> Run<B> {
    /// Picks the first elements of the run, by strides of the result, of the operand and of the indices.
    ///
    /// # Safety
    /// There must be so many indices, which stand for elements that are there, and room for as many results.
    #[inline(always)]
    unsafe fn pick(
        self,
        to: NonNull<B>,
        length: usize,
        [to_step, with_step, own_step]: [isize; 3],
    ) {
        let Self { from, indices, last, stride } = self;
        for at in 0..length.cast_signed() {
            // SAFETY: the caller says so.
            unsafe {
                let place = indices.offset(at * own_step).read().min(last) as isize;
                let element = from.offset(at * with_step + place * stride).read();
                to.offset(at * to_step).write(element);
            }
        }
    }

    /// The same past the caches, where all strides but the operand's are 1 and that is 0.
    ///
    /// # Safety
    /// As for [`Run::pick`].
    unsafe fn pick_streamed(self, to: NonNull<B>, length: usize) {
        // With as many picks as elements most lines are picked from; so they will be in the next run.
        let picks_most = self.stride == 1 && self.last < length as i64;
        let next = self.from.as_ptr().wrapping_offset((self.last + 1) as isize);
        let count = (length, size_of::<B>());
        // SAFETY: the caller says so.
        unsafe {
            stream::staged(to.as_ptr().cast(), count, stream::SHORT_STAGE, |at, stage, length| {
                let indices = self.indices.add(at);
                ask_ahead(indices.as_ptr(), length);
                if picks_most {
                    ask(next.wrapping_add(at), length);
                }
                Self { indices, ..self }.pick(stage.cast(), length, [1, 0, 1]);
            });
        }
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
        let streamed = stream::EXISTS && count * size * size_of::<B>() >= stream::RESULT_FROM;
        let moves = Pointers { from, to, slices: self.slices, streamed };
        let ([across], [along, _]) = (numbers.strides(), within.strides());
        // The result's fast axis goes inside, if there is something to walk along it.
        let crosses = size == 1 || (count >= MANY && across.unsigned_abs() < along.unsigned_abs());
        // A job is a block of slices and some of their places; as many as there are, where it walks along them.
        let (block, places) = if crosses {
            let block = count.min(BLOCK);
            (block, (JOB / block).clamp(1, size))
        } else {
            let places = size.min(JOB);
            ((JOB / places).clamp(1, BLOCK).min(count), places)
        };
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
            if streamed {
                stream::finish();
            }
        });
    }
}

struct Pointers<'a, B> {
    from: Elements<B>,
    to: Target<B>,
    slices: &'a Slices,
    /// Whether long runs go past the caches.
    streamed: bool,
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
                        let bytes = length * size_of::<B>();
                        if (to_step, from_step) != (1, 1) {
                            for at in 0..length.cast_signed() {
                                to.offset(at * to_step).write(from.offset(at * from_step).read());
                            }
                        } else if self.streamed && bytes >= STREAMED_RUN {
                            stream::row(to.cast().as_ptr(), from.cast().as_ptr(), bytes);
                        } else {
                            from.copy_to_nonoverlapping(to, length);
                        }
                    }
                }
            }
        }
    }
}
