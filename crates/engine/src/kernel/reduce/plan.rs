//! How a reduction is cut: into blocks of reduced elements, which decide the order of the fold, and into tiles of results,
//! which do not.

use std::ops::Range;

use smallvec::SmallVec;
use tenferro_tensor::{Operand, OperandMut};

use crate::kernel::{
    fold::{SIDE_BY_SIDE, WIDE_ROW},
    walk::{Axis, Walk},
};

/// How many reduced elements make a block.
pub(in crate::kernel) const BLOCK: usize = 8192;
/// The most bytes of elements in a row of results that is carried; the row stays in the second-level cache. Rows are
/// long because a memory is fast at going straight on.
const CARRIED_BYTES: usize = 128 << 10;
/// The fewest, unless there are no more: a row of them is a few cache lines.
const FEWEST_CARRIED: usize = 16;
/// Into how many tiles a row of results is cut where threads would find no work otherwise.
const TILES_IN_ROW: usize = 8;
/// How many jobs each thread should have.
const JOBS_PER_THREAD: usize = 4;
/// Runs of up to so many elements are short.
pub(in crate::kernel) const SHORT: usize = 32;
/// The most results of short runs that make a tile; their elements are read together.
const MOST_OF_SHORT: usize = 256;

/// How a block of reduced elements is folded.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::kernel) enum Way {
    /// A row of results at a time.
    Rows,
    /// A result at a time, in lanes.
    Runs,
    /// Some results at a time, each of a few elements.
    ShortRuns,
}

/// The axes of a reduction, merged.
#[derive(Clone)]
pub(super) struct Plan {
    /// The kept axes: strides of the output and of the input.
    pub(super) kept: Walk<2>,
    /// The reduced axes: strides of the input, the smallest first.
    pub(super) reduced: Walk<1>,
    pub(super) way: Way,
    /// How many results make a tile. It has no influence on the results.
    pub(super) tile: usize,
}

impl Plan {
    pub(super) fn new(
        input: &Operand<'_>,
        axes: &[usize],
        out: &OperandMut<'_>,
        width: usize,
    ) -> Self {
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
        let carried = CARRIED_BYTES / input.dtype().size();
        let mut plan = Self { kept, reduced, way, tile: carried };
        let row = plan.kept.axes()[0].extent;
        plan.tile = match way {
            Way::Rows => carried.min(row),
            Way::Runs => FEWEST_CARRIED,
            Way::ShortRuns => MOST_OF_SHORT,
        };
        if way == Way::Rows && is_cut(row) && plan.tiles() * plan.blocks() < width * JOBS_PER_THREAD
        {
            plan.tile = row.div_ceil(TILES_IN_ROW).min(carried);
        }
        plan
    }

    pub(super) fn blocks(&self) -> usize {
        self.reduced.elements().div_ceil(BLOCK).max(1)
    }

    /// The reduced elements of a block.
    pub(super) fn block(&self, number: usize) -> Range<usize> {
        number * BLOCK..self.reduced.elements().min((number + 1) * BLOCK)
    }

    /// Whether the elements of a dense operand are folded by runs of neighbours.
    pub(super) fn reads_runs(&self) -> bool {
        let (kept, run) = (self.kept.axes()[0], self.reduced.axes()[0]);
        match self.way {
            Way::Rows => kept.strides[1] == 1,
            Way::Runs => run.extent == 1 || run.strides == [1],
            Way::ShortRuns => run.strides == [1] && kept.strides[1] == run.extent.cast_signed(),
        }
    }

    /// The most elements that are folded in one run.
    pub(super) fn longest_run(&self) -> usize {
        match self.way {
            Way::Rows => self.tile.max(WIDE_ROW),
            Way::Runs => BLOCK.min(self.reduced.axes()[0].extent),
            Way::ShortRuns => self.tile * SHORT,
        }
    }

    /// How many tiles of results there are; each lies in one run of the kept axes.
    pub(super) fn tiles(&self) -> usize {
        let row = self.kept.axes()[0].extent;
        let rows: usize = self.kept.axes()[1..].iter().map(|axis| axis.extent).product();
        rows * row.div_ceil(self.tile)
    }

    /// The results of a tile, counted over the kept axes.
    pub(super) fn tile(&self, number: usize) -> Range<usize> {
        let row = self.kept.axes()[0].extent;
        let tiles = row.div_ceil(self.tile);
        let start = number % tiles * self.tile;
        let before = number / tiles * row;
        before + start..before + row.min(start + self.tile)
    }
}

/// Whether a row of so many results may be cut. A short one is not: how it is carried depends on its length.
pub(in crate::kernel) fn is_cut(row: usize) -> bool {
    row > FEWEST_CARRIED * TILES_IN_ROW
}

/// How a block is folded: neighbours in the input belong to one result, or to different ones.
pub(in crate::kernel) fn way(kept: &Walk<2>, reduced: &Walk<1>) -> Way {
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
