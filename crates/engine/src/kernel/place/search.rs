//! The inner loops of a search: runs, short runs side by side, and rows of bests carried along.
//!
//! They know offsets, an order and what is searched, and nothing of threads. Blocks are arrays of known length that are
//! indexed by constants and loop counters alone, so that they stay in registers and their loops become vectors.

use tenferro_ops::scalar::Real;

use super::Plan;
use crate::kernel::{
    Grant,
    fold::{Rows, joined},
    share::Elements,
};

/// The most neighbouring results that are carried at a time; they stay in the second-level cache.
const CARRIED: usize = 8192;
/// The same without asking for memory.
const FEW_CARRIED: usize = 128;
/// How many rows are looked at together, so that what is carried is loaded and stored once for all.
const ROWS: usize = 4;
/// The most elements of short rows that follow each other and are carried as one.
const WIDE_ROW: usize = 1024;
/// How many short runs are looked through together.
pub(super) const SIDE_BY_SIDE: usize = 8;
/// How many elements of a run are looked through for their extreme before its place is.
const RUN: usize = 2048;
/// How many parts of a run are looked through side by side.
const LANES: usize = 32;
/// How many results of a row make a block.
const BLOCK: usize = 16;
/// How many elements are asked at a time whether one of them is the extreme.
const ASKED: usize = 64;
/// How many elements are copied together where they are no neighbours.
const COPIED: usize = 256;

/// The inner loops of a search.
pub(super) struct Search<'a, T, F> {
    pub(super) grant: &'a Grant<'a>,
    pub(super) plan: &'a Plan,
    pub(super) from: Elements<T>,
    pub(super) better: F,
}

/// The best of some elements, and where it is.
#[derive(Clone, Copy, Default)]
struct Best<T> {
    element: T,
    place: usize,
}

