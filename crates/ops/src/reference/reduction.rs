//! Reductions: every element of the operand goes to the accumulator of its place in the result.

use tenferro_tensor::{Accepts, Reduction, Result, Scalar, Tensor, Validation, dispatch};

use super::{Call, RunningIndex};
use crate::{
    reduced_axes,
    scalar::{Real, Reducer, ReductionVisitor, visit_reduction},
};

pub(super) fn evaluate(row: &Reduction, call: Call<'_>) -> Result<Tensor> {
    let op = call.op;
    let axes = reduced_axes(row);
    let dtype = call.inputs[0].dtype();
    let mut reduced = Loop { call, axes };
    match row {
        Reduction::Argmax { .. } | Reduction::Argmin { .. } => {
            let largest = matches!(row, Reduction::Argmax { .. });
            dispatch!(dtype, real T => reduced.place_of_extreme(|x: T, best: T| if largest { x > best } else { x < best }), else {
                let expected = Accepts::Real.description();
                Err(Validation::MeaninglessDType { dtype, expected }.of(op))
            })
        }
        _ => {
            let result =
                visit_reduction(row, dtype, &mut reduced).map_err(|problem| problem.of(op))?;
            result.expect("invariant: all other rows have a reducer")
        }
    }
}

struct Loop<'c> {
    call: Call<'c>,
    axes: &'c [usize],
}

impl ReductionVisitor for &mut Loop<'_> {
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
    /// Where the first element is than which none is better; a NaN is better than all.
    fn place_of_extreme<T: Real>(&mut self, better: impl Fn(T, T) -> bool) -> Result<Tensor> {
        let operand = &self.call.inputs[0];
        let mut places: Vec<Option<(T, i64)>> = vec![None; self.call.result.shape.elements()];
        let mut counts = vec![0_i64; places.len()];
        let mut index = RunningIndex::of(operand.shape());
        let is_nan = |x: T| x.partial_cmp(&x).is_none();
        for element in operand.view().elements::<T>()? {
            let at = self.place(&index.0);
            let replaces = match places[at] {
                None => true,
                Some((best, _)) => !is_nan(best) && (is_nan(element) || better(element, best)),
            };
            if replaces {
                places[at] = Some((element, counts[at]));
            }
            counts[at] += 1;
            index.advance(operand.shape());
        }
        let mut places = places.into_iter().flatten();
        let next =
            || places.next().expect("invariant: the rules leave no result without elements").1;
        Ok(self.call.allocate()?.filled(next))
    }

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
