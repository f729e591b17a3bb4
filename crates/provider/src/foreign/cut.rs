//! How a request is cut into jobs for a library that computes each on one thread.
//!
//! Rows, columns and the batch are cut, the summed extent never is. There are as many jobs as threads, because each
//! packs the operands that it shares with others once more: results may depend on the width, and on nothing else.

use std::ops::Range;

/// The least multiply-add steps of a job: half of 128^3.
const LEAST: usize = 1 << 20;

/// Where libraries have the ends of their tiles: of every kernel, and of none.
const TILES: [usize; 2] = [48, 8];

/// What one job computes: some rows and columns of some products of the batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) rows: Range<usize>,
    pub(super) cols: Range<usize>,
    pub(super) batch: Range<usize>,
}

impl Piece {
    /// The whole request.
    pub(super) fn whole([rows, cols]: [usize; 2], batch: usize) -> Self {
        Self { rows: 0..rows, cols: 0..cols, batch: 0..batch }
    }
}

/// The pieces of one request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cut {
    extents: [usize; 3],
    steps: [usize; 3],
    counts: [usize; 3],
}

impl Cut {
    /// `batch` products of `[m, k]` and `[k, n]` for `width` threads. No extent but `k` is 0.
    pub(super) fn new([m, n]: [usize; 2], k: usize, batch: usize, width: usize) -> Self {
        let each = m.saturating_mul(n).saturating_mul(k).max(1);
        let jobs = (each.saturating_mul(batch) / LEAST).clamp(1, width);
        let parts = if batch >= jobs { 1 } else { jobs.div_ceil(batch).min((each / LEAST).max(1)) };
        let (rows, cols) = split(m, n, parts);
        let steps = [step(m, rows), step(n, cols), batch.div_ceil(jobs.min(batch))];
        let extents = [m, n, batch];
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

/// Parts of the rows and of the columns, such that the least is packed twice.
fn split(m: usize, n: usize, parts: usize) -> (usize, usize) {
    // Each part of the rows packs the right operand again, each part of the columns the left one.
    let packed =
        |rows: usize| rows.saturating_mul(n).saturating_add((parts / rows).saturating_mul(m));
    let divisors = (1..=parts).filter(|rows| parts.is_multiple_of(*rows));
    let rows = divisors.min_by_key(|&rows| packed(rows)).unwrap_or(1);
    (rows, parts / rows)
}

/// The extent of each of `parts` parts: whole tiles, but for the last part, unless that would leave it with little.
fn step(extent: usize, parts: usize) -> usize {
    if parts == 1 {
        return extent;
    }
    let even = extent.div_ceil(parts);
    let tile = if even >= 4 * TILES[0] { TILES[0] } else { TILES[1] };
    even.next_multiple_of(tile).min(extent)
}
