//! Our own kernel, for integers and 16-bit floats: each column of the result is a sum of scaled columns of the left
//! operand.
//!
//! Some rows of the left operand are packed, widened to what sums are kept in; then a column of the result is summed
//! four terms at a time, which is the loop that the compiler turns into vectors. Sums run over k in order and are
//! rounded to the dtype once, at the end.

use super::{block::Block, isa::Kernel};
use crate::arithmetic::{Number, Sum, combine};

/// Rows that are packed and summed together.
const ROWS: usize = 64;

/// Terms that are added in one pass over a column.
const TERMS: usize = 4;

/// Multiply-add steps up to which a float's product is made here that no other kernel takes without packing: about 16 cubed.
const FEW: usize = 1 << 12;

/// Whether a block of floats is so small that packing both operands takes longer than plain loops.
pub(super) fn fits<T: Number>(block: &Block<T>) -> bool {
    block.m.saturating_mul(block.n).saturating_mul(block.k) <= FEW
}

/// A block whose alpha is not zero.
pub(super) struct Columns<T: Number>(pub(super) Block<T>);

/// One column of the left operand, packed.
type Packed<S> = [S; ROWS];

impl<T: Number> Kernel for Columns<T> {
    #[inline(always)]
    fn run(self) {
        let block = self.0;
        let mut packed = Vec::with_capacity(block.k);
        let mut scales = vec![T::Sum::ZERO; block.k];
        for row in (0..block.m).step_by(ROWS) {
            let rows = ROWS.min(block.m - row);
            pack(&block, row, rows, &mut packed);
            for col in 0..block.n {
                for (inner, scale) in scales.iter_mut().enumerate() {
                    // SAFETY: the index is inside of the right operand.
                    let element = unsafe { block.rhs.at(inner, col).read() };
                    *scale = element.conjugated(block.conjugation[1]).widen();
                }
                let sums = combination(&packed, &scales);
                write(&block, &sums[..rows], row, col);
            }
        }
    }
}

/// Packs `rows` rows from `row` on, column by column; rows that are not there are zeros.
#[inline(always)]
fn pack<T: Number>(block: &Block<T>, row: usize, rows: usize, packed: &mut Vec<Packed<T::Sum>>) {
    packed.clear();
    packed.extend((0..block.k).map(|inner| {
        let mut column = [T::Sum::ZERO; ROWS];
        for (number, place) in column[..rows].iter_mut().enumerate() {
            // SAFETY: the index is inside of the left operand.
            let element = unsafe { block.lhs.at(row + number, inner).read() };
            *place = element.conjugated(block.conjugation[0]).widen();
        }
        column
    }));
}

/// The sum of columns, each times its scale.
#[inline(always)]
fn combination<S: Sum>(columns: &[Packed<S>], scales: &[S]) -> Packed<S> {
    let mut sums = [S::ZERO; ROWS];
    let (columns, last_columns) = columns.as_chunks::<TERMS>();
    let (scales, last_scales) = scales.as_chunks::<TERMS>();
    for ([a, b, c, d], &[p, q, r, s]) in columns.iter().zip(scales) {
        for row in 0..ROWS {
            let sum = sums[row].plus_product(a[row], p).plus_product(b[row], q);
            sums[row] = sum.plus_product(c[row], r).plus_product(d[row], s);
        }
    }
    for (column, &scale) in last_columns.iter().zip(last_scales) {
        for row in 0..ROWS {
            sums[row] = sums[row].plus_product(column[row], scale);
        }
    }
    sums
}

/// Scales the sums of some rows of one column and writes them.
#[inline(always)]
fn write<T: Number>(block: &Block<T>, sums: &[T::Sum], row: usize, col: usize) {
    for (number, &sum) in sums.iter().enumerate() {
        let place = block.out.at(row + number, col);
        // SAFETY: the place is inside of the output; it is read only with a beta other than 0.
        let old = || unsafe { place.read() }.widen();
        let element = T::narrow(combine((block.alpha, block.beta), || sum, old));
        // SAFETY: as above.
        unsafe { place.write(element) };
    }
}
