//! Sums and products of factors, as calls on an engine.
//!
//! A product without a summed index is an elementwise one whose operands stretch to each other: it makes each element
//! of the result once, in any order of axes. A product with one is a general product; of its operand orders and batch
//! positions the one is taken that writes the wanted order itself, where there is one.

use tenferro_ops::Engine;
use tenferro_tensor::{
    BatchPosition, Contraction, DType, Indices, KeepAxes, Tensor, TensorDot, TensorElementwise,
    TensorReduction, TensorView,
};

use crate::{Result, binding::Index, execution::Factor};

/// Which order of axes a product should write.
#[derive(Clone, Copy)]
pub(super) enum Order<'a> {
    /// Whatever suits the operands.
    Any,
    /// Exactly this one.
    Wanted(&'a [Index]),
}

/// The sum over all indices that are not kept; the result has the kept ones in that order.
pub(super) fn sum_to(
    engine: &mut dyn Engine,
    factor: &Factor<'_>,
    kept: &[Index],
) -> Result<Tensor> {
    let mut order = kept.to_vec();
    order.extend(factor.in_memory_order(|index| !kept.contains(&index)));
    let axes: Indices = (kept.len()..order.len()).collect();
    counting(engine, &[factor.ordered(&order)?], |engine, views| {
        Ok(engine.sum(&views[0], axes.clone(), KeepAxes::Drop)?)
    })
}

/// The product of two factors without a summed index.
pub(super) fn multiply(
    engine: &mut dyn Engine,
    lhs: &Factor<'_>,
    rhs: &Factor<'_>,
    order: Order<'_>,
) -> Result<Factor<'static>> {
    let indices = match order {
        Order::Wanted(wanted) => wanted.to_vec(),
        Order::Any => {
            let (large, small) = if size(lhs) >= size(rhs) { (lhs, rhs) } else { (rhs, lhs) };
            let mut indices = large.in_memory_order(|_| true);
            indices.extend(small.in_memory_order(|index| !large.indices.contains(&index)));
            indices
        }
    };
    let views = [aligned(lhs, &indices)?, aligned(rhs, &indices)?];
    let product = counting(engine, &views, |engine, views| Ok(engine.mul(&views[0], &views[1])?))?;
    Ok(Factor::made(product, indices))
}

/// The factor with an axis for each of these indices: extent 1 for those that it does not have.
fn aligned<'a>(factor: &'a Factor<'_>, indices: &[Index]) -> Result<TensorView<'a>> {
    let own: Vec<Index> =
        indices.iter().copied().filter(|index| factor.indices.contains(index)).collect();
    let mut view = factor.ordered(&own)?;
    for (axis, index) in indices.iter().enumerate() {
        if !own.contains(index) {
            view = view.insert_axis(axis)?;
        }
    }
    Ok(view)
}

/// The product of two factors summed over the contracted indices, which both have.
pub(super) fn dot(
    engine: &mut dyn Engine,
    lhs: &Factor<'_>,
    rhs: &Factor<'_>,
    contracted: &[Index],
    order: Order<'_>,
) -> Result<Factor<'static>> {
    let roles = Roles { lhs, rhs, contracted };
    let arrangement = Arrangement::choose(&roles, order);
    let (lhs, rhs) = if arrangement.swapped { (rhs, lhs) } else { (lhs, rhs) };
    let (free_lhs, free_rhs) = (&arrangement.free_lhs, &arrangement.free_rhs);
    let batch = &arrangement.batch;
    // Axes that are summed together merge into one where both operands hold them in one order: follow the larger one.
    let large = if size(lhs) >= size(rhs) { lhs } else { rhs };
    let summed = large.in_memory_order(|index| contracted.contains(&index));
    let views = [
        lhs.ordered(&[&free_lhs[..], &summed, batch].concat())?,
        rhs.ordered(&[&free_rhs[..], &summed, batch].concat())?,
    ];
    let axes = |first: usize, count: usize| -> Indices { (first..first + count).collect() };
    let contraction = Contraction {
        lhs_contracting: axes(free_lhs.len(), summed.len()),
        rhs_contracting: axes(free_rhs.len(), summed.len()),
        lhs_batch: axes(free_lhs.len() + summed.len(), batch.len()),
        rhs_batch: axes(free_rhs.len() + summed.len(), batch.len()),
        batch: arrangement.position,
        ..Contraction::default()
    };
    let product = counting(engine, &views, |engine, views| {
        Ok(engine.dot_general(&views[0], &views[1], contraction.clone())?)
    })?;
    let indices = match arrangement.position {
        BatchPosition::Leading => [&batch[..], free_lhs, free_rhs].concat(),
        BatchPosition::Trailing => [&free_lhs[..], free_rhs, batch].concat(),
    };
    Ok(Factor::made(product, indices))
}

