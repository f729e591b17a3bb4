//! Scans: every element goes to the accumulator of its line, which is written as it goes.

use tenferro_tensor::{Boundary, Direction, Result, Scalar, Scan, Sweep, Tensor};

use super::Call;
use crate::scalar::{CombinerVisitor, Reducer, visit_scan};

pub(super) fn evaluate(row: &Scan, call: Call<'_>) -> Result<Tensor> {
    let op = call.op;
    let (Scan::Cumsum { axis, sweep }
    | Scan::Cumprod { axis, sweep }
    | Scan::Cummax { axis, sweep }
    | Scan::Cummin { axis, sweep }) = row;
    let lines = Lines { call, axis: *axis, sweep: *sweep };
    let dtype = lines.call.inputs[0].dtype();
    visit_scan(row, dtype, lines).map_err(|problem| problem.of(op))?
}

struct Lines<'c> {
    call: Call<'c>,
    axis: usize,
    sweep: Sweep,
}

impl CombinerVisitor for Lines<'_> {
    type Output = Result<Tensor>;

    fn combine<T: Scalar, R: Reducer<T, Out = T>>(self, reducer: R) -> Result<Tensor> {
        let shape = self.call.inputs[0].shape();
        let elements: Vec<T> = self.call.inputs[0].view().elements::<T>()?.collect();
        let (step, extent) = (shape[..self.axis].iter().product::<usize>(), shape[self.axis]);
        let mut carried = vec![reducer.neutral(); elements.len().checked_div(extent).unwrap_or(0)];
        let mut results = vec![R::Out::default(); elements.len()];
        let mut visit = |at: usize| {
            let line = &mut carried[at % step + at / (step * extent) * step];
            let after = reducer.combine(*line, reducer.enter(elements[at]));
            results[at] = reducer.leave(match self.sweep.boundary {
                Boundary::Inclusive => after,
                Boundary::Exclusive => *line,
            });
            *line = after;
        };
        match self.sweep.direction {
            Direction::Forward => (0..elements.len()).for_each(&mut visit),
            Direction::Reverse => (0..elements.len()).rev().for_each(&mut visit),
        }
        let mut results = results.into_iter();
        Ok(self.call.allocate()?.filled(|| results.next().expect("invariant: a result an element")))
    }
}
