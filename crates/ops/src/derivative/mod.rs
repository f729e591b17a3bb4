//! What the primitives' derivatives are, said once for eager autodiff and for traced programs.
//!
//! A rule is written with primitives over a [`Builder`]. [`jvp`] says how a small change of the operands changes the
//! result; what it does to tangents is linear, and [`transpose`] turns a linear primitive around. A vector-Jacobian product is
//! the one, recorded, then the other, backwards; a derivative of any order is rules applied to rules. A file a family,
//! each an exhaustive match: a new row does not compile without its rule, or without saying that it has none.
//!
//! Complex numbers are pairs of reals here. The inner product is the real part of `conj(a) * b`, so that the transpose of a
//! multiplication by `c` multiplies by `conj(c)`, and the gradient of a real loss points along steepest ascent in the real
//! and imaginary parts.

mod analytic;
mod convolution;
mod custom;
mod dot;
mod elementwise;
mod indexing;
mod reduction;
mod scan;
mod sorting;
mod structural;
mod windowed;

pub use custom::{Handle, Steps, compose, custom_jvp};

use std::sync::OnceLock;

use smallvec::SmallVec;
use tenferro_tensor::{
    Accepts, DType, Error, Factor, Indices, KeepAxes, Primitive, Result, Scalar, Shape, Tensor,
    Validation, dispatch,
};

use crate::{Build, Builder, Meta};

/// An operand of a linear primitive, as [`transpose`] sees it.
#[derive(Clone, Copy, Debug)]
pub enum Place<'v, V> {
    /// A value that does not depend on what is differentiated.
    Known(&'v V),
    /// The place of a tangent, of which only dtype and shape are known.
    Linear(&'v Meta),
}

impl<V> Place<'_, V> {
    /// The dtype and shape of the operand.
    fn meta<B: Builder<Value = V> + ?Sized>(&self, builder: &B) -> Meta {
        match self {
            Place::Known(value) => builder.meta(value),
            Place::Linear(meta) => (*meta).clone(),
        }
    }
}

/// What goes into a rule: the operands, the result, and the tangents that operands have.
pub struct Point<'v, V> {
    /// The operands.
    pub inputs: &'v [&'v V],
    /// The result of the primitive.
    pub output: &'v V,
    /// The tangent of each operand; `None` where it has none, which is not the same as zeros.
    pub tangents: &'v [Option<&'v V>],
}

/// The cotangents of a linear primitive's operands; `None` for known ones.
pub type Cotangents<V> = SmallVec<[Option<V>; 3]>;

/// These cotangents, one by one into their places: a list that is collected is moved.
fn cotangents<V, const N: usize>(each: [Option<V>; N]) -> Cotangents<V> {
    let mut cotangents = Cotangents::new();
    for cotangent in each {
        cotangents.push(cotangent);
    }
    cotangents
}

/// The tangent of a primitive's result, which is linear in the operands' tangents.
///
/// `None` if the result does not depend on them smoothly: where no operand has a tangent, where the result is not a
/// float, and for functions that are constant but for jumps, such as `sign`.
///
/// # Errors
/// [`Error::Unsupported`] in the name of a primitive that has no rule; what the builder refuses.
pub fn jvp<B: Builder + ?Sized>(
    builder: &mut B,
    primitive: &Primitive,
    point: &Point<'_, B::Value>,
) -> Result<Option<B::Value>> {
    if point.tangents.iter().all(Option::is_none) || !builder.meta(point.output).dtype.is_inexact()
    {
        return Ok(None);
    }
    match primitive {
        Primitive::Elementwise(row) => elementwise::jvp(builder, row, point),
        Primitive::Analytic(row) => analytic::jvp(builder, row, point).map(Some),
        Primitive::Reduction(row) => reduction::jvp(builder, row, point),
        Primitive::Structural(row) => structural::jvp(builder, row, point).map(Some),
        Primitive::Indexing(row) => indexing::jvp(builder, row, point).map(Some),
        Primitive::Dot(row) => dot::jvp(builder, row, point).map(Some),
        Primitive::Scan(row) => scan::jvp(builder, row, point).map(Some),
        Primitive::Windowed(row) => windowed::jvp(builder, row, point),
        Primitive::Sorting(row) => sorting::jvp(builder, row, point),
    }
}

