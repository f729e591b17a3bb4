//! One matrix product as raw parts: the piece of a request that a kernel sees.
//!
//! A block is made from a checked request and is a promise that its addresses are valid; kernels rely on it. Strides
//! of axes with one index are replaced by ones that lead nowhere wrong.

use tenferro_provider::{Matrix, Product};
use tenferro_tensor::Conjugation;

use super::grid::Piece;
use crate::arithmetic::{Number, Scale};

/// A strided matrix of elements `T`.
#[derive(Clone, Copy)]
pub(super) struct Strided<T> {
    pub(super) data: *mut T,
    pub(super) row: isize,
    pub(super) col: isize,
}

impl<T> Strided<T> {
    /// The address of an element.
    #[inline(always)]
    pub(super) fn at(self, row: usize, col: usize) -> *mut T {
        let offset = row.cast_signed() * self.row + col.cast_signed() * self.col;
        self.data.wrapping_offset(offset)
    }

    #[inline(always)]
    fn transposed(self) -> Self {
        Self { row: self.col, col: self.row, ..self }
    }

    /// The same matrix with strides that mean something on both axes.
    #[inline(always)]
    fn canonical(mut self, rows: usize, cols: usize) -> Self {
        if rows <= 1 {
            self.row = if self.col.unsigned_abs() == 1 { cols.max(1).cast_signed() } else { 1 };
        }
        if cols <= 1 {
            self.col = if self.row.unsigned_abs() == 1 { rows.max(1).cast_signed() } else { 1 };
        }
        self
    }
}

/// `out = alpha * lhs * rhs + beta * out` for one matrix, or a piece of one.
///
/// All addresses that the extents and strides reach are valid elements; `out` is reached by nobody else, twice by no
/// index, and is initialised if beta is not zero.
#[derive(Clone, Copy)]
pub(super) struct Block<T: Number> {
    pub(super) m: usize,
    pub(super) n: usize,
    pub(super) k: usize,
    pub(super) lhs: Strided<T>,
    pub(super) rhs: Strided<T>,
    pub(super) out: Strided<T>,
    pub(super) conjugation: [Conjugation; 2],
    pub(super) alpha: Scale<T::Sum>,
    pub(super) beta: Scale<T::Sum>,
}

impl<T: Number> Block<T> {
    /// Whether the product is the result: nothing is conjugated or scaled, and nothing is added.
    #[inline]
    #[cfg(target_arch = "x86_64")]
    pub(super) fn is_plain(&self) -> bool {
        self.conjugation == [Conjugation::Plain; 2]
            && matches!((self.alpha, self.beta), (Scale::One, Scale::Zero))
    }

    /// The same product, transposed: `out^T = rhs^T lhs^T`.
    pub(super) fn transposed(self) -> Self {
        let [lhs, rhs] = self.conjugation;
        Self {
            m: self.n,
            n: self.m,
            lhs: self.rhs.transposed(),
            rhs: self.lhs.transposed(),
            out: self.out.transposed(),
            conjugation: [rhs, lhs],
            ..self
        }
    }
}

impl<T: Number> Block<T> {
    /// A request of one product as one block, in elements of its dtype, `T`.
    #[inline]
    pub(super) fn whole(product: &mut Product<'_>) -> Self {
        debug_assert_eq!(product.dtype(), T::DTYPE);
        debug_assert_eq!(product.batch(), 1);
        let all = |matrix: Matrix| {
            let Matrix { rows, cols, row_stride, col_stride, .. } = matrix;
            Strided { data: matrix.pointer::<T>(0), row: row_stride, col: col_stride }
                .canonical(rows, cols)
        };
        Self {
            m: product.m(),
            n: product.n(),
            k: product.k(),
            lhs: all(product.lhs()),
            rhs: all(product.rhs()),
            out: all(product.out()),
            conjugation: [product.lhs_conjugation(), product.rhs_conjugation()],
            alpha: Scale::new(product.alpha()),
            beta: Scale::new(product.beta()),
        }
    }
}

/// A request whose products jobs compute, each its own piece.
pub(super) struct Request<T: Number> {
    lhs: Matrix,
    rhs: Matrix,
    out: Matrix,
    conjugation: [Conjugation; 2],
    alpha: Scale<T::Sum>,
    beta: Scale<T::Sum>,
}

// SAFETY: the matrices are borrowed by the product for longer than the jobs run; inputs are only read, and jobs write
// disjoint pieces of the output.
unsafe impl<T: Number> Sync for Request<T> {}

impl<T: Number> Request<T> {
    /// The request in elements of its dtype, `T`.
    pub(super) fn new(product: &mut Product<'_>) -> Self {
        debug_assert_eq!(product.dtype(), T::DTYPE);
        Self {
            lhs: product.lhs(),
            rhs: product.rhs(),
            out: product.out(),
            conjugation: [product.lhs_conjugation(), product.rhs_conjugation()],
            alpha: Scale::new(product.alpha()),
            beta: Scale::new(product.beta()),
        }
    }

    /// The part of one product of the batch that belongs to a piece.
    #[inline]
    pub(super) fn block(&self, piece: &Piece, batch: usize) -> Block<T> {
        let (m, n, k) = (piece.rows.len(), piece.cols.len(), self.lhs.cols);
        let part = |matrix: &Matrix, row: usize, col: usize, rows, cols| {
            let (row_stride, col_stride) = (matrix.row_stride, matrix.col_stride);
            let whole =
                Strided { data: matrix.pointer::<T>(batch), row: row_stride, col: col_stride };
            Strided { data: whole.at(row, col), ..whole }.canonical(rows, cols)
        };
        Block {
            m,
            n,
            k,
            lhs: part(&self.lhs, piece.rows.start, 0, m, k),
            rhs: part(&self.rhs, 0, piece.cols.start, k, n),
            out: part(&self.out, piece.rows.start, piece.cols.start, m, n),
            conjugation: self.conjugation,
            alpha: self.alpha,
            beta: self.beta,
        }
    }
}
