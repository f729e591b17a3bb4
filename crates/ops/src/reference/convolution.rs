//! Convolutions: each result visits every element of its kernel.

use tenferro_tensor::{Convolution, ConvolutionAxis, Result, Shape, Tensor};

use super::{Call, RunningIndex, element};
use crate::scalar::Number;

pub(super) fn convolve<T: Number>(convolution: &Convolution, call: &Call<'_>) -> Result<Tensor> {
    let (x, kernel) = (call.inputs[0].view(), call.inputs[1].view());
    let spatial = convolution.axes.len();
    let (channels, results) = (kernel.shape()[spatial], kernel.shape()[spatial + 1]);
    // Of a kernel without results, its window need not be walked, nor fit into a shape.
    let window = if call.result.shape.contains(&0) {
        Shape::default()
    } else {
        Shape::new(&kernel.shape()[..=spatial]).map_err(|problem| problem.of(call.op))?
    };
    let (mut source, mut tap) = (vec![0; spatial + 2], vec![0; spatial + 2]);
    call.filled_by_index(|index| {
        let result = index[spatial];
        let group = result / (results / convolution.groups);
        source[spatial + 1] = index[spatial + 1];
        tap[spatial + 1] = result;
        let mut within = RunningIndex::of(&window);
        let mut sum = T::Wide::default();
        for _ in 0..window.elements() {
            let inside = (0..spatial).all(|axis| {
                let at = met(index[axis], within.0[axis], &convolution.axes[axis]);
                source[axis] = at.unwrap_or(usize::MAX);
                source[axis] < x.shape()[axis]
            });
            source[spatial] = group * channels + within.0[spatial];
            tap[..=spatial].copy_from_slice(&within.0);
            // Padding is zeros, which a kernel's NaN makes NaN.
            let lhs = if inside { element::<T>(&x, &source) } else { T::default() };
            sum = sum.add(lhs.widen().mul(element::<T>(&kernel, &tap).widen()));
            within.advance(&window);
        }
        T::narrow(sum)
    })
}

/// The element of the operand that element `tap` of the kernel meets at place `at`; `None` for padding before the
/// first, and for the zeros between neighbours.
fn met(at: usize, tap: usize, axis: &ConvolutionAxis) -> Option<usize> {
    let dilated = (at * axis.stride + tap * axis.rhs_dilation) as i128 - axis.low as i128;
    let dilated = usize::try_from(dilated).ok()?;
    dilated.is_multiple_of(axis.lhs_dilation).then_some(dilated / axis.lhs_dilation)
}
