//! How a copy is cut into tiles.
//!
//! A tile is a box of index space: a *run* of elements that lie side by side in both operands (often a single one), times
//! *rows*, which continue the run in the output, times *columns*, which continue it in the input. Rows and columns may
//! each be made of several axes and part of a last one, so that short axes do not make short tiles; where they lie is
//! in tables. All other axes are loops over tiles. A plan knows offsets and no data.

use smallvec::SmallVec;

use super::{
    super::walk::{Axis, Walk},
    STREAM_FROM,
};

/// The bytes that a tile should have at most, so that it stays in the first-level cache.
const TILE_BYTES: usize = 16 << 10;
/// The bytes of a row of a tile.
const ROW: usize = 256;
/// The bytes of a column.
const COLUMN: usize = 256;
/// The bytes of a column of runs that are whole lines.
const COLUMN_OF_LINES: usize = 1024;
/// Runs of so many bytes need no tile.
const LONG_RUN: usize = 512;
/// The bytes of a run that are copied at a time.
const RUN_PART: usize = 16 << 10;
/// The fewest bytes of a row that are worth writing past the caches: whole lines.
const STREAMED_ROW: usize = 128;
/// A cache line.
pub(in crate::kernel) const LINE: usize = 64;

/// Axes of a tile.
pub(super) struct Side {
    /// The offset in the output and the input, for each index.
    pub(super) places: SmallVec<[[isize; 2]; 64]>,
    /// Whether the places are 0, 1, 2, .. in the operand that the side continues, in runs.
    pub(super) is_dense: bool,
    /// The loop over what is left of the last axis.
    rest: Option<Rest>,
}

/// An axis of which a tile has a part.
#[derive(Clone, Copy)]
struct Rest {
    /// Which loop walks it.
    place: usize,
    /// How much of a side its last step has.
    last: usize,
}

/// A loop over tiles.
struct Loop {
    axis: Axis<2>,
    /// Which side it has parts of (rows, columns, the run), and how much of it the last step has.
    part_of: Option<(usize, usize)>,
}

/// The tiles of a copy.
pub(super) struct Plan {
    /// The bytes of what is moved as one.
    size: usize,
    /// The offsets of the first element.
    start: [isize; 2],
    /// Elements side by side.
    run: Axis<2>,
    run_rest: Option<Rest>,
    rows: Side,
    columns: Side,
    /// What walks the tiles, the innermost first.
    loops: SmallVec<[Axis<2>; 8]>,
    streams: bool,
    /// Whether a whole tile is one run of the output.
    is_one_row: bool,
    /// Whether every row begins and ends with a cache line.
    is_aligned: bool,
}

/// One tile: where it begins, and how much of each side it has.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Tile {
    pub(super) start: [isize; 2],
    pub(super) run: usize,
    pub(super) rows: usize,
    pub(super) columns: usize,
}

impl Plan {
    /// The plan for a walk over the output and the input, the output's smallest stride first, of elements of `size`
    /// bytes; `address` is the output's.
    pub(super) fn new(walk: Walk<2>, size: usize, address: usize) -> Self {
        let mut left = Left { axes: walk.axes().iter().copied().collect(), start: [0; 2], size };
        let elements = walk.elements();
        left.turn(0);
        left.widen();
        let run = left.take_run();
        let size = left.size;
        let piece = run.extent * size;
        let begins_at_lines = address.is_multiple_of(LINE)
            && left.axes.iter().all(|axis| begins_at_lines(axis, size));
        let mut plan = Self {
            size,
            start: [0; 2],
            run,
            run_rest: None,
            rows: Side::single(),
            columns: Side::single(),
            loops: SmallVec::new(),
            streams: false,
            is_one_row: false,
            is_aligned: false,
        };
        let mut rests = [None; 3];
        if piece < LONG_RUN {
            let is_lines = begins_at_lines && piece.is_multiple_of(LINE);
            // Runs that are whole lines need no neighbours in the output.
            let (row, column) = if is_lines { (piece, COLUMN_OF_LINES) } else { (ROW, COLUMN) };
            let mut rows = Growing::new(0, run.extent, (row / piece).max(1));
            let most = (TILE_BYTES / row.max(piece)).min(column / piece);
            let mut columns = Growing::new(1, run.extent, most.max(1));
            // Each side takes its nearest axis before either takes more.
            rows.grow(&mut left, 1);
            columns.grow(&mut left, 1);
            rows.grow(&mut left, usize::MAX);
            columns.grow(&mut left, usize::MAX);
            (plan.rows, rests[0]) = rows.finish();
            (plan.columns, rests[1]) = columns.finish();
        } else if piece > RUN_PART {
            let part = RUN_PART / size;
            let steps = run.extent.div_ceil(part);
            plan.run.extent = part;
            let last = run.extent - (steps - 1) * part;
            let strides = run.strides.map(|stride| stride * part.cast_signed());
            rests[2] = Some((Axis { extent: steps, strides }, last));
        }
        plan.start = left.start;
        plan.decide(elements);
        plan.is_aligned = begins_at_lines && plan.row_bytes().is_multiple_of(LINE);
        plan.loops_over(left.axes, rests);
        plan
    }

