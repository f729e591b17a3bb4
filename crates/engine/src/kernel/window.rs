//! Reductions over windows: the operand, padded with what is neutral, under a layout that has an axis for each place
//! and one for each element of a window, reduced over the latter.

use smallvec::SmallVec;
use tenferro_ops::scalar::{CombinerVisitor, Reducer, visit_combiner};
use tenferro_tensor::{
    AsOperand, AxisPadding, Combiner, DType, Layout, Operand, OperandMut, Padding, Result, Scalar,
    Tensor, Windowed,
};

use super::{Grant, reduce, structure};

const OP: &str = "reduce_window";

/// Computes a reduction over windows.
pub(super) fn windowed(
    grant: &Grant<'_>,
    row: &Windowed,
    input: &Operand<'_>,
    out: OperandMut<'_>,
) -> Result<()> {
    let Windowed::ReduceWindow { combiner, window } = row;
    if out.shape().contains(&0) {
        return Ok(());
    }
    let edges: Vec<_> = window.iter().map(|axis| (axis.low, axis.high, 0)).collect();
    let padded =
        padded(grant, OP, input, &Padding::from(&edges[..]), || neutral(*combiner, input.dtype()))?;
    let padded = padded.as_ref().map_or(*input, AsOperand::as_operand);
    let strides = padded.strides_or_dense();
    let mut extents = SmallVec::<[usize; 12]>::from_slice(out.shape());
    extents.extend(window.iter().map(|axis| axis.extent));
    let step = |(stride, by): (&isize, usize)| stride.saturating_mul(by.cast_signed());
    let along = strides.iter().zip(window.iter().map(|axis| axis.stride)).map(step);
    let within = strides.iter().zip(window.iter().map(|axis| axis.dilation)).map(step);
    let steps: SmallVec<[isize; 12]> = along.chain(within).collect();
    let layout = Layout::strided(&extents, &steps).map_err(|problem| problem.of(OP))?;
    let windows = structure::viewed(&padded, layout, 0);
    let axes: Vec<usize> = (window.len()..2 * window.len()).collect();
    reduce::combine(grant, OP, *combiner, (&windows.as_operand(), &axes), out)
}

/// A padded copy of the operand in memory of the pool; `None` where the padding is none.
pub(super) fn padded(
    grant: &Grant<'_>,
    op: &'static str,
    input: &Operand<'_>,
    padding: &Padding,
    value: impl FnOnce() -> Result<Tensor>,
) -> Result<Option<Tensor>> {
    if padding.iter().all(|axis| *axis == AxisPadding::default()) {
        return Ok(None);
    }
    let shape =
        structure::padded_shape(input.shape(), padding).map_err(|problem| problem.of(op))?;
    let mut out = grant.allocate(op, input.dtype(), shape)?;
    let value = value()?;
    structure::pad(grant, input, &value.as_operand(), padding, out.as_operand_mut())
        .map_err(|problem| problem.of(op))?;
    // SAFETY: padding writes every element.
    Ok(Some(unsafe { out.assume_init() }))
}

/// What is neutral in a combiner, as a tensor without axes.
fn neutral(combiner: Combiner, dtype: DType) -> Result<Tensor> {
    visit_combiner(combiner, dtype, Neutral).map_err(|problem| problem.of(OP))?
}

struct Neutral;

impl CombinerVisitor for Neutral {
    type Output = Result<Tensor>;

    fn combine<T: Scalar, R: Reducer<T, Out = T>>(self, reducer: R) -> Result<Tensor> {
        Tensor::scalar(reducer.leave(reducer.neutral()))
    }
}
