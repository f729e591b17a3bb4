//! Strided views: elements that somebody else owns, in any layout.
//!
//! A view pairs a pointer with a [`Layout`]; every step that moves the pointer is computed by the layout, which has
//! checked it. A writable view never reaches one element by two indices.

use std::{marker::PhantomData, ops::RangeBounds, ptr::NonNull};

use smallvec::SmallVec;

use crate::{
    AsOperand, DType, Error, Layout, Operand, OperandMut, Result, Scalar, Shape, Tensor, Uninit,
    error::Validation, gather::gather, list::INLINE_RANK, offsets::Offsets,
};

/// A borrowed tensor of any layout.
///
/// ```
/// use tenferro_tensor::Tensor;
///
/// let x = Tensor::from_vec_row_major(vec![2, 3], vec![1_i32, 2, 3, 4, 5, 6])?;
/// let last_column_up = x.view().slice(1, -1.., 1)?.reverse(0)?;
/// assert_eq!(last_column_up.to_vec_row_major::<i32>()?, [6, 3]);
/// # Ok::<(), tenferro_tensor::Error>(())
/// ```
///
/// A view cannot outlive its tensor:
///
/// ```compile_fail,E0597
/// # use tenferro_tensor::{DType, Tensor};
/// let view = {
///     let x = Tensor::zeros(DType::F64, [2]).unwrap();
///     x.view()
/// };
/// println!("{view}");
/// ```
#[derive(Clone)]
pub struct TensorView<'a> {
    data: NonNull<u8>,
    dtype: DType,
    layout: Layout,
    elements: PhantomData<&'a [u8]>,
}

// SAFETY: a view is a shared borrow of plain elements.
unsafe impl Send for TensorView<'_> {}
// SAFETY: as above.
unsafe impl Sync for TensorView<'_> {}

/// A borrowed tensor of any layout whose elements can be written.
///
/// While it lives the tensor cannot be read, nor shared:
///
/// ```compile_fail,E0502
/// # use tenferro_tensor::{DType, Tensor};
/// let mut x = Tensor::zeros(DType::F64, [2]).unwrap();
/// let mut view = x.view_mut().unwrap();
/// let share = x.clone();
/// view.set(&[0], 1.0).unwrap();
/// ```
pub struct TensorViewMut<'a> {
    data: NonNull<u8>,
    dtype: DType,
    layout: Layout,
    elements: PhantomData<&'a mut [u8]>,
}

// SAFETY: a writable view is a unique borrow of plain elements.
unsafe impl Send for TensorViewMut<'_> {}
// SAFETY: a shared reference to a writable view only reads.
unsafe impl Sync for TensorViewMut<'_> {}

