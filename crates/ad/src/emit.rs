//! One operation on variables: below the highest level first, then what becomes of its derivatives.

use std::{borrow::Cow, sync::Arc};

use smallvec::SmallVec;
use tenferro_ops::derivative::{self, Point};
use tenferro_tensor::{Operand, Primitive, Result};

use crate::{
    Autodiff, Variable,
    level::Level,
    node::Node,
    recorder::{Recorded, Recorder},
    variable::Derivative,
};

/// Variables of one operation.
pub(super) type Variables = SmallVec<[Variable; 3]>;

/// The result of a primitive, with the derivatives of every level.
pub(super) fn emit(
    autodiff: &Autodiff,
    primitive: Primitive,
    inputs: &[&Variable],
) -> Result<Variable> {
    let Some(level) = highest(inputs) else { return computed(autodiff, &primitive, inputs) };
    let is_reverse = mode(inputs, level) == Mode::Reverse;
    let (output, derivative) = if is_reverse && inputs.iter().all(|x| x.is_lowest(level)) {
        let output = computed(autodiff, &primitive, inputs)?;
        let recorder = Recorder { autodiff, is_lowest: true };
        let derivative = record(recorder, &primitive, inputs, inputs, &output, level)?;
        (output, derivative)
    } else {
        let below: Variables = inputs.iter().map(|x| x.below(level)).collect();
        let below: SmallVec<[&Variable; 3]> = below.iter().collect();
        let output = emit(autodiff, primitive.clone(), &below)?;
        let derivative = if is_reverse {
            let recorder = Recorder { autodiff, is_lowest: false };
            record(recorder, &primitive, inputs, &below, &output, level)?
        } else {
            push(autodiff, &primitive, inputs, &below, &output, level)?
        };
        (output, derivative)
    };
    Ok(match derivative {
        Some(derivative) => output.tracked(level, derivative),
        None => output,
    })
}

/// The result of a primitive, a constant to every level.
pub(super) fn computed(
    autodiff: &Autodiff,
    primitive: &Primitive,
    inputs: &[&Variable],
) -> Result<Variable> {
    let value = match inputs {
        [x] => autodiff.apply(primitive, &[x.operand()])?,
        [x, y] => autodiff.apply(primitive, &[x.operand(), y.operand()])?,
        _ => {
            let operands: SmallVec<[Operand<'_>; 4]> = inputs.iter().map(|x| x.operand()).collect();
            autodiff.apply(primitive, &operands)?
        }
    };
    Ok(Variable::plain(autodiff.clone(), value))
}

/// The highest level at which an operand is differentiated; `None` as well while recording is paused.
pub(super) fn highest(inputs: &[&Variable]) -> Option<Level> {
    let highest = inputs.iter().filter_map(|x| x.track()).map(|track| track.level).max();
    highest.filter(|level| !level.is_paused())
}

#[derive(PartialEq, Eq)]
enum Mode {
    Forward,
    Reverse,
}

/// A level is one transformation, and so of one mode.
fn mode(inputs: &[&Variable], level: Level) -> Mode {
    let is_tangent = |x: &&Variable| matches!(x.at(level), Some(Derivative::Tangent(_)));
    if inputs.iter().any(is_tangent) { Mode::Forward } else { Mode::Reverse }
}

/// The tangent of the result.
fn push(
    autodiff: &Autodiff,
    primitive: &Primitive,
    inputs: &[&Variable],
    below: &[&Variable],
    output: &Variable,
    level: Level,
) -> Result<Option<Derivative>> {
    let tangents: SmallVec<[Option<&Variable>; 3]> = inputs
        .iter()
        .map(|x| match x.at(level) {
            Some(Derivative::Tangent(tangent)) => Some(tangent),
            _ => None,
        })
        .collect();
    let point = Point { inputs: below, output, tangents: &tangents };
    let tangent = derivative::jvp(&mut autodiff.clone(), primitive, &point)?;
    Ok(tangent.map(Derivative::Tangent))
}

/// The node of the result, behind those of the linear steps that lead to it. `below` are the operands as the recorder
/// knows them.
fn record<'a>(
    mut recorder: Recorder<'a>,
    primitive: &Primitive,
    inputs: &[&'a Variable],
    below: &[&'a Variable],
    output: &'a Variable,
    level: Level,
) -> Result<Option<Derivative>> {
    // One by one: a list that is collected is moved, which takes as long as all else here.
    let mut known: SmallVec<[Recorded<'_>; 3]> = SmallVec::new();
    let mut nodes: SmallVec<[Option<Recorded<'_>>; 3]> = SmallVec::new();
    for (x, below) in inputs.iter().zip(below) {
        known.push(Recorded::Known(Cow::Borrowed(below)));
        nodes.push(match x.at(level) {
            Some(Derivative::Node(node)) => Some(Recorded::Linear(Cow::Borrowed(node))),
            _ => None,
        });
    }
    let output = Recorded::Known(Cow::Borrowed(output));
    let mut values: SmallVec<[&Recorded<'_>; 3]> = SmallVec::new();
    let mut tangents: SmallVec<[Option<&Recorded<'_>>; 3]> = SmallVec::new();
    for (known, node) in known.iter().zip(&nodes) {
        values.push(known);
        tangents.push(node.as_ref());
    }
    let point = Point { inputs: &values, output: &output, tangents: &tangents };
    let tangent = derivative::jvp(&mut recorder, primitive, &point)?;
    Ok(match tangent {
        // Made by the rule.
        Some(Recorded::Linear(Cow::Owned(node))) => Some(Derivative::Node(node)),
        // An operation that passes a tangent on, as adding a constant does, has a place of its own for hooks and gradients.
        Some(Recorded::Linear(Cow::Borrowed(node))) => {
            let result = Node::result(Arc::clone(node), 0, node.meta().clone());
            Some(Derivative::Node(Arc::new(result)))
        }
        Some(Recorded::Known(_)) | None => None,
    })
}

/// The node of a variable at a level.
pub(super) fn node(x: &Variable, level: Level) -> Option<Arc<Node>> {
    match x.at(level) {
        Some(Derivative::Node(node)) => Some(Arc::clone(node)),
        _ => None,
    }
}
