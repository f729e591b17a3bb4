//! Products on operands as they lie: tiles in registers, and no packing but of a left operand whose columns are far apart or
//! whose rows do not lie in one piece.
//!
//! For small products, and for those with few columns: packing both operands costs them more than it brings. It exists
//! for x86-64 with fused multiply-adds.

mod kinds;
mod tile;

use std::{mem::MaybeUninit, sync::LazyLock};

use pulp::x86::{V3, V4};
use tenferro_provider::{Product, Workers};

pub(super) use self::tile::Parts;
use self::{
    kinds::{HEIGHT, Tiles},
    tile::{Spot, lanes},
};
use super::{
    block::{Block, Strided},
    grid::Grid,
};
use crate::arithmetic::Scale;

/// Multiply-add steps, of parts, up to which packing does not pay, whatever the shape: 32 cubed, or 20 of complex ones.
const TINY: usize = 1 << 15;

/// Those up to which it does not pay where no extent is longer than [`LONG`]: about 100 cubed, or 64 of complex ones.
const SMALL: usize = 1 << 20;

/// The longest extent of a product that is small but not tiny: with longer ones, strips go to too many pages.
const LONG: usize = 128;

/// Bytes of a batch of real matrices up to which those that are small but not tiny go without packing: more of them come from
/// memory, which packing reads in order.
const CACHED: usize = 1 << 20;

/// Terms of a sum, in bytes, that are added in one go: columns of the right operand stay in the nearest cache.
const DEPTH: usize = 2048;

/// Bytes of a column in packed pieces of the left operand: whole tiles of every height, and no power of two.
const PACKED: usize = 768;

/// Bytes from column to column of the left operand from which a piece is packed that is used more than once: farther apart,
/// columns are in pages of their own, and drive each other out of the caches.
const FAR: usize = 4096;

/// Columns of parts from which rows are packed that lie across lines of the cache: as many tiles read each of them.
const ACROSS: usize = 128;

/// Lines of the cache that some rows of the left operand are packed into. They are on the stack, and hold [`DEPTH`] terms of
/// as many rows as a line has place for, at least.
const LINES: usize = 512;

/// Columns of the result below which a product is narrow, and terms of a sum up to which it is short.
const NARROW: usize = 64;

/// Terms of a sum from which tiles pay: with fewer, a product is made of stores alone, and in a tile those go to many columns.
const TERMS: usize = 3;

/// Whether a block is small, or narrow with sums and a left operand that has its rows in one piece; the output has, and this
/// machine has the instructions.
#[inline]
pub(super) fn fits<T: Parts>(block: &Block<T>, batch: usize) -> bool {
    let extents = [block.m, block.n, block.k];
    let narrow = || block.n < NARROW && block.k >= TERMS && block.lhs.row == 1;
    block.out.row == 1 && (is_small::<T>(extents, batch) || narrow()) && LEVEL.is_some()
}

/// Whether each of so many products is small, in a batch that stays small with them.
#[inline]
fn is_small<T: Parts>([m, n, k]: [usize; 3], batch: usize) -> bool {
    let steps = m.saturating_mul(n).saturating_mul(k);
    let most =
        if m.max(n).max(k) > LONG || is_far_away::<T>([m, n, k], batch) { TINY } else { SMALL };
    steps <= most / (T::COUNT * T::COUNT)
}

/// Whether a batch of matrices with extents up to [`LONG`] has to come from memory, and its steps are too few to hide that.
#[inline]
fn is_far_away<T: Parts>([m, n, k]: [usize; 3], batch: usize) -> bool {
    let each = || (m * k + k * n + m * n) * size_of::<T>();
    batch > 1 && T::COUNT == 1 && each().saturating_mul(batch) > CACHED
}

/// Instructions that a machine has.
#[derive(Clone, Copy)]
enum Level {
    Avx512(V4),
    Avx2(V3),
}

/// Those of this machine, found out once: asking for each feature takes longer than a small product.
static LEVEL: LazyLock<Option<Level>> = LazyLock::new(|| {
    let avx2 = || V3::try_new().map(Level::Avx2);
    V4::try_new().map(Level::Avx512).or_else(avx2)
});

/// Computes a part of a block that [`fits`], or all of it.
///
/// The order of each sum depends on k alone.
#[inline]
pub(super) fn product<T: Parts>(block: &Block<T>) {
    let level = LEVEL.expect("invariant: no block fits without the instructions");
    let in_one_go = is_small::<T>([block.m, block.n, block.k], 1) && block.k <= depth::<T>();
    if in_one_go && !packs(&block.lhs, block.n, block.k) {
        level.run(block);
    } else {
        in_pieces(block, level);
    }
}

