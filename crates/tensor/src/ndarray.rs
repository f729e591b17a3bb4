//! Views and arrays of the `ndarray` crate, in and out.
//!
//! Both libraries count strides in elements and allow any sign, so that views cross without copying. Arrays that own
//! their elements cross without copying where they are column-major and whole.

use std::ptr::NonNull;

use ::ndarray::{
    Array, ArrayD, ArrayView, ArrayViewD, ArrayViewMut, ArrayViewMutD, Axis, Dimension, IxDyn,
    ShapeBuilder,
};

use crate::{
    AsOperand, Layout, Result, Scalar, Tensor, TensorView, TensorViewMut, TypedTensor,
    error::Validation,
};

impl<'a, T: Scalar, D: Dimension> From<ArrayView<'a, T, D>> for TensorView<'a> {
    /// The same elements, axis for axis, without copying.
    ///
    /// ```
    /// use tenferro_tensor::TensorView;
    ///
    /// let array = ndarray::array![[1.0_f64, 2.0], [3.0, 4.0]];
    /// let view = TensorView::from(array.slice(ndarray::s![.., ..;-1]));
    /// assert_eq!(view.to_vec_row_major::<f64>()?, [2.0, 1.0, 4.0, 3.0]);
    /// # Ok::<(), tenferro_tensor::Error>(())
    /// ```
    fn from(view: ArrayView<'a, T, D>) -> Self {
        let layout = layout_of(view.shape(), view.strides());
        let data = NonNull::new(view.as_ptr().cast_mut()).expect("invariant: a view has a pointer");
        // SAFETY: an array view reaches initialised elements of `T` only, and borrows them for 'a.
        unsafe { Self::from_raw(data.cast(), T::DTYPE, layout) }
    }
}

impl<'a, T: Scalar, D: Dimension> From<ArrayViewMut<'a, T, D>> for TensorViewMut<'a> {
    /// The same elements, axis for axis, without copying.
    fn from(mut view: ArrayViewMut<'a, T, D>) -> Self {
        let layout = layout_of(view.shape(), view.strides());
        let data = NonNull::new(view.as_mut_ptr()).expect("invariant: a view has a pointer");
        // SAFETY: a mutable array view reaches initialised elements of `T`, each by one index, and borrows them
        // uniquely for 'a.
        unsafe { Self::from_raw(data.cast(), T::DTYPE, layout) }
    }
}

impl<'a> TensorView<'a> {
    /// The same elements as a view of `ndarray`, axis for axis, without copying.
    ///
    /// # Errors
    /// [`Validation::WrongDType`] if the view does not hold `T`.
    pub fn as_ndarray<T: Scalar>(&self) -> Result<ArrayViewD<'a, T>> {
        check_dtype::<T>(self, "as_ndarray")?;
        let Upward { lowest, strides, backward } = Upward::of(self.layout());
        // SAFETY: the lowest element is one that this view reaches, or its first where it reaches none. From there the
        // absolute strides reach the same elements, which are initialised and borrowed for 'a.
        let mut array = unsafe {
            let data = self.as_operand().data().cast::<T>().offset(lowest);
            ArrayViewD::from_shape_ptr(IxDyn(self.shape()).strides(IxDyn(&strides)), data.as_ptr())
        };
        backward.iter().for_each(|&axis| array.invert_axis(axis));
        Ok(array)
    }
}

impl<'a> TensorViewMut<'a> {
    /// The same elements as a writable view of `ndarray`, axis for axis, without copying.
    ///
    /// # Errors
    /// [`Validation::WrongDType`] if the view does not hold `T`.
    pub fn into_ndarray<T: Scalar>(mut self) -> Result<ArrayViewMutD<'a, T>> {
        check_dtype::<T>(&self.view(), "into_ndarray")?;
        let Upward { lowest, strides, backward } = Upward::of(self.layout());
        let shape = IxDyn(self.shape()).strides(IxDyn(&strides));
        // SAFETY: as for readable views; this one reaches each element by one index and is given up for the array.
        let mut array = unsafe {
            let data = self.as_operand_mut().data().cast::<T>().offset(lowest);
            ArrayViewMutD::from_shape_ptr(shape, data.as_ptr())
        };
        backward.iter().for_each(|&axis| array.invert_axis(axis));
        Ok(array)
    }
}

