//! Tensors whose element type the compiler knows, over the same storage.

use std::{fmt, marker::PhantomData};

use crate::{
    AsOperand, Distribution, Factor, Indices, Operand, Result, Scalar, Shape, Tensor, TensorView,
    TensorViewMut,
};

/// A dense column-major tensor of `T`.
///
/// The twin of [`Tensor`]: operations accept either, and return typed tensors for typed operands.
///
/// ```
/// use tenferro_tensor::TypedTensor;
///
/// let x = TypedTensor::from_vec_col_major(vec![3], vec![1.0_f32, 2.0, 3.0])?;
/// assert_eq!(x.as_slice(), &[1.0, 2.0, 3.0]);
/// # Ok::<(), tenferro_tensor::Error>(())
/// ```
pub struct TypedTensor<T> {
    tensor: Tensor,
    element: PhantomData<T>,
}

impl<T: Scalar> TypedTensor<T> {
    /// The typed twin of `tensor`; the tensor itself if it holds another type.
    pub(crate) fn new(tensor: Tensor) -> std::result::Result<Self, Tensor> {
        if tensor.dtype() == T::DTYPE {
            Ok(Self { tensor, element: PhantomData })
        } else {
            Err(tensor)
        }
    }

    /// A tensor of these elements in column-major order: the first axis runs fastest.
    ///
    /// # Errors
    /// As [`Tensor::from_vec_col_major`].
    pub fn from_vec_col_major(extents: impl Into<Indices>, elements: Vec<T>) -> Result<Self> {
        Tensor::from_vec_col_major(extents, elements)?.typed()
    }

    /// A tensor of these elements in row-major order, reordered to column-major.
    ///
    /// # Errors
    /// As [`Tensor::from_vec_row_major`].
    pub fn from_vec_row_major(extents: impl Into<Indices>, elements: Vec<T>) -> Result<Self> {
        Tensor::from_vec_row_major(extents, elements)?.typed()
    }

    /// A tensor without axes that holds one element.
    ///
    /// # Errors
    /// As [`Tensor::scalar`].
    pub fn scalar(element: T) -> Result<Self> {
        Tensor::scalar(element)?.typed()
    }

    /// A tensor with every element equal to `element`.
    ///
    /// # Errors
    /// As [`Tensor::full`].
    pub fn full(extents: impl Into<Indices>, element: T) -> Result<Self> {
        Tensor::full(extents, element)?.typed()
    }

    /// A tensor of zeros; of `false` for bool.
    ///
    /// # Errors
    /// As [`Tensor::zeros`].
    pub fn zeros(extents: impl Into<Indices>) -> Result<Self> {
        Tensor::zeros(T::DTYPE, extents)?.typed()
    }

    /// A tensor of ones; of `true` for bool.
    ///
    /// # Errors
    /// As [`Tensor::ones`].
    pub fn ones(extents: impl Into<Indices>) -> Result<Self> {
        Tensor::ones(T::DTYPE, extents)?.typed()
    }

    /// The identity matrix of order `n`.
    ///
    /// # Errors
    /// As [`Tensor::eye`].
    pub fn eye(n: usize) -> Result<Self> {
        Tensor::eye(T::DTYPE, n)?.typed()
    }

    /// The numbers `start`, `start + step`, .. before `stop`.
    ///
    /// # Errors
    /// As [`Tensor::arange`].
    pub fn arange(
        start: impl Into<Factor>,
        stop: impl Into<Factor>,
        step: impl Into<Factor>,
    ) -> Result<Self> {
        Tensor::arange(T::DTYPE, start, stop, step)?.typed()
    }

    /// `count` evenly spaced numbers from `start` to `stop`, both included.
    ///
    /// # Errors
    /// As [`Tensor::linspace`].
    pub fn linspace(
        start: impl Into<Factor>,
        stop: impl Into<Factor>,
        count: usize,
    ) -> Result<Self> {
        Tensor::linspace(T::DTYPE, start, stop, count)?.typed()
    }

    /// A tensor of random elements.
    ///
    /// # Errors
    /// As [`Tensor::random`].
    pub fn random(
        extents: impl Into<Indices>,
        distribution: Distribution,
        seed: u64,
    ) -> Result<Self> {
        Tensor::random(T::DTYPE, extents, distribution, seed)?.typed()
    }

    /// The number of axes.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.tensor.rank()
    }

    /// The number of elements.
    #[must_use]
    pub fn elements(&self) -> usize {
        self.tensor.elements()
    }

    /// The extents of the axes, the first one fastest in memory.
    #[must_use]
    pub fn shape(&self) -> &Shape {
        self.tensor.shape()
    }

    /// The elements in column-major order.
    ///
    /// # Panics
    /// Never: the type says what the tensor holds.
    #[must_use]
    pub fn as_slice(&self) -> &[T] {
        self.tensor.as_slice().expect("invariant: a typed tensor holds its type")
    }

    /// The elements in column-major order, for writing. Copies them first if they are shared or read-only.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory).
    pub fn as_mut_slice(&mut self) -> Result<&mut [T]> {
        self.tensor.as_mut_slice()
    }

    /// The element at an index, one position an axis.
    ///
    /// # Errors
    /// As [`Tensor::get`].
    pub fn get(&self, index: &[usize]) -> Result<T> {
        self.tensor.get(index)
    }

    /// A copy of the elements in column-major order: the first axis runs fastest.
    #[must_use]
    pub fn to_vec_col_major(&self) -> Vec<T> {
        self.as_slice().to_vec()
    }

    /// A copy of the elements in row-major order: the last axis runs fastest.
    ///
    /// # Panics
    /// If there is no memory for the copy.
    #[must_use]
    pub fn to_vec_row_major(&self) -> Vec<T> {
        self.tensor.to_vec_row_major().expect("invariant: the type is right and there is memory")
    }

    /// The same elements, shared, under other extents of the same product.
    ///
    /// # Errors
    /// As [`Tensor::reshaped`].
    pub fn reshaped(&self, extents: impl Into<Indices>) -> Result<Self> {
        self.tensor.reshaped(extents)?.typed()
    }

    /// A tensor with a copy of the elements.
    ///
    /// # Errors
    /// As [`Tensor::duplicate`].
    pub fn duplicate(&self) -> Result<Self> {
        self.tensor.duplicate()?.typed()
    }

    /// A view of all elements.
    #[must_use]
    pub fn view(&self) -> TensorView<'_> {
        self.tensor.view()
    }

    /// A writable view of all elements. Copies them first if they are shared or read-only.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory).
    pub fn view_mut(&mut self) -> Result<TensorViewMut<'_>> {
        self.tensor.view_mut()
    }

    /// The tensor with its element type known at run time only.
    #[must_use]
    pub fn into_tensor(self) -> Tensor {
        self.tensor
    }

    /// The run-time typed twin over the same storage.
    #[must_use]
    pub fn as_tensor(&self) -> &Tensor {
        &self.tensor
    }
}

impl<T> Clone for TypedTensor<T> {
    /// Shares the elements.
    fn clone(&self) -> Self {
        Self { tensor: self.tensor.clone(), element: PhantomData }
    }
}

impl<T> AsOperand for TypedTensor<T> {
    #[inline]
    fn as_operand(&self) -> Operand<'_> {
        self.tensor.as_operand()
    }
}

impl<T> From<TypedTensor<T>> for Tensor {
    fn from(typed: TypedTensor<T>) -> Self {
        typed.tensor
    }
}

impl<T> fmt::Debug for TypedTensor<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.tensor, f)
    }
}

impl<T> fmt::Display for TypedTensor<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.tensor, f)
    }
}
