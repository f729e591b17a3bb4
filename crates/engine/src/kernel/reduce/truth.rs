//! Any and all of truth values.
//!
//! Truth values are bytes of 0 and 1. How they are gathered has no influence on what comes out, so that none waits for
//! another: a run is read by the register, its last register overlapping the one before; a short run is two or four
//! overlapping words; and rows are gathered in the output itself. Reads stop where the result is known.

use std::ops::Range;

use pulp::NullaryFnOnce;
use tenferro_tensor::{Operand, OperandMut};

use super::{
    masks::{self, Runs},
    plan::{Plan, SHORT, Way, is_cut},
};
use crate::kernel::{
    Grant,
    isa::in_wide,
    share::{Elements, Target},
    walk::Walk,
};

/// The most results of a row that are gathered at a time; they stay in the first-level cache.
const TILE: usize = 16 << 10;
/// Into how many tiles, for each thread, a row of results is cut where there would be fewer.
const TILES_PER_THREAD: usize = 2;
/// Into how many parts, for each thread, other results are cut: bytes are asked in so little time that a thread that
/// comes late, as all but the first do, should find most of its parts done.
const PARTS_PER_THREAD: usize = 16;
/// How many rows are gathered together, so that the results are loaded and stored once for all.
const ROWS: usize = 8;
/// The bytes of a register.
const REGISTER: usize = 64;
/// How many elements of short rows are gathered side by side at most.
const MOST_TOGETHER: usize = 1024;
/// How often short rows are gathered for one load and store of what was gathered before.
const TIMES: usize = 4;
/// How many results of a row make a block: some registers of them.
const BLOCK: usize = 128;
/// How many parts of a run are gathered side by side.
const LANES: usize = 256;
const FEW_LANES: usize = SHORT;
/// After how many elements of a run the result may be known.
const ASKED: usize = 4096;
/// How many short runs make a block.
const SIDE_BY_SIDE: usize = 8;
/// How far ahead of short runs memory is asked for; of longer ones it is read fast enough without.
const AHEAD: isize = 4096;

/// What is asked of truth values.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Question {
    /// Whether one is true.
    Any,
    /// Whether none is false.
    All,
}

/// Answers a question over the reduced axes; `false`, with nothing done, if the layout is one for the general loops.
pub(super) fn answer(
    grant: &Grant<'_>,
    plan: &Plan,
    question: Question,
    input: &Operand<'_>,
    mut out: OperandMut<'_>,
) -> bool {
    let (kept, run) = (plan.kept.axes()[0], plan.reduced.axes()[0]);
    let is_served = match plan.way {
        Way::Rows => {
            kept.strides == [1, 1] && (is_cut(kept.extent) || is_close(kept.extent, run.strides[0]))
        }
        Way::ShortRuns => run.strides == [1],
        Way::Runs => run.strides == [1] && run.extent > SHORT,
    };
    // More blocks are gathered by more threads.
    if !is_served || plan.blocks() > 1 {
        return false;
    }
    let (input, out) = (Elements::new(input.data()), Target::new(out.data()));
    match question {
        Question::Any => gather::<1>(grant, plan, input, out),
        Question::All => gather::<0>(grant, plan, input, out),
    }
    true
}

/// Whether rows lie one after the other and are so short that some are gathered as one.
fn is_close(row: usize, step: isize) -> bool {
    step == row.cast_signed() && row * together(row) <= MOST_TOGETHER
}

/// How many rows of this length fill whole registers.
fn together(row: usize) -> usize {
    REGISTER >> row.trailing_zeros().min(REGISTER.trailing_zeros())
}

/// Gathers by the value of which one decides a result.
fn gather<const DECISIVE: u8>(
    grant: &Grant<'_>,
    plan: &Plan,
    input: Elements<u8>,
    out: Target<u8>,
) {
    let kept = plan.kept.axes()[0];
    let (results, count) = (plan.kept.elements(), plan.reduced.elements());
    if plan.way == Way::Rows {
        let mut plan = Plan { tile: TILE.min(kept.extent), ..plan.clone() };
        let least = grant.width() * TILES_PER_THREAD;
        if plan.tiles() < least {
            plan.tile = kept.extent.div_ceil(least).next_multiple_of(BLOCK);
        }
        let gather = Gather::<DECISIVE> { plan: &plan, input, out };
        grant.share(plan.tiles(), plan.tile * count, |range| in_wide(Tiles { gather, range }));
    } else {
        let gather = Gather::<DECISIVE> { plan, input, out };
        let part = results.div_ceil(grant.width() * PARTS_PER_THREAD).max(1);
        grant.share(results.div_ceil(part), part * count, |range| {
            let range = range.start * part..results.min(range.end * part);
            in_wide(Results { gather, range });
        });
    }
}

