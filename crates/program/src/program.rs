//! A program: steps in an order in which they can run, each the only origin of its values.

use std::sync::Arc;

use smallvec::SmallVec;
use tenferro_ops::{CustomOp, Meta};
use tenferro_tensor::{DType, Indices, Primitive, Shape, Tensor};

use crate::{
    Control, Result,
    identity::{Identity, fingerprint},
};

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

/// A value of a program: an input or a result of a step, by number; inputs come first.
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
    /// Control flow: programs that run as a choice or a loop says.
    Control(Control),
}

/// A step of a program: an operation, its operands, and the dtypes and shapes of its results.
///
/// Everything but control flow has one result.
#[derive(Clone, Debug)]
pub struct Step {
    pub(super) kind: StepKind,
    pub(super) operands: SmallVec<[Value; 3]>,
    /// The first result; the others follow.
    pub(super) first: Value,
    pub(super) metas: SmallVec<[Meta; 1]>,
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

    /// The dtype and shape of the result of a step that has one, which only control flow may not.
    ///
    /// # Panics
    /// If the step has none or several.
    #[must_use]
    pub fn meta(&self) -> &Meta {
        match &self.metas[..] {
            [meta] => meta,
            metas => panic!("`{}` has {} results; ask for all of them", self.name(), metas.len()),
        }
    }

    /// The dtypes and shapes of the results.
    #[must_use]
    pub fn metas(&self) -> &[Meta] {
        &self.metas
    }

    /// The results, which are numbered one after the other.
    pub fn results(&self) -> impl ExactSizeIterator<Item = Value> + use<> {
        let first = self.first.0;
        (first..first + self.metas.len()).map(Value)
    }

    /// The name of the operation.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match &self.kind {
            StepKind::Constant(_) => "constant",
            StepKind::Primitive(primitive) => primitive.name(),
            StepKind::Custom(custom) => custom.name(),
            StepKind::Control(control) => control.name(),
        }
    }
}

/// A traced computation: immutable, and cheap to clone.
///
/// `Display` prints it step by step; `{:?}` prints the same.
#[derive(Clone)]
pub struct Program {
    graph: Arc<Graph>,
    pub(super) identity: Arc<Identity>,
}

/// The parts of a program.
#[derive(Clone, Default)]
pub(super) struct Graph {
    pub(super) inputs: Vec<Spec>,
    pub(super) steps: Vec<Step>,
    pub(super) outputs: Vec<Value>,
    /// For each value that is no input, the number of its step.
    origins: Vec<usize>,
}

impl Graph {
    pub(super) fn new(inputs: Vec<Spec>) -> Self {
        Self { inputs, ..Self::default() }
    }

    /// Appends a step, whose results follow all values before.
    pub(super) fn push(&mut self, kind: StepKind, operands: &[Value], metas: SmallVec<[Meta; 1]>) {
        let first = Value(self.values());
        self.origins.resize(self.origins.len() + metas.len(), self.steps.len());
        self.steps.push(Step { kind, operands: SmallVec::from_slice(operands), first, metas });
    }

    /// How many values there are.
    pub(super) fn values(&self) -> usize {
        self.inputs.len() + self.origins.len()
    }

    pub(super) fn meta(&self, value: Value) -> &Meta {
        match self.step(value) {
            None => self.inputs[value.0].meta(),
            Some(step) => &step.metas[value.0 - step.first.0],
        }
    }

    /// The step that a value comes from; `None` for inputs.
    pub(super) fn step(&self, value: Value) -> Option<&Step> {
        let origin = value.0.checked_sub(self.inputs.len())?;
        Some(&self.steps[self.origins[origin]])
    }
}

impl Program {
    pub(super) fn new(graph: Graph) -> Self {
        Self { graph: Arc::new(graph), identity: Arc::default() }
    }

    /// Whether this is the very same program, and no equal one.
    pub(super) fn is(&self, other: &Program) -> bool {
        Arc::ptr_eq(&self.graph, &other.graph)
    }

    /// A number that equal programs share, and others hardly ever. Read off all steps and constants, once.
    #[must_use]
    pub fn fingerprint(&self) -> u64 {
        *self.identity.fingerprint.get_or_init(|| fingerprint(self))
    }

    /// The program with other results.
    pub(super) fn with_outputs(&self, outputs: Vec<Value>) -> Self {
        Self::new(Graph { outputs, ..Graph::clone(&self.graph) })
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

    /// How many values the program has: its inputs and the results of its steps.
    #[must_use]
    pub fn values(&self) -> usize {
        self.graph.values()
    }

    /// The step that a value is a result of; `None` for inputs.
    ///
    /// # Panics
    /// If the program has no such value.
    #[must_use]
    pub fn origin(&self, value: Value) -> Option<&Step> {
        self.graph.step(value)
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
