//! Reductions over any axes.
//!
//! The reduced elements are cut into blocks of fixed size whose parts are combined in order, so that the result does
//! not depend on how many threads took part. There are three ways to fold a block, chosen by the layout: where the
//! input's fast axis is kept, whole rows of results are carried through the reduced elements; where it is reduced and
//! long, each result is folded in lanes; where it is reduced and short, several results are folded side by side.

mod masks;
mod plan;
mod truth;
mod unit;

use std::{mem::MaybeUninit, ops::Range, ptr::NonNull};

use pulp::NullaryFnOnce;
use tenferro_ops::{
    reduced_axes,
    scalar::{CombinerVisitor, Reducer, ReductionVisitor, visit_combiner, visit_reduction},
};
use tenferro_tensor::{
    Combiner, DType, Error, Operand, OperandMut, Primitive, Reduction, Result, Scalar,
};

use super::{
    Grant,
    fold::{Carry, Folding, Rows, joined},
    place::{self, Extreme},
    share::{Elements, Target},
};
use plan::Plan;
pub(super) use plan::{BLOCK, SHORT, Way, is_cut, way};
use truth::Question;

/// The most results that are carried without asking for memory.
const FEW_CARRIED: usize = 1024;
/// Inputs of so many bytes lie beyond the near caches.
const FAR: usize = 1 << 20;
/// The most parts of blocks for which no memory is asked.
const FEW_PARTS: usize = 256;

/// Computes a reduction.
pub(super) fn reduce(
    grant: &Grant<'_>,
    row: &Reduction,
    input: &Operand<'_>,
    out: OperandMut<'_>,
) -> Result<()> {
    let axes = reduced_axes(row);
    let extreme = match row {
        Reduction::Argmax { .. } => Extreme::Largest,
        Reduction::Argmin { .. } => Extreme::Smallest,
        _ => {
            let plan = Plan::new(input, axes, &out, grant.width());
            return gather(row, Loops { grant, plan, input, source: None, out });
        }
    };
    place::place(grant, extreme, input, axes, out)
        .map_err(|problem| problem.of(Primitive::Reduction(row.clone()).name()))
}

/// Computes a reduction that is no search.
fn gather(row: &Reduction, loops: Loops<'_>) -> Result<()> {
    let op = Primitive::Reduction(row.clone()).name();
    let combiner = match row {
        Reduction::All { .. } if loops.is_of_truth() => Combiner::And,
        Reduction::Any { .. } if loops.is_of_truth() => Combiner::Or,
        Reduction::Reduce { combiner, .. } => *combiner,
        _ => {
            return visit_reduction(row, loops.input.dtype(), loops)
                .map_err(|problem| problem.of(op))?
                .expect("invariant: all other rows have a reducer")
                .map_err(|bytes| Error::OutOfMemory { op, bytes });
        }
    };
    gather_by(combiner, op, loops)
}

/// Gathers elements by a combiner, in the name of the operation `op`.
fn gather_by(combiner: Combiner, op: &'static str, mut loops: Loops<'_>) -> Result<()> {
    if loops.is_of_truth() {
        // Beside what nothing comes to, truth values are gathered as bytes of 0 and 1.
        if loops.plan.reduced.elements() == 0 {
            loops.write(combiner == Combiner::And);
            return Ok(());
        }
        let question = match combiner {
            Combiner::And => Some(Question::All),
            Combiner::Or => Some(Question::Any),
            _ => None,
        };
        if let Some(question) = question {
            match loops.answered(question) {
                Some(others) => loops = others,
                None => return Ok(()),
            }
        }
    }
    visit_combiner(combiner, loops.input.dtype(), loops)
        .map_err(|problem| problem.of(op))?
        .map_err(|bytes| Error::OutOfMemory { op, bytes })
}

