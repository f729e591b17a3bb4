//! Walking several strided operands in step.
//!
//! Axes that one stride can walk in every operand are merged first, so that a dense operation of any rank is one run.
//! A walk knows offsets and no data; its runs are along the first merged axis.

use std::ops::Range;

use smallvec::SmallVec;

/// The merged axes of `N` operands of one shape, first axis fastest.
#[derive(Clone, Debug)]
pub(super) struct Walk<const N: usize> {
    axes: SmallVec<[Axis<N>; 6]>,
}

/// One merged axis: its extent, and each operand's stride in elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Axis<const N: usize> {
    pub(super) extent: usize,
    pub(super) strides: [isize; N],
}

impl<const N: usize> Walk<N> {
    /// The walk over `extents`, in which operand `i` has `strides[i]`.
    pub(super) fn new(extents: &[usize], strides: [&[isize]; N]) -> Self {
        let axis =
            |place: usize| Axis { extent: extents[place], strides: strides.map(|s| s[place]) };
        Self::merging((0..extents.len()).map(axis))
    }

    /// The walk over `axes`, merged where the order allows it.
    pub(super) fn merging(axes: impl Iterator<Item = Axis<N>>) -> Self {
        let mut merged = SmallVec::<[Axis<N>; 6]>::new();
        for axis in axes.filter(|axis| axis.extent != 1) {
            match merged.last_mut() {
                Some(last) if last.continues_in(&axis) => last.extent *= axis.extent,
                _ => merged.push(axis),
            }
        }
        if merged.is_empty() {
            merged.push(Axis { extent: 1, strides: [0; N] });
        }
        Self { axes: merged }
    }

    /// The merged axes; at least one.
    pub(super) fn axes(&self) -> &[Axis<N>] {
        &self.axes
    }

    /// The strides along a run.
    pub(super) fn strides(&self) -> [isize; N] {
        self.axes[0].strides
    }

    /// The number of index tuples.
    pub(super) fn elements(&self) -> usize {
        self.axes.iter().map(|axis| axis.extent).product()
    }

    /// The offsets of an index tuple, counted from the first.
    #[inline]
    pub(super) fn offsets(&self, mut number: usize) -> [isize; N] {
        let mut offsets = [0; N];
        for axis in &self.axes {
            let at = (number % axis.extent).cast_signed();
            number /= axis.extent;
            for (offset, stride) in offsets.iter_mut().zip(axis.strides) {
                *offset += at * stride;
            }
        }
        offsets
    }

    /// The runs that make up the elements `range` of the walk: offsets and length of each.
    #[inline(always)]
    pub(super) fn runs(&self, range: Range<usize>) -> Runs<'_, N> {
        let (first, outer) = self.axes.split_first().expect("invariant: a walk has an axis");
        let left = range.len();
        // Of nothing no row is asked for; an extent may be 0 then.
        let (at, row) = if left == 0 {
            (0, 0)
        } else {
            (range.start % first.extent, range.start / first.extent)
        };
        let row = Row::at(if left == 0 { &[] } else { outer }, row);
        Runs { first, outer, row, at, left }
    }
}

/// The runs of a part of a walk.
///
/// A loop over them is inlined where it is written, unlike a closure, so that its body is compiled for the instruction
/// set of the function around it.
pub(super) struct Runs<'w, const N: usize> {
    first: &'w Axis<N>,
    outer: &'w [Axis<N>],
    row: Row<N>,
    /// Where in the row the next run begins.
    at: usize,
    left: usize,
}

impl<const N: usize> Iterator for Runs<'_, N> {
    type Item = ([isize; N], usize);

    #[inline(always)]
    fn next(&mut self) -> Option<Self::Item> {
        if self.left == 0 {
            return None;
        }
        let length = self.left.min(self.first.extent - self.at);
        let start = self.at.cast_signed();
        let (row, strides) = (&self.row.offsets, &self.first.strides);
        let offsets = std::array::from_fn(|i| row[i] + start * strides[i]);
        self.left -= length;
        self.at = 0;
        if self.left > 0 {
            self.row.advance(self.outer);
        }
        Some((offsets, length))
    }
}

impl<const N: usize> Axis<N> {
    /// Whether `next` goes on where this axis ends, in every operand.
    fn continues_in(&self, next: &Self) -> bool {
        let extent = self.extent.cast_signed();
        self.strides
            .iter()
            .zip(&next.strides)
            .all(|(own, other)| own.checked_mul(extent) == Some(*other))
    }
}

/// A position in the outer axes of a walk.
struct Row<const N: usize> {
    index: SmallVec<[usize; 6]>,
    offsets: [isize; N],
}

impl<const N: usize> Row<N> {
    fn at(outer: &[Axis<N>], mut number: usize) -> Self {
        let mut offsets = [0; N];
        let index = outer
            .iter()
            .map(|axis| {
                let at = number % axis.extent;
                number /= axis.extent;
                for (offset, stride) in offsets.iter_mut().zip(axis.strides) {
                    *offset += at.cast_signed() * stride;
                }
                at
            })
            .collect();
        Self { index, offsets }
    }

    fn advance(&mut self, outer: &[Axis<N>]) {
        for (at, axis) in self.index.iter_mut().zip(outer) {
            *at += 1;
            let wrapped = *at == axis.extent;
            let steps = if wrapped { 1 - axis.extent.cast_signed() } else { 1 };
            for (offset, stride) in self.offsets.iter_mut().zip(axis.strides) {
                *offset += steps * stride;
            }
            if !wrapped {
                return;
            }
            *at = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Walk;

    #[test]
    fn dense_axes_merge_into_one_run() {
        let walk = Walk::new(&[2, 1, 3, 4], [&[1, 7, 2, 6], &[1, 9, 2, 6]]);
        assert_eq!((walk.axes().len(), walk.elements()), (1, 24));
    }

    #[test]
    fn any_range_visits_its_elements_in_order() {
        let extents = [3, 4, 2];
        let (dense, other) = ([1, 3, 12], [-1, 0, 5]);
        let walk = Walk::new(&extents, [&dense, &other]);
        let expected: Vec<[isize; 2]> = (0..24)
            .map(|n: isize| {
                let (i, k) = (n % 3, n / 12);
                [n, -i + 5 * k]
            })
            .collect();
        for start in 0..24 {
            for end in start..=24 {
                let mut seen = Vec::new();
                for (offsets, length) in walk.runs(start..end) {
                    for step in 0..length.cast_signed() {
                        let strides = walk.strides();
                        seen.push([offsets[0] + step * strides[0], offsets[1] + step * strides[1]]);
                    }
                }
                assert_eq!(seen, expected[start..end]);
            }
        }
    }
}
