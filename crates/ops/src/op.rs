//! An operation: a row of the vocabulary or somebody's own.

use std::{fmt::Debug, sync::Arc};

use tenferro_tensor::{Error, Operand, Primitive, Result, Tensor, Validation};

use crate::{Engine, Meta, infer};

/// An operation that an engine can carry out.
#[allow(
    clippy::large_enum_variant,
    reason = "nearly every operation is a primitive, whose parameters are inline to spare an allocation"
)]
#[derive(Clone, Debug)]
pub enum Op {
    /// A row of the vocabulary table.
    Primitive(Primitive),
    /// An operation that is not in the table.
    Custom(Arc<dyn CustomOp>),
}

/// An operation that is not in the vocabulary table, written over those that are.
pub trait CustomOp: Send + Sync + Debug {
    /// The name by which errors call the operation.
    fn name(&self) -> &'static str;

    /// The dtype and shape of the result for operands of these.
    ///
    /// # Errors
    /// What the operation refuses, as [`Error::Validation`].
    fn infer(&self, inputs: &[Meta]) -> Result<Meta>;

    /// The result, computed with the operations of `engine`.
    ///
    /// # Errors
    /// What the operation refuses, and whatever its steps refuse.
    fn evaluate(&self, engine: &mut dyn Engine, inputs: &[Operand<'_>]) -> Result<Tensor>;
}

impl Op {
    /// The name by which errors call the operation.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Op::Primitive(primitive) => primitive.name(),
            Op::Custom(custom) => custom.name(),
        }
    }

    /// The dtype and shape of the result for operands of these.
    ///
    /// # Errors
    /// What the operation refuses, as [`Error::Validation`].
    pub fn infer(&self, inputs: &[Meta]) -> Result<Meta> {
        match self {
            Op::Primitive(primitive) => infer(primitive, inputs),
            Op::Custom(custom) => custom.infer(inputs),
        }
    }
}

impl<P: Into<Primitive>> From<P> for Op {
    fn from(primitive: P) -> Self {
        Op::Primitive(primitive.into())
    }
}

impl<'e> dyn Engine + 'e {
    /// Carries out one operation, a custom one through its own steps.
    ///
    /// # Errors
    /// What the operation refuses, and what the engine cannot do now. [`Validation::Rule`] if a custom operation
    /// returned another dtype or shape than it had announced.
    pub fn execute(&mut self, op: &Op, inputs: &[Operand<'_>]) -> Result<Tensor> {
        match op {
            Op::Primitive(primitive) => self.apply(primitive, inputs),
            Op::Custom(custom) => {
                let inputs_meta: Vec<Meta> = inputs.iter().map(Meta::of).collect();
                let announced = custom.infer(&inputs_meta)?;
                let result = custom.evaluate(self, inputs)?;
                if Meta::of(&result) == announced { Ok(result) } else { Err(broken(custom.name())) }
            }
        }
    }
}

fn broken(op: &'static str) -> Error {
    let rule =
        "the custom operation returned another dtype or shape than its rule says; mend either";
    Validation::Rule { rule }.of(op)
}