/// Gathers the elements over `axes` by a combiner, in the name of the operation `op`.
pub(super) fn combine(
    grant: &Grant<'_>,
    op: &'static str,
    combiner: Combiner,
    (input, axes): (&Operand<'_>, &[usize]),
    out: OperandMut<'_>,
) -> Result<()> {
    let plan = Plan::new(input, axes, &out, grant.width());
    gather_by(combiner, op, Loops { grant, plan, input, source: None, out })
}

/// Computes elements of a dense tensor, those of a range in column-major order, and says where they lie next to each other.
pub(super) type Produce<'p> = dyn FnMut(Range<usize>) -> NonNull<u8> + 'p;

/// Elements that are computed when they are reduced, instead of lying somewhere.
pub(super) trait Source: Sync {
    /// What an element costs to compute, in bytes moved in the same time.
    fn cost(&self) -> usize;

    /// Calls `body` with what computes up to `most` elements at a time, on this thread; or not, if that is impossible,
    /// which the source remembers.
    fn open(&self, most: usize, body: &mut dyn FnMut(&mut Produce<'_>));
}

/// Computes a reduction of a dense operand whose elements `source` computes; each once, in no order.
///
/// `false` if they would not be asked for by the run, with nothing done. The order of the fold is that of
/// [`reduce`] of such an operand.
pub(super) fn reduce_computed(
    grant: &Grant<'_>,
    row: &Reduction,
    input: &Operand<'_>,
    source: &dyn Source,
    out: OperandMut<'_>,
) -> Result<bool> {
    if matches!(row, Reduction::Argmax { .. } | Reduction::Argmin { .. }) {
        return Ok(false);
    }
    let plan = Plan::new(input, reduced_axes(row), &out, grant.width());
    if !plan.reads_runs() {
        return Ok(false);
    }
    gather(row, Loops { grant, plan, input, source: Some(source), out })?;
    Ok(true)
}

struct Loops<'a> {
    grant: &'a Grant<'a>,
    plan: Plan,
    input: &'a Operand<'a>,
    /// What computes the elements, if they do not lie at the input.
    source: Option<&'a dyn Source>,
    out: OperandMut<'a>,
}

impl Loops<'_> {
    /// Answers a question about truth values; or gives back the loops, if it takes these.
    fn answered(mut self, question: Question) -> Option<Self> {
        let Self { grant, ref plan, input, source, ref mut out } = self;
        let is_answered =
            source.is_none() && truth::answer(grant, plan, question, input, out.reborrow());
        (!is_answered).then_some(self)
    }

    fn is_of_truth(&self) -> bool {
        self.input.dtype() == DType::Bool
    }

    /// Writes one truth value for every result.
    fn write(&mut self, value: bool) {
        let out = Target::<bool>::new(self.out.data());
        let [step, _] = self.plan.kept.strides();
        for ([first, _], length) in self.plan.kept.runs(0..self.plan.kept.elements()) {
            for at in 0..length.cast_signed() {
                // SAFETY: the walk reaches places of the output only.
                unsafe { out.at(first + at * step).write(value) };
            }
        }
    }
}

impl ReductionVisitor for Loops<'_> {
    const BY_BITS: bool = true;
    /// The bytes that could not be had for the parts of blocks.
    type Output = Result<(), usize>;

    fn reduce<T: Scalar, R: Reducer<T>>(mut self, reducer: R) -> Self::Output {
        let plan = &self.plan;
        let out = Target::<R::Out>::new(self.out.data());
        let input = Elements::<T>::new(self.input.data());
        let is_far = self.input.shape().elements().saturating_mul(size_of::<T>()) >= FAR;
        let folding = Folding { input, reducer, is_far };
        let source = self.source;
        let mut fold = Fold { grant: self.grant, plan, folding, source, out, places: None };
        let (tiles, blocks) = (plan.tiles(), plan.blocks());
        let block = plan.reduced.elements().clamp(1, BLOCK);
        let element = source.map_or(size_of::<T>(), Source::cost);
        let cost = plan.tile.min(plan.kept.axes()[0].extent) * block * element;
        if blocks == 1 {
            self.grant.share(tiles, cost, |range| fold.jobs(range));
            return Ok(());
        }
        let (results, step) = (plan.kept.elements(), plan.kept.strides()[0]);
        let count = results.saturating_mul(blocks);
        let mut few = [const { MaybeUninit::<R::Acc>::uninit() }; FEW_PARTS];
        let mut many = None;
        if count > FEW_PARTS {
            let bytes = count.saturating_mul(size_of::<R::Acc>());
            many = Some(self.grant.scratch::<R::Acc>(count).ok_or(bytes)?);
        }
        let places = match &mut many {
            Some(many) => many.as_operand_mut().data(),
            None => NonNull::from(&mut few).cast(),
        };
        let places = Target::<R::Acc>::new(places);
        for place in 0..count.cast_signed() {
            // SAFETY: there is memory for so many.
            unsafe { places.at(place).write(reducer.neutral()) };
        }
        fold.places = Some(places);
        self.grant.share(tiles * blocks, cost, |range| fold.jobs(range));
        let mut numbers = 0..results.cast_signed();
        for ([offset, _], length) in plan.kept.runs(0..results) {
            for at in 0..length.cast_signed() {
                let number = numbers.next().expect("invariant: as many results as places");
                let blocks = blocks.cast_signed();
                // SAFETY: there is a part for each result and block, which has been written.
                let part = |block| unsafe { places.at(number * blocks + block).read() };
                let whole = (0..blocks).map(part).reduce(|lhs, rhs| reducer.combine(lhs, rhs));
                let whole = whole.expect("invariant: there is a block");
                // SAFETY: the walk reaches places of the output only.
                unsafe { out.at(offset + at * step).write(reducer.leave(whole)) };
            }
        }
        Ok(())
    }
}

