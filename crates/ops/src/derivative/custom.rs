//! The derivatives of operations that are not in the vocabulary, whose rules are their own.
//!
//! Such a rule is written once, as those of primitives are, but against an object: behind [`Steps`] is whatever builder
//! differentiates, and values are [`Handle`]s.

use tenferro_tensor::{Primitive, Result, Tensor, Validation};

use super::Point;
use crate::{Builder, CustomOp, Meta};

/// A value of [`Steps`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handle(usize);

/// A [`Builder`] whatever its values are: what the rule of a custom operation is written with, and what is [composed](compose).
///
/// See [`CustomOp::jvp`] for an example.
pub struct Steps<'b> {
    numbered: &'b mut dyn Numbered,
}

/// A builder and the values that have handles.
trait Numbered {
    fn meta(&self, value: Handle) -> Meta;
    fn constant(&mut self, tensor: Tensor) -> Handle;
    fn emit(&mut self, primitive: Primitive, inputs: &[&Handle]) -> Result<Handle>;
}

struct Values<'b, B: Builder + ?Sized> {
    builder: &'b mut B,
    values: Vec<B::Value>,
}

impl<B: Builder + ?Sized> Values<'_, B> {
    fn handle(&mut self, value: B::Value) -> Handle {
        self.values.push(value);
        Handle(self.values.len() - 1)
    }
}

impl<B: Builder + ?Sized> Numbered for Values<'_, B> {
    fn meta(&self, value: Handle) -> Meta {
        self.builder.meta(&self.values[value.0])
    }

    fn constant(&mut self, tensor: Tensor) -> Handle {
        let value = self.builder.constant(tensor);
        self.handle(value)
    }

    fn emit(&mut self, primitive: Primitive, inputs: &[&Handle]) -> Result<Handle> {
        let inputs: Vec<&B::Value> = inputs.iter().map(|input| &self.values[input.0]).collect();
        let value = self.builder.emit(primitive, &inputs)?;
        Ok(self.handle(value))
    }
}

impl Builder for Steps<'_> {
    type Value = Handle;

    fn meta(&self, value: &Handle) -> Meta {
        self.numbered.meta(*value)
    }

    fn constant(&mut self, tensor: Tensor) -> Handle {
        self.numbered.constant(tensor)
    }

    fn emit(&mut self, primitive: Primitive, inputs: &[&Handle]) -> Result<Handle> {
        self.numbered.emit(primitive, inputs)
    }
}

/// What `f` makes of values of a builder that it need not know.
///
/// # Errors
/// What `f` returns.
pub fn compose<B: Builder + ?Sized>(
    builder: &mut B,
    operands: &[B::Value],
    f: impl FnOnce(&mut Steps<'_>, &[Handle]) -> Result<Handle>,
) -> Result<B::Value> {
    let mut values = Values { builder, values: operands.to_vec() };
    let handles: Vec<Handle> = (0..operands.len()).map(Handle).collect();
    let result = f(&mut Steps { numbered: &mut values }, &handles)?;
    Ok(values.values.swap_remove(result.0))
}

/// The tangent of a custom operation's result, by its own rule; `None` as for [`jvp`](super::jvp).
///
/// # Errors
/// [`Error::Unsupported`](tenferro_tensor::Error::Unsupported) in the name of an operation without a rule;
/// [`Validation::Rule`] if the tangent is not like the result; what the builder refuses.
pub fn custom_jvp<B: Builder + ?Sized>(
    builder: &mut B,
    op: &dyn CustomOp,
    point: &Point<'_, B::Value>,
) -> Result<Option<B::Value>> {
    let result = builder.meta(point.output);
    if point.tangents.iter().all(Option::is_none) || !result.dtype.is_inexact() {
        return Ok(None);
    }
    let mut values = Values { builder, values: Vec::new() };
    let inputs: Vec<Handle> = point.inputs.iter().map(|&x| values.handle(x.clone())).collect();
    let output = values.handle(point.output.clone());
    let tangents: Vec<Option<Handle>> =
        point.tangents.iter().map(|&t| t.map(|t| values.handle(t.clone()))).collect();
    let inputs: Vec<&Handle> = inputs.iter().collect();
    let tangents: Vec<Option<&Handle>> = tangents.iter().map(Option::as_ref).collect();
    let point = Point { inputs: &inputs, output: &output, tangents: &tangents };
    let Some(tangent) = op.jvp(&mut Steps { numbered: &mut values }, &point)? else {
        return Ok(None);
    };
    if values.meta(tangent) != result {
        let rule = "the tangent that the operation's rule gives has another dtype or shape than the result; mend the rule";
        return Err(Validation::Rule { rule }.of(op.name()));
    }
    Ok(Some(values.values.swap_remove(tangent.0)))
}
