//! Scatter: slices of updates, placed over a copy of an operand in the order of their numbers.
//!
//! Each place is written by one thread, in that order, so that the result does not depend on how many there are.

use std::ops::Range;

use tenferro_ops::scalar::{CombinerVisitor, Reducer, visit_combiner};
use tenferro_provider::Workers;
use tenferro_tensor::{
    Gathering, Operand, OperandMut, Placement, Result, Scalar, ScatterMode, Validation,
};

use super::{
    Grant,
    bits::{Bits, BitsVisitor, visit_bits},
    copy,
    gather::Slices,
    lookup::{BLOCK, LEFT_OUT, Lookup},
    share::{Elements, Target, pays},
    structure::layout_of,
    walk::Walk,
};

const OP: &str = "scatter";

/// Slices of so many elements are cut among threads; of shorter ones each thread has those that start in its part.
const LONG: usize = 64;

/// What is placed where, and how.
pub(super) struct Scattering<'a> {
    pub(super) gathering: &'a Gathering,
    pub(super) placement: Placement,
    pub(super) mode: ScatterMode,
}

/// Computes a scatter of `[x, indices, updates]`.
pub(super) fn scatter(
    grant: &Grant<'_>,
    scattering: &Scattering<'_>,
    [x, indices, updates]: &[Operand<'_>; 3],
    mut out: OperandMut<'_>,
) -> Result<()> {
    let gathering = scattering.gathering;
    let named = |problem: Validation| problem.of(OP);
    let strides = out.strides_or_dense();
    let operand = (x.shape(), &strides[..]);
    let lookup =
        Lookup::new(grant, gathering, scattering.mode.into(), operand, indices).map_err(named)?;
    let slices = Slices::new(gathering, &strides, updates.shape(), &updates.strides_or_dense());
    // An operand that was given lies there already.
    if x.data() != out.data() {
        copy::copy(grant, x, out.reborrow());
    }
    if updates.shape().contains(&0) || out.shape().contains(&0) {
        return Ok(());
    }
    // Then slices with one start are one slice, and slices with two starts do not meet.
    let apart = gathering.start_axes.iter().all(|&axis| gathering.slice_extents[axis] == 1);
    let span = layout_of(&out).span().map_err(named)?.expect("invariant: the output has elements");
    let updates = Updates { grant, slices, lookup, apart, span, elements: updates };
    let placing = Placing { updates, out };
    match scattering.placement {
        Placement::Replace => visit_bits(x.dtype(), placing),
        Placement::Combine(combiner) => {
            visit_combiner(combiner, x.dtype(), placing).map_err(named)?;
        }
    }
    Ok(())
}

/// Updates to be placed.
struct Updates<'a> {
    grant: &'a Grant<'a>,
    slices: Slices,
    lookup: Lookup<'a>,
    /// Whether slices are either the same or apart; those that overlap otherwise are placed by one thread.
    apart: bool,
    /// The lowest and the highest offset of the output.
    span: (isize, isize),
    elements: &'a Operand<'a>,
}

/// Updates and where they are placed.
struct Placing<'a> {
    updates: Updates<'a>,
    out: OperandMut<'a>,
}

/// A part of the updates that no other part meets: some places of each slice, of slices that start in some range.
struct Part {
    places: Range<usize>,
    starts: Range<isize>,
}

