//! Our own kernel: tiles of a few rows and columns whose sums stay in registers over the whole of k.
//!
//! It serves every number dtype and any strides: rows of the left operand are packed into panels, where they are
//! widened and conjugated. Small products use it as it is, without a heap allocation; products of 16-bit floats and
//! integers of any size use it on panels of the right operand that are packed as well.

use std::mem::MaybeUninit;

use tenferro_tensor::{Conjugation, Scalar};

use super::{
    block::{Block, Strided},
    isa::{Baseline, Isa, Kernel},
    lane::Lane,
    large,
};
use crate::arithmetic::{Number, Scale, Sum, combine};

/// Columns of a tile.
const NR: usize = 4;

/// Rows of a tile of the packed kernel.
const HIGH: usize = 16;

/// The largest k of a product that is computed without the heap.
pub(super) const SMALL: usize = 64;

/// Sums that fit the panel of right columns: 256 KiB of f32, half of a usual second-level cache.
const PANEL: usize = 1 << 16;

/// A product of k at most [`SMALL`], of a dtype that is its own sum; alpha is not zero.
pub(super) struct Small<T: Number>(pub(super) Block<T>);

impl<T: Number<Sum = T> + Lane> Kernel for Small<T> {
    #[inline(always)]
    fn run<I: Isa>(self) {
        let block = self.0;
        debug_assert!(block.k <= SMALL);
        // Conjugation is done where rows are packed; the right operand is read as it lies.
        let [lhs, rhs] = block.conjugation;
        let (block, whole) = match rhs {
            Conjugation::Plain => (block, Conjugation::Plain),
            // conj(conj(lhs) rhs) with what is packed conjugated once more.
            Conjugation::Conjugated => {
                let lhs = match lhs {
                    Conjugation::Plain => Conjugation::Conjugated,
                    Conjugation::Conjugated => Conjugation::Plain,
                };
                let conjugation = [lhs, Conjugation::Plain];
                (Block { conjugation, ..block }, Conjugation::Conjugated)
            }
        };
        let rows = Rows { block, rhs: block.rhs, whole };
        let highest = 2 * I::VECTOR / T::BYTES;
        let mut row = 0;
        while row < block.m {
            let left = block.m - row;
            row += if highest >= 32 && left > 16 {
                rows.fine_panel::<I, 32>(row)
            } else if highest >= 16 && left > 8 {
                rows.fine_panel::<I, 16>(row)
            } else if highest >= 8 && left > 4 {
                rows.fine_panel::<I, 8>(row)
            } else {
                rows.fine_panel::<I, 4>(row)
            };
        }
    }

    fn baseline(self) {
        // Two more copies of the tiles would not pay for themselves on old machines.
        if cfg!(target_arch = "x86_64") {
            large::product(self.0);
        } else {
            self.run::<Baseline>();
        }
    }
}

/// A product of any size, packed; alpha is not zero.
pub(super) struct Packed<T: Number>(pub(super) Block<T>);

impl<T: Number> Kernel for Packed<T>
where
    T::Sum: Lane,
{
    #[inline(always)]
    fn run<I: Isa>(self) {
        let block = self.0;
        let width = (PANEL / block.k.max(1)).next_multiple_of(NR).max(8 * NR);
        let mut cols = Vec::with_capacity(block.k * width.min(block.n.next_multiple_of(NR)));
        for start in (0..block.n).step_by(width) {
            let end = (start + width).min(block.n);
            cols.clear();
            for col in start..end {
                cols.extend((0..block.k).map(|inner| {
                    // SAFETY: the index is inside of the right operand.
                    let element = unsafe { block.rhs.at(inner, col).read() };
                    element.conjugated(block.conjugation[1]).widen()
                }));
            }
            // Whole tiles: columns that are not there are zeros, and their sums are not written.
            cols.resize(block.k * (end - start).next_multiple_of(NR), T::Sum::ZERO);
            let rhs = Strided { data: cols.as_mut_ptr(), row: 1, col: block.k.cast_signed() };
            let out = Strided { data: block.out.at(0, start), ..block.out };
            let part = Block { n: end - start, out, ..block };
            let rows = Rows { block: part, rhs, whole: Conjugation::Plain };
            for row in (0..block.m).step_by(HIGH) {
                rows.coarse_panel::<I>(row);
            }
        }
    }

    fn baseline(self) {
        self.run::<Baseline>();
    }
}

/// A product whose right operand is ready to be read as sums.
struct Rows<T: Number> {
    block: Block<T>,
    rhs: Strided<T::Sum>,
    /// What becomes of each finished sum.
    whole: Conjugation,
}

