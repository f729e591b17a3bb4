//! The witness of an engine that variables compute with.

use std::sync::Arc;

use tenferro_ops::{Builder, CustomOp, Engine, Inputs, Meta, Op, Region, Results};
use tenferro_tensor::{Exponentials, Indices, Operand, Primitive, Result, Tensor, Vocabulary};

use crate::{
    Variable,
    emit::{Operation, emit, highest},
    exponentials,
};

/// An engine behind variables: what they compute with, shared by all of them.
///
/// Cheap to clone. An engine that cannot be shared is cloned for each operation, as clones of a backend are witnesses of
/// one; no lock is held while it runs. Operations within an execution scope of a backend share the scope, as with the backend itself.
#[derive(Clone)]
pub struct Autodiff {
    engine: Arc<dyn Witness>,
}

/// An engine of which each call gets a clone.
trait Witness: Send + Sync {
    fn apply(&self, primitive: &Primitive, inputs: &[Operand<'_>]) -> Result<Tensor>;
    fn custom(&self, op: &Arc<dyn CustomOp>, inputs: &[Operand<'_>]) -> Result<Tensor>;
    fn exponentials(&self, exponentials: &Exponentials, x: &Operand<'_>) -> Result<Option<Tensor>>;
    fn run_region(&self, region: &Region, inputs: &[Operand<'_>]) -> Result<Results>;
}

impl<E: Engine + Clone> Witness for E {
    fn apply(&self, primitive: &Primitive, inputs: &[Operand<'_>]) -> Result<Tensor> {
        match self.apply_shared(primitive, inputs) {
            Some(result) => result,
            None => Vocabulary::apply(&mut self.clone(), primitive, inputs),
        }
    }

    fn custom(&self, op: &Arc<dyn CustomOp>, inputs: &[Operand<'_>]) -> Result<Tensor> {
        let mut engine = self.clone();
        let engine: &mut dyn Engine = &mut engine;
        engine.execute(&Op::Custom(Arc::clone(op)), inputs)
    }

    fn exponentials(&self, exponentials: &Exponentials, x: &Operand<'_>) -> Result<Option<Tensor>> {
        Vocabulary::exponentials(&mut self.clone(), exponentials, x)
    }

    fn run_region(&self, region: &Region, inputs: &[Operand<'_>]) -> Result<Results> {
        match self.run_region_shared(region, inputs) {
            Some(results) => results,
            None => {
                let mut inputs: Inputs<'_> = inputs.iter().map(|&input| input.into()).collect();
                Engine::run_region(&mut self.clone(), region, &mut inputs)
            }
        }
    }
}

impl Autodiff {
    /// Differentiation over an engine, mostly a clone of a backend.
    pub fn new<E: Engine + Clone + 'static>(engine: E) -> Self {
        Self { engine: Arc::new(engine) }
    }

    /// A leaf whose gradient [`Variable::backward`] accumulates.
    ///
    /// # Errors
    /// [`Validation::MeaninglessDType`](tenferro_tensor::Validation::MeaninglessDType) unless the tensor holds floats.
    pub fn variable(&self, value: Tensor) -> Result<Variable> {
        Variable::leaf(self.clone(), value)
    }

    /// A value that nothing is differentiated by.
    #[must_use]
    pub fn constant(&self, value: Tensor) -> Variable {
        Variable::plain(self.clone(), value)
    }

    /// The result of an operation that is not in the vocabulary, whose derivatives are by its own rule.
    ///
    /// See [`Function`](crate::Function) for functions with rules as closures.
    ///
    /// # Errors
    /// What the operation refuses; [`Error::Unsupported`](tenferro_tensor::Error::Unsupported) if an operand is being
    /// differentiated and the operation does not say what its derivative is.
    pub fn custom(&self, op: Arc<dyn CustomOp>, inputs: &[&Variable]) -> Result<Variable> {
        emit(self, Operation::Custom(&op), inputs)
    }

    pub(super) fn apply_custom(
        &self,
        op: &Arc<dyn CustomOp>,
        inputs: &[Operand<'_>],
    ) -> Result<Tensor> {
        self.engine.custom(op, inputs)
    }

    pub(super) fn apply(&self, primitive: &Primitive, inputs: &[Operand<'_>]) -> Result<Tensor> {
        self.engine.apply(primitive, inputs)
    }

    pub(super) fn run_region(&self, region: &Region, inputs: &[Operand<'_>]) -> Result<Results> {
        self.engine.run_region(region, inputs)
    }
}

/// Composites and rules run on variables as they run on tensors.
impl Builder for &Autodiff {
    type Value = Variable;

    fn meta(&self, value: &Variable) -> Meta {
        Meta::of(value.value())
    }

    fn constant(&mut self, tensor: Tensor) -> Variable {
        Autodiff::constant(self, tensor)
    }

    fn emit(&mut self, primitive: Primitive, inputs: &[&Variable]) -> Result<Variable> {
        emit(self, Operation::Primitive(&primitive), inputs)
    }

    fn detached(&mut self, value: &Variable) -> Variable {
        value.detach()
    }

    fn exponentials_and_sums(
        &mut self,
        x: &Variable,
        shift: &Variable,
        axes: &Indices,
    ) -> Result<Option<[Variable; 2]>> {
        exponentials::and_sums(self, x, shift, axes)
    }

    fn exponentials(
        &mut self,
        exponentials: &Exponentials,
        x: &Variable,
    ) -> Result<Option<Variable>> {
        if highest(&[x]).is_some() {
            return Ok(None);
        }
        let value = self.engine.exponentials(exponentials, &x.operand())?;
        Ok(value.map(|value| Autodiff::constant(self, value)))
    }
}
