//! Lets products read what was transposed for them, and computes those without sums elementwise.
//!
//! A product of sums over one element is `0 + x y`, so that a zero is positive, as it is after a sum. Products of complex
//! numbers stay: their kernels may fuse multiplications with sums in other places than the elementwise row does. So does
//! the product of a column with a row, unless a loop could go on with it: a kernel of products keeps both in registers,
//! where a loop stretches each.

use smallvec::SmallVec;
use tenferro_ops::{Builder, Meta};
use tenferro_tensor::{
    BatchPosition, Contraction, DType, Dot, Elementwise, Factor, Indices, Primitive, Scalar,
    Structural, Tensor, dispatch,
};

use super::one;
use crate::{Program, Result, StepKind, Value, program::Graph, recording::Recording};

pub(super) fn run(program: &Program) -> Result<Program> {
    let is_read = read_by_loops(program);
    super::rewritten(program, |recording, step, operands| {
        let (StepKind::Primitive(Primitive::Dot(Dot::DotGeneral { contraction })), &[lhs, rhs]) =
            (step.kind(), operands)
        else {
            return Ok(recording.repeat(step, operands));
        };
        let folded = folded(recording.graph(), contraction, lhs, rhs);
        let (contraction, lhs, rhs) = match &folded {
            Some((contraction, lhs, rhs)) => (contraction, *lhs, *rhs),
            None => (contraction, lhs, rhs),
        };
        let stays = !is_read[step.first.0]
            && stretches_both(recording, contraction, [lhs, rhs], step.meta());
        if !stays && let Some(value) = elementwise(recording, contraction, [lhs, rhs], step.meta())?
        {
            return Ok(one(value));
        }
        Ok(match folded {
            None => recording.repeat(step, operands),
            Some((contraction, lhs, rhs)) => {
                one(recording.emit(Dot::DotGeneral { contraction }.into(), &[&lhs, &rhs])?)
            }
        })
    })
}

/// Which values a loop over elements reads, which a product could be fused into.
fn read_by_loops(program: &Program) -> Vec<bool> {
    let mut is_read = vec![false; program.values()];
    for step in program.steps() {
        if let StepKind::Primitive(
            Primitive::Elementwise(_) | Primitive::Analytic(_) | Primitive::Reduction(_),
        ) = step.kind()
        {
            step.operands().iter().for_each(|operand| is_read[operand.0] = true);
        }
    }
    is_read
}

/// Whether a product is one of a column with a row, each of which has elements, but fewer than the result.
fn stretches_both(
    recording: &Recording,
    contraction: &Contraction,
    operands: [Value; 2],
    result: &Meta,
) -> bool {
    let is_narrow = |operand: &Value| {
        (1..result.shape.elements()).contains(&recording.meta(operand).shape.elements())
    };
    contraction.lhs_batch.is_empty() && operands.iter().all(is_narrow)
}

/// The product of the operands before they were transposed, where their free axes were in that order.
fn folded(
    graph: &Graph,
    contraction: &Contraction,
    lhs: Value,
    rhs: Value,
) -> Option<(Contraction, Value, Value)> {
    let mut simpler = contraction.clone();
    let mut operands = [lhs, rhs];
    let mut changed = false;
    let sides = [
        (&mut simpler.lhs_contracting, &mut simpler.lhs_batch),
        (&mut simpler.rhs_contracting, &mut simpler.rhs_batch),
    ];
    for (operand, (contracting, batch)) in operands.iter_mut().zip(sides) {
        let Some((permutation, origin)) = transposition(graph, *operand) else { continue };
        let free = (0..permutation.len())
            .filter(|axis| !contracting.contains(axis) && !batch.contains(axis))
            .map(|axis| permutation[axis]);
        if !free.is_sorted() {
            continue;
        }
        *contracting = contracting.iter().map(|&axis| permutation[axis]).collect();
        *batch = batch.iter().map(|&axis| permutation[axis]).collect();
        *operand = origin;
        changed = true;
    }
    changed.then_some((simpler, operands[0], operands[1]))
}