    /// Puts what no tile has into loops: so that the input is read forwards, or, where rows end within cache lines, so
    /// that the next tile goes on with them.
    fn loops_over(&mut self, axes: SmallVec<[Axis<2>; 8]>, rests: [Option<(Axis<2>, usize)>; 3]) {
        let whole = axes.into_iter().map(|axis| Loop { axis, part_of: None });
        let parts = rests.into_iter().enumerate().filter_map(|(side, rest)| {
            rest.map(|(axis, last)| Loop { axis, part_of: Some((side, last)) })
        });
        let mut loops: SmallVec<[Loop; 8]> = whole.chain(parts).collect();
        let first = usize::from(self.is_aligned || !self.streams);
        loops.sort_by_key(|walked| walked.axis.strides[first].unsigned_abs());
        for (place, Loop { axis, part_of }) in loops.into_iter().enumerate() {
            self.loops.push(axis);
            let Some((side, last)) = part_of else { continue };
            let rest = Some(Rest { place, last });
            match side {
                0 => self.rows.rest = rest,
                1 => self.columns.rest = rest,
                _ => self.run_rest = rest,
            }
        }
    }

    /// Whether lines are written past the caches.
    fn decide(&mut self, elements: usize) {
        let row = (self.rows.places.len() * self.run.extent).cast_signed();
        let is_dense = self.run.strides[0] == 1 && self.rows.is_dense;
        self.is_one_row =
            is_dense && (0_isize..).zip(&self.columns.places).all(|(j, to)| to[0] == j * row);
        self.streams =
            stream_pays(elements * self.size) && is_dense && self.row_bytes() >= STREAMED_ROW;
    }

    /// The bytes of a row of a tile.
    fn row_bytes(&self) -> usize {
        let columns = if self.is_one_row { self.columns.places.len() } else { 1 };
        self.run.extent * self.rows.places.len() * columns * self.size
    }

    /// How many bytes the buffer for a row needs: it lies as in the output, with a part of a line before it.
    pub(super) fn staged_row(&self) -> usize {
        (self.row_bytes() + 2 * LINE - 1).next_multiple_of(LINE)
    }

    /// How many rows a tile has.
    pub(super) fn staged_rows(&self) -> usize {
        if self.is_one_row { 1 } else { self.columns.places.len() }
    }

    /// Whether every row begins and ends with a cache line.
    pub(super) fn is_aligned(&self) -> bool {
        self.is_aligned
    }

    /// The bytes of what is moved as one: elements, or pairs, quadruples, .. of them.
    pub(super) fn size(&self) -> usize {
        self.size
    }

    /// How many tiles there are.
    pub(super) fn tiles(&self) -> usize {
        self.loops.iter().map(|axis| axis.extent).product()
    }

    /// The bytes of a tile.
    pub(super) fn tile_bytes(&self) -> usize {
        self.run.extent * self.rows.places.len() * self.columns.places.len() * self.size
    }

    /// Whether every tile is transposed in whole squares, each column of which begins at a cache line.
    pub(super) fn has_whole_squares(&self, side: usize) -> bool {
        let is_whole = |count: usize, rest: Option<Rest>| {
            count >= side && rest.is_none_or(|rest| rest.last >= side)
        };
        self.is_aligned
            && !self.is_one_row
            && self.run.extent == 1
            && self.rows.is_dense
            && self.columns.is_dense
            && self.rows.places.len().is_multiple_of(side)
            && self.rows.rest.is_none_or(|rest| rest.last.is_multiple_of(side))
            && is_whole(self.columns.places.len(), self.columns.rest)
    }

