//! What an operation reads: a borrowed description of some elements, six words and no ownership.
//!
//! An operand says where elements lie and what they are; tensors and views make one for a call. A dense operand
//! carries no strides, which is how kernels know that a plain loop will do.

use std::{marker::PhantomData, ptr::NonNull};

use smallvec::SmallVec;

use crate::{
    DType, Layout, Result, Scalar, Shape, Tensor, TensorView, TypedTensor, error::Validation,
    list::INLINE_RANK, offsets::Offsets,
};

/// Borrowed elements of a tensor or view, as kernels read them.
#[derive(Clone, Copy)]
pub struct Operand<'a> {
    data: NonNull<u8>,
    dtype: DType,
    shape: &'a Shape,
    /// `None` where elements lie next to each other in column-major order.
    strides: Option<&'a [isize]>,
    elements: PhantomData<&'a [u8]>,
}

// SAFETY: an operand is a shared borrow of plain elements.
unsafe impl Send for Operand<'_> {}
// SAFETY: as above.
unsafe impl Sync for Operand<'_> {}

impl<'a> Operand<'a> {
    /// The operand at `data`.
    ///
    /// # Safety
    /// `data` must be aligned for `dtype` and every offset that shape and strides (column-major if `None`) reach must be
    /// an initialised element of `dtype`, not written during `'a`. `strides` must have an entry for each axis.
    #[must_use]
    #[inline]
    pub unsafe fn from_raw(
        data: NonNull<u8>,
        dtype: DType,
        shape: &'a Shape,
        strides: Option<&'a [isize]>,
    ) -> Self {
        Self { data, dtype, shape, strides, elements: PhantomData }
    }

    /// The element type.
    #[must_use]
    #[inline]
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The extents.
    #[must_use]
    #[inline]
    pub fn shape(&self) -> &'a Shape {
        self.shape
    }

    /// The strides in elements; `None` for a dense operand.
    #[must_use]
    #[inline]
    pub fn strides(&self) -> Option<&'a [isize]> {
        self.strides
    }

    /// The strides in elements, computed for a dense operand.
    #[must_use]
    pub fn strides_or_dense(&self) -> SmallVec<[isize; INLINE_RANK]> {
        self.strides.map_or_else(|| self.shape.column_major_strides(), SmallVec::from_slice)
    }

    /// The first element. Check [`Operand::dtype`] before casting.
    #[must_use]
    #[inline]
    pub fn data(&self) -> NonNull<u8> {
        self.data
    }

    /// The elements in column-major order; `None` unless the operand is dense and holds `T`.
    #[must_use]
    #[inline]
    pub fn as_slice<T: Scalar>(&self) -> Option<&'a [T]> {
        if self.strides.is_some() || T::DTYPE != self.dtype {
            return None;
        }
        // SAFETY: a dense operand has `elements()` initialised elements of its dtype, which is that of `T`.
        Some(unsafe {
            std::slice::from_raw_parts(self.data.cast::<T>().as_ptr(), self.shape.elements())
        })
    }

    /// The same elements in column-major order under another shape; `None` unless the operand is dense and has as many
    /// elements.
    #[must_use]
    #[inline]
    pub fn reshaped(&self, shape: &'a Shape) -> Option<Self> {
        let fits = self.strides.is_none() && self.shape.elements() == shape.elements();
        fits.then_some(Self { shape, ..*self })
    }

    /// A view of the same elements, which can be sliced and transposed.
    #[must_use]
    pub fn view(&self) -> TensorView<'a> {
        let layout = layout(self.shape, self.strides);
        // SAFETY: same elements, same dtype, same lifetime.
        unsafe { TensorView::from_raw(self.data, self.dtype, layout) }
    }
}

/// Borrowed elements that an operation writes.
pub struct OperandMut<'a> {
    data: NonNull<u8>,
    dtype: DType,
    /// Whether the elements may be read before they are written.
    initialised: bool,
    shape: &'a Shape,
    strides: Option<&'a [isize]>,
    elements: PhantomData<&'a mut [u8]>,
}

