//! A program: steps in an order in which they can run, each the only origin of its value.

use std::sync::Arc;

use smallvec::SmallVec;
use tenferro_ops::{CustomOp, Meta};
use tenferro_tensor::{DType, Indices, Primitive, Shape, Tensor};

use crate::Result;

/// The dtype and shape of an input, and what it is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spec {
    meta: Meta,
    name: Option<Arc<str>>,
}

impl Spec {
    /// An input of this dtype and these extents.
    ///
    /// # Errors
    /// [`Validation::SizeOverflow`](tenferro_tensor::Validation::SizeOverflow) if they cannot be addressed.
    pub fn new(dtype: DType, extents: impl Into<Indices>) -> Result<Self> {
        let shape = Shape::new(&extents.into()).map_err(|problem| problem.of("input"))?;
        Ok(Self::of(&Meta { dtype, shape }))
    }

    /// An input like this.
    #[must_use]
    pub fn of(meta: &Meta) -> Self {
        Self { meta: meta.clone(), name: None }
    }

    /// The input with a name, by which the program prints it.
    #[must_use]
    pub fn named(mut self, name: &str) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Dtype and shape.
    #[must_use]
    pub fn meta(&self) -> &Meta {
        &self.meta
    }

    /// The name, if it has one.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }
}

/// A value of a program: an input or the result of a step, by number; inputs come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Value(pub(super) usize);

impl Value {
    /// The number.
    #[must_use]
    pub fn index(self) -> usize {
        self.0
    }
}

/// What a step does.
#[allow(
    clippy::large_enum_variant,
    reason = "nearly every step is a primitive, whose parameters are inline to spare an allocation"
)]
#[derive(Clone, Debug)]
pub enum StepKind {
    /// A tensor that was known when the program was traced.
    Constant(Tensor),
    /// A row of the vocabulary.
    Primitive(Primitive),
    /// An operation that is not in the vocabulary.
    Custom(Arc<dyn CustomOp>),
}

/// A step of a program: an operation, its operands, and the dtype and shape of its result.
#[derive(Clone, Debug)]
pub struct Step {
    pub(super) kind: StepKind,
    pub(super) operands: SmallVec<[Value; 3]>,
    pub(super) meta: Meta,
}

impl Step {
    /// What the step does.
    #[must_use]
    pub fn kind(&self) -> &StepKind {
        &self.kind
    }

    /// The operands.
    #[must_use]
    pub fn operands(&self) -> &[Value] {
        &self.operands
    }

    /// The dtype and shape of the result.
    #[must_use]
    pub fn meta(&self) -> &Meta {
        &self.meta
    }

    /// The name of the operation.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match &self.kind {
            StepKind::Constant(_) => "constant",
            StepKind::Primitive(primitive) => primitive.name(),
            StepKind::Custom(custom) => custom.name(),
        }
    }
}

/// A traced computation: immutable, and cheap to clone.
///
/// `Display` prints it step by step; `{:?}` prints the same.
#[derive(Clone)]
pub struct Program {
    graph: Arc<Graph>,
}

/// The parts of a program.
#[derive(Clone, Default)]
pub(super) struct Graph {
    pub(super) inputs: Vec<Spec>,
    pub(super) steps: Vec<Step>,
    pub(super) outputs: Vec<Value>,
}

impl Graph {
    pub(super) fn meta(&self, value: Value) -> &Meta {
        match value.0.checked_sub(self.inputs.len()) {
            None => self.inputs[value.0].meta(),
            Some(step) => &self.steps[step].meta,
        }
    }

    /// The step that a value comes from; `None` for inputs.
    pub(super) fn step(&self, value: Value) -> Option<&Step> {
        value.0.checked_sub(self.inputs.len()).map(|step| &self.steps[step])
    }
}

impl Program {
    pub(super) fn new(graph: Graph) -> Self {
        Self { graph: Arc::new(graph) }
    }

    /// The inputs.
    #[must_use]
    pub fn inputs(&self) -> &[Spec] {
        &self.graph.inputs
    }

    /// The steps, in an order in which they can run.
    #[must_use]
    pub fn steps(&self) -> &[Step] {
        &self.graph.steps
    }

    /// The results.
    #[must_use]
    pub fn outputs(&self) -> &[Value] {
        &self.graph.outputs
    }

    /// The dtype and shape of a value.
    ///
    /// # Panics
    /// If the program has no such value.
    #[must_use]
    pub fn meta(&self, value: Value) -> &Meta {
        self.graph.meta(value)
    }

    /// The dtypes and shapes of the results.
    #[must_use]
    pub fn output_metas(&self) -> Vec<Meta> {
        self.outputs().iter().map(|&output| self.meta(output).clone()).collect()
    }
}