/// The steps that readable and writable views share: each moves the pointer by what the layout says.
macro_rules! view_steps {
    ($View:ident) => {
        impl<'a> $View<'a> {
            /// The view of `layout` at `data`.
            ///
            /// # Safety
            /// Every offset that the layout reaches from `data` must be an aligned, initialised element of `dtype` that
            /// is borrowed (for a writable view: uniquely, and reached by one index only) during `'a`.
            #[must_use]
            pub unsafe fn from_raw(data: NonNull<u8>, dtype: DType, layout: Layout) -> Self {
                Self { data, dtype, layout, elements: PhantomData }
            }

            /// The element type.
            #[must_use]
            pub fn dtype(&self) -> DType {
                self.dtype
            }

            /// The extents.
            #[must_use]
            pub fn shape(&self) -> &Shape {
                self.layout.shape()
            }

            /// The strides in elements.
            #[must_use]
            pub fn strides(&self) -> &[isize] {
                self.layout.strides()
            }

            /// The layout: extents and strides.
            #[must_use]
            pub fn layout(&self) -> &Layout {
                &self.layout
            }

            /// The view with axis `permutation[i]` in place `i`.
            ///
            /// # Errors
            /// A [`Validation`] unless `permutation` names every axis once.
            pub fn permute(mut self, permutation: &[usize]) -> Result<Self> {
                self.layout = self.layout.transposed(permutation).map_err(|p| p.of("permute"))?;
                Ok(self)
            }

            /// The view with its axes in reverse order: the transpose of a matrix.
            #[must_use]
            pub fn transpose(mut self) -> Self {
                let reversed: SmallVec<[usize; INLINE_RANK]> =
                    (0..self.layout.shape().rank()).rev().collect();
                self.layout = self
                    .layout
                    .transposed(&reversed)
                    .expect("invariant: reversed axes are a permutation");
                self
            }

            /// The view of some indices of one axis: `range` in steps of `step`.
            ///
            /// Negative bounds count from the end of the axis, and bounds past it are cut, as Python has it. A
            /// negative step walks the range backwards, from its last index.
            ///
            /// # Errors
            /// [`Validation::AxisOutOfRange`]; [`Validation::Slice`] if `step` is 0.
            pub fn slice(
                self,
                axis: usize,
                range: impl RangeBounds<isize>,
                step: isize,
            ) -> Result<Self> {
                let Some(&extent) = self.layout.shape().get(axis) else {
                    let shape = self.layout.shape()[..].into();
                    return Err(Validation::AxisOutOfRange { axis, shape }.of("slice"));
                };
                let (start, limit) = resolve(range, extent);
                let ahead = if step < 0 {
                    start + (limit - start).saturating_sub(1) % step.unsigned_abs()
                } else {
                    start
                };
                let sliced = self
                    .layout
                    .sliced(axis, ahead.min(limit), limit, step.unsigned_abs())
                    .map_err(|p| p.of("slice"))?;
                let view = self.moved(sliced);
                if step < 0 { view.reverse(axis) } else { Ok(view) }
            }

            /// The view that runs backwards along one axis.
            ///
            /// # Errors
            /// [`Validation::AxisOutOfRange`].
            pub fn reverse(self, axis: usize) -> Result<Self> {
                let reversed = self.layout.reversed(axis).map_err(|p| p.of("reverse"))?;
                Ok(self.moved(reversed))
            }

            /// The view whose axis `first` walks axes `first` and `second` together; `second` is gone.
            ///
            /// # Errors
            /// A [`Validation`] unless both axes exist, differ and have one extent.
            pub fn diagonal(mut self, first: usize, second: usize) -> Result<Self> {
                self.layout = self.layout.diagonal(first, second).map_err(|p| p.of("diagonal"))?;
                Ok(self)
            }

            /// The same elements in column-major order under other extents, where strides allow it.
            ///
            /// # Errors
            /// [`Validation::ElementCount`]; [`Validation::NotDense`] if the elements would have to be copied.
            pub fn reshape(mut self, extents: &[usize]) -> Result<Self> {
                self.layout = self.layout.reshaped(extents).map_err(|p| p.of("reshape"))?;
                Ok(self)
            }

            /// The view with an axis of extent 1 before axis `axis`.
            ///
            /// # Errors
            /// [`Validation::AxisOutOfRange`] if `axis` is past the rank.
            pub fn insert_axis(mut self, axis: usize) -> Result<Self> {
                self.layout = self.layout.with_unit_axis(axis).map_err(|p| p.of("insert_axis"))?;
                Ok(self)
            }

            /// The view under a layout that starts `offset` elements further.
            fn moved(self, (layout, offset): (Layout, isize)) -> Self {
                let step = offset * self.dtype.size().cast_signed();
                // SAFETY: the layout computed the offset of an element that this view reaches, or 0 where it reaches
                // none; either stays in the data, whose size in bytes fits `isize`.
                let data = unsafe { self.data.offset(step) };
                Self { data, layout, ..self }
            }
        }
    };
}

view_steps!(TensorView);
view_steps!(TensorViewMut);

/// The indices that a Python-like range selects from an axis: bounds from the end if negative, cut to the axis.
fn resolve(range: impl RangeBounds<isize>, extent: usize) -> (usize, usize) {
    use std::ops::Bound;
    let cut = |bound: isize, past: isize| {
        let from_end = if bound < 0 { extent.cast_signed() } else { 0 };
        let position = bound.saturating_add(from_end).saturating_add(past);
        usize::try_from(position).map_or(0, |position| position.min(extent))
    };
    let start = match range.start_bound() {
        Bound::Included(&bound) => cut(bound, 0),
        Bound::Excluded(&bound) => cut(bound, 1),
        Bound::Unbounded => 0,
    };
    let limit = match range.end_bound() {
        Bound::Included(&bound) => cut(bound, 1),
        Bound::Excluded(&bound) => cut(bound, 0),
        Bound::Unbounded => extent,
    };
    (start, limit.max(start))
}

