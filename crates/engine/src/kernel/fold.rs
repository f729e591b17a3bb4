//! The inner loops that gather elements into parts: rows of parts carried along, runs, and short runs side by side.
//!
//! They know offsets and a reducer, and nothing of axes, blocks or threads. All are inlined into functions that are
//! compiled for an instruction set. In which order elements are combined depends on lengths and strides alone.

use std::{mem::MaybeUninit, ops::Range};

use tenferro_ops::scalar::Reducer;
use tenferro_tensor::Scalar;

use super::share::Elements;

/// How many rows are added to the parts at a time, so that these are loaded and stored once for all.
const ROWS: usize = 4;
/// How many parts make a block: some vectors of them; more where elements are small.
const BLOCK: usize = 32;
const BLOCK_OF_SMALL: usize = 64;
/// How many results are folded side by side where runs are short.
pub(super) const SIDE_BY_SIDE: usize = 8;
/// Rows of up to so many elements that follow each other are carried as one longer row.
const SHORT_ROW: usize = 64;
/// The most elements of that one.
pub(super) const WIDE_ROW: usize = 1024;
/// Runs side by side that reach over no more elements leave few gaps: what follows is asked for ahead.
const STRETCH: usize = 32 * SIDE_BY_SIDE;
/// How many parts of a long run are folded side by side; more where elements are small.
const LANES: usize = 32;
const LANES_OF_BYTES: usize = 256;
/// The same for runs that are not that long.
const FEW_LANES: usize = 8;

/// Elements, and how they are gathered.
#[derive(Clone, Copy)]
pub(super) struct Folding<T, R> {
    pub(super) input: Elements<T>,
    pub(super) reducer: R,
    /// Whether the input lies beyond the near caches, so that its runs are asked for ahead.
    pub(super) is_far: bool,
}

/// Rows of elements, one for each part.
#[derive(Clone, Copy)]
pub(super) struct Rows {
    /// The offset of the first.
    pub(super) first: isize,
    /// From element to element.
    pub(super) step: isize,
    /// From row to row.
    pub(super) next: isize,
    pub(super) count: usize,
}

impl Rows {
    /// The rows from one of them on.
    #[inline(always)]
    pub(super) fn from(self, row: usize) -> Self {
        Self { first: self.first + row.cast_signed() * self.next, ..self }
    }

    /// The same rows without their first elements.
    #[inline(always)]
    pub(super) fn after(self, elements: usize) -> Self {
        Self { first: self.first + elements.cast_signed() * self.step, ..self }
    }
}

/// How many rows of `length` elements are carried as one, if they are short and follow each other: as many as leave several
/// of these, and powers of two so that they make whole blocks.
pub(super) fn joined(length: usize, rows: Rows) -> usize {
    let is_long = length > SHORT_ROW;
    if is_long || rows.step != 1 || rows.next != length.cast_signed() {
        return 1;
    }
    let most = (WIDE_ROW / length).min(rows.count / 4);
    most.checked_ilog2().map_or(1, |power| 1 << power)
}

/// Something that adds rows to parts. A trait and no closure, which would not be inlined into every caller.
pub(super) trait Carry<T: Scalar, R: Reducer<T>> {
    fn reducer(&self) -> R;

    /// Adds rows to the parts, one after the other.
    fn carry_rows(&mut self, parts: &mut [R::Acc], rows: Rows);

