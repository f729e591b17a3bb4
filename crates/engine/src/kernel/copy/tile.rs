//! Filling tiles.
//!
//! A tile is written in place or, where lines go past the caches, put together in a buffer first and then written row by
//! row. Rows and columns that are dense on their sides are transposed in squares; the last squares of a side reach back
//! over what was written already, so that nothing is left over.

use std::{mem::MaybeUninit, ops::Range};

use smallvec::SmallVec;

use super::{
    plan::{Cursor, LINE, Plan, Side, Tile},
    square::{Bits, Square},
    stream,
};

/// The bytes of the buffer in which a tile is put together.
const STAGE_BYTES: usize = 48 << 10;

/// Some tiles of a copy, and the two operands.
pub(super) struct Part<'p, T> {
    pub(super) plan: &'p Plan,
    pub(super) tiles: Range<usize>,
    pub(super) to: *mut T,
    pub(super) from: *const T,
}

/// Where a tile is put together.
#[repr(align(64))]
struct Stage(MaybeUninit<[u8; STAGE_BYTES]>);

impl<T: Bits> Part<'_, T> {
    /// Copies the tiles.
    ///
    /// # Safety
    /// The plan must be that of the two operands, which must be valid for reads and writes and share no element; no
    /// other thread may write the same tiles. The machine must have the instructions of `S`.
    #[inline(always)]
    pub(super) unsafe fn copy<S: Square<T>>(&self) {
        // SAFETY: the caller keeps to the same.
        unsafe {
            if self.plan.streams() { self.copy_streaming::<S>() } else { self.copy_in_place::<S>() }
        }
    }

    /// # Safety
    /// As for [`Part::copy`].
    #[inline(always)]
    unsafe fn copy_in_place<S: Square<T>>(&self) {
        let columns = &self.plan.columns().places;
        let mut tiles = self.plan.cursor(self.tiles.clone());
        while let Some(tile) = tiles.advance() {
            // SAFETY: the plan's tiles are inside of both operands.
            unsafe {
                let (to, from) = (self.to.offset(tile.start[0]), self.from.offset(tile.start[1]));
                self.fill::<S>(tile, to, from, columns);
            }
        }
    }

    /// # Safety
    /// As for [`Part::copy`].
    #[inline(always)]
    unsafe fn copy_streaming<S: Square<T>>(&self) {
        let mut tiles = self.plan.cursor(self.tiles.clone());
        let is_plain_run = self.plan.rows().places.len() == 1 && self.plan.run_strides() == [1, 1];
        // SAFETY: the caller keeps to the same.
        unsafe {
            if is_plain_run && self.plan.is_aligned() {
                self.stream_runs(&mut tiles);
            } else if S::IS_LINE && self.plan.has_whole_squares(S::SIDE) {
                self.stream_squares::<S>(&mut tiles);
            } else {
                self.stream_staged::<S>(&mut tiles);
            }
        }
        stream::finish();
    }

    /// Asks for the input of the tile that begins at `from`; where rows are far apart no machine guesses it.
    #[inline(always)]
    fn prefetch(&self, from: *const T) {
        let columns = self.plan.columns();
        if !columns.is_dense {
            return;
        }
        let bytes = columns.places.len() * self.plan.run() * size_of::<T>();
        for row in &self.plan.rows().places {
            let first = from.wrapping_offset(row[1]).cast::<u8>();
            for line in (0..bytes + LINE - 1).step_by(LINE) {
                stream::prefetch(first.wrapping_add(line.min(bytes - 1)));
            }
        }
    }

    /// Writes runs past the caches as they lie in the input.
    ///
    /// # Safety
    /// As for [`Part::copy`].
    #[inline(always)]
    unsafe fn stream_runs(&self, tiles: &mut Cursor<'_>) {
        while let Some(tile) = tiles.advance() {
            for column in &self.plan.columns().places[..tile.columns] {
                // SAFETY: the plan's tiles are inside of both operands.
                unsafe {
                    let to = self.to.offset(tile.start[0] + column[0]);
                    let from = self.from.offset(tile.start[1] + column[1]);
                    stream::row(to.cast(), from.cast(), tile.run * size_of::<T>());
                }
            }
        }
    }

    /// Writes squares past the caches, line by line.
    ///
    /// # Safety
    /// As for [`Part::copy`]; the plan must have whole squares.
    #[inline(always)]
    unsafe fn stream_squares<S: Square<T>>(&self, tiles: &mut Cursor<'_>) {
        while let Some(tile) = tiles.advance() {
            let rows = &self.plan.rows().places[..tile.rows];
            let columns = &self.plan.columns().places[..tile.columns];
            for j in starts(columns.len(), S::SIDE) {
                for i in starts(rows.len(), S::SIDE) {
                    // SAFETY: the plan's tiles are inside of the operands, and each column begins at a line.
                    unsafe {
                        let to = self.to.offset(tile.start[0]).add(i);
                        let from = self.from.offset(tile.start[1]).add(j);
                        S::stream(from, &rows[i..], to, &columns[j..]);
                    }
                }
            }
        }
    }

    /// Puts tiles together in a buffer whose rows lie as those of the output do, and writes whole lines past the
    /// caches. What does not fill a line waits for the next tile, if that goes on with the rows.
    ///
    /// # Safety
    /// As for [`Part::copy`].
    #[inline(always)]
    unsafe fn stream_staged<S: Square<T>>(&self, tiles: &mut Cursor<'_>) {
        let mut stage = Stage(MaybeUninit::uninit());
        let stage: *mut u8 = stage.0.as_mut_ptr().cast();
        let (pitch, size) = (self.plan.staged_row(), size_of::<T>());
        assert!(pitch * self.plan.staged_rows() <= STAGE_BYTES, "invariant: a tile fits the stage");
        let columns = &self.plan.columns().places;
        let mut staged: SmallVec<[[isize; 2]; 64]> = SmallVec::from_slice(columns);
        let mut goes_on = false;
        while let Some(tile) = tiles.advance() {
            let run = tile.rows * tile.run;
            let is_one_row = self.plan.is_one_row();
            let (count, row) =
                if is_one_row { (1, run * tile.columns) } else { (tile.columns, run) };
            let to = self.to.wrapping_offset(tile.start[0]);
            // What all rows are off by; the rest is whole elements.
            let odd = to.addr() % size;
            for (j, place) in staged[..tile.columns].iter_mut().enumerate() {
                let (first, elements) = if is_one_row { (0, j * run) } else { (j, 0) };
                let shift = to.wrapping_offset(columns[first][0]).addr() % LINE;
                place[0] = ((first * pitch + shift) / size + elements).cast_signed();
            }
            if let Some(next) = tiles.next_input() {
                self.prefetch(self.from.wrapping_offset(next));
            }
            // SAFETY: the plan's tiles are inside of the operands, and the staged places inside of the stage.
            unsafe {
                let from = self.from.offset(tile.start[1]);
                self.fill::<S>(tile, stage.add(odd).cast(), from, &staged);
                // A row that fills no line would leave one whose beginning nobody has.
                let will_go_on = row * size >= LINE && tiles.goes_on(tile);
                for (j, column) in columns[..count].iter().enumerate() {
                    let to = to.offset(column[0]).cast();
                    let joints = [goes_on, will_go_on];
                    stream::staged_row(to, stage.add(j * pitch), row * size, joints);
                }
                goes_on = will_go_on;
            }
        }
    }

    /// Writes the elements of a tile to `to`, whose columns are at `columns`.
    ///
    /// # Safety
    /// Every place of the tile must be valid on both sides.
    #[inline(always)]
    unsafe fn fill<S: Square<T>>(
        &self,
        tile: Tile,
        to: *mut T,
        from: *const T,
        columns: &[[isize; 2]],
    ) {
        let (rows, columns) = (&self.plan.rows().places[..tile.rows], &columns[..tile.columns]);
        // SAFETY: the caller says that the places are valid.
        unsafe {
            if tile.run > 1 {
                fill_runs(to, from, [rows, columns], tile.run, self.plan.run_strides());
            } else if rows.len().min(columns.len()) >= S::SIDE
                && is_transposed(self.plan.rows(), self.plan.columns())
            {
                fill_squares::<T, S>(to, from, rows, columns);
            } else {
                fill_singly(to, from, rows, columns);
            }
        }
    }
}