/// Computes a request of small products that are the result, as the smallest are; `false` if it is not, and nothing was done.
///
/// It is what [`product`] makes of such a request. What takes as long as a tile is asked here once, for a batch too.
#[inline]
pub(super) fn plain<T: Parts>(request: &mut Product<'_>, workers: &dyn Workers) -> bool {
    match *LEVEL {
        Some(Level::Avx512(_)) => plain_tiles::<V4, T>(request, workers),
        Some(Level::Avx2(_)) => plain_tiles::<V3, T>(request, workers),
        None => false,
    }
}

/// As [`plain`], on a machine with the instructions of `S`.
#[inline]
fn plain_tiles<S: Tiles, T: Parts>(request: &mut Product<'_>, workers: &dyn Workers) -> bool {
    let (lhs, rhs, out) = (request.lhs(), request.rhs(), request.out());
    let (m, n, k, batch) = (out.rows, out.cols, lhs.cols, request.batch());
    // With two rows and two columns at least, those strides that count are not those of an axis with one index.
    let fits = request.is_plain()
        && m > 1
        && n > 1
        && (1..=depth::<T>()).contains(&k)
        && (lhs.row_stride, out.row_stride) == (1, 1);
    if !fits {
        return false;
    }
    let (rows, cols) = (m * T::COUNT, n * T::COUNT);
    let mut spot = Spot {
        lhs: lhs.pointer(0),
        lhs_col: lhs.col_stride,
        rhs: rhs.pointer(0),
        rhs_row: rhs.row_stride,
        rhs_col: rhs.col_stride,
        out: out.pointer(0),
        out_col: out.col_stride,
        k,
        last: rows,
        finish: None,
    };
    let one = if cols > S::MOST {
        None
    } else if rows <= lanes::<S::Half, T>() {
        Some(S::Half::tile::<T>(1, cols))
    } else {
        let height = rows.div_ceil(lanes::<S, T>());
        spot.last = rows - (height - 1) * lanes::<S, T>();
        (height <= HEIGHT).then(|| S::tile::<T>(height, cols))
    };
    if let (Some(tile), 1) = (one, batch) {
        // SAFETY: the tile is the whole of a checked request for elements `T`.
        unsafe { tile(&spot) };
        return true;
    }
    let fits = is_small::<T>([m, n, k], batch)
        && !packs(&Strided { data: lhs.pointer::<T>(0), row: 1, col: lhs.col_stride }, n, k)
        && Grid::new([m, n, k], batch, || workers.width()).is_none();
    if !fits {
        return false;
    }
    for _ in 0..batch {
        // SAFETY: these are the tiles of a checked request for elements `T`.
        unsafe {
            match one {
                Some(tile) => tile(&spot),
                None => strips::<S, T>([m, n], &spot),
            }
        }
        spot.lhs = spot.lhs.wrapping_offset(lhs.batch_stride);
        spot.rhs = spot.rhs.wrapping_offset(rhs.batch_stride);
        spot.out = spot.out.wrapping_offset(out.batch_stride);
    }
    true
}

/// The terms of a sum that are added in one go.
const fn depth<T>() -> usize {
    DEPTH / size_of::<T>()
}

/// Computes a block piece by piece: some rows of the left operand, and some terms of the sums.
fn in_pieces<T: Parts>(block: &Block<T>, level: Level) {
    let depth = depth::<T>().min(block.k);
    let lane = size_of::<Line>() / size_of::<T>();
    let mut near = [const { MaybeUninit::<Line>::uninit() }; LINES];
    let mut packed = Vec::<MaybeUninit<Line>>::new();
    let packs = packs(&block.lhs, block.n, block.k);
    let (rows, to) =
        if is_far(&block.lhs) && packs && !is_small::<T>([block.m, block.n, block.k], 1) {
            packed.reserve_exact(PACKED / size_of::<Line>() * depth);
            (PACKED / size_of::<T>(), packed.as_mut_ptr())
        } else if packs {
            let lines = (LINES / depth).clamp(1, HEIGHT);
            (share(block.m.div_ceil(lane), lines) * lane, near.as_mut_ptr())
        } else {
            (block.m, near.as_mut_ptr())
        };
    for inner in (0..block.k).step_by(depth) {
        for row in (0..block.m).step_by(rows) {
            let mut piece = Block {
                m: rows.min(block.m - row),
                k: depth.min(block.k - inner),
                lhs: Strided { data: block.lhs.at(row, inner), ..block.lhs },
                rhs: Strided { data: block.rhs.at(inner, 0), ..block.rhs },
                out: Strided { data: block.out.at(row, 0), ..block.out },
                beta: if inner == 0 { block.beta } else { Scale::One },
                ..*block
            };
            if packs {
                piece.lhs = pack(&piece, to.cast(), rows);
            }
            level.run(&piece);
        }
    }
}

