//! A batch of strided matrices as raw parts, which is how kernels and foreign libraries want them.
//!
//! A `Matrix` is an address with numbers: it borrows nothing and reads nothing. It is taken from a
//! [`Product`](crate::Product), whose operands vouch for the memory while the call lasts.

use std::ptr::NonNull;

/// Which axis of a matrix lies in one piece of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Order {
    /// Columns are in one piece, as BLAS has it.
    ColumnMajor,
    /// Rows are in one piece: to BLAS, the transpose.
    RowMajor,
}

/// A batch of matrices of one shape. Strides are in elements and may be negative or zero.
///
/// The stride of an axis with an extent of 1 or less means nothing and may be any number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Matrix {
    /// Element (0, 0) of the first matrix.
    pub data: NonNull<u8>,
    /// The number of rows.
    pub rows: usize,
    /// The number of columns.
    pub cols: usize,
    /// From a row to the next one.
    pub row_stride: isize,
    /// From a column to the next one.
    pub col_stride: isize,
    /// From a matrix of the batch to the next one.
    pub batch_stride: isize,
}

impl Matrix {
    #[inline(always)]
    pub(super) fn new(
        data: NonNull<u8>,
        [rows, cols]: [usize; 2],
        strides: Option<&[isize]>,
    ) -> Self {
        let (row_stride, col_stride, batch_stride) = match strides {
            Some(strides) => (strides[0], strides[1], strides[2]),
            None => {
                let column = rows.max(1).cast_signed();
                (1, column, column * cols.max(1).cast_signed())
            }
        };
        Self { data, rows, cols, row_stride, col_stride, batch_stride }
    }

    /// One matrix whose columns are axis `cols` of an operand with two axes, or of the one that a row has.
    #[inline(always)]
    pub(super) fn of_operand(
        data: NonNull<u8>,
        extents: &[usize],
        strides: Option<&[isize]>,
        cols: usize,
    ) -> Option<Self> {
        match *extents {
            [first, second] => Some(Self::of_axes(data, [first, second], strides, 1 - cols)),
            [length] if cols == 0 => Some(Self::row(data, length, strides)),
            _ => None,
        }
    }

    /// The matrix of one row that is an operand with one axis, or of one element that has none.
    #[inline(always)]
    fn row(data: NonNull<u8>, length: usize, strides: Option<&[isize]>) -> Self {
        let col_stride = strides.and_then(<[isize]>::first).map_or(1, |&stride| stride);
        let row_stride = length.max(1).cast_signed().wrapping_mul(col_stride);
        Self { data, rows: 1, cols: length, row_stride, col_stride, batch_stride: 0 }
    }

    /// The result of a product whose operands have so many axes, of which it has those that are not summed over.
    #[inline(always)]
    pub(super) fn of_result(
        data: NonNull<u8>,
        extents: &[usize],
        strides: Option<&[isize]>,
        ranks: [usize; 2],
    ) -> Option<Self> {
        match (ranks, extents) {
            ([2, 2], &[rows, cols]) => Some(Self::of_axes(data, [rows, cols], strides, 0)),
            ([1, 2], &[cols]) => Some(Self::row(data, cols, strides)),
            ([2, 1], &[rows]) => Some(Self::row(data, rows, strides).transposed()),
            ([1, 1], &[]) => Some(Self::row(data, 1, None)),
            _ => None,
        }
    }

    /// One matrix whose rows are axis `rows` of two.
    #[inline(always)]
    fn of_axes(
        data: NonNull<u8>,
        extents: [usize; 2],
        strides: Option<&[isize]>,
        rows: usize,
    ) -> Self {
        let cols = 1 - rows;
        let own = strides
            .map_or([1, extents[0].max(1).cast_signed()], |strides| [strides[0], strides[1]]);
        Self {
            data,
            rows: extents[rows],
            cols: extents[cols],
            row_stride: own[rows],
            col_stride: own[cols],
            batch_stride: 0,
        }
    }

    /// Element (0, 0) of one matrix of the batch, as elements of type `T`.
    ///
    /// The caller answers for `T` being the product's dtype. The address is computed, not read.
    #[must_use]
    #[inline]
    pub fn pointer<T>(&self, batch: usize) -> *mut T {
        let offset = self.batch_stride.wrapping_mul(batch.cast_signed());
        self.data.cast::<T>().as_ptr().wrapping_offset(offset)
    }

    /// The element at this row and column of this matrix of the batch, as [`Matrix::pointer`].
    #[inline]
    pub(super) fn place<T>(&self, [row, col, batch]: [usize; 3]) -> *mut T {
        let offset = row.cast_signed() * self.row_stride + col.cast_signed() * self.col_stride;
        self.pointer::<T>(batch).wrapping_offset(offset)
    }

    /// The same matrices from the element at `place` on, with other extents; elements have `size` bytes.
    pub(super) fn part(self, place: [usize; 2], [rows, cols]: [usize; 2], size: usize) -> Self {
        let offset = place[0].cast_signed().wrapping_mul(self.row_stride)
            + place[1].cast_signed().wrapping_mul(self.col_stride);
        let data = self.data.as_ptr().wrapping_byte_offset(offset * size.cast_signed());
        // Where there is no element the strides may lead anywhere, and nobody goes there.
        Self { data: NonNull::new(data).unwrap_or(self.data), rows, cols, ..self }
    }

    /// The same matrices with rows and columns exchanged.
    #[must_use]
    pub fn transposed(self) -> Self {
        Self {
            rows: self.cols,
            cols: self.rows,
            row_stride: self.col_stride,
            col_stride: self.row_stride,
            ..self
        }
    }

    /// The order and leading dimension by which BLAS can read each matrix; `None` if it would need a copy.
    ///
    /// The leading dimension is at least the length of a column (of a row, if row-major) and at least 1, also where an
    /// extent of 1 comes with a stride that would not do. A matrix that can be read both ways is called column-major.
    ///
    /// ```
    /// use std::ptr::NonNull;
    /// use tenferro_provider::{Matrix, Order};
    ///
    /// let row = Matrix {
    ///     data: NonNull::dangling(), rows: 1, cols: 2048,
    ///     row_stride: 16384, col_stride: 1, batch_stride: 0,
    /// };
    /// assert_eq!(row.order(), Some((Order::ColumnMajor, 1)));
    /// assert_eq!(row.transposed().order(), Some((Order::ColumnMajor, 2048)));
    /// ```
    #[must_use]
    pub fn order(&self) -> Option<(Order, usize)> {
        let column_major = self.leading_dimension().map(|leading| (Order::ColumnMajor, leading));
        column_major.or_else(|| {
            self.transposed().leading_dimension().map(|leading| (Order::RowMajor, leading))
        })
    }

    /// The distance between columns, if each lies in one piece and they neither overlap nor run backwards.
    pub(super) fn leading_dimension(&self) -> Option<usize> {
        let least = self.rows.max(1);
        if self.rows > 1 && self.row_stride != 1 {
            return None;
        }
        if self.cols <= 1 {
            return Some(least);
        }
        usize::try_from(self.col_stride).ok().filter(|&leading| leading >= least)
    }
}
