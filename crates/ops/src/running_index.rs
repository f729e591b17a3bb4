//! An index that runs through a shape in column-major order.

use smallvec::SmallVec;
use tenferro_tensor::Shape;

/// An index that starts at zeros.
pub(super) struct RunningIndex(pub(super) SmallVec<[usize; 6]>);

impl RunningIndex {
    pub(super) fn of(shape: &Shape) -> Self {
        Self(SmallVec::from_elem(0, shape.rank()))
    }

    /// Steps to the next index; after the last one, to the first.
    pub(super) fn advance(&mut self, shape: &Shape) {
        for (at, &extent) in self.0.iter_mut().zip(&**shape) {
            *at += 1;
            if *at < extent {
                return;
            }
            *at = 0;
        }
    }
}
