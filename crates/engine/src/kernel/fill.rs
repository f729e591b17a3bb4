//! Rows that make elements of nothing but their index: counts and the zeros of triangles.

use tenferro_ops::scalar::Cast;
use tenferro_tensor::{
    AsOperand, Layout, Operand, OperandMut, Result, Shape, Validation, dispatch,
};

use super::{
    Grant, copy,
    structure::{copy_into_part, fill_zeros, layout_of, viewed},
};

/// Writes to each place its own index along `axis`.
pub(super) fn iota(grant: &Grant<'_>, axis: usize, out: OperandMut<'_>) -> Result<()> {
    const OP: &str = "iota";
    let shape = out.shape().clone();
    let along = Shape::new(&[shape[axis]]).map_err(|problem| problem.of(OP))?;
    let mut counts = grant.allocate(OP, out.dtype(), along)?;
    dispatch!(out.dtype(), any T => {
        let places = counts.as_uninit_slice::<T>().expect("invariant: allocated for this dtype");
        for (place, count) in places.iter_mut().zip(0_u64..) {
            place.write(<T as Cast>::from_u64(count));
        }
    });
    // SAFETY: every place was just written.
    let counts = unsafe { counts.assume_init() };
    let mut strides: smallvec::SmallVec<[isize; 6]> = smallvec::smallvec![0; shape.rank()];
    strides[axis] = 1;
    let layout = Layout::strided(&shape, &strides).map_err(|problem| problem.of(OP))?;
    copy::copy(grant, &viewed(&counts.as_operand(), layout, 0).as_operand(), out);
    Ok(())
}

/// Which elements over two axes are kept.
pub(super) struct Triangle {
    pub(super) rows: usize,
    pub(super) columns: usize,
    pub(super) offset: isize,
    pub(super) part: Part,
}

/// The side of the diagonal that is kept, itself included.
pub(super) enum Part {
    /// Columns up to the row plus the offset.
    Lower,
    /// Columns from the row plus the offset.
    Upper,
}

impl Triangle {
    /// The first and the last but one row of a column that are kept, of `extent` rows.
    fn kept(&self, column: usize, extent: usize) -> (usize, usize) {
        let diagonal = column as i128 - self.offset as i128;
        let cut = |row: i128| usize::try_from(row.max(0)).map_or(extent, |row| row.min(extent));
        match self.part {
            Part::Lower => (cut(diagonal), extent),
            Part::Upper => (0, cut(diagonal + 1)),
        }
    }
}

/// Copies the kept elements, and writes zeros elsewhere.
pub(super) fn triangle(
    grant: &Grant<'_>,
    kept: &Triangle,
    input: &Operand<'_>,
    mut out: OperandMut<'_>,
) -> Result<(), Validation> {
    if out.shape().contains(&0) {
        return Ok(());
    }
    fill_zeros(grant, out.reborrow());
    let (from, to) = (input.view().layout().clone(), layout_of(&out));
    let rows = input.shape()[kept.rows];
    for column in 0..input.shape()[kept.columns] {
        let (start, limit) = kept.kept(column, rows);
        if start == limit {
            continue;
        }
        let part = |layout: &Layout| -> Result<(Layout, isize), Validation> {
            let (layout, to_column) = layout.sliced(kept.columns, column, column + 1, 1)?;
            let (layout, to_row) = layout.sliced(kept.rows, start, limit, 1)?;
            Ok((layout, to_column + to_row))
        };
        let ((from, from_first), (to, to_first)) = (part(&from)?, part(&to)?);
        let source = viewed(input, from, from_first);
        copy_into_part(grant, &source.as_operand(), out.reborrow(), to, to_first);
    }
    Ok(())
}
