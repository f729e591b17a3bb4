//! The mean over axes.

use tenferro_tensor::{
    Accepts, DType, Factor, Indices, KeepAxes, Result, Scalar, Tensor, Validation, dispatch,
};

use crate::{Build, Builder};

/// The mean over axes. NaN over nothing; f16 and bf16 are summed and divided in f32.
///
/// # Errors
/// [`Validation::MeaninglessDType`] for integers and bool, which `convert` makes floats of; what `sum` refuses.
pub fn mean<B: Builder + ?Sized>(
    builder: &mut B,
    x: &B::Value,
    axes: Indices,
    keep: KeepAxes,
) -> Result<B::Value> {
    let meta = builder.meta(x);
    let dtype = meta.dtype;
    if !dtype.is_inexact() {
        let expected = Accepts::Inexact.description();
        return Err(Validation::MeaninglessDType { dtype, expected }.of("mean"));
    }
    // Axes that do not exist are refused by the sum.
    let count = axes.iter().filter_map(|&axis| meta.shape.get(axis)).product();
    match dtype {
        // The sum itself may not fit where the mean does.
        DType::F16 | DType::BF16 => {
            let wide = builder.convert(x, DType::F32)?;
            let sum = builder.sum(&wide, axes, keep)?;
            let count = builder.constant(number(DType::F32, count)?);
            let mean = builder.div(&sum, &count)?;
            builder.convert(&mean, dtype)
        }
        _ => {
            let sum = builder.sum(x, axes, keep)?;
            let count = builder.constant(number(dtype, count)?);
            builder.div(&sum, &count)
        }
    }
}

/// A number as a tensor without axes.
fn number(dtype: DType, value: usize) -> Result<Tensor> {
    let factor = Factor::Real(value as f64);
    dispatch!(dtype, inexact T => {
        Tensor::scalar(T::from_factor(factor).expect("invariant: floats round"))
    }, else Err(Validation::MeaninglessDType { dtype, expected: Accepts::Inexact.description() }.of("mean")))
}