fn transposition(graph: &Graph, value: Value) -> Option<(&Indices, Value)> {
    let step = graph.step(value)?;
    match step.kind() {
        StepKind::Primitive(Primitive::Structural(Structural::Transpose { permutation })) => {
            Some((permutation, step.operands()[0]))
        }
        _ => None,
    }
}

/// Records the elementwise form of a product that sums over at most one element, if it has one.
fn elementwise(
    recording: &mut Recording,
    contraction: &Contraction,
    operands: [Value; 2],
    result: &Meta,
) -> Result<Option<Value>> {
    let metas = operands.map(|operand| recording.meta(&operand));
    let summed: usize =
        contraction.lhs_contracting.iter().map(|&axis| metas[0].shape[axis]).product();
    if summed > 1 || result.dtype.is_complex() {
        return Ok(None);
    }
    let zero = zero(result.dtype)?;
    if summed == 0 {
        let zero = recording.constant(zero);
        let extents = Indices::from(&result.shape[..]);
        let row = Structural::BroadcastInDim { extents, axes: Indices::default() };
        return Ok(Some(recording.emit(row.into(), &[&zero])?));
    }
    let mut factors: SmallVec<[Value; 2]> = SmallVec::new();
    for (side, (operand, meta)) in operands.iter().zip(&metas).enumerate() {
        let Some(extents) = spread(contraction, side, meta, result.shape.rank()) else {
            return Ok(None);
        };
        factors.push(if extents[..] == meta.shape[..] {
            *operand
        } else {
            recording.emit(Structural::Reshape { extents }.into(), &[operand])?
        });
    }
    let product = recording.emit(Elementwise::Mul.into(), &[&factors[0], &factors[1]])?;
    if result.dtype.is_integer() {
        return Ok(Some(product));
    }
    let zero = recording.constant(zero);
    Ok(Some(recording.emit(Elementwise::Add.into(), &[&product, &zero])?))
}

/// The extents under which an operand broadcasts to the result, 1 where it has no axis; `None` if its axes are not in the
/// order of the result.
fn spread(contraction: &Contraction, side: usize, meta: &Meta, rank: usize) -> Option<Indices> {
    let (contracting, batch) = match side {
        0 => (&contraction.lhs_contracting, &contraction.lhs_batch),
        _ => (&contraction.rhs_contracting, &contraction.rhs_batch),
    };
    let free: SmallVec<[usize; 6]> = (0..meta.shape.rank())
        .filter(|axis| !contracting.contains(axis) && !batch.contains(axis))
        .collect();
    let before = match (contraction.batch, side) {
        (BatchPosition::Leading, 0) => batch.len(),
        (BatchPosition::Trailing, 0) => 0,
        (BatchPosition::Leading, _) => rank - free.len(),
        (BatchPosition::Trailing, _) => rank - batch.len() - free.len(),
    };
    let batch_at = match contraction.batch {
        BatchPosition::Leading => 0,
        BatchPosition::Trailing => rank - batch.len(),
    };
    // Of each axis of the result that of the operand.
    let mut axes: SmallVec<[Option<usize>; 6]> = SmallVec::from_elem(None, rank);
    for (place, &axis) in free.iter().enumerate() {
        axes[before + place] = Some(axis);
    }
    for (place, &axis) in batch.iter().enumerate() {
        axes[batch_at + place] = Some(axis);
    }
    let moved = axes.iter().flatten().filter(|&&axis| meta.shape[axis] != 1);
    let extents = axes.iter().map(|axis| axis.map_or(1, |axis| meta.shape[axis]));
    moved.is_sorted().then(|| extents.collect())
}

fn zero(dtype: DType) -> Result<Tensor> {
    Ok(dispatch!(dtype, any T => {
        Tensor::scalar(T::from_factor(Factor::Real(0.0)).unwrap_or_default())
    })?)
}
