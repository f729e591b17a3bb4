//! Reductions over any axes.
//!
//! The reduced elements are cut into blocks of fixed size whose parts are combined in order, so that the result does
//! not depend on how many threads took part. There are three ways to fold a block, chosen by the layout: where the
//! input's fast axis is kept, whole rows of results are carried through the reduced elements; where it is reduced and
//! long, each result is folded in lanes; where it is reduced and short, several results are folded side by side.

use std::{mem::MaybeUninit, ops::Range, ptr::NonNull};

use smallvec::SmallVec;
use tenferro_ops::{
    reduced_axes,
    scalar::{CombinerVisitor, Reducer, ReductionVisitor, visit_combiner, visit_reduction},
};
use tenferro_tensor::{
    Combiner, DType, Error, Operand, OperandMut, Primitive, Reduction, Result, Scalar,
};

use super::{
    Grant,
    place::{self, Extreme},
    share::{Elements, Target},
    walk::{Axis, Walk},
};

/// How many reduced elements make a block.
pub(super) const BLOCK: usize = 8192;
/// The most results that are carried at a time; they stay in the first-level cache.
const MOST_CARRIED: usize = 1024;
/// The fewest, unless there are no more: a row of them is a few cache lines.
const FEWEST_CARRIED: usize = 16;
/// Into how many tiles a row of results is cut where threads would find no work otherwise.
const TILES_IN_ROW: usize = 8;
/// How many jobs each thread should have.
const JOBS_PER_THREAD: usize = 4;
/// Runs of up to so many elements are short.
const SHORT: usize = 32;
/// How many results are folded side by side where runs are short.
const SIDE_BY_SIDE: usize = 8;
/// The most results of short runs that make a tile; their elements are read together.
const MOST_OF_SHORT: usize = 256;
/// How many parts of a long run are folded side by side.
const LANES: usize = 32;
/// The same for runs that are not that long.
const FEW_LANES: usize = 8;

/// Computes a reduction.
pub(super) fn reduce(
    grant: &Grant<'_>,
    row: &Reduction,
    input: &Operand<'_>,
    out: OperandMut<'_>,
) -> Result<()> {
    let axes = reduced_axes(row);
    let op = || Primitive::Reduction(row.clone()).name();
    let extreme = match row {
        Reduction::Argmax { .. } => Extreme::Largest,
        Reduction::Argmin { .. } => Extreme::Smallest,
        _ => {
            let plan = Plan::new(input, axes, &out, grant.width());
            let loops = Loops { grant, plan, input, source: None, out };
            return visit_reduction(row, input.dtype(), loops)
                .map_err(|problem| problem.of(op()))?
                .expect("invariant: all other rows have a reducer")
                .map_err(|bytes| Error::OutOfMemory { op: op(), bytes });
        }
    };
    place::place(grant, extreme, input, axes, out).map_err(|problem| problem.of(op()))
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
    visit_combiner(combiner, input.dtype(), Loops { grant, plan, input, source: None, out })
        .map_err(|problem| problem.of(op))?
        .map_err(|bytes| Error::OutOfMemory { op, bytes })
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
    let op = || Primitive::Reduction(row.clone()).name();
    let plan = Plan::new(input, reduced_axes(row), &out, grant.width());
    if !plan.reads_runs() {
        return Ok(false);
    }
    let loops = Loops { grant, plan, input, source: Some(source), out };
    visit_reduction(row, input.dtype(), loops)
        .map_err(|problem| problem.of(op()))?
        .expect("invariant: all other rows have a reducer")
        .map_err(|bytes| Error::OutOfMemory { op: op(), bytes })?;
    Ok(true)
}

/// How a block of reduced elements is folded.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    /// A row of results at a time.
    Rows,
    /// A result at a time, in lanes.
    Runs,
    /// Some results at a time, each of a few elements.
    ShortRuns,
}