/// The cotangents of a linear primitive's operands, given that of its result.
///
/// # Errors
/// [`Error::Unsupported`] in the name of a primitive that is not linear in the operands marked so; what the builder
/// refuses.
pub fn transpose<B: Builder + ?Sized>(
    builder: &mut B,
    primitive: &Primitive,
    operands: &[Place<'_, B::Value>],
    cotangent: &B::Value,
) -> Result<Cotangents<B::Value>> {
    let mut cotangents = transpose_narrow(builder, primitive, operands, cotangent)?;
    for (operand, cotangent) in operands.iter().zip(&mut cotangents) {
        if let (Place::Linear(meta), Some(narrow)) = (operand, cotangent.take()) {
            *cotangent = Some(spread(builder, narrow, &meta.shape)?);
        }
    }
    Ok(cotangents)
}

/// As [`transpose`], but a cotangent that is the same along axes may have extent 1 there, or fewer axes: it stands for
/// what it stretches to.
///
/// # Errors
/// As [`transpose`].
pub fn transpose_narrow<B: Builder + ?Sized>(
    builder: &mut B,
    primitive: &Primitive,
    operands: &[Place<'_, B::Value>],
    cotangent: &B::Value,
) -> Result<Cotangents<B::Value>> {
    match primitive {
        Primitive::Elementwise(row) => elementwise::transpose(builder, row, operands, cotangent),
        Primitive::Analytic(row) => Err(not_linear(Primitive::from(row.clone()).name())),
        Primitive::Reduction(row) => reduction::transpose(builder, row, operands, cotangent),
        Primitive::Structural(row) => structural::transpose(builder, row, operands, cotangent),
        Primitive::Indexing(row) => indexing::transpose(builder, row, operands, cotangent),
        Primitive::Dot(row) => dot::transpose(builder, row, operands, cotangent),
        Primitive::Scan(row) => scan::transpose(builder, row, operands, cotangent),
        Primitive::Windowed(row) => windowed::transpose(builder, row, operands, cotangent),
        Primitive::Sorting(row) => Err(not_linear(Primitive::from(row.clone()).name())),
    }
}

/// The refusal to transpose what is not linear, which no rule's tangent contains.
fn not_linear(op: &'static str) -> Error {
    let reason = "it is not linear in these operands; derivative rules may apply only linear operations to tangents".into();
    Error::Unsupported { op, reason }
}

/// A number without axes, of a dtype that has tangents. Zeros and ones of the common dtypes, which most rules and every
/// gradient ask for, exist once.
///
/// # Errors
/// [`Validation::MeaninglessDType`] for a dtype without tangents; [`Error::OutOfMemory`].
pub fn scalar(dtype: DType, value: f64) -> Result<Tensor> {
    static COMMON: [OnceLock<Tensor>; 4] = [const { OnceLock::new() }; 4];
    let number = match (dtype, value.to_bits()) {
        (DType::F64, ZERO) => 0,
        (DType::F64, ONE) => 1,
        (DType::F32, ZERO) => 2,
        (DType::F32, ONE) => 3,
        _ => return fresh(dtype, value),
    };
    if let Some(tensor) = COMMON[number].get() {
        return Ok(tensor.clone());
    }
    let tensor = fresh(dtype, value)?;
    Ok(COMMON[number].get_or_init(|| tensor).clone())
}

const ZERO: u64 = 0.0_f64.to_bits();
const ONE: u64 = 1.0_f64.to_bits();

fn fresh(dtype: DType, value: f64) -> Result<Tensor> {
    let factor = Factor::Real(value);
    dispatch!(dtype, inexact T => {
        Tensor::scalar(T::from_factor(factor).expect("invariant: floats round"))
    }, else {
        let expected = Accepts::Inexact.description();
        Err(Validation::MeaninglessDType { dtype, expected }.of("scalar"))
    })
}

fn number<B: Builder + ?Sized>(builder: &mut B, dtype: DType, value: f64) -> Result<B::Value> {
    Ok(builder.constant(scalar(dtype, value)?))
}

/// `x` times a number.
fn scaled<B: Builder + ?Sized>(builder: &mut B, x: &B::Value, factor: f64) -> Result<B::Value> {
    let factor = number(builder, builder.meta(x).dtype, factor)?;
    builder.mul(x, &factor)
}

/// A number minus `x`.
fn complement<B: Builder + ?Sized>(builder: &mut B, from: f64, x: &B::Value) -> Result<B::Value> {
    let from = number(builder, builder.meta(x).dtype, from)?;
    builder.sub(&from, x)
}

/// `x` plus a number.
fn shifted<B: Builder + ?Sized>(builder: &mut B, x: &B::Value, by: f64) -> Result<B::Value> {
    let by = number(builder, builder.meta(x).dtype, by)?;
    builder.add(x, &by)
}

/// Zeros of a dtype and shape, one number stretched.
fn zeros<B: Builder + ?Sized>(builder: &mut B, meta: &Meta) -> Result<B::Value> {
    let zero = number(builder, meta.dtype, 0.0)?;
    builder.stretch(&zero, &meta.shape)
}

/// The sum of what there is.
fn sum_of<B: Builder + ?Sized>(
    builder: &mut B,
    terms: [Option<B::Value>; 2],
) -> Result<Option<B::Value>> {
    match terms {
        [Some(lhs), Some(rhs)] => builder.add(&lhs, &rhs).map(Some),
        [lhs, rhs] => Ok(lhs.or(rhs)),
    }
}

/// A tangent in the shape of the result to which its operand was broadcast.
fn spread<B: Builder + ?Sized>(builder: &mut B, x: B::Value, shape: &Shape) -> Result<B::Value> {
    if builder.is_of_shape(&x, shape) { Ok(x) } else { builder.stretch(&x, shape) }
}

/// The transpose of broadcasting: a cotangent summed over the axes along which `shape` was stretched.
fn gathered<B: Builder + ?Sized>(builder: &mut B, x: B::Value, shape: &Shape) -> Result<B::Value> {
    if builder.is_of_shape(&x, shape) {
        return Ok(x);
    }
    let wide = builder.meta(&x).shape;
    let missing = wide.rank() - shape.rank();
    let stretched = |axis: &usize| *axis < missing || shape[axis - missing] != wide[*axis];
    let axes: Indices = (0..wide.rank()).filter(stretched).collect();
    let summed = builder.sum(&x, axes, KeepAxes::Drop)?;
    if builder.is_of_shape(&summed, shape) {
        Ok(summed)
    } else {
        builder.reshape(&summed, &shape[..])
    }
}

/// The conjugate of a value, which of a real one is itself.
fn conjugate<B: Builder + ?Sized>(builder: &mut B, x: &B::Value) -> Result<B::Value> {
    if builder.meta(x).dtype.is_complex() { builder.conj(x) } else { Ok(x.clone()) }
}