impl CombinerVisitor for Loops<'_> {
    const BY_BITS: bool = true;
    type Output = Result<(), usize>;

    fn combine<T: Scalar, R: Reducer<T, Out = T>>(self, reducer: R) -> Self::Output {
        self.reduce::<T, R>(reducer)
    }
}

/// The jobs of a reduction.
struct Fold<'a, T: Scalar, R: Reducer<T>> {
    grant: &'a Grant<'a>,
    plan: &'a Plan,
    folding: Folding<T, R>,
    source: Option<&'a dyn Source>,
    out: Target<R::Out>,
    /// Where the parts of blocks go, if not to the output: each result has a place for each block.
    places: Option<Target<R::Acc>>,
}

/// Some of the jobs, each a block for a tile of results.
struct Jobs<'f, 'a, 'p, T: Scalar, R: Reducer<T>> {
    fold: &'f Fold<'a, T, R>,
    range: Range<usize>,
    produce: Option<&'f mut Produce<'p>>,
}

impl<T: Scalar, R: Reducer<T>> NullaryFnOnce for Jobs<'_, '_, '_, T, R> {
    type Output = ();

    #[inline(always)]
    fn call(mut self) {
        let (fold, plan) = (self.fold, self.fold.plan);
        let mut few = [const { MaybeUninit::<R::Acc>::uninit() }; FEW_CARRIED];
        // Without memory for a long row short ones have to do.
        let carries_many = plan.tile > FEW_CARRIED;
        let mut many = carries_many.then(|| fold.grant.scratch::<R::Acc>(plan.tile)).flatten();
        let store: &mut [MaybeUninit<R::Acc>] = match &mut many {
            // SAFETY: the memory has so many places, is aligned for every element, and nobody else's.
            Some(many) => unsafe {
                let first = many.as_operand_mut().data().cast().as_ptr();
                std::slice::from_raw_parts_mut(first, plan.tile)
            },
            None => &mut few,
        };
        let blocks = plan.blocks();
        for job in self.range {
            let (tile, block) = (plan.tile(job / blocks), job % blocks);
            for start in tile.clone().step_by(store.len()) {
                let results = start..tile.end.min(start + store.len());
                let parts = store[..results.len()].as_mut_ptr().cast::<R::Acc>();
                for at in 0..results.len() {
                    // SAFETY: the store has so many places.
                    unsafe { parts.add(at).write(fold.folding.reducer.neutral()) };
                }
                // SAFETY: so many parts were written just now.
                let parts = unsafe { std::slice::from_raw_parts_mut(parts, results.len()) };
                fold.block(parts, start, block, &mut self.produce);
            }
        }
    }
}

