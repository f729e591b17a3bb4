//! Gather and scatter: the start of each slice is looked up, then one element after the other is moved.

use tenferro_tensor::{
    GatherMode, Gathering, Placement, Result, Scalar, ScatterMode, Shape, Tensor, dispatch,
};

use super::{Call, RunningIndex, element};
use crate::{
    Start,
    scalar::{CombinerVisitor, Reducer, visit_combiner},
    slice_starts,
};

pub(super) fn gather(call: &Call<'_>, gathering: &Gathering, mode: GatherMode) -> Result<Tensor> {
    let x = call.inputs[0].view();
    let starts = slice_starts(gathering, x.shape(), &call.inputs[1], mode.into())
        .map_err(|problem| problem.of(call.op))?;
    let slices = Slices { gathering, result: &call.result.shape };
    dispatch!(x.dtype(), any T => call.filled_by_index(|index| {
        let start = starts[slices.number(index)].as_ref();
        let start = start.expect("invariant: a gather leaves nothing out");
        element::<T>(&x, &slices.place(start, index))
    }))
}

pub(super) fn scatter(
    call: &Call<'_>,
    gathering: &Gathering,
    placement: Placement,
    mode: ScatterMode,
) -> Result<Tensor> {
    let [x, indices, updates] = call.inputs else { unreachable!("the rules count operands") };
    let starts = slice_starts(gathering, x.shape(), indices, mode.into())
        .map_err(|problem| problem.of(call.op))?;
    let slices = Slices { gathering, result: updates.shape() };
    let scattering = Scattering { call, slices, starts };
    match placement {
        Placement::Replace => dispatch!(x.dtype(), any T => {
            scattering.placed::<T, T>(|element| element, |_, update| update, |element| element)
        }),
        Placement::Combine(combiner) => visit_combiner(combiner, x.dtype(), scattering)
            .map_err(|problem| problem.of(call.op))?,
    }
}

/// How the index of a gather's result falls into a slice's number and a place in the slice.
struct Slices<'c> {
    gathering: &'c Gathering,
    result: &'c Shape,
}

impl Slices<'_> {
    /// The slice that an index of the result belongs to.
    fn number(&self, index: &[usize]) -> usize {
        let (mut number, mut step) = (0, 1);
        for axis in (0..index.len()).filter(|axis| !self.gathering.slice_axes.contains(axis)) {
            number += index[axis] * step;
            step *= self.result[axis];
        }
        number
    }

    /// The index of the operand for an index of the result.
    fn place(&self, start: &Start, index: &[usize]) -> Start {
        let Gathering { collapsed_axes, batch_axes, slice_axes, .. } = self.gathering;
        let mut place = start.clone();
        let kept = (0..start.len())
            .filter(|axis| !collapsed_axes.contains(axis) && !batch_axes.contains(axis));
        for (axis, &own) in kept.zip(&**slice_axes) {
            place[axis] += index[own];
        }
        place
    }
}

struct Scattering<'c> {
    call: &'c Call<'c>,
    slices: Slices<'c>,
    starts: Vec<Option<Start>>,
}

impl Scattering<'_> {
    /// The operand with every update placed, slice after slice.
    fn placed<T: Scalar, A: Copy>(
        &self,
        enter: impl Fn(T) -> A,
        combine: impl Fn(A, A) -> A,
        leave: impl Fn(A) -> T,
    ) -> Result<Tensor> {
        let (x, updates) = (self.call.inputs[0].view(), self.call.inputs[2].view());
        let mut places: Vec<A> = x.elements::<T>()?.map(&enter).collect();
        let mut updates_in_order = Vec::with_capacity(updates.shape().elements());
        let mut index = RunningIndex::of(updates.shape());
        for update in updates.elements::<T>()? {
            let number = self.slices.number(&index.0);
            if let Some(start) = &self.starts[number] {
                let place = self.slices.place(start, &index.0);
                updates_in_order.push((number, linear(&place, x.shape()), update));
            }
            index.advance(updates.shape());
        }
        updates_in_order.sort_by_key(|&(number, ..)| number);
        for (_, place, update) in updates_in_order {
            places[place] = combine(places[place], enter(update));
        }
        let mut places = places.into_iter();
        Ok(self
            .call
            .allocate()?
            .filled(|| leave(places.next().expect("invariant: a place an element"))))
    }
}

impl CombinerVisitor for Scattering<'_> {
    type Output = Result<Tensor>;

    fn combine<T: Scalar, R: Reducer<T, Out = T>>(self, reducer: R) -> Result<Tensor> {
        self.placed::<T, R::Acc>(
            |x| reducer.enter(x),
            |lhs, rhs| reducer.combine(lhs, rhs),
            |acc| reducer.leave(acc),
        )
    }
}

/// The place of an index in column-major order.
fn linear(index: &[usize], shape: &[usize]) -> usize {
    index.iter().zip(shape).rev().fold(0, |place, (&at, &extent)| place * extent + at)
}