    /// How many elements a run has.
    pub(super) fn run(&self) -> usize {
        self.run.extent
    }

    /// How far the elements of a run are apart.
    pub(super) fn run_strides(&self) -> [isize; 2] {
        self.run.strides
    }

    pub(super) fn rows(&self) -> &Side {
        &self.rows
    }

    pub(super) fn columns(&self) -> &Side {
        &self.columns
    }

    /// Whether tiles are put together in a buffer and written past the caches.
    pub(super) fn streams(&self) -> bool {
        self.streams
    }

    /// Whether a tile is one run of the output.
    pub(super) fn is_one_row(&self) -> bool {
        self.is_one_row
    }

    /// The tiles of a range, one after the other.
    pub(super) fn cursor(&self, range: std::ops::Range<usize>) -> Cursor<'_> {
        let mut number = range.start;
        let mut start = self.start;
        let index = self
            .loops
            .iter()
            .map(|axis| {
                let at = number % axis.extent;
                number /= axis.extent;
                start = std::array::from_fn(|i| start[i] + at.cast_signed() * axis.strides[i]);
                at
            })
            .collect();
        Cursor { plan: self, index, start, left: range.len() }
    }
}

/// A position among the tiles of a plan.
pub(super) struct Cursor<'p> {
    plan: &'p Plan,
    index: SmallVec<[usize; 8]>,
    start: [isize; 2],
    left: usize,
}

impl Cursor<'_> {
    /// The next tile.
    #[inline(always)]
    pub(super) fn advance(&mut self) -> Option<Tile> {
        self.left = self.left.checked_sub(1)?;
        let plan = self.plan;
        let tile = Tile {
            start: self.start,
            run: self.part(plan.run_rest, plan.run.extent),
            rows: self.part(plan.rows.rest, plan.rows.places.len()),
            columns: self.part(plan.columns.rest, plan.columns.places.len()),
        };
        for (at, axis) in self.index.iter_mut().zip(&plan.loops) {
            *at += 1;
            let wrapped = *at == axis.extent;
            let steps = if wrapped { 1 - axis.extent.cast_signed() } else { 1 };
            for (start, stride) in self.start.iter_mut().zip(axis.strides) {
                *start += steps * stride;
            }
            if !wrapped {
                break;
            }
            *at = 0;
        }
        Some(tile)
    }

    /// Where the tile after the one that was returned last begins in the input; `None` after the last one.
    #[inline(always)]
    pub(super) fn next_input(&self) -> Option<isize> {
        (self.left > 0).then_some(self.start[1])
    }

    /// Whether the tile after `tile`, the one that was returned last, goes on with its rows.
    #[inline(always)]
    pub(super) fn goes_on(&self, tile: Tile) -> bool {
        let columns = if self.plan.is_one_row { tile.columns } else { 1 };
        let row = (tile.run * tile.rows * columns).cast_signed();
        self.left > 0 && self.start[0] == tile.start[0] + row
    }

    /// How much of a side this tile has.
    #[inline(always)]
    fn part(&self, rest: Option<Rest>, full: usize) -> usize {
        match rest {
            Some(Rest { place, last })
                if self.index[place] + 1 == self.plan.loops[place].extent =>
            {
                last
            }
            _ => full,
        }
    }
}

/// Whether steps along an axis lead from line to line, or stay in one as a whole part of it.
fn begins_at_lines(axis: &Axis<2>, size: usize) -> bool {
    let step = axis.strides[0].unsigned_abs() * size;
    step.is_multiple_of(LINE) || (step > 0 && LINE.is_multiple_of(step))
}

/// Whether a copy of so many bytes should go past the caches.
fn stream_pays(bytes: usize) -> bool {
    super::stream::EXISTS && bytes >= STREAM_FROM
}

impl Side {
    fn single() -> Self {
        Self { places: SmallVec::from_slice(&[[0; 2]]), is_dense: true, rest: None }
    }
}

/// The axes that are not yet part of a tile.
struct Left {
    axes: SmallVec<[Axis<2>; 8]>,
    start: [isize; 2],
    size: usize,
}

