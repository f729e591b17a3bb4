//! Reductions: every element of the operand goes to the accumulator of its place in the result.

use tenferro_tensor::{Reduction, Result, Scalar, Tensor};

use super::{Call, RunningIndex};
use crate::scalar::{Reducer, ReductionVisitor, visit_reduction};

pub(super) fn evaluate(row: &Reduction, call: Call<'_>) -> Result<Tensor> {
    let op = call.op;
    let (Reduction::Sum { axes, .. }
    | Reduction::Prod { axes, .. }
    | Reduction::Max { axes, .. }
    | Reduction::Min { axes, .. }) = row;
    let dtype = call.inputs[0].dtype();
    visit_reduction(row, dtype, Loop { call, axes }).map_err(|problem| problem.of(op))?
}

struct Loop<'c> {
    call: Call<'c>,
    axes: &'c [usize],
}

impl ReductionVisitor for Loop<'_> {
    type Output = Result<Tensor>;

    fn reduce<T: Scalar, R: Reducer<T>>(self, reducer: R) -> Result<Tensor> {
        let operand = &self.call.inputs[0];
        let mut places = vec![reducer.neutral(); self.call.result.shape.elements()];
        let mut index = RunningIndex::of(operand.shape());
        for element in operand.view().elements::<T>()? {
            let place = &mut places[self.place(&index.0)];
            *place = reducer.combine(*place, reducer.enter(element));
            index.advance(operand.shape());
        }
        let mut places = places.into_iter();
        Ok(self
            .call
            .allocate()?
            .filled(|| reducer.leave(places.next().expect("invariant: an accumulator an element"))))
    }
}

impl Loop<'_> {
    /// Where in the result, in column-major order, the element at `index` of the operand goes.
    fn place(&self, index: &[usize]) -> usize {
        let (mut place, mut step) = (0, 1);
        for (axis, (&at, &extent)) in index.iter().zip(&**self.call.inputs[0].shape()).enumerate() {
            if !self.axes.contains(&axis) {
                place += at * step;
                step *= extent;
            }
        }
        place
    }
}
