//! Structural rows that move nothing, or undo each other; a transposition of axes of extent 1 is a reshape, which moves
//! nothing either.

use tenferro_tensor::{Indices, Primitive, Structural};

use super::{Simpler, composed};
use crate::{Step, StepKind, Value, program::Graph};

pub(super) fn simpler(
    graph: &Graph,
    row: &Structural,
    step: &Step,
    operands: &[Value],
) -> Option<Simpler> {
    let &x = operands.first()?;
    let shape = &graph.meta(x).shape;
    let is_same = graph.meta(x) == step.meta();
    let before = graph.step(x).and_then(|step| match step.kind() {
        StepKind::Primitive(Primitive::Structural(row)) => Some((row, step.operands()[..].first())),
        _ => None,
    });
    match row {
        Structural::Transpose { permutation } => match before {
            Some((Structural::Transpose { permutation: first }, Some(&origin))) => {
                let both = composed(first, permutation);
                Some(if both.is_sorted() {
                    Simpler::Value(origin)
                } else {
                    let row = Structural::Transpose { permutation: Indices::from(&both[..]) };
                    Simpler::Step(Box::new(row.into()), origin)
                })
            }
            _ if permutation.is_sorted() => Some(Simpler::Value(x)),
            _ => {
                let moved = permutation.iter().filter(|&&axis| shape[axis] != 1);
                moved.is_sorted().then(|| reshape(step, x))
            }
        },
        Structural::Reshape { .. } if is_same => Some(Simpler::Value(x)),
        Structural::Reshape { .. } => match before {
            Some((Structural::Reshape { .. }, Some(&origin))) => {
                let is_same = graph.meta(origin) == step.meta();
                Some(if is_same { Simpler::Value(origin) } else { reshape(step, origin) })
            }
            _ => None,
        },
        Structural::BroadcastInDim { axes, .. } if axes.is_sorted() => {
            // A result of as many elements has nothing stretched.
            match shape.elements() == step.meta().shape.elements() && shape.elements() > 0 {
                true if is_same => Some(Simpler::Value(x)),
                true => Some(reshape(step, x)),
                false => None,
            }
        }
        Structural::Pad { padding } => {
            let nothing = padding.iter().all(|axis| (axis.low, axis.high) == (0, 0));
            (nothing && is_same).then_some(Simpler::Value(x))
        }
        Structural::Concatenate { .. } if operands.len() == 1 => Some(Simpler::Value(x)),
        Structural::Reverse { axes } => {
            if axes.iter().all(|&axis| shape[axis] <= 1) {
                return Some(Simpler::Value(x));
            }
            match before {
                Some((Structural::Reverse { axes: first }, Some(&origin))) if first == axes => {
                    Some(Simpler::Value(origin))
                }
                _ => None,
            }
        }
        _ => None,
    }
}

/// The reshape of a value to the extents of the step.
fn reshape(step: &Step, x: Value) -> Simpler {
    let extents = Indices::from(&step.meta().shape[..]);
    Simpler::Step(Box::new(Structural::Reshape { extents }.into()), x)
}
