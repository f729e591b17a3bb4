//! Convolutions as products: the windows of the padded operand, as a strided view, by the kernel.
//!
//! The view is packed into matrices of a bounded size, whatever the width, and providers multiply them. The sum over
//! a window is never cut.

use smallvec::SmallVec;
use tenferro_ops::Scale;
use tenferro_tensor::{
    AsOperand, Contraction, Convolution, Layout, Operand, OperandMut, Padding, Result, Tensor,
};

use super::{Grant, contract, structure, window::padded};

const OP: &str = "convolve";

/// The most bytes of windows that are packed at a time, unless one row of places has more.
const PACKED_BYTES: usize = 4 << 20;

/// Computes a convolution.
pub(super) fn convolve(
    grant: &Grant<'_>,
    convolution: &Convolution,
    inputs: &[Operand<'_>],
    mut out: OperandMut<'_>,
) -> Result<()> {
    if out.shape().contains(&0) {
        return Ok(());
    }
    let (input, kernel) = (&inputs[0], &inputs[1]);
    let edges = convolution.axes.iter().map(|axis| (axis.low, axis.high, axis.lhs_dilation - 1));
    let edges: Vec<_> = edges.chain([(0, 0, 0); 2]).collect();
    let zero = || Tensor::zeros(input.dtype(), []);
    let padded = padded(grant, OP, input, &Padding::from(&edges[..]), zero)?;
    let padded = padded.as_ref().map_or(*input, AsOperand::as_operand);
    let windows = Windows { convolution, padded: &padded, kernel };
    let spatial = convolution.axes.len();
    let (batch, results) = (out.shape()[spatial + 1], out.shape()[spatial]);
    let of_group = results / convolution.groups;
    for number in 0..batch {
        for group in 0..convolution.groups {
            windows.each_block(out.shape(), |places| {
                let (layout, first) = windows.view(places, group, number)?;
                let patches = structure::viewed(&padded, layout, first);
                let taps =
                    part(kernel.view().layout(), &[(spatial + 1, group * of_group, of_group)])?;
                let taps = structure::viewed(kernel, taps.0, taps.1);
                let mut cuts: SmallVec<[(usize, usize, usize); 6]> = SmallVec::new();
                cuts.extend(places.map(|(start, count)| (spatial - 1, start, count)));
                cuts.push((spatial, group * of_group, of_group));
                cuts.push((spatial + 1, number, 1));
                let (layout, first) = part(&structure::layout_of(&out), &cuts)?;
                let layout = without_last(&layout)?;
                // SAFETY: the layout was derived from the output's own, which reaches each of its elements once.
                let target = unsafe { out.relaid(first, &layout) };
                let summed: Vec<usize> = (spatial..=2 * spatial).collect();
                let contraction = Contraction::over(summed, (0..=spatial).collect::<Vec<_>>());
                let operands = [patches.as_operand(), taps.as_operand()];
                contract(grant, &contraction, &operands, Scale::ASSIGN, target)
            })?;
        }
    }
    Ok(())
}

/// A run of places along the last spatial axis: its start and length; `None` without spatial axes.
type Places = Option<(usize, usize)>;

/// The windows of an operand.
struct Windows<'a> {
    convolution: &'a Convolution,
    padded: &'a Operand<'a>,
    kernel: &'a Operand<'a>,
}

impl Windows<'_> {
    /// Calls `block` for runs of places whose windows have a bounded size.
    fn each_block(&self, out: &[usize], mut block: impl FnMut(Places) -> Result<()>) -> Result<()> {
        let spatial = self.convolution.axes.len();
        let Some(last) = spatial.checked_sub(1) else { return block(None) };
        let taps: usize = self.kernel.shape()[..=spatial].iter().product();
        let row: usize = out[..last].iter().product::<usize>().saturating_mul(taps);
        let bytes = row.saturating_mul(self.padded.dtype().size()).max(1);
        let count = (PACKED_BYTES / bytes).max(1);
        for start in (0..out[last]).step_by(count) {
            block(Some((start, count.min(out[last] - start))))?;
        }
        Ok(())
    }

    /// The windows at some places for one group and number of the batch: spatial axes of places, those of a window,
    /// channels.
    fn view(&self, places: Places, group: usize, number: usize) -> Result<(Layout, isize)> {
        let spatial = self.convolution.axes.len();
        let (strides, channels) = (self.padded.strides_or_dense(), self.kernel.shape()[spatial]);
        let out = self.standing();
        let mut extents: SmallVec<[usize; 12]> = SmallVec::from_slice(&out);
        let mut steps: SmallVec<[isize; 12]> = SmallVec::new();
        let mut first = (group * channels).cast_signed() * strides[spatial]
            + number.cast_signed() * strides[spatial + 1];
        for (axis, along) in self.convolution.axes.iter().enumerate() {
            steps.push(strides[axis].saturating_mul(along.stride.cast_signed()));
        }
        if let Some((start, count)) = places {
            extents[spatial - 1] = count;
            first += start.cast_signed() * steps[spatial - 1];
        }
        for (axis, along) in self.convolution.axes.iter().enumerate() {
            extents.push(self.kernel.shape()[axis]);
            steps.push(strides[axis].saturating_mul(along.rhs_dilation.cast_signed()));
        }
        extents.push(channels);
        steps.push(strides[spatial]);
        let layout = Layout::strided(&extents, &steps).map_err(|problem| problem.of(OP))?;
        Ok((layout, first))
    }

    /// How often a window stands on each spatial axis.
    fn standing(&self) -> SmallVec<[usize; 6]> {
        let (x, kernel) = (self.padded.shape(), self.kernel.shape());
        let along = self.convolution.axes.iter().enumerate();
        along
            .map(|(axis, along)| {
                let covered = match kernel[axis] {
                    0 => 0,
                    extent => (extent - 1) * along.rhs_dilation + 1,
                };
                (x[axis] - covered) / along.stride + 1
            })
            .collect()
    }
}

/// The layout of some indices of some axes, each `(axis, start, count)`, and the offset of its first.
fn part(layout: &Layout, cuts: &[(usize, usize, usize)]) -> Result<(Layout, isize)> {
    let (mut layout, mut first) = (layout.clone(), 0);
    for &(axis, start, count) in cuts {
        let (next, offset) =
            layout.sliced(axis, start, start + count, 1).map_err(|problem| problem.of(OP))?;
        layout = next;
        first += offset;
    }
    Ok((layout, first))
}

/// The layout without its last axis, whose extent is 1.
fn without_last(layout: &Layout) -> Result<Layout> {
    let rank = layout.shape().rank() - 1;
    Layout::strided(&layout.shape()[..rank], &layout.strides()[..rank])
        .map_err(|problem| problem.of(OP))
}
