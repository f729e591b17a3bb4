//! How one request is cut into jobs, for as many threads as there are.
//!
//! Rows, columns and the batch are cut; the summed extent never is. Every element is computed by the same steps however
//! it is cut, because the way of computing is chosen for the whole request and adds up each element in the order of k.

use std::ops::Range;

/// Multiply-add steps from which a request is worth more than one thread: about 128^3.
const PAYS: usize = 1 << 21;

/// No piece is cut to fewer rows or columns.
const LEAST: usize = 64;

/// No piece has fewer elements: kernels have other ways for a handful.
const FEW: usize = 1024;

/// Rows and columns of which every kernel's tiles are parts.
const TILE: [usize; 2] = [48, 8];

/// The pieces of one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Grid {
    extents: [usize; 3],
    /// Pieces along rows, columns and the batch.
    counts: [usize; 3],
}

/// What one job computes: some rows and columns of some products of the batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) rows: Range<usize>,
    pub(super) cols: Range<usize>,
    pub(super) batch: Range<usize>,
}

impl Grid {
    /// The pieces of `batch` products of `[m, k]` and `[k, n]` for `width` threads; `None` if the whole is one. No extent is 0.
    ///
    /// Small requests are told apart before anything is divided, which would cost more than they do.
    #[inline]
    pub(super) fn new(
        [m, n, k]: [usize; 3],
        batch: usize,
        width: impl FnOnce() -> usize,
    ) -> Option<Self> {
        let each = m.saturating_mul(n).saturating_mul(k);
        if each.saturating_mul(batch) < 2 * PAYS {
            return None;
        }
        let width = width();
        (width > 1).then(|| Self::cut(m, n, batch, each, width))
    }

    /// The pieces of `batch` products of `each` multiply-add steps.
    fn cut(m: usize, n: usize, batch: usize, each: usize, width: usize) -> Self {
        let mut counts = [1, 1, batch.div_ceil((PAYS / 2).div_ceil(each))];
        // A batch is cut between its products, unless they are large and few.
        if counts[2] < 4 * width && each >= 2 * PAYS {
            counts[2] = batch;
            let most = parts(each, width).div_ceil(batch);
            while counts[0] * counts[1] < most {
                // The piece's longer extent, in doubt its columns.
                let [rows, cols] = [m / counts[0], n / counts[1]];
                let axis = if cols * 2 > rows { 1 } else { 0 };
                let axis = if [rows, cols][axis] < 2 * LEAST { 1 - axis } else { axis };
                if [rows, cols][axis] < 2 * LEAST || rows * cols < 2 * FEW {
                    break;
                }
                // By the width first, which gives everybody as much.
                counts[axis] *= if counts[0] * counts[1] == 1 && [rows, cols][axis] >= width * LEAST
                {
                    width
                } else {
                    2
                };
            }
        }
        Self { extents: [m, n, batch], counts }
    }

    /// How many pieces there are.
    pub(super) fn jobs(&self) -> usize {
        self.counts.iter().product()
    }

    /// One of the pieces.
    pub(super) fn piece(&self, job: usize) -> Piece {
        let [row_count, col_count, _] = self.counts;
        let places = [job % row_count, job / row_count % col_count, job / (row_count * col_count)];
        let [rows, cols, batch] = [0, 1, 2].map(|axis| {
            let (extent, count) = (self.extents[axis], self.counts[axis]);
            // Borders are between tiles; the ends are the extent's own.
            let tile = TILE.get(axis).copied().unwrap_or(1);
            let border = |place: usize| {
                if place == count { extent } else { extent * place / count / tile * tile }
            };
            border(places[axis])..border(places[axis] + 1)
        });
        Piece { rows, cols, batch }
    }
}

/// How many pieces a product of this much work should have: the same number for every thread.
///
/// Fewer pieces mean less packing of the same rows twice; more pieces mean a shorter wait for the last one.
fn parts(work: usize, width: usize) -> usize {
    let each = if work >= 64 * PAYS { 2 } else { 1 };
    width.saturating_mul(each).min(work / PAYS)
}