/// Where squares begin along a side; the last one ends with the side, over the one before it.
#[inline(always)]
fn starts(side: usize, square: usize) -> impl Iterator<Item = usize> {
    (0..side).step_by(square).map(move |at| at.min(side - square))
}

/// Whether columns of the output and rows of the input are dense.
#[inline]
fn is_transposed(rows: &Side, columns: &Side) -> bool {
    rows.is_dense && columns.is_dense
}

/// # Safety
/// As for [`Part::fill`]; rows must be dense in the output and columns in the input.
#[inline(always)]
unsafe fn fill_squares<T: Bits, S: Square<T>>(
    to: *mut T,
    from: *const T,
    rows: &[[isize; 2]],
    columns: &[[isize; 2]],
) {
    for i in starts(rows.len(), S::SIDE) {
        for j in starts(columns.len(), S::SIDE) {
            // SAFETY: both starts leave a whole side.
            unsafe { S::transpose(from.add(j), &rows[i..], to.add(i), &columns[j..]) };
        }
    }
}

/// # Safety
/// As for [`Part::fill`].
#[inline(always)]
unsafe fn fill_singly<T: Bits>(
    to: *mut T,
    from: *const T,
    rows: &[[isize; 2]],
    columns: &[[isize; 2]],
) {
    let (outer, inner) = if rows.len() < columns.len() { (rows, columns) } else { (columns, rows) };
    for [to_outer, from_outer] in outer {
        for [to_inner, from_inner] in inner {
            // SAFETY: the caller says that the places are valid.
            unsafe {
                let element = from.offset(from_outer + from_inner).read_unaligned();
                to.offset(to_outer + to_inner).write_unaligned(element);
            }
        }
    }
}