/// The axes of a reduction, merged.
struct Plan {
    /// The kept axes: strides of the output and of the input.
    kept: Walk<2>,
    /// The reduced axes: strides of the input, the smallest first.
    reduced: Walk<1>,
    way: Way,
    /// How many results make a tile. It has no influence on the results.
    tile: usize,
}

impl Plan {
    fn new(input: &Operand<'_>, axes: &[usize], out: &OperandMut<'_>, width: usize) -> Self {
        let (from, to) = (input.strides_or_dense(), out.strides_or_dense());
        let extents = input.shape();
        let mut reduced: SmallVec<[Axis<1>; 6]> = axes
            .iter()
            .map(|&axis| Axis { extent: extents[axis], strides: [from[axis]] })
            .collect();
        reduced.sort_by_key(|axis| axis.strides[0].unsigned_abs());
        let kept_axes = out.shape().rank() == extents.rank();
        let mut place = 0;
        let mut kept: SmallVec<[Axis<2>; 6]> = SmallVec::new();
        for (axis, &extent) in extents.iter().enumerate() {
            let is_reduced = axes.contains(&axis);
            if !is_reduced {
                kept.push(Axis { extent, strides: [to[place], from[axis]] });
            }
            place += usize::from(!is_reduced || kept_axes);
        }
        let (kept, reduced) = (Walk::merging(kept.into_iter()), Walk::merging(reduced.into_iter()));
        let way = way(&kept, &reduced);
        let mut plan = Self { kept, reduced, way, tile: MOST_CARRIED };
        let row = plan.kept.axes()[0].extent;
        plan.tile = match way {
            Way::Rows => MOST_CARRIED,
            Way::Runs => FEWEST_CARRIED,
            Way::ShortRuns => MOST_OF_SHORT,
        };
        if way == Way::Rows && plan.tiles() * plan.blocks() < width * JOBS_PER_THREAD {
            plan.tile = row.div_ceil(TILES_IN_ROW).clamp(FEWEST_CARRIED, MOST_CARRIED);
        }
        plan
    }

    fn blocks(&self) -> usize {
        self.reduced.elements().div_ceil(BLOCK).max(1)
    }

    /// The reduced elements of a block.
    fn block(&self, number: usize) -> Range<usize> {
        number * BLOCK..self.reduced.elements().min((number + 1) * BLOCK)
    }

    /// Whether the elements of a dense operand are folded by runs of neighbours.
    fn reads_runs(&self) -> bool {
        let (kept, run) = (self.kept.axes()[0], self.reduced.axes()[0]);
        match self.way {
            Way::Rows => kept.strides[1] == 1,
            Way::Runs => run.extent == 1 || run.strides == [1],
            Way::ShortRuns => run.strides == [1] && kept.strides[1] == run.extent.cast_signed(),
        }
    }

    /// The most elements that are folded in one run.
    fn longest_run(&self) -> usize {
        match self.way {
            Way::Rows => self.tile,
            Way::Runs => BLOCK.min(self.reduced.axes()[0].extent),
            Way::ShortRuns => self.tile * SHORT,
        }
    }

    /// How many tiles of results there are; each lies in one run of the kept axes.
    fn tiles(&self) -> usize {
        let row = self.kept.axes()[0].extent;
        let rows: usize = self.kept.axes()[1..].iter().map(|axis| axis.extent).product();
        rows * row.div_ceil(self.tile)
    }

    /// The results of a tile, counted over the kept axes.
    fn tile(&self, number: usize) -> Range<usize> {
        let row = self.kept.axes()[0].extent;
        let tiles = row.div_ceil(self.tile);
        let start = number % tiles * self.tile;
        let before = number / tiles * row;
        before + start..before + row.min(start + self.tile)
    }
}

