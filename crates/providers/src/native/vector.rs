//! Products with a vector: a matrix times a column, and the product of two vectors.
//!
//! Nothing is used twice but the vector, so that reading the matrix once, as it lies, is all there is to win. Where columns
//! lie in one piece the result is a sum of columns, four at a time; where rows do, each element is a sum of its own in
//! several lanes. How sums are split depends on the extents alone.

use std::mem::MaybeUninit;

use super::{
    block::{Block, Strided},
    isa::Kernel,
};
use crate::arithmetic::{Number, Sum, combine};

/// Rows whose sums are kept together: they stay in the nearest cache.
const ROWS: usize = 512;

/// Columns that are added in one pass.
const TERMS: usize = 4;

/// Sums side by side of one element: several registers of the widest instructions.
const LANES: usize = 32;

/// Whether the block has one column, or one row, and a matrix that can be read in one piece at a time.
pub(super) fn fits<T: Number>(block: &Block<T>) -> bool {
    block.n == 1 && (block.lhs.row == 1 || (block.lhs.col == 1 && block.rhs.row == 1))
}

/// A block that [`fits`], whose k and alpha are not zero.
pub(super) struct Vector<T: Number>(pub(super) Block<T>);

impl<T: Number> Kernel for Vector<T> {
    #[inline(always)]
    fn run(self) {
        let block = self.0;
        if block.lhs.col == 1 && block.rhs.row == 1 && (block.lhs.row != 1 || block.m == 1) {
            rows(&block);
        } else {
            columns(&block);
        }
    }
}

/// Each element as the product of two vectors in one piece each.
#[inline(always)]
fn rows<T: Number>(block: &Block<T>) {
    // SAFETY: the column is in one piece and inside of the right operand, which nobody writes.
    let column = unsafe { std::slice::from_raw_parts(block.rhs.data, block.k) };
    for row in 0..block.m {
        // SAFETY: the row is in one piece and inside of the left operand, which nobody writes.
        let row_of = unsafe { std::slice::from_raw_parts(block.lhs.at(row, 0), block.k) };
        let term = |sum: T::Sum, (&x, &y): (&T, &T)| {
            let x = x.conjugated(block.conjugation[0]).widen();
            sum.plus_product(x, y.conjugated(block.conjugation[1]).widen())
        };
        let (xs, last_xs) = row_of.as_chunks::<LANES>();
        let (ys, last_ys) = column.as_chunks::<LANES>();
        let mut sums = [T::Sum::ZERO; LANES];
        for (xs, ys) in xs.iter().zip(ys) {
            for lane in 0..LANES {
                sums[lane] = term(sums[lane], (&xs[lane], &ys[lane]));
            }
        }
        let last = last_xs.iter().zip(last_ys).fold(T::Sum::ZERO, term);
        let sum = sums.into_iter().fold(last, Sum::plus);
        write(block, row, sum);
    }
}

/// The sum of the columns, each times an element of the vector.
#[inline(always)]
fn columns<T: Number>(block: &Block<T>) {
    let scale = |inner: usize| {
        // SAFETY: the index is inside of the right operand.
        unsafe { block.rhs.at(inner, 0).read() }.conjugated(block.conjugation[1]).widen()
    };
    for start in (0..block.m).step_by(ROWS) {
        let rows = ROWS.min(block.m - start);
        let mut room = [const { MaybeUninit::<T::Sum>::uninit() }; ROWS];
        let room = &mut room[..rows];
        for sum in &mut *room {
            sum.write(T::Sum::ZERO);
        }
        // SAFETY: each was just written.
        let sums = unsafe { room.assume_init_mut() };
        let piece = |lhs: Strided<T>, inner: usize| {
            // SAFETY: a part of a column, in one piece and inside of the left operand, which nobody writes.
            unsafe { std::slice::from_raw_parts(lhs.at(start, inner), rows) }
        };
        let widened = |x: T| x.conjugated(block.conjugation[0]).widen();
        let whole = block.k - block.k % TERMS;
        for inner in (0..whole).step_by(TERMS) {
            let [a, b, c, d] = [0, 1, 2, 3].map(|term| piece(block.lhs, inner + term));
            let [p, q, r, s] = [0, 1, 2, 3].map(|term| scale(inner + term));
            for ((((sum, &a), &b), &c), &d) in sums.iter_mut().zip(a).zip(b).zip(c).zip(d) {
                let two = sum.plus_product(widened(a), p).plus_product(widened(b), q);
                *sum = two.plus_product(widened(c), r).plus_product(widened(d), s);
            }
        }
        for inner in whole..block.k {
            let factor = scale(inner);
            for (sum, &x) in sums.iter_mut().zip(piece(block.lhs, inner)) {
                *sum = sum.plus_product(widened(x), factor);
            }
        }
        for (number, &sum) in sums.iter().enumerate() {
            write(block, start + number, sum);
        }
    }
}

#[inline(always)]
fn write<T: Number>(block: &Block<T>, row: usize, sum: T::Sum) {
    let place = block.out.at(row, 0);
    // SAFETY: the place is inside of the output; it is read only with a beta other than 0.
    let old = || unsafe { place.read() }.widen();
    let element = T::narrow(combine((block.alpha, block.beta), || sum, old));
    // SAFETY: as above.
    unsafe { place.write(element) };
}
