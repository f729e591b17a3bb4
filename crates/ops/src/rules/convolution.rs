//! Rules of convolutions: channels agree, groups divide, and a kernel stands on each spatial axis.

use tenferro_tensor::{AxisPadding, Convolution, ConvolutionAxis, Shape, Validation};

use super::{Checked, Extents, check_length, structural::padded_extent, window::standing};
use crate::{Meta, meta::Facts};

/// Spatial axes, results of the kernel, batch.
pub(super) fn convolved(convolution: &Convolution, inputs: &[Facts<'_>]) -> Checked<Meta> {
    let (x, kernel) = (inputs[0].shape, inputs[1].shape);
    let spatial = convolution.axes.len();
    check_rank("axes of the operand", spatial, x)?;
    check_rank("axes of the kernel", spatial, kernel)?;
    let groups = convolution.groups;
    let (channels, results) = (x[spatial], kernel[spatial + 1]);
    if groups == 0 || !channels.is_multiple_of(groups) || !results.is_multiple_of(groups) {
        let rule =
            "groups, at least one, must divide the operand's channels and the kernel's results";
        return Err(Validation::Rule { rule });
    }
    if channels / groups != kernel[spatial] {
        return Err(Validation::ExtentMismatch {
            what: "channels of a group",
            lhs: channels / groups,
            rhs: kernel[spatial],
            lhs_shape: x[..].into(),
            rhs_shape: kernel[..].into(),
        });
    }
    let mut extents = (0..spatial)
        .map(|axis| places(x[axis], kernel[axis], &convolution.axes[axis]))
        .collect::<Checked<Extents>>()?;
    extents.extend([results, x[spatial + 1]]);
    Ok(Meta { dtype: inputs[0].dtype, shape: Shape::new(&extents)? })
}

/// An operand has its spatial axes and two more.
fn check_rank(what: &'static str, spatial: usize, shape: &Shape) -> Checked<()> {
    check_length(what, spatial + 2, shape.rank())
}

/// How often a kernel of `kernel` elements stands on an axis of `extent` elements.
fn places(extent: usize, kernel: usize, axis: &ConvolutionAxis) -> Checked<usize> {
    let &ConvolutionAxis { stride, low, high, lhs_dilation, rhs_dilation } = axis;
    if stride == 0 || lhs_dilation == 0 || rhs_dilation == 0 {
        let rule = "the stride and dilations of a convolution must be at least 1";
        return Err(Validation::Rule { rule });
    }
    let padded = padded_extent(extent, &AxisPadding { low, high, interior: lhs_dilation - 1 })?;
    Ok(standing(padded, kernel, stride, rhs_dilation))
}
