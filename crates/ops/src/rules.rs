//! What each primitive accepts, and the dtype and shape of its result.
//!
//! A file a family, each an exhaustive match over the family's rows: a new row does not compile without its rule. Rules
//! look at dtypes and shapes only; integer division by zero and the like are found while computing.

mod analytic;
mod convolution;
mod dot;
mod elementwise;
mod gather;
mod indexing;
mod reduction;
mod scan;
mod sorting;
mod structural;
mod window;

pub use reduction::reduced_axes;

use smallvec::SmallVec;
use tenferro_tensor::{
    Accepts, Contraction, DType, Primitive, Result, Shape, Structural, Validation,
};

use crate::{Described, Meta, meta::Facts};

/// What a rule says, before the operation's name is added to a refusal.
type Checked<T> = std::result::Result<T, Validation>;

/// Extents under construction; inline for the usual ranks.
type Extents = SmallVec<[usize; 6]>;

/// The dtype and shape of a primitive's result for these operands.
///
/// Runs for every operation: it allocates nothing for ranks up to 6, and elementwise operands of one dtype and shape,
/// or with a scalar on the right, take a short way.
///
/// # Errors
/// [`Error::Validation`](tenferro_tensor::Error::Validation) in the primitive's name, saying what does not fit.
///
/// ```
/// use tenferro_ops::{Meta, infer};
/// use tenferro_tensor::{DType, Elementwise, Shape};
///
/// let row = Meta { dtype: DType::F64, shape: Shape::new(&[1, 3])? };
/// let column = Meta { dtype: DType::F64, shape: Shape::new(&[2, 1])? };
/// let sum = infer(&Elementwise::Add.into(), &[row, column]).unwrap();
/// assert_eq!(&sum.shape[..], &[2, 3]);
/// # Ok::<(), tenferro_tensor::Validation>(())
/// ```
#[inline]
pub fn infer<I: Described>(primitive: &Primitive, inputs: &[I]) -> Result<Meta> {
    if is_like_first(primitive, inputs) {
        Ok(Meta::of(&inputs[0]))
    } else {
        infer_slowly(primitive, inputs)
    }
}

/// Whether the result obviously has the dtype and shape of the first operand: an elementwise operation of operands of
/// one dtype and shape, or with a scalar on the right. `false` says nothing; ask [`infer`].
#[inline]
pub fn is_like_first<I: Described>(primitive: &Primitive, inputs: &[I]) -> bool {
    let Some((first, rest)) = inputs.split_first() else { return false };
    keeps_meta(primitive)
        && primitive.arity() == Some(inputs.len())
        && primitive.accepts().contains(first.dtype())
        && rest.iter().all(|x| x.dtype() == first.dtype() && stretches_at_once(x, first))
}

/// The operand that obviously has the dtype and shape of the result: as [`is_like_first`], and the right one of two if the
/// left one is a scalar. `None` says nothing.
#[inline]
pub fn result_like<I: Described>(primitive: &Primitive, inputs: &[I]) -> Option<usize> {
    if is_like_first(primitive, inputs) {
        return Some(0);
    }
    let [first, second] = inputs else { return None };
    let is_like_second = first.shape().rank() == 0
        && first.dtype() == second.dtype()
        && keeps_meta(primitive)
        && primitive.arity() == Some(2)
        && primitive.accepts().contains(second.dtype());
    is_like_second.then_some(1)
}

/// Whether an operand obviously broadcasts to another's shape: it has the same, or is a scalar.
#[inline]
fn stretches_at_once<I: Described>(operand: &I, to: &I) -> bool {
    operand.shape() == to.shape() || operand.shape().rank() == 0
}

/// Whether operands of one dtype and shape have a result of the same.
#[inline]
fn keeps_meta(primitive: &Primitive) -> bool {
    match primitive {
        Primitive::Elementwise(row) => elementwise::keeps_dtype(row),
        Primitive::Analytic(_) => true,
        Primitive::Reduction(_)
        | Primitive::Scan(_)
        | Primitive::Windowed(_)
        | Primitive::Structural(_)
        | Primitive::Indexing(_)
        | Primitive::Sorting(_)
        | Primitive::Dot(_) => false,
    }
}

