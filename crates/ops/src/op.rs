//! An operation: a row of the vocabulary or somebody's own.

use std::{fmt::Debug, sync::Arc};

use tenferro_tensor::{Error, Operand, Primitive, Result, Tensor, Validation};

use crate::{
    Engine, Meta,
    derivative::{Handle, Point, Steps},
    infer,
};

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

    /// The tangent of the result, written with the vocabulary and linear in the operands' tangents: the rule by which eager
    /// calls and programs differentiate the operation in both modes, to any order. `None` where the result does not depend
    /// on the operands smoothly.
    ///
    /// # Errors
    /// [`Error::Unsupported`] where an operation does not say what its derivative is; whatever the steps refuse.
    ///
    /// ```
    /// use tenferro_ops::{Build, CustomOp, Engine, Meta, derivative::{Handle, Point, Steps}};
    /// use tenferro_tensor::{Operand, Result, Tensor, TensorElementwise};
    ///
    /// #[derive(Debug)]
    /// struct Square;
    ///
    /// impl CustomOp for Square {
    ///     fn name(&self) -> &'static str {
    ///         "square"
    ///     }
    ///     fn infer(&self, inputs: &[Meta]) -> Result<Meta> {
    ///         Ok(inputs[0].clone())
    ///     }
    ///     fn evaluate(&self, engine: &mut dyn Engine, inputs: &[Operand<'_>]) -> Result<Tensor> {
    ///         engine.mul(&inputs[0], &inputs[0])
    ///     }
    ///     fn jvp(&self, b: &mut Steps<'_>, at: &Point<'_, Handle>) -> Result<Option<Handle>> {
    ///         let Some(t) = at.tangents[0] else { return Ok(None) };
    ///         let twice = b.add(at.inputs[0], at.inputs[0])?;
    ///         b.mul(t, &twice).map(Some)
    ///     }
    /// }
    /// ```
    fn jvp(&self, steps: &mut Steps<'_>, point: &Point<'_, Handle>) -> Result<Option<Handle>> {
        let _ = (steps, point);
        let reason = "the custom operation does not say what its derivative is; give it one by `CustomOp::jvp`, or leave what it is computed from out of the derivative".into();
        Err(Error::Unsupported { op: self.name(), reason })
    }
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