impl<'a> TensorView<'a> {
    /// A view of a slice with extents and strides (in elements), the first element at `offset`.
    ///
    /// # Errors
    /// [`Validation::OutOfBounds`] if an index leaves the slice; [`Validation::SizeOverflow`],
    /// [`Validation::WrongLength`].
    ///
    /// ```
    /// use tenferro_tensor::TensorView;
    /// let row_major = TensorView::from_slice(&[1.0_f32, 2.0, 3.0, 4.0], &[2, 2], &[2, 1], 0)?;
    /// assert_eq!(row_major.get::<f32>(&[0, 1])?, 2.0);
    /// # Ok::<(), tenferro_tensor::Error>(())
    /// ```
    pub fn from_slice<T: Scalar>(
        elements: &'a [T],
        extents: &[usize],
        strides: &[isize],
        offset: usize,
    ) -> Result<Self> {
        let layout = layout_within(elements.len(), extents, strides, offset)?;
        let data = NonNull::from(elements).cast::<T>();
        // SAFETY: the layout was checked to stay inside of the slice, which has at least `offset` elements if any.
        Ok(unsafe {
            let data = if layout.shape().contains(&0) { data } else { data.add(offset) };
            Self::from_raw(data.cast(), T::DTYPE, layout)
        })
    }

    /// The view stretched to other extents: right-aligned, extent 1 and missing axes stretch. No copy.
    ///
    /// # Errors
    /// [`Validation::Broadcast`] or [`Validation::SizeOverflow`].
    pub fn broadcast(mut self, extents: &[usize]) -> Result<Self> {
        self.layout = self.layout.broadcast(extents).map_err(|p| p.of("broadcast"))?;
        Ok(self)
    }

    /// The element at an index, one position an axis.
    ///
    /// # Errors
    /// [`Validation::WrongDType`], [`Validation::WrongLength`] or [`Validation::IndexOutOfRange`].
    pub fn get<T: Scalar>(&self, index: &[usize]) -> Result<T> {
        self.expect::<T>("get")?;
        let offset = self.layout.offset(index).map_err(|p| p.of("get"))?;
        // SAFETY: the index was checked to be one of this view's, whose dtype is that of `T`.
        Ok(unsafe { self.data.cast::<T>().offset(offset).read() })
    }

    /// The elements in column-major order.
    ///
    /// # Errors
    /// [`Validation::WrongDType`] if the view does not hold `T`.
    pub fn elements<T: Scalar>(&self) -> Result<impl ExactSizeIterator<Item = T> + use<'a, T>> {
        self.expect::<T>("elements")?;
        let offsets = Offsets::of(self.layout.clone());
        Ok(Elements { data: self.data.cast(), offsets, elements: PhantomData })
    }

    /// A copy of the elements in column-major order: the first axis runs fastest.
    ///
    /// # Errors
    /// [`Validation::WrongDType`] if the view does not hold `T`; [`Error::OutOfMemory`].
    pub fn to_vec_col_major<T: Scalar>(&self) -> Result<Vec<T>> {
        self.expect::<T>("to_vec_col_major")?;
        self.gathered("to_vec_col_major")
    }

    /// A copy of the elements in row-major order: the last axis runs fastest.
    ///
    /// # Errors
    /// [`Validation::WrongDType`] if the view does not hold `T`; [`Error::OutOfMemory`].
    pub fn to_vec_row_major<T: Scalar>(&self) -> Result<Vec<T>> {
        self.expect::<T>("to_vec_row_major")?;
        self.clone().transpose().gathered("to_vec_row_major")
    }

    /// A dense tensor with a copy of the elements.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn to_tensor(&self) -> Result<Tensor> {
        let copy = Uninit::allocate("to_tensor", self.dtype, self.shape().clone())?;
        Ok(copy.copied_from(&self.as_operand()))
    }

    /// The elements of a view whose dtype was checked to be that of `T`.
    fn gathered<T: Scalar>(&self, op: &'static str) -> Result<Vec<T>> {
        let count = self.shape().elements();
        let mut elements = Vec::new();
        elements
            .try_reserve_exact(count)
            .map_err(|_| Error::OutOfMemory { op, bytes: count.saturating_mul(size_of::<T>()) })?;
        gather(self, &mut elements.spare_capacity_mut()[..count]);
        // SAFETY: the copy initialised the first `count` places.
        unsafe { elements.set_len(count) };
        Ok(elements)
    }

    fn expect<T: Scalar>(&self, op: &'static str) -> Result<()> {
        if self.dtype == T::DTYPE {
            Ok(())
        } else {
            Err(Validation::WrongDType { actual: self.dtype, requested: T::DTYPE }.of(op))
        }
    }
}