/// # Safety
/// As for [`Part::fill`].
#[inline(always)]
unsafe fn fill_runs<T: Bits>(
    to: *mut T,
    from: *const T,
    [rows, columns]: [&[[isize; 2]]; 2],
    run: usize,
    strides: [isize; 2],
) {
    for [to_column, from_column] in columns {
        for [to_row, from_row] in rows {
            // SAFETY: the caller says that the places are valid.
            unsafe {
                let (to, from) =
                    (to.offset(to_column + to_row), from.offset(from_column + from_row));
                copy_run(to, from, run, strides);
            }
        }
    }
}

/// Copies elements in a row.
///
/// # Safety
/// Each step must lead to an element on both sides.
#[inline(always)]
unsafe fn copy_run<T: Bits>(to: *mut T, from: *const T, run: usize, strides: [isize; 2]) {
    let steps = 0..run.cast_signed();
    // SAFETY: the caller says that the steps lead to elements.
    unsafe {
        match strides {
            [1, 1] => copy_bytes(to.cast(), from.cast(), run * size_of::<T>()),
            [1, 0] => {
                let element = from.read_unaligned();
                for i in steps {
                    to.offset(i).write_unaligned(element);
                }
            }
            [1, -1] => {
                for i in steps {
                    to.offset(i).write_unaligned(from.offset(-i).read_unaligned());
                }
            }
            [out, step] => {
                for i in steps {
                    to.offset(i * out).write_unaligned(from.offset(i * step).read_unaligned());
                }
            }
        }
    }
}

/// Copies bytes; short runs without a call.
///
/// # Safety
/// Both sides must have so many bytes and not overlap.
#[inline(always)]
unsafe fn copy_bytes(to: *mut u8, from: *const u8, bytes: usize) {
    // SAFETY: the caller says that the bytes are there.
    unsafe {
        match bytes {
            32..=512 => copy_pieces::<32>(to, from, bytes),
            16..32 => copy_pieces::<16>(to, from, bytes),
            8..16 => copy_pieces::<8>(to, from, bytes),
            _ => to.copy_from_nonoverlapping(from, bytes),
        }
    }
}

/// Copies bytes in pieces of `SIZE`, the last of which ends with them, over the one before it.
///
/// # Safety
/// Both sides must have so many bytes, at least `SIZE`, and not overlap.
#[inline(always)]
unsafe fn copy_pieces<const SIZE: usize>(to: *mut u8, from: *const u8, bytes: usize) {
    let last = bytes - SIZE;
    let mut at = 0;
    // SAFETY: pieces are inside of the bytes.
    unsafe {
        while at < last {
            to.add(at).copy_from_nonoverlapping(from.add(at), SIZE);
            at += SIZE;
        }
        to.add(last).copy_from_nonoverlapping(from.add(last), SIZE);
    }
}
