//! Leaves out steps that change nothing or undo each other: [arithmetic](arithmetic) and [layout](layout).
//!
//! Only what keeps every bit is done: `x + 0` stays, since it makes 0 of -0.

mod arithmetic;
mod layout;

use smallvec::SmallVec;
use tenferro_ops::Builder;
use tenferro_tensor::Primitive;

use super::one;
use crate::{Program, Result, StepKind, Value};

pub(super) fn run(program: &Program) -> Result<Program> {
    super::rewritten(program, |recording, step, operands| {
        let graph = recording.graph();
        let simpler = match step.kind() {
            StepKind::Primitive(Primitive::Structural(row)) => {
                layout::simpler(graph, row, step, operands)
            }
            StepKind::Primitive(primitive) => arithmetic::simpler(graph, primitive, step, operands),
            _ => None,
        };
        Ok(match simpler {
            Some(Simpler::Value(value)) => one(value),
            Some(Simpler::Step(primitive, operand)) => {
                one(recording.emit(*primitive, &[&operand])?)
            }
            None => recording.repeat(step, operands),
        })
    })
}

/// What stands for a step.
enum Simpler {
    Value(Value),
    Step(Box<Primitive>, Value),
}

/// The axes that `axes` are, if `first` was applied before: a permutation after another.
fn composed(first: &[usize], axes: &[usize]) -> SmallVec<[usize; 6]> {
    axes.iter().map(|&axis| first[axis]).collect()
}
