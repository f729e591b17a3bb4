//! Where a matrix of the suite lies: strides, holes and guards.
//!
//! Every placement leaves guard elements before, after and between those of the matrix. Input guards hold NaN where
//! the dtype has it, so that whoever lets one into a sum is found; output guards hold numbers, which must stay.

use tenferro_tensor::{Result, TensorView, TensorViewMut};

use super::number::Sample;

/// Elements around a matrix that nobody may touch.
const GUARD: usize = 24;

/// How the rows, columns and batch of a matrix lie in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Placement {
    /// Columns in one piece, one after the other.
    ColumnMajor,
    /// Rows in one piece, one after the other.
    RowMajor,
    /// Columns in one piece with holes between them.
    Submatrix,
    /// Rows in one piece with holes between them.
    RowSubmatrix,
    /// Column-major, where each axis of extent 1 has a stride that would lead far away.
    OddUnits,
    /// Row-major, where each axis of extent 1 has a stride that would lead far away.
    OddUnitsRowMajor,
    /// No axis in one piece.
    Strided,
    /// The batch in one piece.
    BatchFirst,
    /// Rows run backwards.
    ReversedRows,
    /// Columns run backwards.
    ReversedCols,
    /// Everything runs backwards, with holes.
    Reversed,
    /// All rows are one row. Inputs only.
    BroadcastRows,
    /// All columns are one column. Inputs only.
    BroadcastCols,
    /// All matrices of the batch are one. Inputs only.
    BroadcastBatch,
}

impl Placement {
    /// The placements of an output.
    pub(super) const OUTPUT: [Placement; 11] = [
        Placement::ColumnMajor,
        Placement::RowMajor,
        Placement::Submatrix,
        Placement::RowSubmatrix,
        Placement::OddUnits,
        Placement::OddUnitsRowMajor,
        Placement::Strided,
        Placement::BatchFirst,
        Placement::ReversedRows,
        Placement::ReversedCols,
        Placement::Reversed,
    ];

    /// The placements of an input.
    pub(super) const INPUT: [Placement; 14] = [
        Placement::ColumnMajor,
        Placement::RowMajor,
        Placement::Submatrix,
        Placement::RowSubmatrix,
        Placement::OddUnits,
        Placement::OddUnitsRowMajor,
        Placement::Strided,
        Placement::BatchFirst,
        Placement::ReversedRows,
        Placement::ReversedCols,
        Placement::Reversed,
        Placement::BroadcastRows,
        Placement::BroadcastCols,
        Placement::BroadcastBatch,
    ];

    /// Whether a provider that takes leading dimensions only must take this.
    pub(super) fn is_leading(self) -> bool {
        matches!(
            self,
            Placement::ColumnMajor
                | Placement::RowMajor
                | Placement::Submatrix
                | Placement::RowSubmatrix
                | Placement::OddUnits
                | Placement::OddUnitsRowMajor
                | Placement::BroadcastBatch
        )
    }

    fn strides(self, [rows, cols, batch]: [usize; 3]) -> [isize; 3] {
        let [r, c, b] = [rows, cols, batch].map(|extent| extent.max(1).cast_signed());
        let odd =
            |strides: [isize; 3]| {
                let far = [16_384, -7_777, 31_337];
                [0, 1, 2].map(|axis| {
                    if [rows, cols, batch][axis] == 1 { far[axis] } else { strides[axis] }
                })
            };
        match self {
            Placement::ColumnMajor => [1, r, r * c],
            Placement::RowMajor => [c, 1, r * c],
            Placement::Submatrix => [1, r + 3, (r + 3) * c + 5],
            Placement::RowSubmatrix => [c + 3, 1, (c + 3) * r + 5],
            Placement::OddUnits => odd([1, r, r * c]),
            Placement::OddUnitsRowMajor => odd([c, 1, r * c]),
            Placement::Strided => [2, 2 * r + 1, (2 * r + 1) * c + 3],
            Placement::BatchFirst => [b, b * r, 1],
            Placement::ReversedRows => [-1, r, r * c],
            Placement::ReversedCols => [1, -r, r * c],
            Placement::Reversed => [-2, -(2 * r + 1), -((2 * r + 1) * c + 3)],
            Placement::BroadcastRows => [0, 1, c],
            Placement::BroadcastCols => [1, 0, r],
            Placement::BroadcastBatch => [1, r, 0],
        }
    }
}

/// A matrix, or a batch of them, among guards.
#[derive(Clone)]
pub(super) struct Placed<T> {
    pub(super) elements: Vec<T>,
    pub(super) extents: [usize; 3],
    pub(super) strides: [isize; 3],
    pub(super) offset: usize,
}

impl<T: Sample> Placed<T> {
    /// A matrix placed so, every guard `guard`, and each element made from its number in column-major order.
    pub(super) fn new(
        placement: Placement,
        extents: [usize; 3],
        guard: impl Fn(usize) -> T,
        element: impl Fn(usize) -> T,
    ) -> Self {
        let strides = placement.strides(extents);
        let (mut low, mut high) = (0, 0);
        for (&extent, &stride) in extents.iter().zip(&strides) {
            let reach = stride * extent.saturating_sub(1).cast_signed();
            low += reach.min(0);
            high += reach.max(0);
        }
        let offset = GUARD + low.unsigned_abs();
        let length = offset + high.unsigned_abs() + 1 + GUARD;
        let elements = (0..length).map(guard).collect();
        let mut placed = Self { elements, extents, strides, offset };
        for (number, at) in placed.offsets().into_iter().enumerate() {
            placed.elements[at] = element(number);
        }
        placed
    }

    /// The place of each element in column-major order.
    pub(super) fn offsets(&self) -> Vec<usize> {
        let [rows, cols, batch] = self.extents.map(usize::cast_signed);
        let [row, col, next] = self.strides;
        let mut offsets = Vec::with_capacity(self.extents.iter().product());
        for b in 0..batch {
            for j in 0..cols {
                for i in 0..rows {
                    let offset = i * row + j * col + b * next;
                    offsets.push(self.offset.wrapping_add_signed(offset));
                }
            }
        }
        offsets
    }

    /// The elements in column-major order.
    pub(super) fn dense(&self) -> Vec<T> {
        self.offsets().into_iter().map(|at| self.elements[at]).collect()
    }

    pub(super) fn view(&self) -> Result<TensorView<'_>> {
        TensorView::from_slice(&self.elements, &self.extents, &self.strides, self.offset)
    }

    pub(super) fn view_mut(&mut self) -> Result<TensorViewMut<'_>> {
        TensorViewMut::from_slice(&mut self.elements, &self.extents, &self.strides, self.offset)
    }
}
