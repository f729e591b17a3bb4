//! How one request is cut into jobs: by its shape alone, never by how many threads there are.
//!
//! Rows, columns and the batch are cut; the summed extent never is. The same shape always gives the same pieces, so
//! that every element is computed by the same steps at every width.

use std::ops::Range;

/// Multiply-add steps from which a request is worth more than one thread: about 128^3.
const PAYS: usize = 1 << 21;

/// No piece is cut to fewer rows or columns.
const LEAST: usize = 64;

/// Rows and columns of which every kernel's tiles are parts.
const TILE: [usize; 2] = [48, 8];

/// The pieces of one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Grid {
    extents: [usize; 3],
    /// Rows, columns and products of a piece, but for the last ones.
    steps: [usize; 3],
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
    /// The pieces of `batch` products of `[m, k]` and `[k, n]`; `None` if the whole is one. No extent is 0.
    ///
    /// Small requests are told apart before anything is divided, which would cost more than they do.
    #[inline]
    pub(super) fn new(m: usize, n: usize, k: usize, batch: usize) -> Option<Self> {
        let each = m.saturating_mul(n).saturating_mul(k);
        (each.saturating_mul(batch) >= 2 * PAYS).then(|| Self::cut(m, n, batch, each))
    }

    /// The pieces of `batch` products of `each` multiply-add steps.
    fn cut(m: usize, n: usize, batch: usize, each: usize) -> Self {
        let mut steps = [m, n, batch];
        // A batch is cut between its products, each job with enough of them to pay.
        steps[2] = (PAYS / 2).div_ceil(each).min(batch);
        if batch.div_ceil(steps[2]) < 8 && each >= 2 * PAYS {
            steps[2] = 1;
            let mut parts = parts(each);
            while parts > 1 {
                // The longer extent, in doubt the columns.
                let axis = if steps[1] * 2 > steps[0] { 1 } else { 0 };
                let axis = if steps[axis] < 2 * LEAST { 1 - axis } else { axis };
                if steps[axis] < 2 * LEAST {
                    break;
                }
                steps[axis] = halved(steps[axis], TILE[axis]);
                parts /= 2;
            }
        }
        Self::of([m, n, batch], steps)
    }

    fn of(extents: [usize; 3], steps: [usize; 3]) -> Self {
        let counts = [0, 1, 2].map(|axis| extents[axis].div_ceil(steps[axis]));
        Self { extents, steps, counts }
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
            let start = places[axis] * self.steps[axis];
            start..(start + self.steps[axis]).min(self.extents[axis])
        });
        Piece { rows, cols, batch }
    }
}

/// How many pieces one product of this much work should have: a power of two that grows with the square root.
///
/// Fewer pieces mean less packing of the same rows twice; more pieces keep more threads busy.
fn parts(work: usize) -> usize {
    let root = (work / PAYS).isqrt() / 2;
    1 << root.max(2).ilog2()
}

/// Half of an extent, rounded up to whole tiles.
fn halved(extent: usize, tile: usize) -> usize {
    extent.div_ceil(2).next_multiple_of(tile).min(extent)
}
