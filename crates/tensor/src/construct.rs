//! Ways to make a tensor that need no engine.

use std::{any::Any, ptr::NonNull};

use crate::{
    Access, Block, DType, Error, Indices, Result, Scalar, Shape, Tensor, TensorView, Uninit,
    dispatch, error::Validation,
};

/// Vectors up to this size are copied into one block; longer ones are adopted as they are.
const ADOPTED_FROM: usize = 4096;

impl Tensor {
    /// A tensor of these elements in column-major order: the first axis runs fastest.
    ///
    /// Long vectors are adopted without copying.
    ///
    /// # Errors
    /// [`Validation::ElementCount`] if extents and elements disagree; [`Validation::SizeOverflow`];
    /// [`Error::OutOfMemory`].
    pub fn from_vec_col_major<T: Scalar>(
        extents: impl Into<Indices>,
        mut elements: Vec<T>,
    ) -> Result<Self> {
        const OP: &str = "from_vec_col_major";
        let shape = shape_for(OP, &extents.into(), elements.len())?;
        let bytes = size_of_val(&elements[..]);
        if bytes < ADOPTED_FROM {
            let mut rest = elements.into_iter();
            return Ok(Uninit::allocate(OP, T::DTYPE, shape)?
                .filled(|| rest.next().expect("invariant: as many elements as places")));
        }
        // A mutable borrow, for a pointer that may be written through.
        let data = NonNull::from(&mut elements[..]).cast::<u8>();
        // SAFETY: the vector's buffer does not move when the vector does, and nobody can reach it through the box.
        let block = unsafe { Block::lent(data, bytes, Access::ReadWrite, Box::new(elements)) }
            .ok_or(Error::OutOfMemory { op: OP, bytes })?;
        // SAFETY: the block lends `shape.elements()` initialised elements of `T`.
        Ok(unsafe { Self::from_block(block, T::DTYPE, &shape) })
    }

    /// A tensor of these elements in row-major order, the last axis fastest, reordered to column-major.
    ///
    /// # Errors
    /// As [`Tensor::from_vec_col_major`].
    pub fn from_vec_row_major<T: Scalar>(
        extents: impl Into<Indices>,
        elements: Vec<T>,
    ) -> Result<Self> {
        const OP: &str = "from_vec_row_major";
        let shape = shape_for(OP, &extents.into(), elements.len())?;
        let reversed: Vec<usize> = shape.iter().rev().copied().collect();
        let strides = Shape::new(&reversed).map_err(|p| p.of(OP))?.column_major_strides();
        TensorView::from_slice(&elements, &reversed, &strides, 0)?.transpose().to_tensor()
    }

    /// A tensor over memory that `lender` keeps alive, in column-major order, without copying. Never written.
    ///
    /// # Errors
    /// [`Validation::ElementCount`] if the data are not the size of the tensor; [`Validation::Rule`] if they are not
    /// aligned for the dtype or end within an element; [`Validation::SizeOverflow`]; [`Error::OutOfMemory`].
    ///
    /// # Safety
    /// The bytes behind `data` must be valid elements of `dtype` (for bool: 0 or 1), readable and unchanged for as long
    /// as `lender` lives, wherever it is moved.
    pub unsafe fn from_lender(
        dtype: DType,
        extents: impl Into<Indices>,
        data: NonNull<[u8]>,
        lender: Box<dyn Any + Send + Sync>,
    ) -> Result<Self> {
        const OP: &str = "from_lender";
        let bytes = data.len();
        if !bytes.is_multiple_of(dtype.size()) {
            let rule = "the data end in the middle of an element";
            return Err(Validation::Rule { rule }.of(OP));
        }
        let shape = shape_for(OP, &extents.into(), bytes / dtype.size())?;
        let alignment = dispatch!(dtype, any T => align_of::<T>());
        if !data.cast::<u8>().addr().get().is_multiple_of(alignment) {
            return Err(Validation::Rule { rule: "the data are not aligned for the dtype" }.of(OP));
        }
        // SAFETY: the caller vouches for the data and the lender.
        let block = unsafe { Block::lent(data.cast(), bytes, Access::ReadOnly, lender) }
            .ok_or(Error::OutOfMemory { op: OP, bytes })?;
        // SAFETY: the data hold `shape.elements()` elements, checked above, valid as the caller says.
        Ok(unsafe { Self::from_block(block, dtype, &shape) })
    }

    /// A tensor without axes that holds one element.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn scalar<T: Scalar>(element: T) -> Result<Self> {
        Ok(Uninit::allocate("scalar", T::DTYPE, Shape::default())?.filled(|| element))
    }

    /// A tensor with every element equal to `element`.
    ///
    /// # Errors
    /// [`Validation::SizeOverflow`]; [`Error::OutOfMemory`].
    pub fn full<T: Scalar>(extents: impl Into<Indices>, element: T) -> Result<Self> {
        let shape = Shape::new(&extents.into()).map_err(|p| p.of("full"))?;
        Ok(Uninit::allocate("full", T::DTYPE, shape)?.filled(|| element))
    }

    /// A tensor of zeros; of `false` for bool.
    ///
    /// # Errors
    /// [`Validation::SizeOverflow`]; [`Error::OutOfMemory`].
    pub fn zeros(dtype: DType, extents: impl Into<Indices>) -> Result<Self> {
        dispatch!(dtype, any T => Self::full(extents, T::default()))
    }

    /// A tensor of ones; of `true` for bool.
    ///
    /// # Errors
    /// [`Validation::SizeOverflow`]; [`Error::OutOfMemory`].
    pub fn ones(dtype: DType, extents: impl Into<Indices>) -> Result<Self> {
        dispatch!(dtype, any T => Self::full(extents, <T as Scalar>::ONE))
    }

    /// The identity matrix of order `n`.
    ///
    /// # Errors
    /// [`Validation::SizeOverflow`]; [`Error::OutOfMemory`].
    pub fn eye(dtype: DType, n: usize) -> Result<Self> {
        dispatch!(dtype, any T => {
            let shape = Shape::new(&[n, n]).map_err(|p| p.of("eye"))?;
            let mut position = 0;
            Ok(Uninit::allocate("eye", dtype, shape)?.filled(|| {
                let on_diagonal = position % (n + 1) == 0;
                position += 1;
                if on_diagonal { <T as Scalar>::ONE } else { T::default() }
            }))
        })
    }
}

/// The shape with these extents, which must hold `elements` elements.
fn shape_for(op: &'static str, extents: &[usize], elements: usize) -> Result<Shape> {
    let shape = Shape::new(extents).map_err(|p| p.of(op))?;
    if shape.elements() == elements {
        return Ok(shape);
    }
    let expected = shape.elements();
    Err(Validation::ElementCount { shape: extents.into(), expected, actual: elements }.of(op))
}
