//! Where extremes are: argmax and argmin.
//!
//! A NaN beats every number, and of equal elements the first stays, so that the answer does not depend on how the
//! elements are cut.

use std::ops::Range;

use pulp::NullaryFnOnce;
use smallvec::SmallVec;
use tenferro_ops::scalar::Real;
use tenferro_tensor::{Accepts, DType, Operand, OperandMut, Validation, dispatch};

use super::{
    Grant,
    fold::{Rows, joined},
    isa::in_widest,
    share::{Elements, Target},
    walk::{Axis, Walk},
};

/// The most neighbouring results that are carried at a time; they stay in the second-level cache.
const CARRIED: usize = 8192;
/// The same without asking for memory.
const FEW_CARRIED: usize = 128;
/// How many rows are looked at together, so that what is carried is loaded and stored once for all.
const ROWS: usize = 4;
/// The most elements of short rows that follow each other and are carried as one.
const WIDE_ROW: usize = 1024;
/// Runs of up to so many elements are short, and looked through side by side.
const SHORT: usize = 32;
/// How many short runs are looked through together.
const SIDE_BY_SIDE: usize = 8;
/// How many elements of a run are looked through for their extreme before its place is.
const RUN: usize = 2048;
/// How many parts of a run are looked through side by side.
const LANES: usize = 32;
/// How many results of a row make a block.
const BLOCK: usize = 16;
/// How many elements are asked at a time whether one of them is the extreme.
const ASKED: usize = 64;
const FEW_ASKED: usize = 8;

/// Which extreme is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Extreme {
    /// The largest element.
    Largest,
    /// The smallest element.
    Smallest,
}

/// Writes where over `axes` the extreme is, counted in column-major order of these axes.
pub(super) fn place(
    grant: &Grant<'_>,
    extreme: Extreme,
    input: &Operand<'_>,
    axes: &[usize],
    out: OperandMut<'_>,
) -> Result<(), Validation> {
    let plan = Plan::new(input, axes, &out);
    let dtype = input.dtype();
    dispatch!(dtype, real T => {
        // A NaN is not ordered, and so beats.
        #[allow(
            clippy::neg_cmp_op_on_partial_ord,
            clippy::nonminimal_bool,
            reason = "one comparison, where two would be asked for NaN"
        )]
        match extreme {
            Extreme::Largest => plan.search(grant, input, out, |x: T, best: T| !(x <= best)),
            Extreme::Smallest => plan.search(grant, input, out, |x: T, best: T| !(x >= best)),
        }
        Ok(())
    }, else Err(Validation::MeaninglessDType { dtype, expected: Accepts::Real.description() }))
}

/// The axes of the search, merged.
struct Plan {
    /// The kept axes: strides of the output and of the input.
    kept: Walk<2>,
    /// The searched axes in their own order, which is that of the places.
    searched: Walk<1>,
}

impl Plan {
    fn new(input: &Operand<'_>, axes: &[usize], out: &OperandMut<'_>) -> Self {
        let (from, to) = (input.strides_or_dense(), out.strides_or_dense());
        let extents = input.shape();
        let keeps = out.shape().rank() == extents.rank();
        let (mut kept, mut searched) =
            (SmallVec::<[Axis<2>; 6]>::new(), SmallVec::<[Axis<1>; 6]>::new());
        let mut place = 0;
        for (axis, &extent) in extents.iter().enumerate() {
            let is_searched = axes.contains(&axis);
            if is_searched {
                searched.push(Axis { extent, strides: [from[axis]] });
            } else {
                kept.push(Axis { extent, strides: [to[place], from[axis]] });
            }
            place += usize::from(!is_searched || keeps);
        }
        Self {
            kept: Walk::merging(kept.into_iter()),
            searched: Walk::merging(searched.into_iter()),
        }
    }

    /// Whether neighbours in the input belong to different results.
    fn carries_rows(&self) -> bool {
        let (kept, searched) = (self.kept.axes()[0], self.searched.axes()[0]);
        kept.extent > 1
            && (searched.extent == 1
                || kept.strides[1].unsigned_abs() < searched.strides[0].unsigned_abs())
    }

    fn search<T: Real>(
        &self,
        grant: &Grant<'_>,
        input: &Operand<'_>,
        mut out: OperandMut<'_>,
        better: impl Fn(T, T) -> bool + Copy + Sync,
    ) {
        let from = Elements::<T>::new(input.data());
        let to = Target::<i64>::new(out.data());
        let search = Search { grant, plan: self, from, better };
        let count = self.searched.elements();
        if self.kept.elements() == 0 || count == 0 {
            return;
        }
        grant.share(self.kept.elements(), count * size_of::<T>(), |range| {
            let results = Results { search: &search, to, range };
            // Wider registers shorten what is searched most; every instance more is time to build.
            if const { matches!(T::DTYPE, DType::F64 | DType::F32) } {
                in_widest(results);
            } else {
                results.call();
            }
        });
    }
}

/// Some of the results of a search.
struct Results<'s, 'a, T, F> {
    search: &'s Search<'a, T, F>,
    to: Target<i64>,
    range: Range<usize>,
}