impl<T: Real, F: Fn(T, T) -> bool + Copy> Search<'_, T, F> {
    /// The element at an offset that the walks reach.
    #[inline(always)]
    fn at(&self, offset: isize) -> T {
        // SAFETY: the walks reach indices of the input only.
        unsafe { self.from.at(offset).read() }
    }

    /// Whether an element takes the place of the best so far, which no later one does once that is a NaN.
    #[inline(always)]
    fn beats(&self, element: T, best: T) -> bool {
        (self.better)(element, best) & !is_nan(best)
    }

    /// The better of two, the first of equal ones.
    #[inline(always)]
    fn better_of(&self, one: Best<T>, other: Best<T>) -> Best<T> {
        let is_equal =
            !self.beats(one.element, other.element) & !self.beats(other.element, one.element);
        let other_first = is_equal & (other.place < one.place);
        if other_first | self.beats(other.element, one.element) { other } else { one }
    }

    /// Where the extreme of one result is.
    #[inline(always)]
    pub(super) fn one(&self, input: isize) -> usize {
        let searched = &self.plan.searched;
        let [step] = searched.strides();
        let mut best = Best { element: self.at(input), place: 0 };
        let mut place = 0;
        for ([offset], length) in searched.runs(0..searched.elements()) {
            let first = input + offset;
            if step == 1 {
                // SAFETY: the walk reaches so many neighbours of the input, which is only read.
                let run =
                    unsafe { std::slice::from_raw_parts(self.from.at(first).as_ptr(), length) };
                self.improve(&mut best, run, place);
            } else {
                let mut copied = [T::default(); COPIED];
                for start in (0..length).step_by(COPIED) {
                    let copied = &mut copied[..COPIED.min(length - start)];
                    for (to, at) in copied.iter_mut().zip(start.cast_signed()..) {
                        *to = self.at(first + at * step);
                    }
                    self.improve(&mut best, copied, place + start);
                }
            }
            place += length;
        }
        best.place
    }

    /// Replaces the best by that of neighbours, the first of which is at `place`, if that beats it.
    #[inline(always)]
    fn improve(&self, best: &mut Best<T>, neighbours: &[T], place: usize) {
        for (number, run) in neighbours.chunks(RUN).enumerate() {
            // What beats the best is looked for before where it is.
            let element = self.extreme(run);
            if self.beats(element, best.element) {
                *best = Best { element, place: place + number * RUN + find(element, run) };
            }
        }
    }

    /// The extreme of a run, NaN if there is one.
    #[inline(always)]
    fn extreme(&self, run: &[T]) -> T {
        let Some(&last) = run.last_chunk::<LANES>() else {
            return run.iter().fold(run[0], |best, &x| if self.beats(x, best) { x } else { best });
        };
        // What the last lanes share with the block before them is seen twice, which changes no extreme.
        let mut lanes = last;
        for block in run.as_chunks::<LANES>().0 {
            for (best, &element) in lanes.iter_mut().zip(block) {
                *best = if self.beats(element, *best) { element } else { *best };
            }
        }
        let mut width = LANES / 2;
        while width > 0 {
            for lane in 0..width {
                let (element, best) = (lanes[lane + width], lanes[lane]);
                lanes[lane] = if self.beats(element, best) { element } else { best };
            }
            width /= 2;
        }
        lanes[0]
    }

    /// Where the extremes of short runs are, `next` from element to element and `step` from run to run.
    #[inline(always)]
    pub(super) fn side_by_side(
        &self,
        first: isize,
        step: isize,
        next: isize,
    ) -> [usize; SIDE_BY_SIDE] {
        let mut bests = [T::default(); SIDE_BY_SIDE];
        let mut places = [0; SIDE_BY_SIDE];
        for (best, result) in bests.iter_mut().zip(0_isize..) {
            *best = self.at(first + result * step);
        }
        for place in 1..self.plan.searched.elements() {
            for (result, (best, found)) in (0_isize..).zip(bests.iter_mut().zip(&mut places)) {
                let element = self.at(first + result * step + place.cast_signed() * next);
                let beats = self.beats(element, *best);
                *best = if beats { element } else { *best };
                *found = if beats { place } else { *found };
            }
        }
        places
    }

    /// Writes where the extremes of neighbouring results are.
    #[inline(always)]
    pub(super) fn rows(
        &self,
        input: isize,
        step: isize,
        length: usize,
        write: impl Fn(usize, usize),
    ) {
        let mut few = ([T::default(); FEW_CARRIED], [0; FEW_CARRIED]);
        let most = CARRIED.min(length);
        // Without memory for a long row short ones have to do.
        let carries_many = most > FEW_CARRIED;
        let mut many = carries_many.then(|| self.grant.scratch::<(usize, T)>(most)).flatten();
        let (bests, places) = match &mut many {
            // SAFETY: the memory has room for both, places first, is aligned for them, and nobody else's; every place is
            // written before it is lent.
            Some(many) => unsafe {
                let places = many.as_operand_mut().data().cast::<usize>().as_ptr();
                let bests = places.add(most).cast::<T>();
                (0..most).for_each(|at| places.add(at).write(0));
                (0..most).for_each(|at| bests.add(at).write(T::default()));
                (
                    std::slice::from_raw_parts_mut(bests, most),
                    std::slice::from_raw_parts_mut(places, most),
                )
            },
            None => (&mut few.0[..], &mut few.1[..]),
        };
        for start in (0..length).step_by(bests.len()) {
            let carried = bests.len().min(length - start);
            let (bests, places) = (&mut bests[..carried], &mut places[..carried]);
            let first = input + start.cast_signed() * step;
            // Compiled for neighbours by itself: their loops become vectors.
            if step == 1 {
                self.carry(bests, places, first, 1);
            } else {
                self.carry(bests, places, first, step);
            }
            for (at, &place) in places.iter().enumerate() {
                write(start + at, place);
            }
        }
    }

    /// Finds the extremes of neighbouring results and their places.
    #[inline(always)]
    fn carry(&self, bests: &mut [T], places: &mut [usize], first: isize, step: isize) {
        let searched = &self.plan.searched;
        let [next] = searched.strides();
        for (at, (best, found)) in (0_isize..).zip(bests.iter_mut().zip(&mut *places)) {
            (*best, *found) = (self.at(first + at * step), 0);
        }
        let rows = Rows { first, step, next, count: searched.elements() };
        let joined = joined(bests.len(), rows);
        if searched.axes().len() == 1 && joined > 1 {
            return self.carry_joined(bests, places, first, joined);
        }
        let mut place = 0;
        for ([offset], count) in searched.runs(0..searched.elements()) {
            self.carry_rows(
                bests,
                places,
                Rows { first: first + offset, step, next, count },
                place,
            );
            place += count;
        }
    }

    /// The same for short rows that follow each other: several as one long row.
    #[inline(always)]
    fn carry_joined(&self, bests: &mut [T], places: &mut [usize], first: isize, joined: usize) {
        let (count, width) = (self.plan.searched.elements(), bests.len());
        let (long, rest, mut wide) = (count / joined, count % joined, joined * width);
        let (mut wide_bests, mut wide_places) = ([T::default(); WIDE_ROW], [0; WIDE_ROW]);
        let (wide_bests, wide_places) = (&mut wide_bests[..wide], &mut wide_places[..wide]);
        for (at, best) in (0_isize..).zip(&mut *wide_bests) {
            *best = self.at(first + at);
        }
        let rows = Rows { first, step: 1, next: wide.cast_signed(), count: long };
        self.carry_rows(wide_bests, wide_places, rows, 0);
        // What is left begins a long row.
        let begun = rest * width;
        let rows = Rows { count: 1, ..rows.from(long) };
        self.carry_rows(&mut wide_bests[..begun], &mut wide_places[..begun], rows, long);
        for (row, places) in wide_places.chunks_exact_mut(width).enumerate() {
            for place in places {
                *place = *place * joined + row;
            }
        }
        while wide > width {
            wide /= 2;
            let (near, far) = wide_bests[..2 * wide].split_at_mut(wide);
            let (near_places, far_places) = wide_places[..2 * wide].split_at_mut(wide);
            self.merge(near, near_places, far, far_places);
        }
        bests.copy_from_slice(&wide_bests[..width]);
        places.copy_from_slice(&wide_places[..width]);
    }

    /// Keeps the better of each pair of bests, of equal ones that with the smaller place.
    #[inline(always)]
    fn merge(&self, bests: &mut [T], places: &mut [usize], others: &[T], other_places: &[usize]) {
        let (blocks, rest) = bests.as_chunks_mut::<BLOCK>();
        let (place_blocks, rest_places) = places.as_chunks_mut::<BLOCK>();
        let (other_blocks, rest_others) = others.as_chunks::<BLOCK>();
        let (other_place_blocks, rest_other_places) = other_places.as_chunks::<BLOCK>();
        for (((bests, places), others), other_places) in
            blocks.iter_mut().zip(place_blocks).zip(other_blocks).zip(other_place_blocks)
        {
            self.merge_block(bests, places, others, other_places);
        }
        for (((best, place), &other), &other_place) in
            rest.iter_mut().zip(rest_places).zip(rest_others).zip(rest_other_places)
        {
            let one = Best { element: *best, place: *place };
            let better = self.better_of(one, Best { element: other, place: other_place });
            (*best, *place) = (better.element, better.place);
        }
    }

    #[inline(always)]
    fn merge_block(
        &self,
        bests: &mut [T; BLOCK],
        places: &mut [usize; BLOCK],
        others: &[T; BLOCK],
        other_places: &[usize; BLOCK],
    ) {
        let (mut kept, mut found) = (*bests, *places);
        for lane in 0..BLOCK {
            let one = Best { element: kept[lane], place: found[lane] };
            let other = Best { element: others[lane], place: other_places[lane] };
            let better = self.better_of(one, other);
            (kept[lane], found[lane]) = (better.element, better.place);
        }
        (*bests, *places) = (kept, found);
    }

    /// Compares rows with what is carried; the first row's place is `place`.
    #[inline(always)]
    fn carry_rows(&self, bests: &mut [T], places: &mut [usize], rows: Rows, place: usize) {
        let mut row = 0;
        while row + ROWS <= rows.count {
            self.carry_some::<ROWS>(bests, places, rows.from(row), place + row);
            row += ROWS;
        }
        for row in row..rows.count {
            self.carry_some::<1>(bests, places, rows.from(row), place + row);
        }
    }

    /// Compares `N` rows, blocks of what is carried at a time: loops of known length become vectors without a rest.
    #[inline(always)]
    fn carry_some<const N: usize>(
        &self,
        bests: &mut [T],
        places: &mut [usize],
        rows: Rows,
        place: usize,
    ) {
        let (blocks, rest) = bests.as_chunks_mut::<BLOCK>();
        let (places, rest_places) = places.as_chunks_mut::<BLOCK>();
        for (block, (bests, places)) in blocks.iter_mut().zip(places).enumerate() {
            let rows = rows.after(block * BLOCK);
            if rows.step == 1 {
                for row in N..2 * N {
                    self.from.prefetch(rows.from(row).first, BLOCK);
                }
            }
            self.carry_block::<N>(bests, places, rows, place);
        }
        let rows = rows.after(blocks.len() * BLOCK);
        self.carry_parts::<N>(rest, rest_places, rows, place);
    }

    #[inline(always)]
    fn carry_block<const N: usize>(
        &self,
        bests: &mut [T; BLOCK],
        places: &mut [usize; BLOCK],
        rows: Rows,
        place: usize,
    ) {
        // Copies, which no write through another pointer changes.
        let (mut carried, mut found) = (*bests, *places);
        for row in 0..N {
            let first = rows.from(row).first;
            for lane in 0..BLOCK {
                let element = self.at(first + lane.cast_signed() * rows.step);
                let beats = self.beats(element, carried[lane]);
                carried[lane] = if beats { element } else { carried[lane] };
                found[lane] = if beats { place + row } else { found[lane] };
            }
        }
        (*bests, *places) = (carried, found);
    }

    #[inline(always)]
    fn carry_parts<const N: usize>(
        &self,
        bests: &mut [T],
        places: &mut [usize],
        Rows { first, step, next, .. }: Rows,
        place: usize,
    ) {
        for (at, (best, found)) in (0_isize..).zip(bests.iter_mut().zip(places)) {
            let mut carried = Best { element: *best, place: *found };
            for row in 0..N {
                let element = self.at(first + at * step + row.cast_signed() * next);
                let beats = self.beats(element, carried.element);
                carried.element = if beats { element } else { carried.element };
                carried.place = if beats { place + row } else { carried.place };
            }
            (*best, *found) = (carried.element, carried.place);
        }
    }
}

/// Where in a run the first element is that equals its extreme.
#[inline(always)]
fn find<T: Real>(extreme: T, run: &[T]) -> usize {
    if is_nan(extreme) { first(run, is_nan) } else { first(run, |x| x == extreme) }
}

/// The first element of a run that is it, which one must be.
#[inline(always)]
fn first<T: Real>(run: &[T], is_it: impl Fn(T) -> bool) -> usize {
    let (blocks, _) = run.as_chunks::<ASKED>();
    let before = blocks
        .iter()
        .take_while(|block| !block.iter().fold(false, |any, &x| any | is_it(x)))
        .count();
    let start = before * ASKED;
    let rest = run[start..].iter().position(|&x| is_it(x));
    start + rest.expect("invariant: the extreme is in the run")
}

#[inline(always)]
fn is_nan<T: Real>(x: T) -> bool {
    x.partial_cmp(&x).is_none()
}