impl Left {
    /// Turns round the axes whose strides are negative in operand `side`.
    fn turn(&mut self, side: usize) {
        for axis in &mut self.axes {
            turn(axis, side, &mut self.start);
        }
    }

    /// Takes elements side by side as one, where there is a size for it.
    fn widen(&mut self) {
        let Axis { extent, strides } = self.axes[0];
        let wide = extent * self.size;
        let divides = |axis: &Axis<2>| {
            axis.strides.iter().all(|stride| stride.unsigned_abs().is_multiple_of(extent))
        };
        let starts = self.start.iter().all(|start| start.unsigned_abs().is_multiple_of(extent));
        if strides != [1, 1]
            || !matches!(wide, 2 | 4 | 8 | 16)
            || !starts
            || !self.axes[1..].iter().all(divides)
        {
            return;
        }
        let step = extent.cast_signed();
        self.axes.remove(0);
        for axis in &mut self.axes {
            axis.strides = axis.strides.map(|stride| stride / step);
        }
        self.start = self.start.map(|start| start / step);
        self.size = wide;
    }

    /// The first axis, if nothing is nearer in the input than its elements; else a single element.
    fn take_run(&mut self) -> Axis<2> {
        let single = Axis { extent: 1, strides: [1, 1] };
        let Some(&first) = self.axes.first() else { return single };
        let step = first.strides[1].unsigned_abs();
        let nearer = |axis: &Axis<2>| (1..step).contains(&axis.strides[1].unsigned_abs());
        if self.axes[1..].iter().any(nearer) {
            return single;
        }
        self.axes.remove(0)
    }
}

fn turn(axis: &mut Axis<2>, side: usize, start: &mut [isize; 2]) {
    if axis.strides[side] < 0 {
        let last = axis.extent.cast_signed() - 1;
        for (start, stride) in start.iter_mut().zip(&mut axis.strides) {
            *start += last * *stride;
            *stride = -*stride;
        }
    }
}

/// A side of a tile that takes axes.
struct Growing {
    /// The operand that the side continues.
    side: usize,
    /// The stride with which an axis goes on.
    reach: usize,
    most: usize,
    axes: SmallVec<[Axis<2>; 8]>,
    count: usize,
    is_dense: bool,
}

impl Growing {
    fn new(side: usize, reach: usize, most: usize) -> Self {
        Self { side, reach, most, axes: SmallVec::new(), count: 1, is_dense: true }
    }

    /// Takes up to `axes` axes while there is room.
    fn grow(&mut self, left: &mut Left, axes: usize) {
        for _ in 0..axes {
            if self.count >= self.most || !self.is_dense {
                return;
            }
            let nearest = |place: &usize| match left.axes[*place].strides[self.side].unsigned_abs()
            {
                // Nothing new is read along it.
                0 => usize::MAX,
                stride => stride,
            };
            let Some(place) = (0..left.axes.len()).min_by_key(nearest) else { return };
            let mut axis = left.axes[place];
            let goes_on = axis.strides[self.side].unsigned_abs() == self.reach * self.count;
            if !goes_on && !self.axes.is_empty() {
                return;
            }
            left.axes.remove(place);
            turn(&mut axis, self.side, &mut left.start);
            self.is_dense = goes_on;
            self.count *= axis.extent;
            self.axes.push(axis);
        }
    }

    /// The side, and what is left of its last axis: a loop, and how much of the side its last step has.
    fn finish(mut self) -> (Side, Option<(Axis<2>, usize)>) {
        let mut rest = None;
        if let Some(last) = self.axes.last_mut() {
            let within = self.count / last.extent;
            let part = (self.most / within).max(1);
            if last.extent > part + part / 2 {
                let steps = last.extent.div_ceil(part);
                let in_last = last.extent - (steps - 1) * part;
                let strides = last.strides.map(|stride| stride * part.cast_signed());
                rest = Some((Axis { extent: steps, strides }, in_last * within));
                last.extent = part;
            }
        }
        let mut places = SmallVec::from_slice(&[[0; 2]]);
        for axis in &self.axes {
            let before = places.len();
            for at in 1..axis.extent.cast_signed() {
                for i in 0..before {
                    let place: [isize; 2] = places[i];
                    places.push(std::array::from_fn(|k| place[k] + at * axis.strides[k]));
                }
            }
        }
        (Side { places, is_dense: self.is_dense, rest: None }, rest)
    }
}
