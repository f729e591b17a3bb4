//! Running a plan: views, sums and products of an engine.
//!
//! Axes are dropped, merged into diagonals and reordered by views, without copying; elements move only in a product, a
//! sum, or one last transpose where no product can write the order that the output asks for.

use tenferro_ops::Engine;
use tenferro_tensor::{Operand, Tensor, TensorIndexing, TensorStructural, TensorView};

use crate::{
    Plan, Result, Step,
    algebra::{self, Order},
    binding::Index,
    path::take_pair,
    plan::distinct,
};

/// An operand or an intermediate, with the index of each of its axes. No index is repeated.
pub(super) struct Factor<'a> {
    elements: Elements<'a>,
    pub(super) indices: Vec<Index>,
}

enum Elements<'a> {
    Given(TensorView<'a>),
    Made(Tensor),
}

impl<'a> Factor<'a> {
    /// The operand without stretched axes, and with repeated indices merged into their diagonal.
    fn of_operand(operand: Operand<'a>, axes: &[Option<Index>]) -> Result<Self> {
        let named: Vec<usize> = (0..axes.len()).filter(|&axis| axes[axis].is_some()).collect();
        let extents: Vec<usize> = named.iter().map(|&axis| operand.shape()[axis]).collect();
        let mut view = operand.view();
        if named.len() < axes.len() {
            // A stretched axis has extent 1, so that a view without it always exists.
            view = view.reshape(&extents)?;
        }
        let mut indices: Vec<Index> = axes.iter().flatten().copied().collect();
        let mut axis = 0;
        while let Some(&index) = indices.get(axis) {
            match indices[..axis].iter().position(|&earlier| earlier == index) {
                None => axis += 1,
                Some(first) => {
                    view = view.diagonal(first, axis)?;
                    indices.remove(axis);
                }
            }
        }
        Ok(Self { elements: Elements::Given(view), indices })
    }

    /// An intermediate.
    pub(super) fn made(tensor: Tensor, indices: Vec<Index>) -> Self {
        Self { elements: Elements::Made(tensor), indices }
    }

    /// All elements, an axis for each index.
    pub(super) fn view(&self) -> TensorView<'_> {
        match &self.elements {
            Elements::Given(view) => view.clone(),
            Elements::Made(tensor) => tensor.view(),
        }
    }

    /// The elements with axes in the order of these indices, which are the factor's own.
    pub(super) fn ordered(&self, indices: &[Index]) -> Result<TensorView<'_>> {
        let permutation: Vec<usize> = indices.iter().map(|&index| self.axis(index)).collect();
        Ok(self.view().permute(&permutation)?)
    }

    /// The axis of an index that the factor has.
    pub(super) fn axis(&self, index: Index) -> usize {
        let found = self.indices.iter().position(|&own| own == index);
        found.expect("invariant: the factor has the index")
    }

    /// Those of the factor's indices that `wanted` picks, the one with the shortest stride first.
    pub(super) fn in_memory_order(&self, wanted: impl Fn(Index) -> bool) -> Vec<Index> {
        let view = self.view();
        let mut picked: Vec<Index> =
            self.indices.iter().copied().filter(|&index| wanted(index)).collect();
        picked.sort_by_key(|&index| view.strides()[self.axis(index)].unsigned_abs());
        picked
    }

    /// Whether other axes come first than the result asks for.
    fn differs_from(&self, order: &[Index]) -> bool {
        self.indices != order
    }
}

/// Runs a plan on operands that it was made for, of one dtype.
pub(super) fn run(
    plan: &Plan,
    engine: &mut dyn Engine,
    operands: &[Operand<'_>],
    done: &mut dyn FnMut(&Step),
) -> Result<Tensor> {
    let mut left = Vec::with_capacity(operands.len());
    for (&operand, axes) in operands.iter().zip(&plan.binding.inputs) {
        left.push(Factor::of_operand(operand, axes)?);
    }
    let wanted = distinct(plan.binding.output.iter().copied());
    for (position, step) in plan.steps.iter().enumerate() {
        let last = position + 1 == plan.steps.len();
        let (lhs, rhs) = take_pair(&mut left, step.pair);
        let order = if last { Order::Wanted(&wanted) } else { Order::Any };
        left.push(contract(engine, lhs, rhs, step, order)?);
        done(step);
    }
    let result = left.pop().expect("invariant: one operand is left after the last step");
    let result = finish(engine, result, &wanted)?;
    embed_diagonals(engine, result, &wanted, &plan.binding.output)
}

/// One step: what only one operand has is summed out of it first.
fn contract(
    engine: &mut dyn Engine,
    lhs: Factor<'_>,
    rhs: Factor<'_>,
    step: &Step,
    order: Order<'_>,
) -> Result<Factor<'static>> {
    let stays = |index: Index| step.kept.contains(&index) || step.contracted.contains(&index);
    let lhs = sum_out(engine, lhs, stays)?;
    let rhs = sum_out(engine, rhs, stays)?;
    if step.contracted.is_empty() {
        algebra::multiply(engine, &lhs, &rhs, order)
    } else {
        algebra::dot(engine, &lhs, &rhs, &step.contracted, order)
    }
}

fn sum_out<'a>(
    engine: &mut dyn Engine,
    factor: Factor<'a>,
    stays: impl Fn(Index) -> bool,
) -> Result<Factor<'a>> {
    if factor.indices.iter().all(|&index| stays(index)) {
        return Ok(factor);
    }
    let kept = factor.in_memory_order(stays);
    let sum = algebra::sum_to(engine, &factor, &kept)?;
    Ok(Factor::made(sum, kept))
}

/// The result with exactly these axes in this order.
fn finish(engine: &mut dyn Engine, result: Factor<'_>, wanted: &[Index]) -> Result<Tensor> {
    if result.indices.len() > wanted.len() {
        return algebra::sum_to(engine, &result, wanted);
    }
    if result.differs_from(wanted) {
        let permutation: Vec<usize> = wanted.iter().map(|&index| result.axis(index)).collect();
        return Ok(engine.transpose(&result.view(), permutation)?);
    }
    match result.elements {
        Elements::Made(tensor) => Ok(tensor),
        Elements::Given(view) => {
            let in_place: Vec<usize> = (0..wanted.len()).collect();
            Ok(engine.transpose(&view, in_place)?)
        }
    }
}

/// Puts the result on the diagonals that repeated labels of the output ask for.
fn embed_diagonals(
    engine: &mut dyn Engine,
    mut result: Tensor,
    distinct: &[Index],
    output: &[Index],
) -> Result<Tensor> {
    if distinct.len() == output.len() {
        return Ok(result);
    }
    // Axes before `axis` are those of the output already, so that a repeated index is found where it came first.
    for (axis, index) in output.iter().enumerate() {
        if let Some(first) = output[..axis].iter().position(|earlier| earlier == index) {
            result = engine.embed_diagonal(&result, first, axis)?;
        }
    }
    Ok(result)
}
