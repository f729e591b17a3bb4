//! One operation on variables: below the highest level first, then what becomes of its derivatives.

use std::{borrow::Cow, sync::Arc};

use smallvec::SmallVec;
use tenferro_ops::{
    Builder, CustomOp,
    derivative::{self, Point},
};
use tenferro_tensor::{Operand, Primitive, Result, Tensor};

use crate::{
    Autodiff, Variable,
    known::Known,
    level::Level,
    node::{Node, Operands, Recorded},
    plan::Kept,
    plans,
    variable::Derivative,
};

/// Variables of one operation.
pub(super) type Variables = SmallVec<[Variable; 3]>;

/// An operand as the levels below know it, and the node that it has at this one.
pub(super) type Input<'a> = (Known<'a>, Option<&'a Arc<Node>>);

/// What is carried out on variables.
#[derive(Clone, Copy)]
pub(super) enum Operation<'o> {
    Primitive(&'o Primitive),
    Custom(&'o Arc<dyn CustomOp>),
}

impl Operation<'_> {
    fn apply(self, autodiff: &Autodiff, operands: &[Operand<'_>]) -> Result<Tensor> {
        match self {
            Operation::Primitive(primitive) => autodiff.apply(primitive, operands),
            Operation::Custom(op) => autodiff.apply_custom(op, operands),
        }
    }

    /// The tangent of the result by the operation's rule.
    pub(super) fn jvp<B: Builder>(
        self,
        builder: &mut B,
        point: &Point<'_, B::Value>,
    ) -> Result<Option<B::Value>> {
        match self {
            Operation::Primitive(primitive) => derivative::jvp(builder, primitive, point),
            Operation::Custom(op) => derivative::custom_jvp(builder, &**op, point),
        }
    }
}

/// The result of an operation, with the derivatives of every level.
pub(super) fn emit(
    autodiff: &Autodiff,
    operation: Operation<'_>,
    inputs: &[&Variable],
) -> Result<Variable> {
    let Some(level) = highest(inputs) else { return computed(autodiff, operation, inputs) };
    let is_reverse = mode(inputs, level) == Mode::Reverse;
    if is_reverse && inputs.iter().all(|x| x.is_lowest(level)) {
        let value = value(autodiff, operation, inputs)?;
        let known = |place: usize| Known::plain(inputs[place]);
        let output = Known::Plain(Cow::Borrowed(&value));
        let derivative = record(autodiff, operation, inputs, known, &output, level)?;
        return Ok(Variable::lowest(autodiff.clone(), value, level, derivative));
    }
    let below: Variables = inputs.iter().map(|x| x.below(level)).collect();
    let below: SmallVec<[&Variable; 3]> = below.iter().collect();
    let output = emit(autodiff, operation, &below)?;
    let derivative = if is_reverse {
        let known = |place: usize| Known::below(below[place]);
        record(autodiff, operation, inputs, known, &Known::below(&output), level)?
    } else {
        push(autodiff, operation, inputs, &below, &output, level)?
    };
    Ok(match derivative {
        Some(derivative) => output.tracked(level, derivative),
        None => output,
    })
}

/// The result of an operation, a constant to every level.
pub(super) fn computed(
    autodiff: &Autodiff,
    operation: Operation<'_>,
    inputs: &[&Variable],
) -> Result<Variable> {
    Ok(Variable::plain(autodiff.clone(), value(autodiff, operation, inputs)?))
}

fn value(autodiff: &Autodiff, operation: Operation<'_>, inputs: &[&Variable]) -> Result<Tensor> {
    match inputs {
        [x] => operation.apply(autodiff, &[x.operand()]),
        [x, y] => operation.apply(autodiff, &[x.operand(), y.operand()]),
        _ => {
            let operands: SmallVec<[Operand<'_>; 4]> = inputs.iter().map(|x| x.operand()).collect();
            operation.apply(autodiff, &operands)
        }
    }
}

/// The highest level at which an operand is differentiated; `None` as well while recording is paused.
pub(super) fn highest(inputs: &[&Variable]) -> Option<Level> {
    let highest = inputs.iter().filter_map(|x| x.track()).map(|track| track.level).max();
    highest.filter(|level| !level.is_paused())
}

#[derive(PartialEq, Eq)]
pub(super) enum Mode {
    Forward,
    Reverse,
}

/// A level is one transformation, and so of one mode.
pub(super) fn mode(inputs: &[&Variable], level: Level) -> Mode {
    let is_tangent = |x: &&Variable| matches!(x.at(level), Some(Derivative::Tangent(_)));
    if inputs.iter().any(is_tangent) { Mode::Forward } else { Mode::Reverse }
}

/// The tangent of the result.
fn push(
    autodiff: &Autodiff,
    operation: Operation<'_>,
    inputs: &[&Variable],
    below: &[&Variable],
    output: &Variable,
    level: Level,
) -> Result<Option<Derivative>> {
    let tangents: SmallVec<[Option<&Variable>; 3]> = inputs
        .iter()
        .map(|x| match x.at(level) {
            Some(Derivative::Tangent(tangent)) => Some(&**tangent),
            _ => None,
        })
        .collect();
    let point = Point { inputs: below, output, tangents: &tangents };
    let tangent = operation.jvp(&mut { autodiff }, &point)?;
    Ok(tangent.map(|tangent| Derivative::Tangent(Arc::new(tangent))))
}

/// The node of the result. `known` says what the levels below know of each operand.
pub(super) fn record<'a>(
    autodiff: &Autodiff,
    operation: Operation<'_>,
    inputs: &[&'a Variable],
    known: impl Fn(usize) -> Known<'a>,
    output: &Known<'_>,
    level: Level,
) -> Result<Option<Derivative>> {
    let operand = |place: usize| (known(place), node(inputs[place], level));
    // Nearly all have one operand or two, for which no list is made.
    let node = match inputs.len() {
        1 => recorded(autodiff, operation, &[operand(0)], output)?,
        2 => recorded(autodiff, operation, &[operand(0), operand(1)], output)?,
        many => {
            let operands: Vec<_> = (0..many).map(operand).collect();
            recorded(autodiff, operation, &operands, output)?
        }
    };
    Ok(node.map(Derivative::Node))
}

/// The node of an operation's result.
pub(super) fn recorded(
    autodiff: &Autodiff,
    operation: Operation<'_>,
    inputs: &[Input<'_>],
    output: &Known<'_>,
) -> Result<Option<Arc<Node>>> {
    let Some(plan) = plans::plan(operation, inputs, output)? else { return Ok(None) };
    let mut recorded = Recorded { plan, operands: Operands::new(), kept: Kept::new() };
    recorded.plan.keep(autodiff, inputs, output, &mut recorded.kept)?;
    for &(_, node) in inputs {
        if let Some(node) = node {
            recorded.operands.push(Some(Arc::clone(node)));
        }
    }
    Ok(Some(Arc::new(Node::operation(recorded))))
}

/// The node of a variable at a level.
pub(super) fn node(x: &Variable, level: Level) -> Option<&Arc<Node>> {
    match x.at(level) {
        Some(Derivative::Node(node)) => Some(node),
        _ => None,
    }
}
