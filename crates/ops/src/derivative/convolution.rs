//! The transposes of a convolution: by its operand and by its kernel, each a convolution again.

use smallvec::SmallVec;
use tenferro_tensor::{Convolution, ConvolutionAxis, Indices, Result};

use super::{Cotangents, Place, conjugate, cotangents, not_linear, zeros};
use crate::{Build, Builder, Meta};

/// The cotangent of the operand that is linear.
pub(super) fn transpose<B: Builder + ?Sized>(
    b: &mut B,
    convolution: &Convolution,
    operands: &[Place<'_, B::Value>],
    ct: &B::Value,
) -> Result<Cotangents<B::Value>> {
    match operands {
        [Place::Linear(x), Place::Known(kernel)] => {
            let kernel_meta = b.meta(kernel);
            let back = if is_empty(b, ct, &[x, &kernel_meta]) {
                zeros(b, x)?
            } else {
                by_operand(b, convolution, x, kernel, ct)?
            };
            Ok(cotangents([Some(back), None]))
        }
        [Place::Known(x), Place::Linear(kernel)] => {
            let x_meta = b.meta(x);
            let back = if is_empty(b, ct, &[&x_meta, kernel]) {
                zeros(b, kernel)?
            } else {
                by_kernel(b, convolution, x, kernel, ct)?
            };
            Ok(cotangents([None, Some(back)]))
        }
        _ => Err(not_linear("convolve")),
    }
}

fn is_empty<B: Builder + ?Sized>(b: &B, ct: &B::Value, metas: &[&Meta]) -> bool {
    b.meta(ct).shape.elements() == 0 || metas.iter().any(|meta| meta.shape.elements() == 0)
}

/// The length of an axis with `dilation - 1` zeros between neighbours.
fn dilated(extent: usize, dilation: usize) -> isize {
    ((extent - 1) * dilation + 1).cast_signed()
}

/// The cotangent, spread by the stride, under the kernel turned around with results and channels swapped.
fn by_operand<B: Builder + ?Sized>(
    b: &mut B,
    convolution: &Convolution,
    x: &Meta,
    kernel: &B::Value,
    ct: &B::Value,
) -> Result<B::Value> {
    let (kernel_shape, ct_shape) = (b.meta(kernel).shape, b.meta(ct).shape);
    let turned = swapped(b, convolution, kernel)?;
    let axes: Vec<ConvolutionAxis> = convolution
        .axes
        .iter()
        .enumerate()
        .map(|(axis, moves)| {
            let reach = dilated(kernel_shape[axis], moves.rhs_dilation) - 1;
            let low = reach - moves.low;
            let padded = dilated(x.shape[axis], moves.lhs_dilation) + reach;
            let high = padded - low - dilated(ct_shape[axis], moves.stride);
            ConvolutionAxis {
                stride: moves.lhs_dilation,
                low,
                high,
                lhs_dilation: moves.stride,
                rhs_dilation: moves.rhs_dilation,
            }
        })
        .collect();
    b.convolve(ct, &turned, Convolution { axes, groups: convolution.groups })
}

/// The kernel with its spatial axes reversed, and channels and results swapped within each group.
fn swapped<B: Builder + ?Sized>(
    b: &mut B,
    convolution: &Convolution,
    kernel: &B::Value,
) -> Result<B::Value> {
    let rank = convolution.axes.len();
    let shape = b.meta(kernel).shape;
    let (channels, results) = (shape[rank], shape[rank + 1] / convolution.groups);
    let spatial: Indices = (0..rank).collect();
    let kernel = conjugate(b, kernel)?;
    let kernel = b.reverse(&kernel, spatial)?;
    let extents = |last: &[usize]| {
        shape[..rank].iter().chain(last).copied().collect::<SmallVec<[usize; 6]>>()
    };
    let apart = b.reshape(&kernel, &extents(&[channels, results, convolution.groups])[..])?;
    let order: Indices = (0..rank).chain([rank + 1, rank, rank + 2]).collect();
    let apart = b.transpose(&apart, order)?;
    b.reshape(&apart, &extents(&[results, channels * convolution.groups])[..])
}

/// The operand under the cotangent: batch and channels swap their parts, group by group.
fn by_kernel<B: Builder + ?Sized>(
    b: &mut B,
    convolution: &Convolution,
    x: &B::Value,
    kernel: &Meta,
    ct: &B::Value,
) -> Result<B::Value> {
    let rank = convolution.axes.len();
    let (x_shape, ct_shape) = (b.meta(x).shape, b.meta(ct).shape);
    let axes: Vec<ConvolutionAxis> = convolution
        .axes
        .iter()
        .enumerate()
        .map(|(axis, moves)| {
            let padded = dilated(kernel.shape[axis], moves.rhs_dilation)
                + dilated(ct_shape[axis], moves.stride)
                - 1;
            let high = padded - moves.low - dilated(x_shape[axis], moves.lhs_dilation);
            ConvolutionAxis {
                stride: moves.rhs_dilation,
                low: moves.low,
                high,
                lhs_dilation: moves.lhs_dilation,
                rhs_dilation: moves.stride,
            }
        })
        .collect();
    let x = conjugate(b, x)?;
    let batch_first: Indices = (0..rank).chain([rank + 1, rank]).collect();
    let mut groups = Vec::with_capacity(convolution.groups);
    for group in 0..convolution.groups {
        let x = part(b, &x, rank, group, convolution.groups)?;
        let ct = part(b, ct, rank, group, convolution.groups)?;
        // Channels number the batch now, and the batch is summed over.
        let x = b.transpose(&x, batch_first.clone())?;
        let ct = b.transpose(&ct, batch_first.clone())?;
        let product = b.convolve(&x, &ct, axes.clone())?;
        groups.push(b.transpose(&product, batch_first.clone())?);
    }
    if let [only] = &groups[..] { Ok(only.clone()) } else { b.concatenate(&groups, rank + 1) }
}

/// One of `parts` equal runs along an axis.
fn part<B: Builder + ?Sized>(
    b: &mut B,
    x: &B::Value,
    axis: usize,
    which: usize,
    parts: usize,
) -> Result<B::Value> {
    if parts == 1 {
        return Ok(x.clone());
    }
    let shape = b.meta(x).shape;
    let length = shape[axis] / parts;
    let mut starts = SmallVec::<[usize; 6]>::from_elem(0, shape.rank());
    let mut limits = SmallVec::<[usize; 6]>::from_slice(&shape);
    (starts[axis], limits[axis]) = (which * length, (which + 1) * length);
    b.slice(x, &starts[..], &limits[..], vec![1; shape.rank()])
}
