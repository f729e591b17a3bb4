//! Reductions over windows: each result visits the elements of its window that are not padding.

use tenferro_tensor::{Result, Scalar, Shape, Tensor, Window, Windowed};

use super::{Call, RunningIndex, element};
use crate::scalar::{CombinerVisitor, Reducer, visit_combiner};

pub(super) fn evaluate(row: &Windowed, call: Call<'_>) -> Result<Tensor> {
    let op = call.op;
    let Windowed::ReduceWindow { combiner, window } = row;
    let dtype = call.inputs[0].dtype();
    visit_combiner(*combiner, dtype, Windows { call, window }).map_err(|problem| problem.of(op))?
}

struct Windows<'c> {
    call: Call<'c>,
    window: &'c Window,
}

impl CombinerVisitor for Windows<'_> {
    type Output = Result<Tensor>;

    fn combine<T: Scalar, R: Reducer<T, Out = T>>(self, reducer: R) -> Result<Tensor> {
        let x = self.call.inputs[0].view();
        let extents: Vec<usize> = self.window.iter().map(|axis| axis.extent).collect();
        let mut source = vec![0; extents.len()];
        // A window that stands nowhere may be larger than any shape.
        let shape = if self.call.result.shape.contains(&0) {
            Shape::default()
        } else {
            Shape::new(&extents).map_err(|problem| problem.of(self.call.op))?
        };
        self.call.filled_by_index(|index| {
            let mut within = RunningIndex::of(&shape);
            let mut whole = reducer.neutral();
            for _ in 0..shape.elements() {
                let inside = (0..source.len()).all(|axis| {
                    let along = &self.window[axis];
                    let padded = index[axis] * along.stride + within.0[axis] * along.dilation;
                    source[axis] = padded.wrapping_sub(along.low.cast_unsigned());
                    source[axis] < x.shape()[axis]
                });
                if inside {
                    whole = reducer.combine(whole, reducer.enter(element::<T>(&x, &source)));
                }
                within.advance(&shape);
            }
            reducer.leave(whole)
        })
    }
}
