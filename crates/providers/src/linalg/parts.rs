//! Raw parts of a request as matrices and slices.
//!
//! Elements that are only written need not be initialised; they are set to zero first, so that every reference is to
//! elements that are.

use faer::{MatMut, MatRef};
use tenferro_provider::lapack::{Columns, Entries};
use tenferro_tensor::Scalar;

/// A matrix to read.
///
/// # Safety
/// The parts are of a request that is borrowed for `'a`, whose elements are `T`, and are made into nothing that writes.
pub(super) unsafe fn read<'a, T: Scalar>(columns: Columns) -> MatRef<'a, T> {
    let Columns { rows, cols, leading, .. } = columns;
    // SAFETY: the request says that these elements are there and initialised.
    unsafe { MatRef::from_raw_parts(columns.pointer(), rows, cols, 1, leading.cast_signed()) }
}

/// A matrix to read and write.
///
/// # Safety
/// The parts are of a request that is borrowed for `'a`, whose elements are `T`, and are made into nothing else.
pub(super) unsafe fn update<'a, T: Scalar>(columns: Columns) -> MatMut<'a, T> {
    let Columns { rows, cols, leading, .. } = columns;
    // SAFETY: the request says that these elements are there, initialised and nobody else's.
    unsafe { MatMut::from_raw_parts_mut(columns.pointer(), rows, cols, 1, leading.cast_signed()) }
}

/// A matrix to write, of zeros.
///
/// # Safety
/// As for [`update`], but the elements need not be initialised.
pub(super) unsafe fn write<'a, T: Scalar>(columns: Columns) -> MatMut<'a, T> {
    for col in 0..columns.cols {
        let column = columns.pointer::<T>().wrapping_add(col * columns.leading);
        // SAFETY: the column is inside of the matrix; all bits zero are a number of every dtype.
        unsafe { column.write_bytes(0, columns.rows) };
    }
    // SAFETY: as the caller says, and the elements are initialised now.
    unsafe { update(columns) }
}

/// A vector to read.
///
/// # Safety
/// As for [`read`].
pub(super) unsafe fn read_entries<'a, T: Scalar>(entries: Entries) -> &'a [T] {
    // SAFETY: the request says that these entries are there and initialised.
    unsafe { std::slice::from_raw_parts(entries.pointer(), entries.len) }
}

/// A vector to write, of zeros.
///
/// # Safety
/// As for [`write`].
pub(super) unsafe fn write_entries<'a, T: Scalar>(entries: Entries) -> &'a mut [T] {
    // SAFETY: the entries are inside of the vector; all bits zero are a number of every dtype.
    unsafe { entries.pointer::<T>().write_bytes(0, entries.len) };
    // SAFETY: as the caller says, and the entries are initialised now.
    unsafe { std::slice::from_raw_parts_mut(entries.pointer(), entries.len) }
}