impl Tensor {
    /// A tensor with the elements of an array, axis for axis.
    ///
    /// A column-major array that is the whole of its memory is taken over as
    /// [`from_vec_col_major`](Tensor::from_vec_col_major) takes a vector; any other is copied.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory).
    ///
    /// ```
    /// use tenferro_tensor::Tensor;
    ///
    /// let x = Tensor::from_ndarray(ndarray::array![[1, 2, 3], [4, 5, 6]])?;
    /// assert_eq!(x.as_slice::<i32>()?, &[1, 4, 2, 5, 3, 6]);
    /// assert_eq!(x.to_ndarray::<i32>()?[[1, 2]], 6);
    /// # Ok::<(), tenferro_tensor::Error>(())
    /// ```
    pub fn from_ndarray<T: Scalar, D: Dimension>(array: Array<T, D>) -> Result<Self> {
        let is_column_major = array.t().is_standard_layout();
        if !is_column_major {
            return TensorView::from(array.view()).to_tensor();
        }
        let extents = array.shape().to_vec();
        let elements = array.len();
        let (mut memory, offset) = array.into_raw_vec_and_offset();
        // What a sliced array no longer shows stands before and after its elements.
        let start = offset.unwrap_or(0);
        memory.truncate(start + elements);
        memory.drain(..start);
        Self::from_vec_col_major(extents, memory)
    }

    /// A column-major array with a copy of the elements, axis for axis.
    ///
    /// # Errors
    /// [`Validation::WrongDType`] if the tensor does not hold `T`.
    pub fn to_ndarray<T: Scalar>(&self) -> Result<ArrayD<T>> {
        check_dtype::<T>(&self.view(), "to_ndarray")?;
        let elements = self.to_vec_col_major()?;
        Ok(ArrayD::from_shape_vec(IxDyn(self.shape()).f(), elements)
            .expect("invariant: as many elements as the shape has"))
    }
}

impl<T: Scalar> TypedTensor<T> {
    /// A tensor with the elements of an array, axis for axis.
    ///
    /// # Errors
    /// As [`Tensor::from_ndarray`].
    pub fn from_ndarray<D: Dimension>(array: Array<T, D>) -> Result<Self> {
        Tensor::from_ndarray(array)?.typed()
    }

    /// A column-major array with a copy of the elements, axis for axis.
    #[must_use]
    pub fn to_ndarray(&self) -> ArrayD<T> {
        self.as_tensor().to_ndarray().expect("invariant: a typed tensor holds its type")
    }
}

fn layout_of(extents: &[usize], strides: &[isize]) -> Layout {
    Layout::strided(extents, strides)
        .expect("invariant: an array has a stride an axis, and its size fits `isize`")
}

fn check_dtype<T: Scalar>(view: &TensorView<'_>, op: &'static str) -> Result<()> {
    if view.dtype() == T::DTYPE {
        return Ok(());
    }
    Err(Validation::WrongDType { actual: view.dtype(), requested: T::DTYPE }.of(op))
}

/// A layout with all axes turned upward, as raw array views are made.
struct Upward {
    /// The offset of the element with the lowest address.
    lowest: isize,
    strides: Vec<usize>,
    /// The axes to turn back.
    backward: Vec<Axis>,
}

impl Upward {
    fn of(layout: &Layout) -> Self {
        let is_empty = layout.shape().contains(&0);
        let axes = layout.shape().iter().zip(layout.strides());
        // A stride that no step uses may be any number; zero is one that every check accepts.
        let used = axes.map(|(&extent, &stride)| if extent > 1 && !is_empty { stride } else { 0 });
        let span = layout.span().expect("invariant: the offsets of a view can be represented");
        Self {
            lowest: span.map_or(0, |(lowest, _)| lowest),
            strides: used.clone().map(isize::unsigned_abs).collect(),
            backward: used
                .enumerate()
                .filter(|&(_, stride)| stride < 0)
                .map(|(axis, _)| Axis(axis))
                .collect(),
        }
    }
}
