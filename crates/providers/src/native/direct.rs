//! Products on operands as they lie: tiles in registers, and no packing but where columns are far apart.
//!
//! For small products, and for those with few columns: packing both operands costs them more than it brings. It exists
//! for x86-64 with fused multiply-adds.

mod tile;

use std::sync::LazyLock;

use pulp::{
    Simd, WithSimd,
    x86::{V3, V4},
};

pub(super) use self::tile::Parts;
use self::tile::{Corner, Real, tile};
use super::block::{Block, Strided};
use crate::arithmetic::Scale;

/// Multiply-add steps, of parts, up to which packing does not pay: 32 cubed, or 20 of complex ones. Beyond, vectors that lie
/// across two lines of the cache, as those of most allocations do, cost more than packing.
const SMALL: usize = 1 << 15;

/// Terms of a sum, in bytes, that are added in one go: columns of the right operand stay in the nearest cache.
const DEPTH: usize = 2048;

/// Bytes of the left operand that are worked on at a time: they stay in the second cache.
const NEAR: usize = 1 << 18;

/// Bytes of a column in packed pieces of the left operand: whole tiles of every height, and no power of two.
const PACKED: usize = 768;

/// Bytes from column to column of the left operand from which a piece is packed that is used more than once: farther apart,
/// columns are in pages of their own, and drive each other out of the caches.
const FAR: usize = 4096;

/// Columns of the result below which a product is narrow, and terms of a sum up to which it is short.
const NARROW: usize = 64;

/// Terms of a sum from which tiles pay: with fewer, a product is made of stores alone, and in a tile those go to many columns.
const TERMS: usize = 3;

/// Whether a block is small or narrow enough and has sums, its left operand and output have their rows in one piece, and
/// this machine has the instructions.
#[inline]
pub(super) fn fits<T: Parts>(block: &Block<T>) -> bool {
    block.lhs.row == 1
        && block.out.row == 1
        && block.k >= TERMS
        && (is_small(block) || block.n < NARROW)
        && LEVEL.is_some()
}

#[inline]
fn is_small<T: Parts>(block: &Block<T>) -> bool {
    let steps = block.m.saturating_mul(block.n).saturating_mul(block.k);
    steps <= SMALL / (T::COUNT * T::COUNT)
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
    if is_small(block) && block.k <= depth::<T>() {
        level.run(block);
    } else {
        in_pieces(block, level);
    }
}

/// The terms of a sum that are added in one go.
const fn depth<T>() -> usize {
    DEPTH / size_of::<T>()
}

/// Computes a block piece by piece: some rows of the left operand, and some terms of the sums.
fn in_pieces<T: Parts>(block: &Block<T>, level: Level) {
    let size = size_of::<T>();
    let depth = depth::<T>().min(block.k);
    let far = block.lhs.col.unsigned_abs() * size >= FAR;
    let packs = far && block.n > 8 && block.k > NARROW;
    let rows = if packs { PACKED / size } else { NEAR / (size * depth) / 48 * 48 };
    let mut packed = Vec::<Line>::with_capacity(if packs { PACKED / 64 * depth } else { 0 });
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
                piece.lhs = pack(&piece, packed.as_mut_ptr().cast(), rows);
            }
            level.run(&piece);
        }
    }
}

/// As much as a cache holds in one place.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Line(#[expect(dead_code, reason = "it is there for its size")] [u8; 64]);

/// Copies the left operand of a piece, with `rows` rows from column to column.
fn pack<T: Parts>(piece: &Block<T>, to: *mut T, rows: usize) -> Strided<T> {
    for col in 0..piece.k {
        // SAFETY: a column of the left operand is in one piece; a piece has at most as many rows and columns as there is
        // place for.
        unsafe {
            piece.lhs.at(0, col).copy_to_nonoverlapping(to.wrapping_add(col * rows), piece.m);
        }
    }
    Strided { data: to, row: 1, col: rows.cast_signed() }
}

impl Level {
    /// Computes a block on this level, in one go.
    #[inline]
    fn run<T: Parts>(self, block: &Block<T>) {
        match self {
            Level::Avx512(simd) => strips(simd, block),
            Level::Avx2(simd) => strips(simd, block),
        }
    }
}

/// Computes a block strip by strip.
fn strips<S: Simd, T: Parts>(simd: S, block: &Block<T>) {
    // As many sums as there are registers for, beside the rows and an element of the right operand.
    let parts = if S::REGISTER_COUNT >= 32 { 8 } else { 4 };
    let mut col = 0;
    while col < block.n {
        let width = share(block.n - col, parts / T::COUNT);
        match width * T::COUNT {
            1 => strip::<S, T, 1>(simd, block, col),
            2 => strip::<S, T, 2>(simd, block, col),
            3 => strip::<S, T, 3>(simd, block, col),
            4 => strip::<S, T, 4>(simd, block, col),
            5 => strip::<S, T, 5>(simd, block, col),
            6 => strip::<S, T, 6>(simd, block, col),
            7 => strip::<S, T, 7>(simd, block, col),
            _ => strip::<S, T, 8>(simd, block, col),
        }
        col += width;
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

/// The tiles of some columns.
#[inline]
fn strip<S: Simd, T: Parts, const C: usize>(simd: S, block: &Block<T>, col: usize) {
    let lanes = size_of::<<T::Part as Real>::Vector<S>>() / size_of::<T::Part>();
    let rows = block.m * T::COUNT;
    let mut row = 0;
    while row < rows {
        let height = share((rows - row).div_ceil(lanes), 3);
        let last = (rows - row).min(height * lanes) - (height - 1) * lanes;
        let corner = Corner { row, col: col * T::COUNT };
        // The rows from this one and the columns from this one are inside of the block, as many as are taken.
        match height {
            1 => simd.vectorize(Tile::<T, 1, C> { block, corner, last }),
            2 => simd.vectorize(Tile::<T, 2, C> { block, corner, last }),
            _ => simd.vectorize(Tile::<T, 3, C> { block, corner, last }),
        }
        row += height * lanes;
    }
}

/// One tile of a block that [`fits`], inside of it.
///
/// Each kind of tile is a function of its own: one with all of them keeps what each needs on the stack throughout.
struct Tile<'b, T: Parts, const V: usize, const C: usize> {
    block: &'b Block<T>,
    corner: Corner,
    last: usize,
}

impl<T: Parts, const V: usize, const C: usize> WithSimd for Tile<'_, T, V, C> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        // SAFETY: the tile is inside of its block, which fits.
        unsafe { tile::<S, T, V, C>(simd, self.block, self.corner, self.last) }
    }
}
