//! Sums and products in a wider dtype than that of their terms.

use tenferro_tensor::{DType, Indices, KeepAxes, Result, Sweep};

use crate::{Build, Builder};

/// The sum over axes, in another dtype: 300 ones of u8 make 300 in u32, and 44 in their own.
///
/// # Errors
/// What `convert` and `sum` refuse.
pub fn sum_as<B: Builder + ?Sized>(
    builder: &mut B,
    x: &B::Value,
    dtype: DType,
    axes: Indices,
    keep: KeepAxes,
) -> Result<B::Value> {
    let wide = builder.convert(x, dtype)?;
    builder.sum(&wide, axes, keep)
}

/// The product over axes, in another dtype.
///
/// # Errors
/// What `convert` and `prod` refuse.
pub fn prod_as<B: Builder + ?Sized>(
    builder: &mut B,
    x: &B::Value,
    dtype: DType,
    axes: Indices,
    keep: KeepAxes,
) -> Result<B::Value> {
    let wide = builder.convert(x, dtype)?;
    builder.prod(&wide, axes, keep)
}

/// The sums so far along an axis in `dtype`.
///
/// # Errors
/// What `cumsum` refuses.
pub fn cumsum_as<B: Builder + ?Sized>(
    builder: &mut B,
    x: &B::Value,
    dtype: DType,
    axis: usize,
    sweep: Sweep,
) -> Result<B::Value> {
    let wide = builder.convert(x, dtype)?;
    builder.cumsum(&wide, axis, sweep)
}

/// The products so far along an axis in `dtype`.
///
/// # Errors
/// What `cumprod` refuses.
pub fn cumprod_as<B: Builder + ?Sized>(
    builder: &mut B,
    x: &B::Value,
    dtype: DType,
    axis: usize,
    sweep: Sweep,
) -> Result<B::Value> {
    let wide = builder.convert(x, dtype)?;
    builder.cumprod(&wide, axis, sweep)
}
