//! Reductions over any axes.
//!
//! The reduced elements are cut into blocks of fixed size whose parts are combined in order, so that the result does
//! not depend on how many threads took part. Along the input's fast axis a run is folded in eight lanes; where that
//! axis is kept, whole rows of results are carried at a time.

use std::ops::Range;

use smallvec::SmallVec;
use tenferro_ops::scalar::{
    CombinerVisitor, Reducer, ReductionVisitor, visit_combiner, visit_reduction,
};
use tenferro_tensor::{Combiner, Error, Operand, OperandMut, Primitive, Reduction, Result, Scalar};

use super::{
    Grant,
    place::{self, Extreme},
    share::{Elements, Target},
    walk::{Axis, Walk},
};

/// How many reduced elements make a block.
const BLOCK: usize = 8192;
/// The most results that are carried at a time.
const MOST_CARRIED: usize = 256;
/// The fewest, unless there are no more: a row of them is a few cache lines.
const FEWEST_CARRIED: usize = 16;
/// Into how many tiles a row of results is cut at least, so that threads find work in one row.
const TILES_IN_ROW: usize = 8;
/// How many parts of a run are folded side by side.
const LANES: usize = 8;

/// Computes a reduction.
pub(super) fn reduce(
    grant: &Grant<'_>,
    row: &Reduction,
    input: &Operand<'_>,
    out: OperandMut<'_>,
) -> Result<()> {
    let (Reduction::Sum { axes, .. }
    | Reduction::Prod { axes, .. }
    | Reduction::Max { axes, .. }
    | Reduction::Min { axes, .. }
    | Reduction::All { axes, .. }
    | Reduction::Any { axes, .. }
    | Reduction::Argmax { axes, .. }
    | Reduction::Argmin { axes, .. }
    | Reduction::SumOfSquares { axes, .. }
    | Reduction::Reduce { axes, .. }) = row;
    let op = || Primitive::Reduction(row.clone()).name();
    let extreme = match row {
        Reduction::Argmax { .. } => Extreme::Largest,
        Reduction::Argmin { .. } => Extreme::Smallest,
        _ => {
            let plan = Plan::new(input, axes, &out);
            let loops = Loops { grant, plan, input, out };
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
    let plan = Plan::new(input, axes, &out);
    visit_combiner(combiner, input.dtype(), Loops { grant, plan, input, out })
        .map_err(|problem| problem.of(op))?
        .map_err(|bytes| Error::OutOfMemory { op, bytes })
}

/// The axes of a reduction, merged.
struct Plan {
    /// The kept axes: strides of the output and of the input.
    kept: Walk<2>,
    /// The reduced axes: strides of the input, the smallest first.
    reduced: Walk<1>,
    /// How many results make a tile. It has no influence on the results.
    tile: usize,
}

impl Plan {
    fn new(input: &Operand<'_>, axes: &[usize], out: &OperandMut<'_>) -> Self {
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
        let kept = Walk::merging(kept.into_iter());
        let tile = kept.axes()[0].extent.div_ceil(TILES_IN_ROW).clamp(FEWEST_CARRIED, MOST_CARRIED);
        Self { kept, reduced: Walk::merging(reduced.into_iter()), tile }
    }

    /// Whether neighbours in the input belong to different results.
    fn carries_rows(&self) -> bool {
        let (kept, reduced) = (self.kept.axes()[0], self.reduced.axes()[0]);
        kept.extent > 1
            && (reduced.extent == 1
                || kept.strides[1].unsigned_abs() < reduced.strides[0].unsigned_abs())
    }

    fn blocks(&self) -> usize {
        self.reduced.elements().div_ceil(BLOCK).max(1)
    }

    /// The reduced elements of a block.
    fn block(&self, number: usize) -> Range<usize> {
        number * BLOCK..self.reduced.elements().min((number + 1) * BLOCK)
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

struct Loops<'a> {
    grant: &'a Grant<'a>,
    plan: Plan,
    input: &'a Operand<'a>,
    out: OperandMut<'a>,
}

impl ReductionVisitor for Loops<'_> {
    /// The bytes that could not be had for the parts of blocks.
    type Output = Result<(), usize>;

    fn reduce<T: Scalar, R: Reducer<T>>(mut self, reducer: R) -> Self::Output {
        let fold = Fold { plan: &self.plan, input: Elements::<T>::new(self.input.data()), reducer };
        let out = Target::<R::Out>::new(self.out.data());
        let (tiles, blocks) = (self.plan.tiles(), self.plan.blocks());
        let (results, step) = (self.plan.kept.elements(), self.plan.kept.strides()[0]);
        let block = self.plan.reduced.elements().clamp(1, BLOCK);
        let cost = self.plan.tile.min(self.plan.kept.axes()[0].extent) * block * size_of::<T>();
        if blocks == 1 {
            self.grant.share(tiles, cost, |range| {
                for tile in range {
                    fold.tile(tile, 0, |offset, parts| {
                        for (at, &part) in (0_isize..).zip(parts) {
                            // SAFETY: the tile's places are the output's, and no other job has them.
                            unsafe { out.at(offset + at * step).write(reducer.leave(part)) };
                        }
                    });
                }
            });
            return Ok(());
        }
        let count = results.saturating_mul(blocks);
        let mut parts = Vec::new();
        parts.try_reserve_exact(count).map_err(|_| count.saturating_mul(size_of::<R::Acc>()))?;
        parts.resize(count, reducer.neutral());
        let places = Target::<R::Acc>::new(std::ptr::NonNull::from(&mut parts[..]).cast());
        self.grant.share(tiles * blocks, cost, |range| {
            for job in range {
                let (tile, block) = (job / blocks, job % blocks);
                let first = self.plan.tile(tile).start;
                fold.tile(tile, block, |_, carried| {
                    for (at, &part) in carried.iter().enumerate() {
                        let place = ((first + at) * blocks + block).cast_signed();
                        // SAFETY: `parts` has a place for each result and block, and no other job has this one.
                        unsafe { places.at(place).write(part) };
                    }
                });
            }
        });
        let mut of_results = parts.chunks_exact(blocks);
        self.plan.kept.runs(0..results, |[offset, _], length| {
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
struct Fold<'a, T, R> {
    plan: &'a Plan,
    input: Elements<T>,
    reducer: R,
}

impl<T: Scalar, R: Reducer<T>> Fold<'_, T, R> {
    /// Folds one block for one tile of results; hands the output's offset and the parts to `done`.
    fn tile(&self, tile: usize, block: usize, done: impl FnOnce(isize, &[R::Acc])) {
        let mut parts = [self.reducer.neutral(); MOST_CARRIED];
        let [_, step] = self.plan.kept.strides();
        let mut done = Some(done);
        self.plan.kept.runs(self.plan.tile(tile), |[out, input], length| {
            let parts = &mut parts[..length];
            if self.plan.carries_rows() {
                self.carry_rows(parts, input, step, self.plan.block(block));
            } else {
                for (at, part) in (0_isize..).zip(&mut *parts) {
                    *part = self.fold(input + at * step, self.plan.block(block));
                }
            }
            if let Some(done) = done.take() {
                done(out, parts);
            }
        });
    }

    /// Adds the reduced elements of `block` to each part, a row of results at a time.
    fn carry_rows(&self, parts: &mut [R::Acc], input: isize, step: isize, block: Range<usize>) {
        let [next] = self.plan.reduced.strides();
        self.plan.reduced.runs(block, |[offset], length| {
            for row in 0..length.cast_signed() {
                let first = input + offset + row * next;
                for (at, part) in (0_isize..).zip(&mut *parts) {
                    // SAFETY: the walks reach indices of the input only.
                    let element = unsafe { self.input.at(first + at * step).read() };
                    *part = self.reducer.combine(*part, self.reducer.enter(element));
                }
            }
        });
    }

    /// The reduced elements of `block` for the result at `input`.
    fn fold(&self, input: isize, block: Range<usize>) -> R::Acc {
        let [step] = self.plan.reduced.strides();
        let mut whole = self.reducer.neutral();
        self.plan.reduced.runs(block, |[offset], length| {
            let run = self.fold_run(input + offset, step, length);
            whole = self.reducer.combine(whole, run);
        });
        whole
    }

    fn fold_run(&self, first: isize, step: isize, length: usize) -> R::Acc {
        // SAFETY: the walks reach indices of the input only.
        let element = |at: usize| unsafe { self.input.at(first + at.cast_signed() * step).read() };
        let mut lanes = [self.reducer.neutral(); LANES];
        let whole_groups = length - length % LANES;
        for group in (0..whole_groups).step_by(LANES) {
            for (lane, part) in lanes.iter_mut().enumerate() {
                *part = self.reducer.combine(*part, self.reducer.enter(element(group + lane)));
            }
        }
        for at in whole_groups..length {
            let part = &mut lanes[at % LANES];
            *part = self.reducer.combine(*part, self.reducer.enter(element(at)));
        }
        let mut width = LANES / 2;
        while width > 0 {
            for lane in 0..width {
                lanes[lane] = self.reducer.combine(lanes[lane], lanes[lane + width]);
            }
            width /= 2;
        }
        lanes[0]
    }
}
