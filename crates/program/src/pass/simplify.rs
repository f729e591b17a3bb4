//! Leaves out steps that change nothing or undo each other, and lets products read what was transposed for them.
//!
//! Only what keeps every bit is done: `x + 0` stays, since it makes 0 of -0.

use smallvec::SmallVec;
use tenferro_ops::Builder;
use tenferro_tensor::{
    Contraction, Dot, Elementwise, Indices, Primitive, Reduction, Structural, Tensor, dispatch,
};

use super::{constant, one};
use crate::{Program, Result, Step, StepKind, Value, program::Graph};

pub(super) fn run(program: &Program) -> Result<Program> {
    super::rewritten(program, |recording, step, operands| {
        let simpler = match step.kind() {
            StepKind::Primitive(primitive) => simpler(recording.graph(), primitive, step, operands),
            _ => None,
        };
        Ok(match simpler {
            Some(Simpler::Value(value)) => one(value),
            Some(Simpler::Step(primitive, operands)) => {
                let operands: SmallVec<[&Value; 3]> = operands.iter().collect();
                one(recording.emit(*primitive, &operands)?)
            }
            None => recording.repeat(step, operands),
        })
    })
}

/// What stands for a step.
enum Simpler {
    Value(Value),
    Step(Box<Primitive>, SmallVec<[Value; 3]>),
}

fn simpler(
    graph: &Graph,
    primitive: &Primitive,
    step: &Step,
    operands: &[Value],
) -> Option<Simpler> {
    let same = |value: Value| (graph.meta(value) == step.meta()).then_some(Simpler::Value(value));
    match (primitive, operands) {
        (Primitive::Elementwise(row), _) => match (row, operands) {
            (Elementwise::Mul, &[lhs, rhs]) | (Elementwise::Div, &[lhs, rhs])
                if is_one(constant(graph.step(rhs))) =>
            {
                same(lhs)
            }
            (Elementwise::Mul, &[lhs, rhs]) if is_one(constant(graph.step(lhs))) => same(rhs),
            (Elementwise::Neg, &[x]) => undone(graph, x, &Elementwise::Neg.into()),
            (Elementwise::Conj, &[x]) if !step.meta().dtype.is_complex() => same(x),
            (Elementwise::Conj, &[x]) => undone(graph, x, &Elementwise::Conj.into()),
            (Elementwise::Real, &[x]) | (Elementwise::Convert { .. }, &[x]) => same(x),
            _ => None,
        },
        (Primitive::Reduction(Reduction::Sum { axes, .. }), &[x]) if axes.is_empty() => same(x),
        (Primitive::Structural(row), &[x]) => structural(graph, row, step, x),
        (Primitive::Dot(Dot::DotGeneral { contraction }), &[lhs, rhs]) => {
            product(graph, contraction, lhs, rhs)
        }
        _ => None,
    }
}

/// What a value was before the same primitive was applied to it.
fn undone(graph: &Graph, x: Value, primitive: &Primitive) -> Option<Simpler> {
    let step = graph.step(x)?;
    match step.kind() {
        StepKind::Primitive(before) if before == primitive => {
            Some(Simpler::Value(step.operands()[0]))
        }
        _ => None,
    }
}

fn structural(graph: &Graph, row: &Structural, step: &Step, x: Value) -> Option<Simpler> {
    let before = graph.step(x).and_then(|step| match step.kind() {
        StepKind::Primitive(Primitive::Structural(row)) => Some((row, step.operands()[0])),
        _ => None,
    });
    match row {
        Structural::Transpose { permutation } => {
            if permutation.iter().enumerate().all(|(place, &axis)| place == axis) {
                return Some(Simpler::Value(x));
            }
            let (Structural::Transpose { permutation: first }, origin) = before? else {
                return None;
            };
            let both: Indices = permutation.iter().map(|&axis| first[axis]).collect();
            if both.iter().enumerate().all(|(place, &axis)| place == axis) {
                return Some(Simpler::Value(origin));
            }
            let row = Structural::Transpose { permutation: both };
            Some(Simpler::Step(Box::new(row.into()), SmallVec::from_slice(&[origin])))
        }
        Structural::Reshape { .. } => {
            if graph.meta(x) == step.meta() {
                return Some(Simpler::Value(x));
            }
            let (Structural::Reshape { .. }, origin) = before? else { return None };
            if graph.meta(origin) == step.meta() {
                return Some(Simpler::Value(origin));
            }
            Some(Simpler::Step(Box::new(row.clone().into()), SmallVec::from_slice(&[origin])))
        }
        Structural::BroadcastInDim { axes, .. } => {
            let in_place = axes.iter().enumerate().all(|(place, &axis)| place == axis);
            (in_place && graph.meta(x) == step.meta()).then_some(Simpler::Value(x))
        }
        _ => None,
    }
}

/// A product of transposed operands reads them as they are, if their free axes stay in order.
fn product(graph: &Graph, contraction: &Contraction, lhs: Value, rhs: Value) -> Option<Simpler> {
    let mut simpler = contraction.clone();
    let mut operands = SmallVec::from_slice(&[lhs, rhs]);
    let (mut changed, sides) = (
        false,
        [
            (lhs, &mut simpler.lhs_contracting, &mut simpler.lhs_batch),
            (rhs, &mut simpler.rhs_contracting, &mut simpler.rhs_batch),
        ],
    );
    for (place, (value, contracting, batch)) in sides.into_iter().enumerate() {
        let Some((permutation, origin)) = transposition(graph, value) else { continue };
        let free = (0..permutation.len())
            .filter(|axis| !contracting.contains(axis) && !batch.contains(axis))
            .map(|axis| permutation[axis]);
        if !free.is_sorted() {
            continue;
        }
        *contracting = contracting.iter().map(|&axis| permutation[axis]).collect();
        *batch = batch.iter().map(|&axis| permutation[axis]).collect();
        operands[place] = origin;
        changed = true;
    }
    changed
        .then(|| Simpler::Step(Box::new(Dot::DotGeneral { contraction: simpler }.into()), operands))
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

/// Whether every element of a constant is one; asked of scalars only.
fn is_one(tensor: Option<&Tensor>) -> bool {
    let Some(tensor) = tensor.filter(|tensor| tensor.rank() == 0) else { return false };
    dispatch!(tensor.dtype(), number T => {
        tensor.as_slice::<T>().is_ok_and(|elements| elements == [<T as tenferro_tensor::Scalar>::ONE])
    }, else false)
}
