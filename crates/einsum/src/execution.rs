//! Running a plan: sums and products, two operands at a time.
//!
//! Axes are dropped, merged into diagonals and reordered where operands are arranged for a call; elements move only in a
//! product, a sum, or one last transpose where no product can write the order that the output asks for.

use tenferro_tensor::{Indexing, Structural};

use crate::{
    Plan, Result, Step,
    algebra::{self, Order},
    binding::Index,
    calls::{Arranged, Calls},
    path::take_pair,
    plan::distinct,
};

/// An operand or an intermediate, with the index of each of its axes. No index is repeated.
pub(super) struct Factor<V> {
    pub(super) value: V,
    pub(super) indices: Vec<Index>,
}

impl<V> Factor<V> {
    /// The operand without stretched axes, and with repeated indices merged into their diagonal.
    fn of_operand(calls: &mut impl Calls<Value = V>, plan: &Plan, position: usize) -> Result<Self> {
        let axes = &plan.binding.inputs[position];
        let mut indices: Vec<Index> = axes.iter().flatten().copied().collect();
        let extents: Vec<usize> =
            indices.iter().map(|&index| plan.binding.extents[index]).collect();
        let (mut diagonals, mut axis) = (Vec::new(), 0);
        while let Some(&index) = indices.get(axis) {
            match indices[..axis].iter().position(|&earlier| earlier == index) {
                None => axis += 1,
                Some(first) => {
                    diagonals.push((first, axis));
                    indices.remove(axis);
                }
            }
        }
        Ok(Self { value: calls.operand(position, &extents, &diagonals)?, indices })
    }

    /// The factor with an axis for each of these indices, its own among them: of extent 1 for those that it does not have.
    pub(super) fn arranged(&self, indices: &[Index]) -> Arranged<'_, V> {
        let own = |index: &Index| self.indices.iter().position(|own| own == index);
        Arranged { value: &self.value, axes: indices.iter().map(own).collect() }
    }

    /// Those of the factor's indices that `wanted` picks, the one whose neighbours are nearest first.
    pub(super) fn in_memory_order(
        &self,
        calls: &impl Calls<Value = V>,
        wanted: impl Fn(Index) -> bool,
    ) -> Vec<Index> {
        let axes = calls.distances(&self.value).into_iter().zip(self.indices.iter().copied());
        let mut picked: Vec<(usize, Index)> = axes.filter(|&(_, index)| wanted(index)).collect();
        picked.sort_by_key(|&(distance, _)| distance);
        picked.into_iter().map(|(_, index)| index).collect()
    }
}

/// Runs a plan on operands that it was made for, of one dtype.
pub(super) fn run<C: Calls>(
    plan: &Plan,
    calls: &mut C,
    done: &mut dyn FnMut(&Step),
) -> Result<C::Value> {
    let positions = 0..plan.binding.inputs.len();
    let mut left = Vec::with_capacity(positions.len());
    for position in positions {
        left.push(Factor::of_operand(calls, plan, position)?);
    }
    let wanted = distinct(plan.binding.output.iter().copied());
    for (position, step) in plan.steps.iter().enumerate() {
        let last = position + 1 == plan.steps.len();
        let (lhs, rhs) = take_pair(&mut left, step.pair);
        let order = if last { Order::Wanted(&wanted) } else { Order::Any };
        left.push(contract(calls, lhs, rhs, step, order)?);
        done(step);
    }
    let result = left.pop().expect("invariant: one operand is left after the last step");
    let result = finish(calls, result, &wanted)?;
    embed_diagonals(calls, result, &wanted, &plan.binding.output)
}

/// One step: what only one operand has is summed out of it first.
fn contract<C: Calls>(
    calls: &mut C,
    lhs: Factor<C::Value>,
    rhs: Factor<C::Value>,
    step: &Step,
    order: Order<'_>,
) -> Result<Factor<C::Value>> {
    let stays = |index: Index| step.kept.contains(&index) || step.contracted.contains(&index);
    let lhs = sum_out(calls, lhs, stays)?;
    let rhs = sum_out(calls, rhs, stays)?;
    if step.contracted.is_empty() {
        algebra::multiply(calls, &lhs, &rhs, order)
    } else {
        algebra::dot(calls, &lhs, &rhs, &step.contracted, order)
    }
}

fn sum_out<C: Calls>(
    calls: &mut C,
    factor: Factor<C::Value>,
    stays: impl Fn(Index) -> bool,
) -> Result<Factor<C::Value>> {
    if factor.indices.iter().all(|&index| stays(index)) {
        return Ok(factor);
    }
    let kept = factor.in_memory_order(calls, stays);
    algebra::sum_to(calls, &factor, kept)
}

/// The result with exactly these axes in this order.
fn finish<C: Calls>(calls: &mut C, result: Factor<C::Value>, wanted: &[Index]) -> Result<C::Value> {
    if result.indices.len() > wanted.len() {
        return Ok(algebra::sum_to(calls, &result, wanted.to_vec())?.value);
    }
    if result.indices != wanted {
        return in_order(calls, result.arranged(wanted));
    }
    Ok(result.value)
}

/// The elements in the order of an arrangement.
pub(super) fn in_order<C: Calls>(
    calls: &mut C,
    arranged: Arranged<'_, C::Value>,
) -> Result<C::Value> {
    let permutation = (0..arranged.axes.len()).collect();
    calls.call(Structural::Transpose { permutation }.into(), &[arranged])
}

/// Puts the result on the diagonals that repeated labels of the output ask for.
fn embed_diagonals<C: Calls>(
    calls: &mut C,
    mut result: C::Value,
    distinct: &[Index],
    output: &[Index],
) -> Result<C::Value> {
    if distinct.len() == output.len() {
        return Ok(result);
    }
    // Axes before `axis` are those of the output already, so that a repeated index is found where it came first.
    let mut rank = distinct.len();
    for (new_axis, index) in output.iter().enumerate() {
        if let Some(axis) = output[..new_axis].iter().position(|earlier| earlier == index) {
            let embedding = Indexing::EmbedDiagonal { axis, new_axis };
            result = calls.call(embedding.into(), &[Arranged::plain(&result, rank)])?;
            rank += 1;
        }
    }
    Ok(result)
}
