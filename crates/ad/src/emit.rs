//! One operation on variables: below the highest level first, then what becomes of its derivatives.

use std::sync::Arc;

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
    let below: Variables = inputs.iter().map(|x| x.below(level)).collect();
    let output = {
        let below: SmallVec<[&Variable; 3]> = below.iter().collect();
        match highest(&below) {
            None => computed(autodiff, &primitive, &below)?,
            Some(_) => emit(autodiff, primitive.clone(), &below)?,
        }
    };
    let derivative = match mode(inputs, level) {
        Mode::Forward => push(autodiff, &primitive, inputs, &below, &output, level)?,
        Mode::Reverse => record(autodiff, &primitive, inputs, below, &output, level)?,
    };
    Ok(match derivative {
        Some(derivative) => output.tracked(level, derivative),
        None => output,
    })
}

/// The result of a primitive on operands that nothing is differentiated by.
fn computed(autodiff: &Autodiff, primitive: &Primitive, inputs: &[&Variable]) -> Result<Variable> {
    let operands: SmallVec<[Operand<'_>; 4]> = inputs.iter().map(|x| x.operand()).collect();
    let value = autodiff.apply(primitive, &operands)?;
    Ok(Variable::plain(autodiff.clone(), value))
}

/// The highest level at which an operand is differentiated; `None` as well while recording is paused.
pub(super) fn highest(inputs: &[&Variable]) -> Option<Level> {
    let highest = inputs.iter().filter_map(|x| x.track()).map(|track| track.level).max();
    highest.filter(|level| !level.is_paused())
}

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
    below: &Variables,
    output: &Variable,
    level: Level,
) -> Result<Option<Derivative>> {
    let below: SmallVec<[&Variable; 3]> = below.iter().collect();
    let tangents: SmallVec<[Option<&Variable>; 3]> = inputs
        .iter()
        .map(|x| match x.at(level) {
            Some(Derivative::Tangent(tangent)) => Some(tangent),
            _ => None,
        })
        .collect();
    let point = Point { inputs: &below, output, tangents: &tangents };
    let tangent = derivative::jvp(&mut autodiff.clone(), primitive, &point)?;
    Ok(tangent.map(Derivative::Tangent))
}

/// The node of the result, behind those of the linear steps that lead to it.
fn record(
    autodiff: &Autodiff,
    primitive: &Primitive,
    inputs: &[&Variable],
    below: Variables,
    output: &Variable,
    level: Level,
) -> Result<Option<Derivative>> {
    let known: SmallVec<[Recorded; 3]> = below.into_iter().map(Recorded::Known).collect();
    let known: SmallVec<[&Recorded; 3]> = known.iter().collect();
    let output = Recorded::Known(output.clone());
    let nodes: SmallVec<[Option<Recorded>; 3]> =
        inputs.iter().map(|x| node(x, level).map(Recorded::Linear)).collect();
    let tangents: SmallVec<[Option<&Recorded>; 3]> = nodes.iter().map(Option::as_ref).collect();
    let point = Point { inputs: &known, output: &output, tangents: &tangents };
    let tangent = derivative::jvp(&mut Recorder::new(autodiff.clone()), primitive, &point)?;
    let Some(Recorded::Linear(node)) = tangent else { return Ok(None) };
    // An operation that passes a tangent on, as adding a constant does, has a place of its own for hooks and gradients.
    let passed_on =
        inputs.iter().any(|x| self::node(x, level).is_some_and(|own| Arc::ptr_eq(&own, &node)));
    Ok(Some(Derivative::Node(if passed_on {
        let meta = node.meta().clone();
        Arc::new(Node::result(node, 0, meta))
    } else {
        node
    })))
}

/// The node of a variable at a level.
pub(super) fn node(x: &Variable, level: Level) -> Option<Arc<Node>> {
    match x.at(level) {
        Some(Derivative::Node(node)) => Some(Arc::clone(node)),
        _ => None,
    }
}