impl AsOperand for TensorView<'_> {
    #[inline]
    fn as_operand(&self) -> Operand<'_> {
        let strides = (!self.layout.is_dense()).then(|| self.layout.strides());
        // SAFETY: the operand describes this view's elements and borrows it.
        unsafe { Operand::from_raw(self.data, self.dtype, self.layout.shape(), strides) }
    }
}

impl<'a> TensorViewMut<'a> {
    /// A writable view of a slice with extents and strides (in elements), the first element at `offset`.
    ///
    /// # Errors
    /// As [`TensorView::from_slice`], and [`Validation::OverlappingDestination`] if two indices reach one element.
    pub fn from_slice<T: Scalar>(
        elements: &'a mut [T],
        extents: &[usize],
        strides: &[isize],
        offset: usize,
    ) -> Result<Self> {
        let layout = layout_within(elements.len(), extents, strides, offset)?;
        if layout.overlaps() {
            let shape = extents.into();
            return Err(Validation::OverlappingDestination { shape }.of("from_slice"));
        }
        let data = NonNull::from(elements).cast::<T>();
        // SAFETY: the layout was checked to stay inside of the slice and to reach each element once.
        Ok(unsafe {
            let data = if layout.shape().contains(&0) { data } else { data.add(offset) };
            Self::from_raw(data.cast(), T::DTYPE, layout)
        })
    }

    /// The same elements for reading.
    #[must_use]
    pub fn view(&self) -> TensorView<'_> {
        // SAFETY: same elements; `self` is borrowed for as long as the view lives.
        unsafe { TensorView::from_raw(self.data, self.dtype, self.layout.clone()) }
    }

    /// The same elements for a shorter time.
    #[must_use]
    pub fn reborrow(&mut self) -> TensorViewMut<'_> {
        // SAFETY: same elements; `self` is mutably borrowed for as long as the view lives.
        unsafe { TensorViewMut::from_raw(self.data, self.dtype, self.layout.clone()) }
    }

    /// The elements as the destination of an operation.
    #[must_use]
    pub fn as_operand_mut(&mut self) -> OperandMut<'_> {
        let strides = (!self.layout.is_dense()).then(|| self.layout.strides());
        // SAFETY: the operand describes this view's elements and borrows it mutably.
        unsafe { OperandMut::from_raw(self.data, self.dtype, self.layout.shape(), strides) }
    }

    /// Writes one element.
    ///
    /// # Errors
    /// [`Validation::WrongDType`], [`Validation::WrongLength`] or [`Validation::IndexOutOfRange`].
    pub fn set<T: Scalar>(&mut self, index: &[usize], element: T) -> Result<()> {
        self.view().expect::<T>("set")?;
        let offset = self.layout.offset(index).map_err(|p| p.of("set"))?;
        // SAFETY: the index was checked to be one of this view's, whose dtype is that of `T`.
        unsafe { self.data.cast::<T>().offset(offset).write(element) };
        Ok(())
    }
}

/// A layout that stays inside of `elements` elements when it starts at `offset`.
fn layout_within(
    elements: usize,
    extents: &[usize],
    strides: &[isize],
    offset: usize,
) -> Result<Layout> {
    const OP: &str = "from_slice";
    let layout = Layout::strided(extents, strides).map_err(|p| p.of(OP))?;
    let inside = match layout.span().map_err(|p| p.of(OP))? {
        None => true,
        Some((low, high)) => {
            let bound = |end| offset.checked_add_signed(end);
            bound(low).is_some() && bound(high).is_some_and(|last| last < elements)
        }
    };
    if inside {
        Ok(layout)
    } else {
        Err(Validation::OutOfBounds { shape: extents.into(), elements }.of(OP))
    }
}

/// The elements of a view in column-major order.
struct Elements<'a, T> {
    data: NonNull<T>,
    offsets: Offsets,
    elements: PhantomData<&'a [T]>,
}

impl<T: Scalar> Iterator for Elements<'_, T> {
    type Item = T;

    #[inline]
    fn next(&mut self) -> Option<T> {
        // SAFETY: the offset is that of one of the view's elements, which are of `T` and borrowed meanwhile.
        self.offsets.next().map(|offset| unsafe { self.data.offset(offset).read() })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.offsets.size_hint()
    }
}

impl<T: Scalar> ExactSizeIterator for Elements<'_, T> {}
