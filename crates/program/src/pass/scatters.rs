//! Scatters into what they are added to, instead of into zeros, as the gradient of a gather has it.
//!
//! That spares two tensors of the operand's size. It is the one pass that may change bits: elements that several updates
//! go to are summed from another end, and a zero may have the other sign.

use tenferro_ops::Builder;
use tenferro_tensor::{
    Combiner, Elementwise, Indexing, Placement, Primitive, Structural, dispatch,
};

use super::{constant, one, rewritten};
use crate::{Program, Result, Step, StepKind, Value, program::Graph};

pub(super) fn run(program: &Program) -> Result<Program> {
    let mut uses = vec![0_usize; program.values()];
    for value in program.steps().iter().flat_map(Step::operands).chain(program.outputs()) {
        uses[value.0] += 1;
    }
    rewritten(program, |recording, step, operands| {
        let (StepKind::Primitive(Primitive::Elementwise(Elementwise::Add)), &[lhs, rhs]) =
            (step.kind(), operands)
        else {
            return Ok(recording.repeat(step, operands));
        };
        let graph = recording.graph();
        let ways = [(step.operands()[1], lhs, rhs), (step.operands()[0], rhs, lhs)];
        let merged = ways.into_iter().find_map(|(old, x, scattered)| {
            let is_whole = graph.meta(x) == step.meta();
            // Who else reads what was scattered needs the zeros anyway.
            let into = (uses[old.0] == 1 && is_whole).then(|| into_zeros(graph, scattered))??;
            Some((into, x))
        });
        match merged {
            None => Ok(recording.repeat(step, operands)),
            Some(((scatter, indices, updates), x)) => {
                Ok(one(recording.emit(scatter, &[&x, &indices, &updates])?))
            }
        }
    })
}

/// A scatter that adds to zeros, with its indices and updates.
fn into_zeros(graph: &Graph, value: Value) -> Option<(Primitive, Value, Value)> {
    let step = graph.step(value)?;
    let (
        StepKind::Primitive(
            scatter @ Primitive::Indexing(Indexing::Scatter {
                placement: Placement::Combine(Combiner::Sum),
                ..
            }),
        ),
        &[x, indices, updates],
    ) = (step.kind(), step.operands())
    else {
        return None;
    };
    is_zeros(graph, x).then(|| (scatter.clone(), indices, updates))
}

/// Whether a value is a zero, stretched or not.
fn is_zeros(graph: &Graph, value: Value) -> bool {
    let step = graph.step(value);
    if let Some(tensor) = constant(step) {
        return tensor.rank() == 0
            && dispatch!(tensor.dtype(), number T => {
                tensor.get::<T>(&[]).is_ok_and(|element| element == T::default())
            }, else false);
    }
    step.is_some_and(|step| match step.kind() {
        StepKind::Primitive(Primitive::Structural(Structural::BroadcastInDim { .. })) => {
            is_zeros(graph, step.operands()[0])
        }
        _ => false,
    })
}