// SAFETY: a destination is a unique borrow of plain elements.
unsafe impl Send for OperandMut<'_> {}

impl<'a> OperandMut<'a> {
    /// The destination at `data`.
    ///
    /// # Safety
    /// As for [`Operand::from_raw`]; the elements must also be valid for writes, reached by nobody else during `'a`,
    /// and no two indices may reach the same element.
    #[must_use]
    #[inline]
    pub unsafe fn from_raw(
        data: NonNull<u8>,
        dtype: DType,
        shape: &'a Shape,
        strides: Option<&'a [isize]>,
    ) -> Self {
        Self { data, dtype, initialised: true, shape, strides, elements: PhantomData }
    }

    /// The destination at `data`, whose elements must not be read before they are written.
    ///
    /// # Safety
    /// As for [`OperandMut::from_raw`], but the elements need not be initialised.
    #[must_use]
    #[inline]
    pub unsafe fn from_raw_uninit(
        data: NonNull<u8>,
        dtype: DType,
        shape: &'a Shape,
        strides: Option<&'a [isize]>,
    ) -> Self {
        Self { data, dtype, initialised: false, shape, strides, elements: PhantomData }
    }

    /// Whether the elements may be read: they were written before, or are another tensor's.
    #[must_use]
    #[inline]
    pub fn is_initialised(&self) -> bool {
        self.initialised
    }

    /// The element type.
    #[must_use]
    #[inline]
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The extents.
    #[must_use]
    #[inline]
    pub fn shape(&self) -> &'a Shape {
        self.shape
    }

    /// The strides in elements; `None` for a dense destination.
    #[must_use]
    #[inline]
    pub fn strides(&self) -> Option<&'a [isize]> {
        self.strides
    }

    /// The strides in elements, computed for a dense destination.
    #[must_use]
    pub fn strides_or_dense(&self) -> SmallVec<[isize; INLINE_RANK]> {
        self.strides.map_or_else(|| self.shape.column_major_strides(), SmallVec::from_slice)
    }

    /// The first element. Check [`OperandMut::dtype`] before casting.
    #[must_use]
    #[inline]
    pub fn data(&mut self) -> NonNull<u8> {
        self.data
    }

    /// The same destination for a shorter time.
    #[must_use]
    #[inline]
    pub fn reborrow(&mut self) -> OperandMut<'_> {
        OperandMut { elements: PhantomData, ..*self }
    }

    /// The elements of this destination that `layout` reaches from `offset` elements after the first.
    ///
    /// # Safety
    /// Every offset so reached must be one that this destination's own shape and strides reach, and be reached once.
    #[must_use]
    pub unsafe fn relaid<'b>(&'b mut self, offset: isize, layout: &'b Layout) -> OperandMut<'b> {
        // SAFETY: the caller says that the place is an element of this destination, or that none is reached.
        let data = unsafe { self.data.offset(offset * self.dtype.size().cast_signed()) };
        let strides = (!layout.is_dense()).then(|| layout.strides());
        OperandMut { data, shape: layout.shape(), strides, elements: PhantomData, ..*self }
    }

    /// The elements for reading; `None` if they are not initialised.
    #[must_use]
    pub fn as_operand(&self) -> Option<Operand<'_>> {
        let Self { data, dtype, shape, strides, .. } = *self;
        // SAFETY: the elements are initialised, and not written while `self` is borrowed.
        self.initialised.then(|| unsafe { Operand::from_raw(data, dtype, shape, strides) })
    }

    /// Writes every element, in column-major order. Reads none.
    ///
    /// # Panics
    /// If the destination does not hold `T`.
    pub fn fill<T: Scalar>(&mut self, mut elements: impl FnMut() -> T) {
        for place in self.places::<T>() {
            // SAFETY: each place is an element of this destination, which is valid for writes.
            unsafe { place.write(elements()) };
        }
    }

    /// Replaces every element, in column-major order, by what `update` makes of it.
    ///
    /// # Panics
    /// If the destination does not hold `T`, or is not initialised.
    pub fn update<T: Scalar>(&mut self, mut update: impl FnMut(T) -> T) {
        assert!(self.initialised, "invariant: only initialised elements are read");
        for place in self.places::<T>() {
            // SAFETY: each place is an initialised element of this destination, valid for reads and writes.
            unsafe { place.write(update(place.read())) };
        }
    }

    /// Pointers to the elements in column-major order.
    fn places<T: Scalar>(&self) -> impl Iterator<Item = NonNull<T>> + use<T> {
        assert!(
            T::DTYPE == self.dtype,
            "invariant: the elements are {}, as the destination is",
            self.dtype
        );
        let data = self.data.cast::<T>();
        // SAFETY: each offset is that of an element of this destination.
        Offsets::of(layout(self.shape, self.strides))
            .map(move |offset| unsafe { data.offset(offset) })
    }
}