#[inline(never)]
fn infer_slowly<I: Described>(primitive: &Primitive, inputs: &[I]) -> Result<Meta> {
    let facts: SmallVec<[Facts<'_>; 4]> = inputs.iter().map(Facts::of).collect();
    checked(primitive, &facts).map_err(|problem| problem.of(primitive.name()))
}

/// The dtype and shape of a contraction's result.
///
/// # Errors
/// As [`infer`] for `dot_general`.
pub fn infer_contraction(
    contraction: &Contraction,
    lhs: &impl Described,
    rhs: &impl Described,
) -> Result<Meta> {
    let inputs = [Facts::of(lhs), Facts::of(rhs)];
    same_dtype(&inputs)
        .and_then(|dtype| accepted(Accepts::Number, dtype))
        .and_then(|()| dot::contracted(contraction, &inputs))
        .map_err(|problem| problem.of("dot_general"))
}

/// The general way: arity, then dtypes, then shapes.
fn checked(primitive: &Primitive, inputs: &[Facts<'_>]) -> Checked<Meta> {
    match primitive.arity() {
        None if inputs.is_empty() => return Err(Validation::NoOperands),
        Some(expected) if expected != inputs.len() => {
            let actual = inputs.len();
            return Err(Validation::WrongLength { what: "operands", expected, actual });
        }
        _ => {}
    }
    let judged = match primitive {
        // The predicate is bool whatever is selected.
        Primitive::Elementwise(row) => elementwise::judged_operands(row, inputs)?,
        Primitive::Indexing(row) => indexing::judged_operands(row, inputs)?,
        _ => inputs,
    };
    let dtype = match primitive {
        Primitive::Structural(Structural::Iota { dtype, .. }) => *dtype,
        _ => same_dtype(judged)?,
    };
    accepted(primitive.accepts(), dtype)?;
    match primitive {
        Primitive::Elementwise(row) => elementwise::rule(row, inputs),
        Primitive::Analytic(_) => analytic::rule(inputs),
        Primitive::Reduction(row) => reduction::rule(row, inputs),
        Primitive::Scan(row) => scan::rule(row, inputs),
        Primitive::Windowed(row) => window::rule(row, inputs),
        Primitive::Structural(row) => structural::rule(row, inputs),
        Primitive::Indexing(row) => indexing::rule(row, inputs),
        Primitive::Sorting(row) => sorting::rule(row, inputs),
        Primitive::Dot(row) => dot::rule(row, inputs),
    }
}

/// The one dtype of all operands; there is no silent promotion.
fn same_dtype(inputs: &[Facts<'_>]) -> Checked<DType> {
    let lhs = inputs[0].dtype;
    match inputs.iter().find(|input| input.dtype != lhs) {
        Some(other) => Err(Validation::DTypeMismatch { lhs, rhs: other.dtype }),
        None => Ok(lhs),
    }
}

fn accepted(accepts: Accepts, dtype: DType) -> Checked<()> {
    if accepts.contains(dtype) {
        Ok(())
    } else {
        Err(Validation::MeaninglessDType { dtype, expected: accepts.description() })
    }
}

/// The shape to which all operands broadcast.
fn broadcast(inputs: &[Facts<'_>]) -> Checked<Shape> {
    let (first, rest) = inputs.split_first().expect("invariant: the arity was checked");
    rest.iter().try_fold(first.shape.clone(), |shape, input| {
        if shape == *input.shape { Ok(shape) } else { shape.broadcast(input.shape) }
    })
}

fn check_length(what: &'static str, expected: usize, actual: usize) -> Checked<()> {
    if expected == actual {
        Ok(())
    } else {
        Err(Validation::WrongLength { what, expected, actual })
    }
}

/// Checks that each axis exists in `shape` and none is named twice.
fn check_axes(axes: &[usize], shape: &[usize]) -> Checked<()> {
    for (place, &axis) in axes.iter().enumerate() {
        if axis >= shape.len() {
            return Err(Validation::AxisOutOfRange { axis, shape: shape.into() });
        }
        if axes[..place].contains(&axis) {
            return Err(Validation::DuplicateAxis { axis });
        }
    }
    Ok(())
}
