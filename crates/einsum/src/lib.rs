//! Einstein summation over any engine, or builder.
//!
//! Subscripts are explicit: `"ij,jk->ik"`. A label has one extent everywhere; repeated in an operand it takes the
//! diagonal, repeated in the output it embeds one, missing in the output it is summed over. `...` stands for the axes
//! without a label; these align right and broadcast. Spaces are ignored. Labels are any characters but white space, comma,
//! dot, parentheses and those of an arrow, or numbers through [`Subscripts::new`].
//!
//! Operands are contracted two at a time along a [`Path`]. This crate plans and calls; every element is computed by the
//! engine that it is given, and nothing here knows which one that is.

#![forbid(unsafe_code)]

mod algebra;
mod binding;
mod calls;
mod error;
mod execution;
mod label;
mod path;
mod plan;
mod subscripts;

pub use error::{Error, Result, Term};
pub use label::Label;
pub use path::Path;
pub use plan::{Cost, Plan, Step};
pub use subscripts::{AsSubscripts, Subscripts};

use tenferro_ops::{Builder, Engine};
use tenferro_tensor::{Operand, Shape, Tensor};

/// Contracts operands by subscripts.
///
/// The operands have one dtype; that of the result is the same. Sums and products follow the engine: integers wrap, f16
/// accumulates in f32 within a step, truth values take "and" for a product and "or" for a sum. Empty operands are fine:
/// a sum over nothing is 0.
///
/// ```
/// use tenferro_einsum::{Path, einsum};
/// use tenferro_ops::reference::Reference;
/// use tenferro_tensor::{AsOperand, Tensor};
///
/// let a = Tensor::from_vec_row_major([2, 2], vec![1.0_f64, 2.0, 3.0, 4.0])?;
/// let b = Tensor::from_vec_row_major([2], vec![10.0_f64, 1.0])?;
/// let operands = [a.as_operand(), b.as_operand()];
/// let product = einsum(&mut Reference, "ij,j->i", &operands, &Path::LeftToRight)?;
/// assert_eq!(product.as_slice::<f64>()?, [12.0, 34.0]);
/// # Ok::<(), tenferro_einsum::Error>(())
/// ```
///
/// # Errors
/// Any [`Error`]: everything about subscripts, extents and path before the engine is called, and what the engine refuses.
pub fn einsum(
    engine: &mut dyn Engine,
    subscripts: &(impl AsSubscripts + ?Sized),
    operands: &[Operand<'_>],
    path: &Path,
) -> Result<Tensor> {
    let shapes: Vec<&Shape> = operands.iter().map(Operand::shape).collect();
    Plan::new(subscripts, &shapes, path)?.run(engine, operands)
}

/// Contracts values of a builder by subscripts: what [`einsum`] is for tensors.
///
/// With variables the result has a derivative; with values of a program the calls are recorded.
///
/// ```
/// use tenferro_ad::{Autodiff, grad};
/// use tenferro_einsum::{Path, build};
/// use tenferro_ops::reference::Reference;
/// use tenferro_tensor::Tensor;
///
/// let ad = Autodiff::new(Reference);
/// let x = ad.constant(Tensor::from_vec_row_major([2, 2], vec![1.0_f64, 2.0, 3.0, 4.0])?);
/// // The trace of x x: its derivative is 2 x transposed.
/// let of_trace = grad(
///     |x| Ok(build(&mut x.autodiff(), "ij,ji->", &[x.clone(), x.clone()], &Path::LeftToRight)?),
///     &x,
/// )?;
/// assert_eq!(of_trace.value().to_vec_row_major::<f64>()?, [2.0, 6.0, 4.0, 8.0]);
/// # Ok::<(), tenferro_tensor::Error>(())
/// ```
///
/// # Errors
/// As [`einsum`].
pub fn build<B: Builder + ?Sized>(
    builder: &mut B,
    subscripts: &(impl AsSubscripts + ?Sized),
    operands: &[B::Value],
    path: &Path,
) -> Result<B::Value> {
    let shapes: Vec<Shape> = operands.iter().map(|operand| builder.meta(operand).shape).collect();
    Plan::new(subscripts, &shapes.iter().collect::<Vec<_>>(), path)?.build(builder, operands)
}