impl<T: Number> Rows<T>
where
    T::Sum: Lane,
{
    /// All columns of the `MR` rows from `row` on, or of as many as there are; says how many.
    #[inline(always)]
    fn fine_panel<I: Isa, const MR: usize>(&self, row: usize) -> usize {
        let Block { m, n, k, lhs, .. } = self.block;
        let rows = MR.min(m - row);
        let mut stack = [const { MaybeUninit::<<T::Sum as Lane>::Block<MR>>::uninit() }; SMALL];
        let readable = T::Sum::PLAIN && T::DTYPE == T::Sum::DTYPE;
        let (left, step) = if readable && lhs.row == 1 && rows == MR {
            (lhs.at(row, 0).cast_const().cast(), lhs.col * size_of::<T>().cast_signed())
        } else {
            self.pack::<MR>(row, rows, &mut stack[..k]);
            (stack.as_ptr().cast(), size_of::<<T::Sum as Lane>::Block<MR>>().cast_signed())
        };
        let mut col = 0;
        while col < n {
            col += match n - col {
                1 => self.tile::<I, MR, 1>(left, step, row, col),
                2 | 3 => self.tile::<I, MR, 2>(left, step, row, col),
                _ => self.tile::<I, MR, NR>(left, step, row, col),
            };
        }
        rows
    }

    /// All columns, in whole tiles, of the [`HIGH`] rows from `row` on, or of as many as there are.
    #[inline(always)]
    fn coarse_panel<I: Isa>(&self, row: usize) {
        let Block { m, n, k, .. } = self.block;
        let mut packed = Vec::with_capacity(k);
        self.pack::<HIGH>(row, HIGH.min(m - row), &mut packed.spare_capacity_mut()[..k]);
        let step = size_of::<<T::Sum as Lane>::Block<HIGH>>().cast_signed();
        for col in (0..n).step_by(NR) {
            self.tile::<I, HIGH, NR>(packed.as_ptr(), step, row, col);
        }
    }

    /// Packs `rows` rows, widened and conjugated, and zeros for the rows of the panel that are not there.
    #[inline(always)]
    fn pack<const MR: usize>(
        &self,
        row: usize,
        rows: usize,
        packed: &mut [MaybeUninit<<T::Sum as Lane>::Block<MR>>],
    ) {
        for (inner, place) in packed.iter_mut().enumerate() {
            let mut block = T::Sum::zeros::<MR>();
            for number in 0..rows {
                // SAFETY: the index is inside of the left operand.
                let element = unsafe { self.block.lhs.at(row + number, inner).read() };
                let element = element.conjugated(self.block.conjugation[0]).widen();
                T::Sum::put::<MR>(&mut block, number, element);
            }
            place.write(block);
        }
    }

    /// Computes and writes `COLS` columns from `col` on; says how many.
    ///
    /// `left` is the panel of rows from `row` on: `k` blocks, `step` bytes apart.
    #[inline(always)]
    fn tile<I: Isa, const MR: usize, const COLS: usize>(
        &self,
        left: *const <T::Sum as Lane>::Block<MR>,
        step: isize,
        row: usize,
        col: usize,
    ) -> usize {
        let mut sums = [T::Sum::zeros::<MR>(); COLS];
        for inner in 0..self.block.k {
            // SAFETY: the panel has `k` blocks, `step` bytes apart: packed ones, or whole columns of the operand.
            let lhs = unsafe { left.byte_offset(step * inner.cast_signed()).read() };
            for (number, sums) in sums.iter_mut().enumerate() {
                // SAFETY: the index is inside of the right operand.
                let rhs = unsafe { self.rhs.at(inner, col + number).read() };
                T::Sum::accumulate::<I, MR>(sums, &lhs, rhs);
            }
        }
        let Block { m, n, out, alpha, beta, .. } = self.block;
        let plain =
            matches!((alpha, beta, self.whole), (Scale::One, Scale::Zero, Conjugation::Plain));
        if plain && m - row >= MR && n - col >= COLS && out.row == 1 {
            for (number, sums) in sums.iter().enumerate() {
                let place = out.at(row, col + number);
                for number in 0..MR {
                    // SAFETY: all rows of the tile are inside of the output, one after the other.
                    unsafe { place.add(number).write(T::narrow(T::Sum::get::<MR>(sums, number))) };
                }
            }
        } else {
            // A copy, so that the sums themselves need no address and stay in registers.
            let copy = sums;
            self.write::<MR>(&copy, row, col);
        }
        COLS
    }

    /// Scales the sums and writes those whose rows and columns are there.
    #[inline(never)]
    fn write<const MR: usize>(&self, sums: &[<T::Sum as Lane>::Block<MR>], row: usize, col: usize) {
        let Block { m, n, out, alpha, beta, .. } = self.block;
        for (number, sums) in sums.iter().enumerate().take(n - col) {
            for row_number in 0..MR.min(m - row) {
                let place = out.at(row + row_number, col + number);
                let sum = || T::Sum::get::<MR>(sums, row_number).conjugated(self.whole);
                // SAFETY: the place is inside of the output; it is read only with a beta other than 0.
                let old = || unsafe { place.read() }.widen();
                let element = T::narrow(combine((alpha, beta), sum, old));
                // SAFETY: as above.
                unsafe { place.write(element) };
            }
        }
    }
}