/// What is gathered, and where it goes. The value of which one decides the result, and is the result, is known to the
/// compiler: what differs from the other one is the element itself where that is 0.
#[derive(Clone, Copy)]
struct Gather<'g, const DECISIVE: u8> {
    plan: &'g Plan,
    input: Elements<u8>,
    out: Target<u8>,
}

/// Some tiles of rows of results.
struct Tiles<'g, const DECISIVE: u8> {
    gather: Gather<'g, DECISIVE>,
    range: Range<usize>,
}

impl<const DECISIVE: u8> NullaryFnOnce for Tiles<'_, DECISIVE> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Self { gather, range } = self;
        for tile in range {
            let results = gather.plan.tile(tile);
            let [out, input] = gather.plan.kept.offsets(results.start);
            // SAFETY: a tile's results are neighbours in the output, which nobody else has; the first write gives each a value.
            let results = unsafe {
                let first = gather.out.at(out).as_ptr();
                first.write_bytes(Gather::<DECISIVE>::OTHER, results.len());
                std::slice::from_raw_parts_mut(first, results.len())
            };
            gather.rows(results, input);
        }
    }
}

/// Some results, each of a run or of several.
struct Results<'g, const DECISIVE: u8> {
    gather: Gather<'g, DECISIVE>,
    range: Range<usize>,
}

impl<const DECISIVE: u8> NullaryFnOnce for Results<'_, DECISIVE> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Self { gather, range } = self;
        let kept = &gather.plan.kept;
        let [out_step, step] = kept.strides();
        for ([out, input], length) in kept.runs(range) {
            // Neighbours are written many at a time.
            if out_step == 1 {
                gather.results([out, input], [1, step], length);
            } else {
                gather.results([out, input], [out_step, step], length);
            }
        }
    }
}

