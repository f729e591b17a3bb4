//! Elementwise rows and sums that give an operand back.

use tenferro_tensor::{Elementwise, Factor, Primitive, Reduction, Scalar, Tensor, dispatch};

use super::{super::constant, Simpler};
use crate::{Step, StepKind, Value, program::Graph};

pub(super) fn simpler(
    graph: &Graph,
    primitive: &Primitive,
    step: &Step,
    operands: &[Value],
) -> Option<Simpler> {
    let same = |value: Value| (graph.meta(value) == step.meta()).then_some(Simpler::Value(value));
    let known = |value: Value| constant(graph.step(value));
    match (primitive, operands) {
        (Primitive::Elementwise(row), _) => match (row, operands) {
            (Elementwise::Mul, &[lhs, rhs]) | (Elementwise::Div, &[lhs, rhs])
                if is_one(known(rhs)) =>
            {
                same(lhs)
            }
            (Elementwise::Mul, &[lhs, rhs]) if is_one(known(lhs)) => same(rhs),
            // Of -0 and 0, -0 alone is neutral in sums, and 0 in differences.
            (Elementwise::Add, &[lhs, rhs]) if is_zero(known(rhs), Zero::Negative) => same(lhs),
            (Elementwise::Add, &[lhs, rhs]) if is_zero(known(lhs), Zero::Negative) => same(rhs),
            (Elementwise::Sub, &[lhs, rhs]) if is_zero(known(rhs), Zero::Positive) => same(lhs),
            (Elementwise::Neg, &[x]) => undone(graph, x, &Elementwise::Neg.into()),
            (Elementwise::Conj, &[x]) if !step.meta().dtype.is_complex() => same(x),
            (Elementwise::Conj, &[x]) => undone(graph, x, &Elementwise::Conj.into()),
            (Elementwise::Not, &[x]) => undone(graph, x, &Elementwise::Not.into()),
            (Elementwise::Real, &[x])
            | (Elementwise::Convert { .. } | Elementwise::Bitcast { .. }, &[x]) => same(x),
            (Elementwise::Select, &[predicate, on_true, on_false]) => {
                let truth = known(predicate).filter(|truth| truth.rank() == 0)?;
                let truth = truth.get::<bool>(&[]).ok()?;
                same(if truth { on_true } else { on_false })
            }
            _ => None,
        },
        // The sum of -0 alone is 0.
        (Primitive::Reduction(Reduction::Sum { axes, .. }), &[x])
            if axes.is_empty() && step.meta().dtype.is_integer() =>
        {
            same(x)
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

/// Whether a constant is one; asked of scalars only.
fn is_one(tensor: Option<&Tensor>) -> bool {
    let Some(tensor) = tensor.filter(|tensor| tensor.rank() == 0) else { return false };
    dispatch!(tensor.dtype(), number T => {
        tensor.get::<T>(&[]).is_ok_and(|element| element == T::ONE)
    }, else false)
}

/// The sign of a zero, where a dtype has two.
#[derive(Clone, Copy)]
enum Zero {
    Positive,
    Negative,
}

/// Whether a constant is this zero; asked of scalars only. A complex zero has a sign in each part, and is none.
fn is_zero(tensor: Option<&Tensor>, zero: Zero) -> bool {
    let Some(tensor) = tensor.filter(|tensor| tensor.rank() == 0 && !tensor.dtype().is_complex())
    else {
        return false;
    };
    let number = match zero {
        Zero::Positive => 0.0,
        Zero::Negative => -0.0,
    };
    dispatch!(tensor.dtype(), number T => {
        match (tensor.get::<T>(&[]), T::from_factor(Factor::Real(number))) {
            (Ok(element), Some(zero)) => bytemuck::bytes_of(&element) == bytemuck::bytes_of(&zero),
            _ => false,
        }
    }, else false)
}