/// The part that an index plays in a product.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    FreeLhs,
    FreeRhs,
    Batch,
}

struct Roles<'a> {
    lhs: &'a Factor<'a>,
    rhs: &'a Factor<'a>,
    contracted: &'a [Index],
}

impl Roles<'_> {
    fn role(&self, index: Index) -> Role {
        match (self.lhs.indices.contains(&index), self.rhs.indices.contains(&index)) {
            (true, true) => Role::Batch,
            (true, false) => Role::FreeLhs,
            _ => Role::FreeRhs,
        }
    }
}

/// Which operand goes left, where the batch stands, and the order of indices within each part.
struct Arrangement {
    swapped: bool,
    position: BatchPosition,
    free_lhs: Vec<Index>,
    free_rhs: Vec<Index>,
    batch: Vec<Index>,
}

impl Arrangement {
    fn choose(roles: &Roles<'_>, order: Order<'_>) -> Self {
        let result = |index: Index| !roles.contracted.contains(&index);
        let (indices, runs) = match order {
            Order::Wanted(wanted) => {
                let mut runs: Vec<Role> = wanted.iter().map(|&index| roles.role(index)).collect();
                runs.dedup();
                (wanted.to_vec(), runs)
            }
            Order::Any => {
                let mut indices = roles.lhs.in_memory_order(result);
                let new = |index: Index| result(index) && !roles.lhs.indices.contains(&index);
                indices.extend(roles.rhs.in_memory_order(new));
                (indices, Vec::new())
            }
        };
        let pick = |role: Role| -> Vec<Index> {
            indices.iter().copied().filter(|&index| roles.role(index) == role).collect()
        };
        let before = |first: Role, second: Role| {
            let place = |role| runs.iter().position(|&run| run == role);
            place(first).zip(place(second)).is_some_and(|(first, second)| first < second)
        };
        let swapped = before(Role::FreeRhs, Role::FreeLhs);
        let leading = runs.len() > 1 && runs[0] == Role::Batch && !runs[1..].contains(&Role::Batch);
        let (free_lhs, free_rhs) = (pick(Role::FreeLhs), pick(Role::FreeRhs));
        let (free_lhs, free_rhs) =
            if swapped { (free_rhs, free_lhs) } else { (free_lhs, free_rhs) };
        Self {
            swapped,
            position: if leading { BatchPosition::Leading } else { BatchPosition::Trailing },
            free_lhs,
            free_rhs,
            batch: pick(Role::Batch),
        }
    }
}

fn size(factor: &Factor<'_>) -> usize {
    factor.view().shape().elements()
}

/// Carries out sums and products; of truth values, "and" and "or", by counting in f32, which never gets back to 0.
fn counting(
    engine: &mut dyn Engine,
    views: &[TensorView<'_>],
    compute: impl Fn(&mut dyn Engine, &[TensorView<'_>]) -> Result<Tensor>,
) -> Result<Tensor> {
    if views[0].dtype() != DType::Bool {
        return compute(engine, views);
    }
    let mut counts = Vec::with_capacity(views.len());
    for view in views {
        counts.push(engine.convert(view, DType::F32)?);
    }
    let views: Vec<TensorView<'_>> = counts.iter().map(Tensor::view).collect();
    let count = compute(engine, &views)?;
    Ok(engine.convert(&count, DType::Bool)?)
}
