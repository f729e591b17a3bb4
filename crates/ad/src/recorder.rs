//! The builder that lets rules write the tape: what is known is computed, what is linear in tangents is recorded.

use std::{borrow::Cow, sync::Arc};

use smallvec::SmallVec;
use tenferro_ops::{Builder, Described, Meta, infer};
use tenferro_tensor::{AsOperand, DType, Operand, Primitive, Result, Shape, Tensor};

use crate::{
    Autodiff, Variable,
    emit::{Operation, emit},
    node::{Edges, Node},
};

/// A builder that computes with what the levels below know and records operations on tangents. Without tangents it only
/// computes, as a backward sweep does.
pub(super) struct Recorder<'a> {
    pub(super) autodiff: &'a Autodiff,
}

/// A value of a [`Recorder`], lent by the operation that is recorded or made by its rule.
#[derive(Clone)]
pub(super) enum Recorded<'a> {
    /// Does not depend on what is differentiated, by no level: most values, which need be no variables.
    Plain(Cow<'a, Tensor>),
    /// Does not depend on what this level differentiates.
    Known(Cow<'a, Variable>),
    /// The same, computed on the way to something else and not kept: of use only where a rule does not ask for it.
    Unseen(&'a Meta),
    /// A tangent, of which only its place on the tape is known.
    Linear(Cow<'a, Arc<Node>>),
}

const ASKED_FOR: &str = "invariant: no rule asks for what is not kept";
const TANGENT: &str = "invariant: a tangent has no value";

impl<'a> Recorded<'a> {
    /// A variable as all levels below know it.
    pub(super) fn below(variable: &'a Variable) -> Self {
        match variable.is_tracked() {
            true => Recorded::Known(Cow::Borrowed(variable)),
            false => Recorded::plain(variable),
        }
    }

    /// The value of a variable, which no level below differentiates.
    pub(super) fn plain(variable: &'a Variable) -> Self {
        Recorded::Plain(Cow::Borrowed(variable.value()))
    }

    /// The value without what lent it.
    pub(super) fn into_owned(self) -> Recorded<'static> {
        match self {
            Recorded::Plain(tensor) => Recorded::Plain(Cow::Owned(tensor.into_owned())),
            Recorded::Known(variable) => Recorded::Known(Cow::Owned(variable.into_owned())),
            Recorded::Linear(node) => Recorded::Linear(Cow::Owned(node.into_owned())),
            Recorded::Unseen(_) => unreachable!("{ASKED_FOR}"),
        }
    }

    /// The same value, lent.
    pub(super) fn lent(&self) -> Recorded<'_> {
        match self {
            Recorded::Plain(tensor) => Recorded::Plain(Cow::Borrowed(tensor)),
            Recorded::Known(variable) => Recorded::Known(Cow::Borrowed(variable)),
            Recorded::Linear(node) => Recorded::Linear(Cow::Borrowed(node)),
            Recorded::Unseen(meta) => Recorded::Unseen(meta),
        }
    }

    /// What is known as a variable.
    pub(super) fn to_variable(&self, autodiff: &Autodiff) -> Variable {
        match self {
            Recorded::Plain(tensor) => autodiff.constant(Tensor::clone(tensor)),
            Recorded::Known(variable) => Variable::clone(variable),
            Recorded::Unseen(_) => unreachable!("{ASKED_FOR}"),
            Recorded::Linear(_) => unreachable!("{TANGENT}"),
        }
    }
}

impl From<Variable> for Recorded<'_> {
    fn from(variable: Variable) -> Self {
        match variable.is_tracked() {
            true => Recorded::Known(Cow::Owned(variable)),
            false => Recorded::Plain(Cow::Owned(variable.into_value())),
        }
    }
}

impl Described for Recorded<'_> {
    fn dtype(&self) -> DType {
        match self {
            Recorded::Plain(tensor) => tensor.dtype(),
            Recorded::Known(variable) => variable.dtype(),
            Recorded::Unseen(meta) => meta.dtype,
            Recorded::Linear(node) => node.meta().dtype,
        }
    }

    fn shape(&self) -> &Shape {
        match self {
            Recorded::Plain(tensor) => tensor.shape(),
            Recorded::Known(variable) => variable.shape(),
            Recorded::Unseen(meta) => &meta.shape,
            Recorded::Linear(node) => &node.meta().shape,
        }
    }
}

impl<'a> Recorder<'a> {
    /// The result of a primitive on values without a tangent.
    fn computed(&self, primitive: Primitive, inputs: &[&Recorded<'_>]) -> Result<Recorded<'a>> {
        let mut operands: SmallVec<[Operand<'_>; 3]> = SmallVec::new();
        for input in inputs {
            if let Recorded::Plain(tensor) = input {
                operands.push(tensor.as_operand());
            }
        }
        if operands.len() == inputs.len() {
            let value = self.autodiff.apply(&primitive, &operands)?;
            return Ok(Recorded::Plain(Cow::Owned(value)));
        }
        let variables: SmallVec<[Variable; 3]> =
            inputs.iter().map(|input| input.to_variable(self.autodiff)).collect();
        let variables: SmallVec<[&Variable; 3]> = variables.iter().collect();
        emit(self.autodiff, Operation::Primitive(&primitive), &variables).map(Recorded::from)
    }
}

impl<'a> Builder for Recorder<'a> {
    type Value = Recorded<'a>;

    fn meta(&self, value: &Recorded<'a>) -> Meta {
        Meta::of(value)
    }

    fn is_of_shape(&self, value: &Recorded<'a>, shape: &Shape) -> bool {
        value.shape() == shape
    }

    fn constant(&mut self, tensor: Tensor) -> Recorded<'a> {
        Recorded::Plain(Cow::Owned(tensor))
    }

    fn emit(&mut self, primitive: Primitive, inputs: &[&Recorded<'a>]) -> Result<Recorded<'a>> {
        let plain = |value: Tensor| Recorded::Plain(Cow::Owned(value));
        // Nearly all have one operand or two.
        match inputs {
            [Recorded::Plain(x)] => {
                return self.autodiff.apply(&primitive, &[x.as_operand()]).map(plain);
            }
            [Recorded::Plain(x), Recorded::Plain(y)] => {
                let operands = [x.as_operand(), y.as_operand()];
                return self.autodiff.apply(&primitive, &operands).map(plain);
            }
            _ => {}
        }
        if !inputs.iter().any(|input| matches!(input, Recorded::Linear(_))) {
            return self.computed(primitive, inputs);
        }
        let meta = infer(&primitive, inputs)?;
        let mut edges = Edges::new();
        for input in inputs {
            edges.push(input.lent().into_owned());
        }
        Ok(Recorded::Linear(Cow::Owned(Arc::new(Node::linear(primitive, edges, meta)))))
    }
}
