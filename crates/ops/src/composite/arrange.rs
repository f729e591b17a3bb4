//! Elements repeated, put together, taken apart, and set by their index.

use tenferro_tensor::{Accepts, Comparison, DType, Indices, Result, Shape, Tensor, Validation};

use super::float::check;
use crate::{Build, Builder};

/// The tensor repeated along each axis.
///
/// Repetitions are aligned from the right, as NumPy's `tile` has it: missing ones are 1, and missing axes have extent 1.
///
/// # Errors
/// What `reshape` and `broadcast_in_dim` refuse, an overflowing shape among it.
pub fn tile<B: Builder + ?Sized>(
    builder: &mut B,
    x: &B::Value,
    repetitions: Indices,
) -> Result<B::Value> {
    let shape = builder.meta(x).shape;
    let rank = shape.rank().max(repetitions.len());
    let aligned = |list: &[usize], axis: usize| {
        (axis + list.len()).checked_sub(rank).map_or(1, |own| list[own])
    };
    // Behind each axis one that stands still.
    let pairs = || (0..rank).map(|axis| (aligned(&shape, axis), aligned(&repetitions, axis)));
    let apart: Indices = pairs().flat_map(|(own, _)| [own, 1]).collect();
    let repeated: Indices = pairs().flat_map(|(own, times)| [own, times]).collect();
    let axes: Indices = (0..2 * rank).collect();
    let x = builder.reshape(x, apart)?;
    let x = builder.broadcast_in_dim(&x, repeated, axes)?;
    // The products fit, since the stretched shape did.
    let together: Indices = pairs().map(|(own, times)| own * times).collect();
    builder.reshape(&x, together)
}

/// One where the index along a new axis is the operand's integer, else 0; nothing but zeros for one out of range.
///
/// # Errors
/// [`Validation::MeaninglessDType`] for what is no integer; [`Validation::AxisOutOfRange`] for a place past the last
/// axis of the result; what `compare` refuses.
pub fn one_hot<B: Builder + ?Sized>(
    builder: &mut B,
    x: &B::Value,
    axis: usize,
    extent: usize,
    dtype: DType,
) -> Result<B::Value> {
    const OP: &str = "one_hot";
    let meta = builder.meta(x);
    check(OP, Accepts::Integer, meta.dtype)?;
    let places = with_axis(OP, &meta.shape, axis, 1)?;
    let mut own = vec![1; places.len()];
    own[axis] = extent;
    // In 64 bits, where no class wraps into another one.
    let (wide, classes) = if meta.dtype == DType::U64 {
        let classes = Tensor::from_vec_col_major(own, (0..extent as u64).collect())?;
        (x.clone(), classes)
    } else {
        let classes = Tensor::from_vec_col_major(own, (0..extent as i64).collect())?;
        (builder.convert(x, DType::I64)?, classes)
    };
    let classes = builder.constant(classes);
    let indices = builder.reshape(&wide, places)?;
    let hits = builder.compare(&indices, &classes, Comparison::Eq)?;
    builder.convert(&hits, dtype)
}

/// The extents with a new axis.
fn with_axis(op: &'static str, shape: &Shape, axis: usize, extent: usize) -> Result<Indices> {
    if axis > shape.rank() {
        return Err(Validation::AxisOutOfRange { axis, shape: shape[..].into() }.of(op));
    }
    let (before, behind) = shape.split_at(axis);
    Ok(before.iter().copied().chain([extent]).chain(behind.iter().copied()).collect())
}

/// The values side by side along a new axis.
///
/// # Errors
/// [`Validation::NoOperands`]; [`Validation::AxisOutOfRange`] for a place past the last axis of the result; what
/// `concatenate` refuses.
pub fn stack<B: Builder + ?Sized>(
    builder: &mut B,
    values: &[B::Value],
    axis: usize,
) -> Result<B::Value> {
    let mut parts = Vec::with_capacity(values.len());
    for value in values {
        let extents = with_axis("stack", &builder.meta(value).shape, axis, 1)?;
        parts.push(builder.reshape(value, extents)?);
    }
    builder.concatenate(&parts, axis)
}

/// The value cut along an axis into parts of these extents.
///
/// # Errors
/// [`Validation::AxisOutOfRange`]; [`Validation::Rule`] if the extents are not all there is.
pub fn split<B: Builder + ?Sized>(
    builder: &mut B,
    x: &B::Value,
    axis: usize,
    extents: &[usize],
) -> Result<Vec<B::Value>> {
    const OP: &str = "split";
    let shape = builder.meta(x).shape;
    let Some(&whole) = shape.get(axis) else {
        return Err(Validation::AxisOutOfRange { axis, shape: shape[..].into() }.of(OP));
    };
    let sum = extents.iter().try_fold(0_usize, |sum, &extent| sum.checked_add(extent));
    if sum != Some(whole) {
        let rule = "the extents of the parts must add up to the extent of the axis";
        return Err(Validation::Rule { rule }.of(OP));
    }
    let mut parts = Vec::with_capacity(extents.len());
    let mut starts = vec![0; shape.rank()];
    let mut limits = shape.to_vec();
    for extent in extents {
        limits[axis] = starts[axis] + extent;
        let strides = vec![1; shape.rank()];
        parts.push(builder.slice(x, &starts[..], &limits[..], strides)?);
        starts[axis] = limits[axis];
    }
    Ok(parts)
}