/// How a block is folded: neighbours in the input belong to one result, or to different ones.
fn way(kept: &Walk<2>, reduced: &Walk<1>) -> Way {
    let (row, run) = (kept.axes()[0], reduced.axes()[0]);
    let kept_is_nearer = row.strides[1].unsigned_abs() < run.strides[0].unsigned_abs();
    if row.extent > 1 && (run.extent == 1 || kept_is_nearer) {
        Way::Rows
    } else if row.extent >= SIDE_BY_SIDE && reduced.axes().len() == 1 && run.extent <= SHORT {
        Way::ShortRuns
    } else {
        Way::Runs
    }
}

struct Loops<'a> {
    grant: &'a Grant<'a>,
    plan: Plan,
    input: &'a Operand<'a>,
    source: Option<&'a dyn Source>,
    out: OperandMut<'a>,
}

impl ReductionVisitor for Loops<'_> {
    /// The bytes that could not be had for the parts of blocks.
    type Output = Result<(), usize>;

    fn reduce<T: Scalar, R: Reducer<T>>(mut self, reducer: R) -> Self::Output {
        let plan = &self.plan;
        let out = Target::<R::Out>::new(self.out.data());
        let (input, source) = (Elements::<T>::new(self.input.data()), self.source);
        let fold = Fold { plan, input, source, reducer, out };
        let (tiles, blocks) = (plan.tiles(), plan.blocks());
        let block = plan.reduced.elements().clamp(1, BLOCK);
        let element = source.map_or(size_of::<T>(), Source::cost);
        let cost = plan.tile.min(plan.kept.axes()[0].extent) * block * element;
        if blocks == 1 {
            self.grant.share(tiles, cost, |range| fold.jobs(range, None));
            return Ok(());
        }
        let (results, step) = (plan.kept.elements(), plan.kept.strides()[0]);
        let count = results.saturating_mul(blocks);
        let mut parts = Vec::new();
        parts.try_reserve_exact(count).map_err(|_| count.saturating_mul(size_of::<R::Acc>()))?;
        parts.resize(count, reducer.neutral());
        let places = Target::<R::Acc>::new(NonNull::from(&mut parts[..]).cast());
        self.grant.share(tiles * blocks, cost, |range| fold.jobs(range, Some(places)));
        let mut of_results = parts.chunks_exact(blocks);
        plan.kept.runs(0..results, |[offset, _], length| {
            for at in 0..length.cast_signed() {
                let parts = of_results.next().expect("invariant: as many results as places");
                let whole = parts.iter().copied().reduce(|lhs, rhs| reducer.combine(lhs, rhs));
                let whole = whole.expect("invariant: there is a block");
                // SAFETY: the walk reaches places of the output only.
                unsafe { out.at(offset + at * step).write(reducer.leave(whole)) };
            }
        });
        Ok(())
    }
}

impl CombinerVisitor for Loops<'_> {
    type Output = Result<(), usize>;

    fn combine<T: Scalar, R: Reducer<T, Out = T>>(self, reducer: R) -> Self::Output {
        self.reduce::<T, R>(reducer)
    }
}

/// The inner loops of a reduction.
struct Fold<'a, T, R: Reducer<T>>
where
    T: Scalar,
{
    plan: &'a Plan,
    input: Elements<T>,
    source: Option<&'a dyn Source>,
    reducer: R,
    out: Target<R::Out>,
}