impl<T: Scalar, R: Reducer<T>> Fold<'_, T, R> {
    /// Does the jobs of a range, on this thread.
    fn jobs(&self, range: Range<usize>) {
        match self.source {
            None => unit::run(Jobs { fold: self, range, produce: None }),
            Some(source) => source.open(self.plan.longest_run(), &mut |produce| {
                unit::run(Jobs { fold: self, range: range.clone(), produce: Some(produce) });
            }),
        }
    }

    /// Folds a block of the reduced elements into the parts of results from `first` on, and writes these.
    #[inline(always)]
    fn block(
        &self,
        parts: &mut [R::Acc],
        first: usize,
        block: usize,
        produce: &mut Option<&mut Produce<'_>>,
    ) {
        let [out, input] = self.plan.kept.offsets(first);
        self.gather(parts, input, self.plan.block(block), produce);
        let blocks = self.plan.blocks();
        match self.places {
            None => self.leave(parts, out),
            Some(places) => {
                for (at, &part) in parts.iter().enumerate() {
                    let place = ((first + at) * blocks + block).cast_signed();
                    // SAFETY: there is a place for each result and block, and no other job has this one.
                    unsafe { places.at(place).write(part) };
                }
            }
        }
    }

    /// Writes results from the output's offset on.
    #[inline(always)]
    fn leave(&self, parts: &[R::Acc], out: isize) {
        let [step, _] = self.plan.kept.strides();
        if step == 1 {
            self.leave_by(1, parts, out);
        } else {
            self.leave_by(step, parts, out);
        }
    }

    #[inline(always)]
    fn leave_by(&self, step: isize, parts: &[R::Acc], out: isize) {
        for (at, &part) in (0_isize..).zip(parts) {
            // SAFETY: the tile's places are the output's, and no other job has them.
            unsafe { self.out.at(out + at * step).write(self.folding.reducer.leave(part)) };
        }
    }

    /// Folds the reduced elements of a block into the parts of results from `input` on.
    #[inline(always)]
    fn gather(
        &self,
        parts: &mut [R::Acc],
        input: isize,
        block: Range<usize>,
        produce: &mut Option<&mut Produce<'_>>,
    ) {
        let ([_, step], [next]) = (self.plan.kept.strides(), self.plan.reduced.strides());
        match self.plan.way {
            Way::Rows => {
                for ([offset], count) in self.plan.reduced.runs(block) {
                    let rows = Rows { first: input + offset, step, next, count };
                    // As long as the whole row, however it is cut.
                    let joined = joined(self.plan.kept.axes()[0].extent, rows);
                    Located { fold: self, produce: &mut *produce }.carry(parts, rows, joined);
                }
            }
            Way::ShortRuns => {
                let count = block.len();
                let (folding, first) = self.located(input, parts.len() * count, produce);
                folding.side_by_side(parts, Rows { first, step, next, count });
            }
            Way::Runs => {
                for (at, part) in (0_isize..).zip(parts) {
                    for ([offset], length) in self.plan.reduced.runs(block.clone()) {
                        let first = input + at * step + offset;
                        let (folding, first) = self.located(first, length, produce);
                        *part = folding.reducer.combine(*part, folding.run(first, next, length));
                    }
                }
            }
        }
    }

    /// How the `length` elements from an offset on are folded: in the input, or where they have just been computed.
    #[inline(always)]
    fn located(
        &self,
        first: isize,
        length: usize,
        produce: &mut Option<&mut Produce<'_>>,
    ) -> (Folding<T, R>, isize) {
        match produce {
            None => (self.folding, first),
            Some(produce) => {
                let start = first.cast_unsigned();
                let input = Elements::new(produce(start..start + length));
                (Folding { input, is_far: false, ..self.folding }, 0)
            }
        }
    }
}

/// Rows that lie in the input, or that are computed.
struct Located<'l, 'a, 'f, 'p, T: Scalar, R: Reducer<T>> {
    fold: &'l Fold<'a, T, R>,
    produce: &'l mut Option<&'f mut Produce<'p>>,
}

impl<T: Scalar, R: Reducer<T>> Carry<T, R> for Located<'_, '_, '_, '_, T, R> {
    #[inline(always)]
    fn reducer(&self) -> R {
        self.fold.folding.reducer
    }

    /// All rows at once if they lie somewhere.
    #[inline(always)]
    fn carry_rows(&mut self, parts: &mut [R::Acc], rows: Rows) {
        let at_once = if self.produce.is_some() { 1 } else { rows.count.max(1) };
        for row in (0..rows.count).step_by(at_once) {
            let first = rows.from(row).first;
            let (mut folding, first) = self.fold.located(first, parts.len(), self.produce);
            folding.carry_rows(parts, Rows { first, count: at_once, ..rows });
        }
    }
}