    /// Adds rows to the parts: first as many as there are in `joined` at a time, as one long row that what is left begins
    /// again; its halves are combined until they are parts.
    #[inline(always)]
    fn carry(&mut self, parts: &mut [R::Acc], rows: Rows, joined: usize) {
        let reducer = self.reducer();
        let mut wide = [const { MaybeUninit::<R::Acc>::uninit() }; WIDE_ROW];
        let mut width = if joined > 1 { joined * parts.len() } else { 0 };
        let wide = &mut wide[..width];
        let mut passes = [(parts.len(), rows), (0, rows)];
        let carried = if joined <= 1 {
            &mut *parts
        } else {
            let (long, rest) = (rows.count / joined, rows.count % joined);
            let next = width.cast_signed();
            let rest_rows = Rows { step: 1, next, count: 1, ..rows.from(long * joined) };
            passes = [
                (width, Rows { step: 1, next, count: long, ..rows }),
                (rest * parts.len(), rest_rows),
            ];
            for place in &mut *wide {
                place.write(reducer.neutral());
            }
            // SAFETY: every place was just written.
            unsafe { wide.assume_init_mut() }
        };
        // From one place, so that it is compiled once.
        for (width, rows) in passes {
            if width > 0 {
                self.carry_rows(&mut carried[..width], rows);
            }
        }
        if joined <= 1 {
            return;
        }
        // SAFETY: more than one row is joined, so every place was written.
        let wide = unsafe { wide.assume_init_mut() };
        while width > parts.len() {
            width /= 2;
            let (near, far) = wide[..2 * width].split_at_mut(width);
            for (part, &other) in near.iter_mut().zip(&*far) {
                *part = reducer.combine(*part, other);
            }
        }
        for (part, &other) in parts.iter_mut().zip(&*wide) {
            *part = reducer.combine(*part, other);
        }
    }
}

impl<T: Scalar, R: Reducer<T>> Carry<T, R> for Folding<T, R> {
    #[inline(always)]
    fn reducer(&self) -> R {
        self.reducer
    }

    #[inline(always)]
    fn carry_rows(&mut self, parts: &mut [R::Acc], rows: Rows) {
        self.carry_in_order(parts, rows);
    }
}

impl<T: Scalar, R: Reducer<T>> Folding<T, R> {
    /// The element at an offset, as something carried.
    #[inline(always)]
    fn enter(self, offset: isize) -> R::Acc {
        // SAFETY: callers hand in offsets of the input only.
        self.reducer.enter(unsafe { self.input.at(offset).read() })
    }

    /// Adds rows to the parts, one after the other, however they lie.
    #[inline(always)]
    fn carry_in_order(self, parts: &mut [R::Acc], rows: Rows) {
        if rows.step == 1 {
            self.carry_by_some(parts, Rows { step: 1, ..rows });
        } else {
            self.carry_apart(parts, rows);
        }
    }

    /// The same where elements are no neighbours, which gains nothing from blocks.
    #[inline(always)]
    fn carry_apart(self, parts: &mut [R::Acc], rows: Rows) {
        let rest = rows.count % ROWS;
        for row in (0..rows.count - rest).step_by(ROWS) {
            self.carry_parts::<ROWS>(parts, rows.from(row));
        }
        for row in rows.count - rest..rows.count {
            self.carry_parts::<1>(parts, rows.from(row));
        }
    }

    #[inline(always)]
    fn carry_by_some(self, parts: &mut [R::Acc], rows: Rows) {
        let mut row = 0;
        while row + ROWS <= rows.count {
            self.carry_some::<ROWS>(parts, rows.from(row));
            row += ROWS;
        }
        for row in row..rows.count {
            self.carry_some::<1>(parts, rows.from(row));
        }
    }

    /// Adds `N` rows to the parts.
    #[inline(always)]
    fn carry_some<const N: usize>(self, parts: &mut [R::Acc], rows: Rows) {
        if size_of::<T>() >= 8 {
            self.carry_blocks::<N, BLOCK>(parts, rows);
        } else {
            self.carry_blocks::<N, BLOCK_OF_SMALL>(parts, rows);
        }
    }

    /// The same, blocks of parts at a time: loops of known length become vectors without a rest.
    #[inline(always)]
    fn carry_blocks<const N: usize, const L: usize>(self, parts: &mut [R::Acc], rows: Rows) {
        let (blocks, rest) = parts.as_chunks_mut::<L>();
        for (block, parts) in blocks.iter_mut().enumerate() {
            let rows = rows.after(block * L);
            if rows.step == 1 && size_of::<T>() > 1 {
                for row in N..2 * N {
                    self.input.prefetch(rows.from(row).first, L);
                }
            }
            self.carry_parts::<N>(parts, rows);
        }
        self.carry_parts::<N>(rest, rows.after(blocks.len() * L));
    }

