//! Dense column-major tensors with a run-time dtype.
//!
//! A tensor owns a share of its storage and always covers it densely from the first element; anything strided is a
//! [`TensorView`]. Writing goes through a unique share: a shared or read-only tensor is copied first.

use std::fmt;

use crate::{
    AsOperand, Block, DType, Error, Indices, Layout, Operand, OperandMut, Result, Scalar, Shape,
    TensorView, TensorViewMut, TypedTensor, Uninit, error::Validation, storage::Storage,
};

/// A dense column-major tensor whose element type is known at run time.
///
/// `clone` shares the elements, [`Tensor::duplicate`] copies them.
///
/// ```
/// use tenferro_tensor::Tensor;
///
/// let x = Tensor::from_vec_col_major(vec![2, 2], vec![1.0_f64, 2.0, 3.0, 4.0])?;
/// assert_eq!(x.get::<f64>(&[0, 1])?, 3.0);
/// # Ok::<(), tenferro_tensor::Error>(())
/// ```
#[derive(Clone)]
pub struct Tensor {
    storage: Storage,
}

impl Tensor {
    /// The tensor over the first elements of a block.
    ///
    /// # Safety
    /// The block's data must be aligned for `dtype` and start with `shape.elements()` initialised elements of it.
    #[must_use]
    #[inline]
    pub unsafe fn from_block(block: Block, dtype: DType, shape: &Shape) -> Self {
        debug_assert!(block.capacity() >= shape.elements() * dtype.size());
        Self::from_storage(Storage::new(block, dtype, shape))
    }

    /// The tensor of a storage whose elements are written.
    #[inline]
    pub(crate) fn from_storage(storage: Storage) -> Self {
        Self { storage }
    }

    /// The element type.
    #[must_use]
    #[inline]
    pub fn dtype(&self) -> DType {
        self.storage.dtype()
    }

    /// The extents of the axes, the first one fastest in memory.
    #[must_use]
    #[inline]
    pub fn shape(&self) -> &Shape {
        self.storage.shape()
    }

    /// The number of axes.
    #[must_use]
    #[inline]
    pub fn rank(&self) -> usize {
        self.shape().rank()
    }

    /// The number of elements.
    #[must_use]
    #[inline]
    pub fn elements(&self) -> usize {
        self.shape().elements()
    }

    /// The elements in column-major order.
    ///
    /// # Errors
    /// [`Validation::WrongDType`] if the tensor does not hold `T`.
    pub fn as_slice<T: Scalar>(&self) -> Result<&[T]> {
        self.as_operand().as_slice().ok_or_else(|| self.wrong_dtype::<T>("as_slice"))
    }

    /// The elements in column-major order, for writing. Copies them first if they are shared or read-only.
    ///
    /// # Errors
    /// [`Validation::WrongDType`] if the tensor does not hold `T`; [`Error::OutOfMemory`](crate::Error::OutOfMemory).
    pub fn as_mut_slice<T: Scalar>(&mut self) -> Result<&mut [T]> {
        if T::DTYPE != self.dtype() {
            return Err(self.wrong_dtype::<T>("as_mut_slice"));
        }
        self.make_writable("as_mut_slice")?;
        // SAFETY: the storage is unique and holds `elements()` initialised elements of `T`.
        Ok(unsafe {
            std::slice::from_raw_parts_mut(
                self.storage.data().cast::<T>().as_ptr(),
                self.elements(),
            )
        })
    }

    /// The element at an index, one position an axis.
    ///
    /// # Errors
    /// [`Validation::WrongDType`], [`Validation::WrongLength`] or [`Validation::IndexOutOfRange`].
    pub fn get<T: Scalar>(&self, index: &[usize]) -> Result<T> {
        self.view().get(index)
    }

