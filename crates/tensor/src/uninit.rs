//! A result before its elements are written.
//!
//! It owns memory and knows dtype and shape, so that a kernel can be handed the place to write to. Only when every
//! element is written does it become a tensor.

use std::mem::MaybeUninit;

use crate::{
    Block, DType, Error, Operand, OperandMut, Result, Scalar, Shape, Tensor, TensorView, dispatch,
    gather::gather, storage::Storage,
};

/// A tensor whose elements have yet to be written.
///
/// Dropped without that, its memory goes back to where it came from.
pub struct Uninit {
    /// Unique until it becomes a tensor's.
    storage: Storage,
}

impl Uninit {
    /// Memory from the system for a result of the operation `op`.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] if the system has none.
    pub fn allocate(op: &'static str, dtype: DType, shape: Shape) -> Result<Self> {
        Self::with_blocks(op, dtype, shape, Block::allocate)
    }

    /// Memory from `blocks`, which is called with the number of bytes, for a result of the operation `op`.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] if `blocks` has none, or the bytes cannot be counted in an `isize`.
    ///
    /// # Panics
    /// If `blocks` gives a lent block, which may be misaligned or read-only.
    #[inline]
    pub fn with_blocks(
        op: &'static str,
        dtype: DType,
        shape: Shape,
        blocks: impl FnOnce(usize) -> Option<Block>,
    ) -> Result<Self> {
        // A shape's element count fits `isize`; times the size of an element it may not.
        let bytes = shape.elements().saturating_mul(dtype.size());
        match blocks(bytes) {
            Some(block) if block.capacity() >= bytes => {
                assert!(!block.is_lent(), "invariant: results are written to a block's own memory");
                Ok(Self { storage: Storage::new(block, dtype, &shape) })
            }
            _ => Err(Error::OutOfMemory { op, bytes }),
        }
    }

    /// The memory of a storage that has one handle and is not lent.
    pub(crate) fn over(storage: Storage) -> Self {
        Self { storage }
    }

    /// The element type.
    #[must_use]
    #[inline]
    pub fn dtype(&self) -> DType {
        self.storage.dtype()
    }

    /// The extents.
    #[must_use]
    #[inline]
    pub fn shape(&self) -> &Shape {
        self.storage.shape()
    }

    /// The elements to write; `None` unless the result holds `T`.
    #[must_use]
    #[inline]
    pub fn as_uninit_slice<T: Scalar>(&mut self) -> Option<&mut [MaybeUninit<T>]> {
        if T::DTYPE != self.dtype() {
            return None;
        }
        let data = self.storage.data().cast::<MaybeUninit<T>>().as_ptr();
        // SAFETY: the block is uniquely owned, not lent, hence aligned, and holds `elements()` places for a `T`.
        Some(unsafe { std::slice::from_raw_parts_mut(data, self.shape().elements()) })
    }

    /// The elements as a destination that must not be read before it is written.
    #[must_use]
    #[inline]
    pub fn as_operand_mut(&mut self) -> OperandMut<'_> {
        // SAFETY: the block is uniquely owned, not lent, hence aligned, and large enough for a dense tensor.
        unsafe {
            OperandMut::from_raw_uninit(self.storage.data(), self.dtype(), self.shape(), None)
        }
    }

    /// The tensor, now that its elements are written.
    ///
    /// # Safety
    /// Every element must have been written with a valid value of the dtype.
    #[must_use]
    #[inline]
    pub unsafe fn assume_init(self) -> Tensor {
        Tensor::from_storage(self.storage)
    }

    /// The tensor of these elements in column-major order.
    ///
    /// # Panics
    /// If the result does not hold `T`, or `elements` ends too soon.
    #[must_use]
    pub fn filled<T: Scalar>(mut self, mut elements: impl FnMut() -> T) -> Tensor {
        let places = self.as_uninit_slice().expect("invariant: the result holds T");
        for place in places {
            place.write(elements());
        }
        // SAFETY: every place was just written.
        unsafe { self.assume_init() }
    }

    /// The tensor with the elements of `source`, which has the same dtype and shape, in whatever layout.
    ///
    /// # Panics
    /// If dtype or shape differ.
    #[must_use]
    pub fn copied_from(self, source: &Operand<'_>) -> Tensor {
        assert!(
            self.dtype() == source.dtype() && self.shape() == source.shape(),
            "invariant: a copy has the dtype and shape of its source"
        );
        dispatch!(self.dtype(), any T => self.gathered::<T>(&source.view()))
    }

    fn gathered<T: Scalar>(mut self, source: &TensorView<'_>) -> Tensor {
        gather(source, self.as_uninit_slice::<T>().expect("invariant: the result holds T"));
        // SAFETY: the copy initialised every place.
        unsafe { self.assume_init() }
    }
}