impl<T: Scalar, R: Reducer<T>> Fold<'_, T, R> {
    /// Folds the jobs of a range, each a block for a tile of results. Results go to the output, or the parts of blocks
    /// to `places`, where each result has one for each block.
    fn jobs(&self, range: Range<usize>, places: Option<Target<R::Acc>>) {
        match self.source {
            None => self.jobs_of(range, places, None),
            Some(source) => source.open(self.plan.longest_run(), &mut |produce| {
                self.jobs_of(range.clone(), places, Some(produce));
            }),
        }
    }

    /// The same with what computes the elements, if they do not lie at the input.
    fn jobs_of(
        &self,
        range: Range<usize>,
        places: Option<Target<R::Acc>>,
        produce: Option<&mut Produce<'_>>,
    ) {
        #[cfg(target_arch = "x86_64")]
        {
            // Wider registers shorten what is computed most; every instance more is time to build.
            let is_wide = const { matches!(T::DTYPE, DType::F64 | DType::F32) };
            if is_wide && is_x86_feature_detected!("avx512f") {
                // SAFETY: the instructions are there.
                return unsafe { self.jobs_avx512(range, places, produce) };
            }
            if is_x86_feature_detected!("avx2") {
                // SAFETY: the instructions are there.
                return unsafe { self.jobs_avx2(range, places, produce) };
            }
        }
        self.jobs_here(range, places, produce);
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f")]
    unsafe fn jobs_avx512(
        &self,
        range: Range<usize>,
        places: Option<Target<R::Acc>>,
        produce: Option<&mut Produce<'_>>,
    ) {
        self.jobs_here(range, places, produce);
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    unsafe fn jobs_avx2(
        &self,
        range: Range<usize>,
        places: Option<Target<R::Acc>>,
        produce: Option<&mut Produce<'_>>,
    ) {
        self.jobs_here(range, places, produce);
    }

    #[inline(always)]
    fn jobs_here(
        &self,
        range: Range<usize>,
        places: Option<Target<R::Acc>>,
        mut produce: Option<&mut Produce<'_>>,
    ) {
        let blocks = self.plan.blocks();
        let mut store = [const { MaybeUninit::<R::Acc>::uninit() }; MOST_CARRIED];
        for job in range {
            let (tile, block) = (job / blocks, job % blocks);
            let results = self.plan.tile(tile);
            for part in &mut store[..results.len()] {
                part.write(self.reducer.neutral());
            }
            let parts = std::ptr::from_mut(&mut store).cast::<R::Acc>();
            // SAFETY: so many parts were written just now.
            let parts = unsafe { std::slice::from_raw_parts_mut(parts, results.len()) };
            let first = results.start;
            let [out, input] = self.plan.kept.offsets(first);
            self.block(parts, input, self.plan.block(block), &mut produce);
            match places {
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
    }

    /// Writes results from the output's offset on.
    #[inline(always)]
    fn leave(&self, parts: &[R::Acc], out: isize) {
        let [step, _] = self.plan.kept.strides();
        for (at, &part) in (0_isize..).zip(parts) {
            // SAFETY: the tile's places are the output's, and no other job has them.
            unsafe { self.out.at(out + at * step).write(self.reducer.leave(part)) };
        }
    }

    /// Folds the reduced elements of a block into the parts of results from `input` on.
    #[inline(always)]
    fn block(
        &self,
        parts: &mut [R::Acc],
        input: isize,
        block: Range<usize>,
        produce: &mut Option<&mut Produce<'_>>,
    ) {
        let [_, step] = self.plan.kept.strides();
        match self.plan.way {
            Way::Rows => self.carry_rows(parts, input, step, block, produce),
            Way::ShortRuns => {
                let (from, input) = self.located(input, parts.len() * block.len(), produce);
                self.fold_short(parts, from, input, step, block.len());
            }
            Way::Runs => {
                for (at, part) in (0_isize..).zip(parts) {
                    *part = self.fold(input + at * step, block.clone(), produce);
                }
            }
        }
    }

    /// Where the `length` elements from an offset on lie: in the input, or where they have just been computed.
    #[inline(always)]
    fn located(
        &self,
        first: isize,
        length: usize,
        produce: &mut Option<&mut Produce<'_>>,
    ) -> (Elements<T>, isize) {
        match produce {
            None => (self.input, first),
            Some(produce) => {
                let start = first.cast_unsigned();
                (Elements::new(produce(start..start + length)), 0)
            }
        }
    }

    /// The element at an offset, as something carried.
    #[inline(always)]
    fn enter(&self, from: Elements<T>, offset: isize) -> R::Acc {
        // SAFETY: the walks reach indices of the input only.
        self.reducer.enter(unsafe { from.at(offset).read() })
    }

    /// Adds the reduced elements of `block` to each part, a row of results at a time.
    #[inline(always)]
    fn carry_rows(
        &self,
        parts: &mut [R::Acc],
        input: isize,
        step: isize,
        block: Range<usize>,
        produce: &mut Option<&mut Produce<'_>>,
    ) {
        let [next] = self.plan.reduced.strides();
        self.plan.reduced.runs(block, |[offset], length| {
            for row in 0..length.cast_signed() {
                let first = input + offset + row * next;
                let (from, first) = self.located(first, parts.len(), produce);
                if step == 1 {
                    self.carry_row(parts, from, first, 1);
                } else {
                    self.carry_row(parts, from, first, step);
                }
            }
        });
    }

    #[inline(always)]
    fn carry_row(&self, parts: &mut [R::Acc], from: Elements<T>, first: isize, step: isize) {
        for (at, part) in (0_isize..).zip(parts) {
            *part = self.reducer.combine(*part, self.enter(from, first + at * step));
        }
    }

    /// Folds `count` elements for each part, some parts side by side.
    #[inline(always)]
    fn fold_short(
        &self,
        parts: &mut [R::Acc],
        from: Elements<T>,
        input: isize,
        step: isize,
        count: usize,
    ) {
        let [next] = self.plan.reduced.strides();
        let (groups, rest) = parts.as_chunks_mut::<SIDE_BY_SIDE>();
        let count = count.cast_signed();
        let mut first = input;
        for group in groups {
            let mut carried = *group;
            for at in 0..count {
                for (part, result) in carried.iter_mut().zip(0_isize..) {
                    let element = self.enter(from, first + result * step + at * next);
                    *part = self.reducer.combine(*part, element);
                }
            }
            *group = carried;
            first += SIDE_BY_SIDE.cast_signed() * step;
        }
        for part in rest {
            for at in 0..count {
                *part = self.reducer.combine(*part, self.enter(from, first + at * next));
            }
            first += step;
        }
    }

    /// The reduced elements of `block` for the result at `input`.
    #[inline(always)]
    fn fold(
        &self,
        input: isize,
        block: Range<usize>,
        produce: &mut Option<&mut Produce<'_>>,
    ) -> R::Acc {
        let [step] = self.plan.reduced.strides();
        let mut whole = self.reducer.neutral();
        self.plan.reduced.runs(block, |[offset], length| {
            let (from, first) = self.located(input + offset, length, produce);
            let run = if step == 1 && length >= 8 * LANES {
                self.fold_run::<LANES>(from, first, 1, length)
            } else {
                self.fold_run::<FEW_LANES>(from, first, step, length)
            };
            whole = self.reducer.combine(whole, run);
        });
        whole
    }

    #[inline(always)]
    fn fold_run<const N: usize>(
        &self,
        from: Elements<T>,
        first: isize,
        step: isize,
        length: usize,
    ) -> R::Acc {
        let mut lanes = [self.reducer.neutral(); N];
        let groups = length / N;
        for group in 0..groups {
            let first = first + (group * N).cast_signed() * step;
            for (part, lane) in lanes.iter_mut().zip(0_isize..) {
                *part = self.reducer.combine(*part, self.enter(from, first + lane * step));
            }
        }
        // In an array of its own: one that is indexed by a variable is not kept in registers.
        let mut rest = [self.reducer.neutral(); N];
        for (at, part) in (groups * N..length).zip(&mut rest) {
            *part = self.enter(from, first + at.cast_signed() * step);
        }
        for (part, rest) in lanes.iter_mut().zip(rest) {
            *part = self.reducer.combine(*part, rest);
        }
        let mut width = N / 2;
        while width > 0 {
            for lane in 0..width {
                lanes[lane] = self.reducer.combine(lanes[lane], lanes[lane + width]);
            }
            width /= 2;
        }
        lanes[0]
    }
}