    /// A copy of the elements in column-major order: the first axis runs fastest.
    ///
    /// # Errors
    /// [`Validation::WrongDType`] if the tensor does not hold `T`;
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory).
    pub fn to_vec_col_major<T: Scalar>(&self) -> Result<Vec<T>> {
        self.view().to_vec_col_major()
    }

    /// A copy of the elements in row-major order: the last axis runs fastest.
    ///
    /// # Errors
    /// [`Validation::WrongDType`] if the tensor does not hold `T`;
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory).
    pub fn to_vec_row_major<T: Scalar>(&self) -> Result<Vec<T>> {
        self.view().to_vec_row_major()
    }

    /// A view of all elements.
    #[must_use]
    pub fn view(&self) -> TensorView<'_> {
        self.as_operand().view()
    }

    /// A writable view of all elements. Copies them first if they are shared or read-only.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory).
    pub fn view_mut(&mut self) -> Result<TensorViewMut<'_>> {
        self.make_writable("view_mut")?;
        let layout = Layout::column_major(self.shape().clone());
        // SAFETY: the storage is unique for the borrow of `self` and the dense layout stays inside of it.
        Ok(unsafe { TensorViewMut::from_raw(self.storage.data(), self.dtype(), layout) })
    }

    /// All elements as the destination of an operation. Copies them first if they are shared or read-only.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory).
    pub fn as_operand_mut(&mut self) -> Result<OperandMut<'_>> {
        self.make_writable("as_operand_mut")?;
        // SAFETY: the storage is unique for the borrow of `self`, dense and initialised.
        Ok(unsafe { OperandMut::from_raw(self.storage.data(), self.dtype(), self.shape(), None) })
    }

    /// The same elements, shared, under other extents of the same product.
    ///
    /// # Errors
    /// [`Validation::ElementCount`] or [`Validation::SizeOverflow`];
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory).
    pub fn reshaped(&self, extents: impl Into<Indices>) -> Result<Tensor> {
        let layout = Layout::column_major(self.shape().clone());
        let reshaped = layout.reshaped(&extents.into()).map_err(|problem| problem.of("reshape"))?;
        match self.storage.reshaped(reshaped.shape()) {
            Some(storage) => Ok(Self { storage }),
            None => Err(Error::OutOfMemory { op: "reshape", bytes: 0 }),
        }
    }

    /// A tensor with a copy of the elements.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory).
    pub fn duplicate(&self) -> Result<Tensor> {
        self.view().to_tensor()
    }

    /// The tensor with its element type known to the compiler.
    ///
    /// # Errors
    /// [`Validation::WrongDType`] if the tensor does not hold `T`.
    pub fn typed<T: Scalar>(self) -> Result<TypedTensor<T>> {
        TypedTensor::new(self).map_err(|tensor| tensor.wrong_dtype::<T>("typed"))
    }

    /// The memory of a tensor that nobody shares, to be written as another result of the same dtype and shape; the tensor
    /// itself if it is shared, or its elements were lent to it.
    ///
    /// The elements are there until they are written.
    ///
    /// # Errors
    /// The tensor.
    pub fn into_uninit(self) -> std::result::Result<Uninit, Tensor> {
        if self.storage.is_reusable() { Ok(Uninit::over(self.storage)) } else { Err(self) }
    }

    fn make_writable(&mut self, op: &'static str) -> Result<()> {
        if !self.storage.is_writable() {
            let copy = Uninit::allocate(op, self.dtype(), self.shape().clone())?;
            *self = copy.copied_from(&self.as_operand());
        }
        Ok(())
    }

    fn wrong_dtype<T: Scalar>(&self, op: &'static str) -> Error {
        Validation::WrongDType { actual: self.dtype(), requested: T::DTYPE }.of(op)
    }
}

impl AsOperand for Tensor {
    #[inline]
    fn as_operand(&self) -> Operand<'_> {
        // SAFETY: a tensor's storage starts with all of its elements, and is not written while `self` is borrowed.
        unsafe { Operand::from_raw(self.storage.data(), self.dtype(), self.shape(), None) }
    }
}

impl fmt::Debug for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.view(), f)
    }
}

impl fmt::Display for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.view(), f)
    }
}
