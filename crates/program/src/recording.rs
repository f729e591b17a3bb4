//! A program under construction: the builder that records.

use smallvec::SmallVec;
use tenferro_ops::{Builder, Meta, infer};
use tenferro_tensor::{Primitive, Tensor};

use crate::{
    Control, Program, Spec, Step, StepKind, Value,
    control::{Metas, Misfit},
    program::Graph,
};

/// The results of a step: one, but for control flow.
pub(super) type Results = SmallVec<[Value; 1]>;

/// Steps so far. Each is checked when it is recorded, so that every program fits together.
#[derive(Default)]
pub(super) struct Recording {
    graph: Graph,
    /// Inputs that turn up while steps are recorded. Nobody knows then how many there will be, so that they are numbered
    /// from the top until the recording is finished.
    late: Vec<Spec>,
}

impl Recording {
    /// Nothing but inputs.
    pub(super) fn new(inputs: Vec<Spec>) -> Self {
        Self { graph: Graph::new(inputs), late: Vec::new() }
    }

    pub(super) fn input(&self, number: usize) -> Value {
        debug_assert!(number < self.graph.inputs.len());
        Value(number)
    }

    /// The inputs, in order.
    pub(super) fn inputs(&self) -> Vec<Value> {
        (0..self.graph.inputs.len()).map(Value).collect()
    }

    /// One more input, after all others.
    pub(super) fn late_input(&mut self, spec: Spec) -> Value {
        self.late.push(spec);
        Value(usize::MAX - (self.late.len() - 1))
    }

    /// Appends a step whose dtypes and shapes are known to be these.
    pub(super) fn push(&mut self, kind: StepKind, operands: &[Value], metas: Metas) -> Results {
        self.graph.push(kind, operands, metas);
        self.graph.steps.last().expect("invariant: it was just pushed").results().collect()
    }

    /// Appends a step that has one result, whose dtype and shape are known to be this.
    pub(super) fn push_one(&mut self, kind: StepKind, operands: &[Value], meta: Meta) -> Value {
        self.push(kind, operands, Metas::from_elem(meta, 1))[0]
    }

    /// Appends control flow.
    pub(super) fn control(
        &mut self,
        control: Control,
        operands: &[Value],
    ) -> Result<Results, Misfit> {
        let metas: Vec<Meta> =
            operands.iter().map(|operand| self.meta_of(*operand).clone()).collect();
        let results = control.infer(&metas)?;
        Ok(self.push(StepKind::Control(control), operands, results))
    }

    /// Appends a step of another program on operands of this one.
    pub(super) fn repeat(&mut self, step: &Step, operands: &[Value]) -> Results {
        self.push(step.kind.clone(), operands, step.metas.clone())
    }

    /// Appends all steps of a program, whose inputs are these values; its results.
    pub(super) fn inline(&mut self, program: &Program, inputs: &[Value]) -> Vec<Value> {
        let mut values = inputs.to_vec();
        for step in program.steps() {
            let operands: SmallVec<[Value; 3]> =
                step.operands().iter().map(|operand| values[operand.0]).collect();
            values.extend(self.repeat(step, &operands));
        }
        program.outputs().iter().map(|output| values[output.0]).collect()
    }

    /// What is recorded so far.
    pub(super) fn graph(&self) -> &Graph {
        &self.graph
    }

    /// The step that a value comes from; `None` for inputs.
    pub(super) fn origin(&self, value: Value) -> Option<&Step> {
        match self.late.get(usize::MAX - value.0) {
            Some(_) => None,
            None => self.graph.step(value),
        }
    }

    pub(super) fn meta_of(&self, value: Value) -> &Meta {
        match self.late.get(usize::MAX - value.0) {
            Some(spec) => spec.meta(),
            None => self.graph.meta(value),
        }
    }

    /// The program with these results.
    pub(super) fn finish(self, outputs: Vec<Value>) -> Program {
        let Self { mut graph, late } = self;
        if late.is_empty() {
            graph.outputs = outputs;
            return Program::new(graph);
        }
        let (before, more) = (graph.inputs.len(), late.len());
        let renumbered = |value: &Value| match usize::MAX - value.0 {
            late if late < more => Value(before + late),
            _ if value.0 < before => *value,
            _ => Value(value.0 + more),
        };
        let mut whole = Graph::new(graph.inputs.into_iter().chain(late).collect());
        for step in graph.steps {
            let operands: SmallVec<[Value; 3]> = step.operands.iter().map(renumbered).collect();
            whole.push(step.kind, &operands, step.metas);
        }
        whole.outputs = outputs.iter().map(renumbered).collect();
        Program::new(whole)
    }
}

impl Builder for Recording {
    type Value = Value;

    fn meta(&self, value: &Value) -> Meta {
        self.meta_of(*value).clone()
    }

    fn constant(&mut self, tensor: Tensor) -> Value {
        let meta = Meta::of(&tensor);
        self.push_one(StepKind::Constant(tensor), &[], meta)
    }

    fn emit(&mut self, primitive: Primitive, inputs: &[&Value]) -> tenferro_tensor::Result<Value> {
        let metas: SmallVec<[Meta; 3]> = inputs.iter().map(|input| self.meta(input)).collect();
        let meta = infer(&primitive, &metas)?;
        let operands: SmallVec<[Value; 3]> = inputs.iter().map(|&&input| input).collect();
        Ok(self.push_one(StepKind::Primitive(primitive), &operands, meta))
    }
}