impl<const DECISIVE: u8> Gather<'_, DECISIVE> {
    /// The value that decides nothing.
    const OTHER: u8 = DECISIVE ^ 1;

    /// Gathers so many results, `steps` apart in the output and the input.
    #[inline(always)]
    fn results(self, [out, input]: [isize; 2], [out_step, step]: [isize; 2], length: usize) {
        let Plan { reduced, way, .. } = self.plan;
        let write = |at: usize, is_decided: bool| {
            let value = u8::from(is_decided) ^ Self::OTHER;
            // SAFETY: the walk reaches places of the output only, each once.
            unsafe { self.out.at(out + at.cast_signed() * out_step).write(value) };
        };
        if *way == Way::ShortRuns {
            let run = reduced.elements();
            let is_close =
                out_step == 1 && step == run.cast_signed() && masks::LENGTHS.contains(&run);
            let mut asked = 0;
            if is_close {
                // SAFETY: the runs are those of so many neighbouring results, which nobody else writes.
                asked = unsafe {
                    let (first, out) = (self.input.at(input).as_ptr(), self.out.at(out).as_ptr());
                    masks::ask(&Runs { first, out, length: run, count: length }, Self::OTHER)
                };
            }
            let write = |at: usize, is_decided: bool| write(asked + at, is_decided);
            self.short_runs(input + asked.cast_signed() * step, step, length - asked, write);
        } else {
            for at in 0..length {
                write(at, self.is_decided(reduced, input + at.cast_signed() * step));
            }
        }
    }

    /// Gathers neighbouring results, which hold what none of the elements decides.
    #[inline(always)]
    fn rows(self, results: &mut [u8], input: isize) {
        let reduced = &self.plan.reduced;
        let [next] = reduced.strides();
        for ([offset], count) in reduced.runs(0..reduced.elements()) {
            let row_at = |row: usize| input + offset + row.cast_signed() * next;
            let done = match is_close(results.len(), next) {
                true => self.short_rows(results, input + offset, count),
                false => 0,
            };
            let whole = count - (count - done) % ROWS;
            for row in (done..whole).step_by(ROWS) {
                self.some_rows::<ROWS>(results, row_at(row), next);
            }
            for row in whole..count {
                self.some_rows::<1>(results, row_at(row), next);
            }
        }
    }

    /// Gathers short rows that lie one after the other, as many side by side as fill registers, and returns how many.
    #[inline(always)]
    fn short_rows(self, results: &mut [u8], first: isize, count: usize) -> usize {
        let together = together(results.len());
        let times = count / together;
        let mut gathered = [0; MOST_TOGETHER];
        let (registers, _) = gathered.as_chunks_mut::<REGISTER>();
        let registers = &mut registers[..results.len() * together / REGISTER];
        let wide = (results.len() * together).cast_signed();
        let at = |time: usize| first + time.cast_signed() * wide;
        let whole = times - times % TIMES;
        for time in (0..whole).step_by(TIMES) {
            self.registers::<TIMES>(registers, at(time), wide);
        }
        for time in whole..times {
            self.registers::<1>(registers, at(time), wide);
        }
        // Halves of a power of two of rows.
        let mut rows = together;
        while rows > 1 {
            rows /= 2;
            let (half, other) = gathered.split_at_mut(results.len() * rows);
            for (part, &other) in half.iter_mut().zip(&*other) {
                *part |= other;
            }
        }
        for (result, &part) in results.iter_mut().zip(&gathered) {
            *result = (*result ^ Self::OTHER | part) ^ Self::OTHER;
        }
        times * together
    }

    /// Adds to registers what lies from `first` on, and so many times `next` after it.
    #[inline(always)]
    fn registers<const N: usize>(
        self,
        registers: &mut [[u8; REGISTER]],
        first: isize,
        next: isize,
    ) {
        for (register, start) in registers.iter_mut().zip((first..).step_by(REGISTER)) {
            // Apart, for the compiler takes a write to it for one to the input.
            let mut gathered = *register;
            for time in 0..N.cast_signed() {
                let elements: &[u8; REGISTER] = self.neighbours(start + time * next);
                for (part, &element) in gathered.iter_mut().zip(elements) {
                    *part |= element ^ Self::OTHER;
                }
            }
            *register = gathered;
        }
    }

    #[inline(always)]
    fn some_rows<const N: usize>(self, results: &mut [u8], first: isize, next: isize) {
        // A result is the decisive value, or the other one: what differs from that one is gathered.
        let (blocks, rest) = results.as_chunks_mut::<BLOCK>();
        let done = (blocks.len() * BLOCK).cast_signed();
        for (block, start) in blocks.iter_mut().zip((first..).step_by(BLOCK)) {
            let mut gathered = [0; BLOCK];
            for row in 0..N.cast_signed() {
                let elements: &[u8; BLOCK] = self.neighbours(start + row * next);
                for (part, &element) in gathered.iter_mut().zip(elements) {
                    *part |= element ^ Self::OTHER;
                }
            }
            for (result, &part) in block.iter_mut().zip(&gathered) {
                *result = (*result ^ Self::OTHER | part) ^ Self::OTHER;
            }
        }
        for row in 0..N.cast_signed() {
            for (result, at) in rest.iter_mut().zip(first + row * next + done..) {
                // SAFETY: the row has an element for each result.
                let element = unsafe { self.input.at(at).read() };
                *result = (*result ^ Self::OTHER | element ^ Self::OTHER) ^ Self::OTHER;
            }
        }
    }

    /// Whether the elements of one result, in runs from an offset on, decide it.
    #[inline(always)]
    fn is_decided(self, reduced: &Walk<1>, input: isize) -> bool {
        for ([offset], length) in reduced.runs(0..reduced.elements()) {
            for start in (0..length).step_by(ASKED) {
                // What is left over of a run is read with what is before it.
                let start = start.min(length.saturating_sub(FEW_LANES));
                let asked = ASKED.min(length - start);
                let first = input + offset + start.cast_signed();
                let is_decided = if asked >= LANES {
                    self.run::<LANES>(first, asked)
                } else {
                    self.run::<FEW_LANES>(first, asked)
                };
                if is_decided {
                    return true;
                }
            }
        }
        false
    }

    /// Whether one of at least `N` neighbours is decisive.
    #[inline(always)]
    fn run<const N: usize>(self, first: isize, length: usize) -> bool {
        let last: &[u8; N] = self.neighbours(first + (length - N).cast_signed());
        let mut lanes = [0; N];
        for (lane, &element) in lanes.iter_mut().zip(last) {
            *lane = element ^ Self::OTHER;
        }
        for start in (first..).step_by(N).take(length / N) {
            let elements: &[u8; N] = self.neighbours(start);
            for (lane, &element) in lanes.iter_mut().zip(elements) {
                *lane |= element ^ Self::OTHER;
            }
        }
        lanes.iter().fold(0, |all, lane| all | lane) != 0
    }

    /// Asks short runs of neighbours, `step` from run to run, and says of each whether it is decided.
    #[inline(always)]
    fn short_runs(self, first: isize, step: isize, length: usize, write: impl Fn(usize, bool)) {
        let count = self.plan.reduced.elements().cast_signed();
        match count {
            ..4 => self.words::<u8, 3>([0, count / 2, count - 1], (first, step), length, write),
            4..8 => self.words::<u32, 2>([0, count - 4], (first, step), length, write),
            8..=16 => self.words::<u64, 2>([0, count - 8], (first, step), length, write),
            _ => self.words::<u64, 4>([0, 8, count - 16, count - 8], (first, step), length, write),
        }
    }

    /// The same for runs that are made of overlapping words at these offsets.
    #[inline(always)]
    fn words<W: Word, const N: usize>(
        self,
        offsets: [isize; N],
        (first, step): (isize, isize),
        length: usize,
        write: impl Fn(usize, bool),
    ) {
        let other = W::of(Self::OTHER);
        let gathered = |first: isize| {
            let mut gathered = W::of(0);
            for offset in offsets {
                // SAFETY: the run has the bytes of the word, which may have any value and alignment.
                let word = unsafe { self.input.at(first + offset).cast::<W>().read_unaligned() };
                gathered = gathered.with(word, other);
            }
            gathered
        };
        let mut first = first;
        let whole = length - length % SIDE_BY_SIDE;
        for at in (0..whole).step_by(SIDE_BY_SIDE) {
            let stretch = step.unsigned_abs() * SIDE_BY_SIDE;
            if stretch <= ASKED {
                self.input.prefetch(first + AHEAD * step.signum(), stretch);
            }
            // All before the first write, which the compiler takes for a write to the input.
            let mut words = [W::of(0); SIDE_BY_SIDE];
            for (word, run) in words.iter_mut().zip(0_isize..) {
                *word = gathered(first + run * step);
            }
            for (run, word) in words.into_iter().enumerate() {
                write(at + run, word != W::of(0));
            }
            first += SIDE_BY_SIDE.cast_signed() * step;
        }
        for at in whole..length {
            write(at, gathered(first) != W::of(0));
            first += step;
        }
    }

    /// The elements next to each other from an offset on.
    #[inline(always)]
    fn neighbours<'n, const N: usize>(self, offset: isize) -> &'n [u8; N]
    where
        Self: 'n,
    {
        // SAFETY: callers hand in offsets from which on the walks reach so many neighbours of the input, which is only
        // read; bytes have no alignment.
        unsafe { self.input.at(offset).cast().as_ref() }
    }
}

/// Some bytes at once.
trait Word: Copy + PartialEq {
    /// The word of which each byte is this one.
    fn of(byte: u8) -> Self;

    /// This word, and what of another differs from `other`.
    fn with(self, word: Self, other: Self) -> Self;
}

macro_rules! word {
    ($($W:ty),*) => {
        $(impl Word for $W {
            #[inline(always)]
            fn of(byte: u8) -> Self {
                Self::from_ne_bytes([byte; size_of::<Self>()])
            }

            #[inline(always)]
            fn with(self, word: Self, other: Self) -> Self {
                self | word ^ other
            }
        })*
    };
}

word!(u8, u32, u64);
