//! A program under construction: the builder that records.

use smallvec::SmallVec;
use tenferro_ops::{Builder, Meta, infer};
use tenferro_tensor::{Primitive, Tensor};

use crate::{Program, Spec, Step, StepKind, Value, program::Graph};

/// Steps so far. Each is checked when it is recorded, so that every program fits together.
#[derive(Default)]
pub(super) struct Recording {
    graph: Graph,
}

impl Recording {
    /// Nothing but inputs.
    pub(super) fn new(inputs: Vec<Spec>) -> Self {
        Self { graph: Graph { inputs, ..Graph::default() } }
    }

    pub(super) fn input(&self, number: usize) -> Value {
        debug_assert!(number < self.graph.inputs.len());
        Value(number)
    }

    /// Appends a step whose dtype and shape are known to be these.
    pub(super) fn push(&mut self, kind: StepKind, operands: &[Value], meta: Meta) -> Value {
        let value = Value(self.graph.inputs.len() + self.graph.steps.len());
        debug_assert!(operands.iter().all(|operand| operand.0 < value.0));
        self.graph.steps.push(Step { kind, operands: SmallVec::from_slice(operands), meta });
        value
    }

    /// Appends a step of another program on operands of this one.
    pub(super) fn repeat(&mut self, step: &Step, operands: &[Value]) -> Value {
        self.push(step.kind.clone(), operands, step.meta.clone())
    }

    pub(super) fn steps(&self) -> &[Step] {
        &self.graph.steps
    }

    pub(super) fn meta_of(&self, value: Value) -> &Meta {
        self.graph.meta(value)
    }

    /// The program with these results.
    pub(super) fn finish(mut self, outputs: Vec<Value>) -> Program {
        self.graph.outputs = outputs;
        Program::new(self.graph)
    }
}

impl Builder for Recording {
    type Value = Value;

    fn meta(&self, value: &Value) -> Meta {
        self.graph.meta(*value).clone()
    }

    fn constant(&mut self, tensor: Tensor) -> Value {
        let meta = Meta::of(&tensor);
        self.push(StepKind::Constant(tensor), &[], meta)
    }

    fn emit(&mut self, primitive: Primitive, inputs: &[&Value]) -> tenferro_tensor::Result<Value> {
        let metas: SmallVec<[Meta; 3]> = inputs.iter().map(|input| self.meta(input)).collect();
        let meta = infer(&primitive, &metas)?;
        let operands: SmallVec<[Value; 3]> = inputs.iter().map(|&&input| input).collect();
        Ok(self.push(StepKind::Primitive(primitive), &operands, meta))
    }
}
