//! When a result agrees with the reference's: to the bit, or within a bound that follows from what is summed.

use tenferro_ops::reference::Reference;
use tenferro_tensor::{
    AsOperand, Combiner, Complex64, DType, Dot, Error, Operand, Primitive, Reduction, Result, Scan,
    Tensor, TensorElementwise, Vocabulary, Windowed,
};

use super::samples::{close, complex, epsilon, same};

/// How a row gathers many elements into one, so that their order counts for floats; `None` if it does not.
pub(super) fn gathers(primitive: &Primitive) -> Option<Combiner> {
    match primitive {
        Primitive::Reduction(row) => match row {
            Reduction::Sum { .. } | Reduction::SumOfSquares { .. } => Some(Combiner::Sum),
            Reduction::Prod { .. } => Some(Combiner::Prod),
            Reduction::Reduce { combiner, .. } => Some(*combiner),
            _ => None,
        },
        Primitive::Scan(Scan::Cumsum { .. }) | Primitive::Dot(_) => Some(Combiner::Sum),
        Primitive::Scan(Scan::Cumprod { .. }) => Some(Combiner::Prod),
        Primitive::Windowed(Windowed::ReduceWindow { combiner, .. }) => Some(*combiner),
        _ => None,
    }
}

/// How many elements a row gathers into one.
fn terms(primitive: &Primitive, inputs: &[Operand<'_>]) -> usize {
    let over = |axes: &[usize]| axes.iter().map(|&axis| inputs[0].shape()[axis]).product();
    match primitive {
        Primitive::Reduction(
            Reduction::Sum { axes, .. }
            | Reduction::Prod { axes, .. }
            | Reduction::SumOfSquares { axes, .. }
            | Reduction::Reduce { axes, .. },
        ) => over(axes),
        Primitive::Scan(Scan::Cumsum { axis, .. } | Scan::Cumprod { axis, .. }) => over(&[*axis]),
        Primitive::Windowed(Windowed::ReduceWindow { window, .. }) => {
            window.iter().map(|axis| axis.extent).product()
        }
        Primitive::Dot(Dot::DotGeneral { contraction }) => over(&contraction.lhs_contracting),
        Primitive::Dot(Dot::Convolve { .. }) => inputs[1].shape().elements(),
        other => unreachable!("{other:?} gathers nothing"),
    }
}

/// How far a result may be from the reference's, element by element; `None` if it must be equal.
pub(super) fn bounds(
    primitive: &Primitive,
    inputs: &[Operand<'_>],
    result: &Tensor,
) -> Option<Vec<f64>> {
    let dtype = result.dtype();
    if !dtype.is_inexact() {
        return None;
    }
    if matches!(primitive, Primitive::Analytic(_)) && !dtype.is_complex() {
        let bound = |x: &Complex64| 4.0 * (epsilon(dtype) * x.re.abs() + least_positive(dtype));
        return Some(complex(result).iter().map(bound).collect());
    }
    let Some(combiner @ (Combiner::Sum | Combiner::Prod)) = gathers(primitive) else { return None };
    let on_magnitudes = |least: f64| {
        let operands: Vec<Tensor> = inputs.iter().map(|x| magnitudes(x, least)).collect();
        let operands: Vec<Operand<'_>> = operands.iter().map(AsOperand::as_operand).collect();
        complex(&Reference.apply(primitive, &operands).unwrap())
    };
    let factor = 4.0 * (terms(primitive, inputs) + 4) as f64 * epsilon(dtype);
    let bounds = on_magnitudes(0.0).into_iter().map(|magnitude| factor * magnitude.norm());
    let least = least_normal(dtype);
    if combiner == Combiner::Sum {
        return Some(bounds.map(|bound| bound + least).collect());
    }
    // Of some factors the product of the large ones is the largest in any order. While it is in the range, digits are
    // lost where a product of small ones is below the normal numbers, and are multiplied by no more than that. Beyond,
    // one order may have infinity, not a number or zero where another one has a number.
    let bound = |(bound, largest): (f64, Complex64)| match largest.norm() {
        largest if largest < greatest(dtype) / 8.0 => bound + least * largest,
        _ => f64::INFINITY,
    };
    Some(bounds.zip(on_magnitudes(1.0)).map(bound).collect())
}

/// The least positive number of a real float.
fn least_positive(dtype: DType) -> f64 {
    match dtype {
        DType::F64 => f64::from_bits(1),
        DType::F32 => f64::from(f32::from_bits(1)),
        DType::F16 => 2.0_f64.powi(-24),
        _ => 2.0_f64.powi(-133),
    }
}

/// The least normal number of a real float or of the parts of a complex one.
fn least_normal(dtype: DType) -> f64 {
    match dtype.real() {
        DType::F64 => f64::MIN_POSITIVE,
        DType::F16 => 2.0_f64.powi(-14),
        _ => f64::from(f32::MIN_POSITIVE),
    }
}

/// The greatest number of a real float or of the parts of a complex one.
fn greatest(dtype: DType) -> f64 {
    match dtype.real() {
        DType::F64 => f64::MAX,
        DType::F16 => 65504.0,
        _ => f64::from(f32::MAX),
    }
}

/// The magnitudes of elements, as f64, those below `least` replaced by it.
fn magnitudes(operand: &Operand<'_>, least: f64) -> Tensor {
    let wide = Reference.convert(&Reference.abs(operand).unwrap(), DType::F64).unwrap();
    let least = Tensor::full([], least).unwrap();
    Reference.maximum(&wide, &least).unwrap()
}

/// Compares what an engine and the reference answered.
pub(super) fn agree(
    primitive: &Primitive,
    inputs: &[Operand<'_>],
    answer: &Result<Tensor>,
    expected: &Result<Tensor>,
) -> std::result::Result<(), String> {
    let agreed = match (answer, expected) {
        (Ok(answer), Ok(expected)) => match bounds(primitive, inputs, expected) {
            None => same(answer, expected),
            Some(bounds) => close(answer, expected, &bounds),
        },
        (Err(answer), Err(expected)) => same_error(answer, expected),
        _ => false,
    };
    if agreed {
        return Ok(());
    }
    let layouts: Vec<_> = inputs.iter().map(|x| (x.shape(), x.strides())).collect();
    Err(format!("{primitive:?} of {layouts:?}: {answer:?}, not {expected:?}"))
}

pub(super) fn same_error(lhs: &Error, rhs: &Error) -> bool {
    std::mem::discriminant(lhs) == std::mem::discriminant(rhs) && lhs.to_string() == rhs.to_string()
}
