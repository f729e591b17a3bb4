//! Sums and products of factors, as calls.
//!
//! A product without a summed index is an elementwise one whose operands stretch to each other: it makes each element
//! of the result once, in any order of axes. A product with one is a general product; of its operand orders and batch
//! positions the one is taken that writes the wanted order itself, where there is one.

use tenferro_tensor::{
    BatchPosition, Contraction, DType, Dot, Elementwise, Indices, KeepAxes, Primitive, Reduction,
};

use crate::{
    Result,
    binding::Index,
    calls::{Arranged, Calls},
    execution::Factor,
};

/// Which order of axes a product should write.
#[derive(Clone, Copy)]
pub(super) enum Order<'a> {
    /// Whatever suits the operands.
    Any,
    /// Exactly this one.
    Wanted(&'a [Index]),
}

/// The sum over all indices that are not kept; the result has the kept ones in that order.
pub(super) fn sum_to<C: Calls>(
    calls: &mut C,
    factor: &Factor<C::Value>,
    kept: Vec<Index>,
) -> Result<Factor<C::Value>> {
    let mut order = kept.clone();
    order.extend(factor.in_memory_order(calls, |index| !kept.contains(&index)));
    let axes: Indices = (kept.len()..order.len()).collect();
    let sum = Reduction::Sum { axes, keep: KeepAxes::Drop };
    Ok(Factor { value: counting(calls, sum.into(), [factor.arranged(&order)])?, indices: kept })
}

/// The product of two factors without a summed index.
pub(super) fn multiply<C: Calls>(
    calls: &mut C,
    lhs: &Factor<C::Value>,
    rhs: &Factor<C::Value>,
    order: Order<'_>,
) -> Result<Factor<C::Value>> {
    let indices = match order {
        Order::Wanted(wanted) => wanted.to_vec(),
        Order::Any => {
            let (large, small) = by_size(calls, lhs, rhs);
            let mut indices = large.in_memory_order(calls, |_| true);
            indices.extend(small.in_memory_order(calls, |index| !large.indices.contains(&index)));
            indices
        }
    };
    let operands = [lhs.arranged(&indices), rhs.arranged(&indices)];
    Ok(Factor { value: counting(calls, Elementwise::Mul.into(), operands)?, indices })
}

/// The product of two factors summed over the contracted indices, which both have.
pub(super) fn dot<C: Calls>(
    calls: &mut C,
    lhs: &Factor<C::Value>,
    rhs: &Factor<C::Value>,
    contracted: &[Index],
    order: Order<'_>,
) -> Result<Factor<C::Value>> {
    let roles = Roles { lhs, rhs, contracted };
    let arrangement = Arrangement::choose(calls, &roles, order);
    let (lhs, rhs) = if arrangement.swapped { (rhs, lhs) } else { (lhs, rhs) };
    let (free_lhs, free_rhs) = (&arrangement.free_lhs, &arrangement.free_rhs);
    let batch = &arrangement.batch;
    // Axes that are summed together merge into one where both operands hold them in one order: follow the larger one.
    let (large, _) = by_size(calls, lhs, rhs);
    let summed = large.in_memory_order(calls, |index| contracted.contains(&index));
    // What is free comes in the order of the operand; where that is the one to be written, nothing has to move.
    let arranged = |factor: &Factor<C::Value>, free: &Vec<Index>| {
        let own = factor.indices.iter().filter(|index| free.contains(index));
        if own.eq(free) { factor.indices.clone() } else { [&free[..], &summed, batch].concat() }
    };
    let (lhs_axes, rhs_axes) = (arranged(lhs, free_lhs), arranged(rhs, free_rhs));
    let contraction = Contraction {
        lhs_contracting: places(&lhs_axes, &summed),
        rhs_contracting: places(&rhs_axes, &summed),
        lhs_batch: places(&lhs_axes, batch),
        rhs_batch: places(&rhs_axes, batch),
        batch: arrangement.position,
        ..Contraction::default()
    };
    let operands = [lhs.arranged(&lhs_axes), rhs.arranged(&rhs_axes)];
    let value = counting(calls, Dot::DotGeneral { contraction }.into(), operands)?;
    let indices = match arrangement.position {
        BatchPosition::Leading => [&batch[..], free_lhs, free_rhs].concat(),
        BatchPosition::Trailing => [&free_lhs[..], free_rhs, batch].concat(),
    };
    Ok(Factor { value, indices })
}

/// Where these indices are among those of an operand, which has them.
fn places(of: &[Index], indices: &[Index]) -> Indices {
    let place = |index: &Index| of.iter().position(|own| own == index);
    indices
        .iter()
        .map(|index| place(index).expect("invariant: the operand has the index"))
        .collect()
}

/// The part that an index plays in a product.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    FreeLhs,
    FreeRhs,
    Batch,
}

struct Roles<'a, V> {
    lhs: &'a Factor<V>,
    rhs: &'a Factor<V>,
    contracted: &'a [Index],
}

impl<V> Roles<'_, V> {
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
    fn choose<C: Calls>(calls: &C, roles: &Roles<'_, C::Value>, order: Order<'_>) -> Self {
        let result = |index: Index| !roles.contracted.contains(&index);
        let (indices, runs) = match order {
            Order::Wanted(wanted) => {
                let mut runs: Vec<Role> = wanted.iter().map(|&index| roles.role(index)).collect();
                runs.dedup();
                (wanted.to_vec(), runs)
            }
            Order::Any => {
                let mut indices = roles.lhs.in_memory_order(calls, result);
                let new = |index: Index| result(index) && !roles.lhs.indices.contains(&index);
                indices.extend(roles.rhs.in_memory_order(calls, new));
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

/// Both, the one with more elements first.
fn by_size<'f, C: Calls>(
    calls: &C,
    lhs: &'f Factor<C::Value>,
    rhs: &'f Factor<C::Value>,
) -> (&'f Factor<C::Value>, &'f Factor<C::Value>) {
    let size = |factor: &Factor<C::Value>| calls.meta(&factor.value).shape.elements();
    if size(lhs) >= size(rhs) { (lhs, rhs) } else { (rhs, lhs) }
}

/// Carries out a sum or a product; of truth values, "and" and "or", by counting in f32, which never gets back to 0.
fn counting<C: Calls, const N: usize>(
    calls: &mut C,
    primitive: Primitive,
    operands: [Arranged<'_, C::Value>; N],
) -> Result<C::Value> {
    if calls.meta(operands[0].value).dtype != DType::Bool {
        return calls.call(primitive, &operands);
    }
    let mut counts = Vec::with_capacity(N);
    for operand in operands {
        let rank = operand.axes.len();
        counts.push((convert(calls, operand, DType::F32)?, rank));
    }
    let counts: Vec<_> = counts.iter().map(|(count, rank)| Arranged::plain(count, *rank)).collect();
    let count = calls.call(primitive, &counts)?;
    let rank = calls.meta(&count).shape.rank();
    convert(calls, Arranged::plain(&count, rank), DType::Bool)
}

fn convert<C: Calls>(
    calls: &mut C,
    operand: Arranged<'_, C::Value>,
    dtype: DType,
) -> Result<C::Value> {
    calls.call(Elementwise::Convert { dtype }.into(), &[operand])
}
