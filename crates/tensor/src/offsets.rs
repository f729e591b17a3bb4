//! The offsets of a layout's elements, one after the other.
//!
//! Steps from neighbour to neighbour by adding strides; nothing is multiplied on the way.

use smallvec::SmallVec;

use crate::{Layout, list::INLINE_RANK};

/// The offsets that a layout reaches, in column-major order of its indices.
///
/// The layout's span must be representable, as that of any view is.
pub(crate) struct Offsets {
    layout: Layout,
    index: SmallVec<[usize; INLINE_RANK]>,
    next: isize,
    left: usize,
}

impl Offsets {
    pub(crate) fn of(layout: Layout) -> Self {
        Self {
            index: SmallVec::from_elem(0, layout.shape().rank()),
            next: 0,
            left: layout.shape().elements(),
            layout,
        }
    }
}

impl Iterator for Offsets {
    type Item = isize;

    #[inline]
    fn next(&mut self) -> Option<isize> {
        self.left = self.left.checked_sub(1)?;
        let offset = self.next;
        let extents = &**self.layout.shape();
        for ((at, &extent), &stride) in
            self.index.iter_mut().zip(extents).zip(self.layout.strides())
        {
            if *at + 1 < extent {
                *at += 1;
                self.next += stride;
                break;
            }
            // After the last index every axis is back at its start.
            self.next -= at.cast_signed() * stride;
            *at = 0;
        }
        Some(offset)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for Offsets {}