    #[inline(always)]
    fn carry_parts<const N: usize>(self, parts: &mut [R::Acc], rows: Rows) {
        for (at, part) in (0_isize..).zip(parts) {
            let mut carried = *part;
            for row in 0..N.cast_signed() {
                let element = self.enter(rows.first + at * rows.step + row * rows.next);
                carried = self.reducer.combine(carried, element);
            }
            *part = carried;
        }
    }

    /// Adds to each part the `count` elements of its own short run, `next` apart; runs begin `step` apart.
    #[inline(always)]
    pub(super) fn side_by_side(
        self,
        parts: &mut [R::Acc],
        Rows { first, step, next, count }: Rows,
    ) {
        let (groups, rest) = parts.as_chunks_mut::<SIDE_BY_SIDE>();
        let count = count.cast_signed();
        let mut first = first;
        let stretch = step.unsigned_abs() * SIDE_BY_SIDE;
        let asks = self.is_far && stretch <= STRETCH;
        for group in groups {
            if asks {
                self.input.prefetch_ahead(first, stretch);
            }
            let mut carried = *group;
            for at in 0..count {
                for (part, result) in carried.iter_mut().zip(0_isize..) {
                    let element = self.enter(first + result * step + at * next);
                    *part = self.reducer.combine(*part, element);
                }
            }
            *group = carried;
            first += SIDE_BY_SIDE.cast_signed() * step;
        }
        for part in rest {
            for at in 0..count {
                *part = self.reducer.combine(*part, self.enter(first + at * next));
            }
            first += step;
        }
    }

    /// What the elements of a run make.
    #[inline(always)]
    pub(super) fn run(self, first: isize, step: isize, length: usize) -> R::Acc {
        if step != 1 {
            self.in_lanes::<FEW_LANES>(first, step, length)
        } else if size_of::<T>() == 1 && length >= 2 * LANES_OF_BYTES {
            self.in_lanes::<LANES_OF_BYTES>(first, 1, length)
        } else if length >= 8 * LANES {
            self.in_lanes::<LANES>(first, 1, length)
        } else {
            self.in_lanes::<FEW_LANES>(first, 1, length)
        }
    }

    #[inline(always)]
    fn in_lanes<const N: usize>(self, first: isize, step: isize, length: usize) -> R::Acc {
        let mut lanes = [self.reducer.neutral(); N];
        let mut done = self.fill_lanes(&mut lanes, first, step, 0..length);
        // What is left goes to fewer lanes.
        if N > LANES
            && let Some(lanes) = lanes.first_chunk_mut::<LANES>()
        {
            done = self.fill_lanes(lanes, first, step, done..length);
        }
        if N > FEW_LANES
            && let Some(lanes) = lanes.first_chunk_mut::<FEW_LANES>()
        {
            done = self.fill_lanes(lanes, first, step, done..length);
        }
        // In an array of its own: one that is indexed by a variable is not kept in registers.
        let mut rest = [self.reducer.neutral(); FEW_LANES];
        for (at, part) in (done..length).zip(&mut rest) {
            *part = self.enter(first + at.cast_signed() * step);
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

    /// Adds whole groups of a range of a run to lanes; returns where what is left begins.
    #[inline(always)]
    fn fill_lanes<const N: usize>(
        self,
        lanes: &mut [R::Acc; N],
        first: isize,
        step: isize,
        range: Range<usize>,
    ) -> usize {
        let mut start = range.start;
        while start + N <= range.end {
            let first = first + start.cast_signed() * step;
            if N >= LANES && self.is_far {
                self.input.prefetch_ahead(first, N);
            }
            for (part, lane) in lanes.iter_mut().zip(0_isize..) {
                *part = self.reducer.combine(*part, self.enter(first + lane * step));
            }
            start += N;
        }
        start
    }
}
