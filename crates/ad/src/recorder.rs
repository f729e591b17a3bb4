//! The builder that lets rules write the tape: what is known is computed, what is linear in tangents is recorded.

use std::sync::Arc;

use smallvec::SmallVec;
use tenferro_ops::{Builder, Described, Meta, infer};
use tenferro_tensor::{DType, Primitive, Result, Shape, Tensor};

use crate::{
    Autodiff, Variable,
    emit::emit,
    node::{Edge, Node},
};

/// A builder that computes with variables of the levels below and records operations on tangents.
pub(super) struct Recorder {
    autodiff: Autodiff,
}

/// A value of a [`Recorder`].
#[derive(Clone)]
pub(super) enum Recorded {
    /// Does not depend on what is differentiated.
    Known(Variable),
    /// A tangent, of which only its place on the tape is known.
    Linear(Arc<Node>),
}

impl Recorder {
    pub(super) fn new(autodiff: Autodiff) -> Self {
        Self { autodiff }
    }
}

impl Described for &Recorded {
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

impl Builder for Recorder {
    type Value = Recorded;

    fn meta(&self, value: &Recorded) -> Meta {
        match value {
            Recorded::Known(variable) => Meta::of(variable.value()),
            Recorded::Linear(node) => node.meta().clone(),
        }
    }

    fn constant(&mut self, tensor: Tensor) -> Recorded {
        Recorded::Known(self.autodiff.constant(tensor))
    }

    fn emit(&mut self, primitive: Primitive, inputs: &[&Recorded]) -> Result<Recorded> {
        let known: SmallVec<[&Variable; 3]> = inputs
            .iter()
            .filter_map(|input| match input {
                Recorded::Known(variable) => Some(variable),
                Recorded::Linear(_) => None,
            })
            .collect();
        if known.len() == inputs.len() {
            return emit(&self.autodiff, primitive, &known).map(Recorded::Known);
        }
        let meta = infer(&primitive, inputs)?;
        let edges = inputs
            .iter()
            .map(|input| match input {
                Recorded::Known(variable) => Edge::Known(variable.clone()),
                Recorded::Linear(node) => Edge::Linear(Arc::clone(node)),
            })
            .collect();
        Ok(Recorded::Linear(Arc::new(Node::linear(primitive, edges, meta))))
    }
}