/// Whether the left operand is packed: a column is not in one piece, or it is read so often that this pays.
#[inline]
fn packs<T: Parts>(lhs: &Strided<T>, n: usize, k: usize) -> bool {
    let line = |bytes: usize| bytes.is_multiple_of(size_of::<Line>());
    let across = || !(line(lhs.data.addr()) && line(lhs.col.unsigned_abs() * size_of::<T>()));
    lhs.row != 1 || (is_far(lhs) && n > 8 && k > NARROW) || (n * T::COUNT >= ACROSS && across())
}

/// Whether columns are so far apart that they drive each other out of the caches, and in one piece each.
#[inline]
fn is_far<T: Parts>(lhs: &Strided<T>) -> bool {
    lhs.row == 1 && lhs.col.unsigned_abs() * size_of::<T>() >= FAR
}

/// As much as a cache holds in one place.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Line(#[expect(dead_code, reason = "it is there for its size")] [u8; 64]);

/// Copies the left operand of a piece, with `rows` rows from column to column.
fn pack<T: Parts>(piece: &Block<T>, to: *mut T, rows: usize) -> Strided<T> {
    for col in 0..piece.k {
        let to = to.wrapping_add(col * rows);
        if piece.lhs.row == 1 {
            // SAFETY: a column of the left operand is in one piece; a piece has at most as many rows and columns as there
            // is place for.
            unsafe { piece.lhs.at(0, col).copy_to_nonoverlapping(to, piece.m) };
            continue;
        }
        for row in 0..piece.m {
            // SAFETY: as above, element by element.
            unsafe { to.wrapping_add(row).write(piece.lhs.at(row, col).read()) };
        }
    }
    Strided { data: to, row: 1, col: rows.cast_signed() }
}

impl Level {
    /// Computes a block on this level, in one go.
    #[inline]
    fn run<T: Parts>(self, block: &Block<T>) {
        let spot = Spot {
            lhs: block.lhs.data,
            lhs_col: block.lhs.col,
            rhs: block.rhs.data,
            rhs_row: block.rhs.row,
            rhs_col: block.rhs.col,
            out: block.out.data,
            out_col: block.out.col,
            k: block.k,
            last: 0,
            finish: (!block.is_plain()).then_some(block),
        };
        let extents = [block.m, block.n];
        // SAFETY: the block is valid, and the machine has the instructions.
        unsafe {
            match self {
                Level::Avx512(_) => strips::<V4, T>(extents, &spot),
                Level::Avx2(_) => strips::<V3, T>(extents, &spot),
            }
        }
    }
}

/// Computes `[m, n]` elements from a spot on, strip by strip: some rows, and of those tile by tile.
///
/// # Safety
/// All of them are as [`tile`](tile::tile) asks for, and the machine has the instructions of `S`.
#[inline(never)]
unsafe fn strips<S: Tiles, T: Parts>([m, n]: [usize; 2], corner: &Spot<'_, T>) {
    let lanes = lanes::<S, T>();
    let most = S::MOST / T::COUNT;
    let mut spot = *corner;
    let mut rows = m * T::COUNT;
    while rows > 0 {
        let height = share(rows.div_ceil(lanes), HEIGHT);
        let taken = rows.min(height * lanes);
        spot.last = taken - (height - 1) * lanes;
        let (rhs, out) = (spot.rhs, spot.out);
        let mut left = n;
        while left > 0 {
            let width = share(left, most);
            // SAFETY: the rows from this one and the columns from this one are inside, as many as are taken.
            unsafe { S::tile::<T>(height, width * T::COUNT)(&spot) }
            spot.rhs = spot.rhs.wrapping_offset(width.cast_signed() * spot.rhs_col);
            spot.out = spot.out.wrapping_offset(width.cast_signed() * spot.out_col);
            left -= width;
        }
        rows -= taken;
        spot.lhs = spot.lhs.wrapping_add(taken / T::COUNT);
        (spot.rhs, spot.out) = (rhs, out.wrapping_add(taken / T::COUNT));
    }
}

/// How many of `left` to take next, `most` at most, so that no small rest is left: those keep the units waiting.
#[inline(always)]
fn share(left: usize, most: usize) -> usize {
    if left <= most {
        left
    } else if left < 2 * most {
        left.div_ceil(2)
    } else {
        most
    }
}