impl<T: Real, F: Fn(T, T) -> bool + Copy> NullaryFnOnce for Results<'_, '_, T, F> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Self { search, to, range } = self;
        let (kept, searched) = (&search.plan.kept, &search.plan.searched);
        let [out_step, step] = kept.strides();
        let [next] = searched.strides();
        let short = searched.axes().len() == 1 && searched.elements() <= SHORT;
        for ([out, input], length) in kept.runs(range) {
            // SAFETY: the walks reach places of the output only, each of this range once.
            let write = |at: usize, place: usize| unsafe {
                to.at(out + at.cast_signed() * out_step).write(place as i64);
            };
            let mut at = 0;
            if search.plan.carries_rows() {
                search.rows(input, step, length, write);
                at = length;
            } else if short {
                while at + SIDE_BY_SIDE <= length {
                    let first = input + at.cast_signed() * step;
                    for (result, place) in
                        search.side_by_side(first, step, next).into_iter().enumerate()
                    {
                        write(at + result, place);
                    }
                    at += SIDE_BY_SIDE;
                }
            }
            for at in at..length {
                write(at, search.one(input + at.cast_signed() * step));
            }
        }
    }
}

/// The inner loops of a search.
struct Search<'a, T, F> {
    grant: &'a Grant<'a>,
    plan: &'a Plan,
    from: Elements<T>,
    better: F,
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
    fn one(&self, input: isize) -> usize {
        let [step] = self.plan.searched.strides();
        let mut best = Best { element: self.at(input), place: 0 };
        let mut place = 0;
        for ([offset], length) in self.plan.searched.runs(0..self.plan.searched.elements()) {
            let first = input + offset;
            for start in (0..length).step_by(RUN) {
                let run = RUN.min(length - start);
                let first = first + start.cast_signed() * step;
                // What beats the best is looked for before where it is. Neighbours are read many at a time.
                let (element, at) = if step == 1 {
                    let element = self.extreme(first, 1, run);
                    (
                        element,
                        self.beats(element, best.element)
                            .then(|| self.find(element, first, 1, run)),
                    )
                } else {
                    let element = self.extreme(first, step, run);
                    (
                        element,
                        self.beats(element, best.element)
                            .then(|| self.find(element, first, step, run)),
                    )
                };
                if let Some(at) = at {
                    best = Best { element, place: place + start + at };
                }
            }
            place += length;
        }
        best.place
    }

    /// The extreme of a run, NaN if there is one.
    #[inline(always)]
    fn extreme(&self, first: isize, step: isize, length: usize) -> T {
        let mut lanes = [self.at(first); LANES];
        let whole = length - length % LANES;
        for group in (0..whole).step_by(LANES) {
            for (lane, best) in lanes.iter_mut().enumerate() {
                let element = self.at(first + (group + lane).cast_signed() * step);
                *best = if self.beats(element, *best) { element } else { *best };
            }
        }
        for (at, best) in (whole..length).zip(&mut lanes) {
            let element = self.at(first + at.cast_signed() * step);
            *best = if self.beats(element, *best) { element } else { *best };
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

    /// Where in a run the first element is that equals its extreme.
    #[inline(always)]
    fn find(&self, extreme: T, first: isize, step: isize, length: usize) -> usize {
        let is_it = |at: usize| {
            let element = self.at(first + at.cast_signed() * step);
            (element == extreme) | (is_nan(element) & is_nan(extreme))
        };
        let start = self.skip::<ASKED>(0, length, is_it);
        let start = self.skip::<FEW_ASKED>(start, length, is_it);
        (start..length).find(|&at| is_it(at)).expect("invariant: the extreme is in the run")
    }

    /// The start of the first `N` elements from `start` on, of which one is it, or of what is left.
    #[inline(always)]
    fn skip<const N: usize>(
        &self,
        mut start: usize,
        length: usize,
        is_it: impl Fn(usize) -> bool,
    ) -> usize {
        while start + N <= length && !(0..N).fold(false, |any, at| any | is_it(start + at)) {
            start += N;
        }
        start
    }

    /// Where the extremes of short runs are, `next` from element to element and `step` from run to run.
    #[inline(always)]
    fn side_by_side(&self, first: isize, step: isize, next: isize) -> [usize; SIDE_BY_SIDE] {
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
    fn rows(&self, input: isize, step: isize, length: usize, write: impl Fn(usize, usize)) {
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
        let (long, wide) = (count / joined, joined * width);
        let next = wide.cast_signed();
        if long > 0 {
            let (mut wide_bests, mut wide_places) = ([T::default(); WIDE_ROW], [0; WIDE_ROW]);
            let (wide_bests, wide_places) = (&mut wide_bests[..wide], &mut wide_places[..wide]);
            for (at, best) in (0_isize..).zip(&mut *wide_bests) {
                *best = self.at(first + at);
            }
            self.carry_rows(wide_bests, wide_places, Rows { first, step: 1, next, count: long }, 0);
            for (at, (&element, &row)) in wide_bests.iter().zip(&*wide_places).enumerate() {
                let found = Best { element, place: row * joined + at / width };
                let (best, place) = (&mut bests[at % width], &mut places[at % width]);
                let before = Best { element: *best, place: *place };
                let better = if at < width { found } else { self.better_of(before, found) };
                (*best, *place) = (better.element, better.place);
            }
        }
        let first = first + long.cast_signed() * next;
        let rest = Rows { first, step: 1, next: width.cast_signed(), count: count - long * joined };
        self.carry_rows(bests, places, rest, long * joined);
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
            self.carry_parts::<N>(bests, places, rows, place);
        }
        let rows = rows.after(blocks.len() * BLOCK);
        self.carry_parts::<N>(rest, rest_places, rows, place);
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

#[inline]
fn is_nan<T: Real>(x: T) -> bool {
    x.partial_cmp(&x).is_none()
}