/// The layout of an operand's elements.
fn layout(shape: &Shape, strides: Option<&[isize]>) -> Layout {
    match strides {
        None => Layout::column_major(shape.clone()),
        Some(strides) => Layout::strided(shape, strides)
            .expect("invariant: an operand's shape is valid and has a stride for each axis"),
    }
}

/// Anything whose elements an operation can read: tensors, typed tensors and views.
pub trait AsOperand {
    /// The borrowed description of the elements.
    fn as_operand(&self) -> Operand<'_>;
}

/// An operand with the types that operations on it return.
///
/// Operations on run-time typed tensors and views return [`Tensor`]; on a [`TypedTensor`] they return typed tensors.
pub trait Operate: AsOperand {
    /// A result of the operand's own dtype.
    type Same: FromTensor;
    /// A result of truth values.
    type Truth: FromTensor;
    /// A result of the components of complex numbers, or of the operand's own dtype.
    type Real: FromTensor;
    /// A result of complex numbers with components of the operand's dtype.
    type Complex: FromTensor;
    /// A result of places, which are i64.
    type Index: FromTensor;
}

/// A result made of a run-time typed tensor.
pub trait FromTensor: Sized {
    /// The tensor as this type.
    ///
    /// # Errors
    /// [`Validation::WrongDType`] if the dtype is not the one that the type promises.
    fn from_tensor(op: &'static str, tensor: Tensor) -> Result<Self>;
}

impl FromTensor for Tensor {
    #[inline]
    fn from_tensor(_op: &'static str, tensor: Tensor) -> Result<Self> {
        Ok(tensor)
    }
}

impl<T: Scalar> FromTensor for TypedTensor<T> {
    fn from_tensor(op: &'static str, tensor: Tensor) -> Result<Self> {
        TypedTensor::new(tensor).map_err(|tensor| {
            Validation::WrongDType { actual: tensor.dtype(), requested: T::DTYPE }.of(op)
        })
    }
}

impl Operate for Tensor {
    type Same = Tensor;
    type Truth = Tensor;
    type Real = Tensor;
    type Complex = Tensor;
    type Index = Tensor;
}

impl Operate for TensorView<'_> {
    type Same = Tensor;
    type Truth = Tensor;
    type Real = Tensor;
    type Complex = Tensor;
    type Index = Tensor;
}

impl AsOperand for Operand<'_> {
    #[inline]
    fn as_operand(&self) -> Operand<'_> {
        *self
    }
}

impl Operate for Operand<'_> {
    type Same = Tensor;
    type Truth = Tensor;
    type Real = Tensor;
    type Complex = Tensor;
    type Index = Tensor;
}

impl<T: Scalar> Operate for TypedTensor<T> {
    type Same = TypedTensor<T>;
    type Truth = TypedTensor<bool>;
    type Real = TypedTensor<T::Real>;
    type Complex = TypedTensor<T::Complex>;
    type Index = TypedTensor<i64>;
}