impl Updates<'_> {
    /// Calls `place(offset of the output, offset of the updates)` for each update that is not left out, those of one
    /// place in order, on as many threads as pay.
    fn share(&self, place: impl Fn(isize, isize) + Sync) {
        let (count, size) = (self.slices.numbers.elements(), self.slices.within.elements());
        let bytes = (count * size).saturating_mul(4 * self.elements.dtype().size());
        let threads = if pays(bytes) { self.grant.width() } else { 1 };
        let (low, high) = self.span;
        let all = low..high + 1;
        if threads == 1 || !self.apart {
            return self.part(&Part { places: 0..size, starts: all }, &place);
        }
        self.grant.workers().run(threads, &|part| {
            let cut =
                |part: usize, of: usize| (of as u128 * part as u128 / threads as u128) as usize;
            let part = if size >= LONG {
                Part { places: cut(part, size)..cut(part + 1, size), starts: all.clone() }
            } else {
                let reach = (high - low).cast_unsigned() + 1;
                let bound = |part| low + cut(part, reach).cast_signed();
                Part { places: 0..size, starts: bound(part)..bound(part + 1) }
            };
            self.part(&part, &place);
        });
    }

    fn part(&self, part: &Part, place: &impl Fn(isize, isize)) {
        let Slices { numbers, within } = &self.slices;
        let ([next], [step_update, step]) = (numbers.strides(), within.strides());
        let mut offsets = [0; BLOCK];
        let count = numbers.elements();
        let is_single = within.elements() == 1;
        for first in (0..count).step_by(BLOCK) {
            let block = first..count.min(first + BLOCK);
            let offsets = &mut offsets[..block.len()];
            self.lookup.offsets(block.clone(), offsets);
            let mut starts = offsets.iter();
            for ([first], length) in numbers.runs(block) {
                for (at, &start) in (0..length.cast_signed()).zip(&mut starts) {
                    if start == LEFT_OUT || !part.starts.contains(&start) {
                        continue;
                    }
                    let update = first + at * next;
                    if is_single {
                        place(start, update);
                        continue;
                    }
                    for ([own, offset], length) in within.runs(part.places.clone()) {
                        for at in 0..length.cast_signed() {
                            place(start + offset + at * step, update + own + at * step_update);
                        }
                    }
                }
            }
        }
    }
}

impl BitsVisitor for Placing<'_> {
    fn visit<B: Bits>(mut self) {
        let from = Elements::<B>::new(self.updates.elements.data());
        let to = Target::<B>::new(self.out.data());
        // SAFETY: starts were checked to leave room for a slice, the walks reach each operand's elements only, and no
        // two parts have one place.
        self.updates.share(|place, update| unsafe { to.at(place).write(from.at(update).read()) });
    }
}

impl CombinerVisitor for Placing<'_> {
    const BY_BITS: bool = true;
    type Output = ();

    fn combine<T: Scalar, R: Reducer<T, Out = T>>(mut self, reducer: R) {
        let from = Elements::<T>::new(self.updates.elements.data());
        let to = Target::<T>::new(self.out.data());
        // Whatever is carried in another type than the element's is kept in it to the end.
        if const { size_of::<R::Acc>() != size_of::<T>() } {
            return self.combine_apart(reducer, from, to);
        }
        self.updates.share(|place, update| {
            // SAFETY: as above.
            unsafe {
                let update = reducer.enter(from.at(update).read());
                let before = reducer.enter(to.at(place).read());
                to.at(place).write(reducer.leave(reducer.combine(before, update)));
            }
        });
    }
}

impl Placing<'_> {
    /// Combines in memory of its own, so that only the last result is rounded.
    fn combine_apart<T: Scalar, R: Reducer<T, Out = T>>(
        &self,
        reducer: R,
        from: Elements<T>,
        to: Target<T>,
    ) {
        let layout = layout_of(&self.out);
        let (low, high) = self.updates.span;
        // One place for each offset between the ends, used or not.
        let mut parts = vec![reducer.neutral(); (high - low).cast_unsigned() + 1];
        let places = Walk::new(self.out.shape(), [layout.strides()]);
        let each = |visit: &mut dyn FnMut(isize)| {
            let [step] = places.strides();
            for ([first], length) in places.runs(0..places.elements()) {
                for next in 0..length.cast_signed() {
                    visit(first + next * step);
                }
            }
        };
        each(&mut |place| {
            // SAFETY: as above.
            let element = unsafe { to.at(place).read() };
            parts[(place - low).cast_unsigned()] = reducer.enter(element);
        });
        let part = Target::<R::Acc>::new(std::ptr::NonNull::from(&mut parts[..]).cast());
        self.updates.share(|place, update| {
            // SAFETY: as above; there is a part for each offset of the output.
            unsafe {
                let update = reducer.enter(from.at(update).read());
                let part = part.at(place - low);
                part.write(reducer.combine(part.read(), update));
            }
        });
        each(&mut |place| {
            // SAFETY: as above.
            unsafe { to.at(place).write(reducer.leave(part.at(place - low).read())) };
        });
    }
}
