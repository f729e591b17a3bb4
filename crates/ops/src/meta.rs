//! What is known of a tensor before its elements: dtype and shape.

use tenferro_tensor::{DType, Operand, Shape, Tensor, TensorView};

/// The dtype and shape of a tensor that may not exist yet.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Meta {
    /// The element type.
    pub dtype: DType,
    /// The extents.
    pub shape: Shape,
}

/// Whatever has a dtype and a shape, which is all that a rule looks at.
pub trait Described {
    /// The element type.
    fn dtype(&self) -> DType;
    /// The extents.
    fn shape(&self) -> &Shape;
}

impl<D: Described> Described for &D {
    #[inline]
    fn dtype(&self) -> DType {
        D::dtype(self)
    }

    #[inline]
    fn shape(&self) -> &Shape {
        D::shape(self)
    }
}

impl Described for Meta {
    fn dtype(&self) -> DType {
        self.dtype
    }

    fn shape(&self) -> &Shape {
        &self.shape
    }
}

impl Described for Operand<'_> {
    #[inline]
    fn dtype(&self) -> DType {
        Operand::dtype(self)
    }

    #[inline]
    fn shape(&self) -> &Shape {
        Operand::shape(self)
    }
}

impl Described for Tensor {
    #[inline]
    fn dtype(&self) -> DType {
        Tensor::dtype(self)
    }

    #[inline]
    fn shape(&self) -> &Shape {
        Tensor::shape(self)
    }
}

impl Described for TensorView<'_> {
    fn dtype(&self) -> DType {
        TensorView::dtype(self)
    }

    fn shape(&self) -> &Shape {
        TensorView::shape(self)
    }
}

impl Meta {
    /// The dtype and shape of `described`.
    #[must_use]
    pub fn of(described: &impl Described) -> Self {
        Self { dtype: described.dtype(), shape: described.shape().clone() }
    }
}

/// Dtype and shape of one operand of a rule, borrowed.
#[derive(Clone, Copy)]
pub(super) struct Facts<'a> {
    pub(super) dtype: DType,
    pub(super) shape: &'a Shape,
}

impl<'a> Facts<'a> {
    pub(super) fn of(described: &'a impl Described) -> Self {
        Self { dtype: described.dtype(), shape: described.shape() }
    }
}
