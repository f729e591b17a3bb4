//! The builder that lets rules write the tape: what is known is computed, what is linear in tangents is recorded.

use std::{borrow::Cow, sync::Arc};

use smallvec::SmallVec;
use tenferro_ops::{Builder, Described, Meta, infer};
use tenferro_tensor::{DType, Primitive, Result, Shape, Tensor};

use crate::{
    Autodiff, Variable,
    emit::{computed, emit},
    node::{Edge, Edges, Node},
};

/// A builder that computes with variables of the levels below and records operations on tangents.
pub(super) struct Recorder<'a> {
    pub(super) autodiff: &'a Autodiff,
    /// Nothing below differentiates: of what is known only the tensor counts, whatever else its variable says.
    pub(super) is_lowest: bool,
}

/// A value of a [`Recorder`], lent by the operation that is recorded or made by its rule.
#[derive(Clone)]
pub(super) enum Recorded<'a> {
    /// Does not depend on what is differentiated.
    Known(Cow<'a, Variable>),
    /// A tangent, of which only its place on the tape is known.
    Linear(Cow<'a, Arc<Node>>),
}

impl Described for &Recorded<'_> {
    fn dtype(&self) -> DType {
        match self {
            Recorded::Known(variable) => variable.dtype(),
            Recorded::Linear(node) => node.meta().dtype,
        }
    }

    fn shape(&self) -> &Shape {
        match self {
            Recorded::Known(variable) => variable.shape(),
            Recorded::Linear(node) => &node.meta().shape,
        }
    }
}

impl<'a> Builder for Recorder<'a> {
    type Value = Recorded<'a>;

    fn meta(&self, value: &Recorded<'a>) -> Meta {
        Meta::of(&value)
    }

    fn constant(&mut self, tensor: Tensor) -> Recorded<'a> {
        Recorded::Known(Cow::Owned(self.autodiff.constant(tensor)))
    }

    fn emit(&mut self, primitive: Primitive, inputs: &[&Recorded<'a>]) -> Result<Recorded<'a>> {
        let mut known: SmallVec<[&Variable; 3]> = SmallVec::new();
        for input in inputs {
            if let Recorded::Known(variable) = input {
                known.push(variable);
            }
        }
        if known.len() == inputs.len() {
            let value = match self.is_lowest {
                true => computed(self.autodiff, &primitive, &known)?,
                false => emit(self.autodiff, primitive, &known)?,
            };
            return Ok(Recorded::Known(Cow::Owned(value)));
        }
        let meta = infer(&primitive, inputs)?;
        let mut edges = Edges::new();
        for input in inputs {
            edges.push(match input {
                Recorded::Known(variable) if self.is_lowest => Edge::Known(variable.detach()),
                Recorded::Known(variable) => Edge::Known(variable.clone().into_owned()),
                Recorded::Linear(node) => Edge::Linear(node.clone().into_owned()),
            });
        }
        Ok(Recorded::Linear(Cow::Owned(Arc::new(Node::linear(primitive, edges, meta)))))
    }
}
