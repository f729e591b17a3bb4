//! A tensor, and what each level of differentiation knows of it.

use std::{fmt, sync::Arc};

use tenferro_ops::{Described, derivative::scalar};
use tenferro_tensor::{
    Accepts, AsOperand, DType, Error, Operand, Result, Shape, Tensor, Validation,
};

use crate::{
    Autodiff,
    level::Level,
    node::{Hook, Node},
    sweep,
};

/// A tensor that may be differentiated: a value, and how it came about.
///
/// Cheap to clone; clones are the same variable. The methods are the vocabulary; `&x + &y` and the like give a `Result`, as
/// all operations do.
#[derive(Clone)]
pub struct Variable {
    autodiff: Autodiff,
    value: Tensor,
    /// In place: nearly every variable that is differentiated is so by one level.
    track: Option<Track>,
}

/// What the highest level of a variable knows of it.
#[derive(Clone)]
pub(super) struct Track {
    pub(super) level: Level,
    pub(super) derivative: Derivative,
    /// What the levels below know.
    below: Option<Arc<Track>>,
}

/// What a level knows of a variable.
#[derive(Clone)]
pub(super) enum Derivative {
    /// Forward mode: how fast the variable changes.
    Tangent(Arc<Variable>),
    /// Reverse mode: which node of the tape it is.
    Node(Arc<Node>),
}

impl Track {
    fn without(mut self, level: Level) -> Option<Self> {
        if self.level < level {
            return Some(self);
        }
        let below = self.below.take().map(Arc::unwrap_or_clone);
        if self.level == level {
            return below;
        }
        self.below = below.and_then(|below| below.without(level)).map(Arc::new);
        Some(self)
    }
}

impl Variable {
    pub(super) fn plain(autodiff: Autodiff, value: Tensor) -> Self {
        Self { autodiff, value, track: None }
    }

    pub(super) fn leaf(autodiff: Autodiff, value: Tensor) -> Result<Self> {
        check_inexact("variable", value.dtype())?;
        let leaf = Arc::new(Node::leaf(&value));
        Ok(Self::plain(autodiff, value).tracked(Level::BASE, Derivative::Node(leaf)))
    }

    /// A value that nothing below `level` is differentiated by.
    pub(super) fn lowest(
        autodiff: Autodiff,
        value: Tensor,
        level: Level,
        derivative: Option<Derivative>,
    ) -> Self {
        let track = derivative.map(|derivative| Track { level, derivative, below: None });
        Self { autodiff, value, track }
    }

    /// The variable as one of a higher level.
    pub(super) fn tracked(self, level: Level, derivative: Derivative) -> Self {
        let track = Track { level, derivative, below: self.track.map(Arc::new) };
        Self { autodiff: self.autodiff, value: self.value, track: Some(track) }
    }

    pub(super) fn track(&self) -> Option<&Track> {
        self.track.as_ref()
    }

    /// What a level knows of the variable.
    pub(super) fn at(&self, level: Level) -> Option<&Derivative> {
        self.track().filter(|track| track.level == level).map(|track| &track.derivative)
    }

    /// The variable as the levels below `level` know it.
    pub(super) fn below(&self, level: Level) -> Self {
        let mut track = self.track();
        while let Some(top) = track.filter(|top| top.level >= level) {
            track = top.below.as_deref();
        }
        Self { autodiff: self.autodiff.clone(), value: self.value.clone(), track: track.cloned() }
    }

    /// The variable as `level` knows it. What levels above knew is of no use where their functions have returned.
    pub(super) fn up_to(mut self, level: Level) -> Self {
        while let Some(top) = self.track.take_if(|top| top.level > level) {
            self.track = top.below.map(Arc::unwrap_or_clone);
        }
        self
    }

    /// The variable without what `level` knows of it, whatever levels above do.
    pub(super) fn without(mut self, level: Level) -> Self {
        self.track = self.track.and_then(|track| track.without(level));
        self
    }

    /// The node that `level` knows of, if it does, and the variable as the levels below know it.
    pub(super) fn into_node_and_below(mut self, level: Level) -> (Option<Arc<Node>>, Self) {
        let top = self.track.take_if(|top| top.level == level);
        let Some(Track { derivative, below, .. }) = top else { return (None, self) };
        self.track = below.map(Arc::unwrap_or_clone);
        match derivative {
            Derivative::Node(node) => (Some(node), self),
            Derivative::Tangent(_) => (None, self),
        }
    }

    /// Whether nothing below `level` is differentiated by, so that below it the variable is its value.
    pub(super) fn is_lowest(&self, level: Level) -> bool {
        self.track().is_none_or(|track| track.level == level && track.below.is_none())
    }

    pub(super) fn is_tracked(&self) -> bool {
        self.track.is_some()
    }

    pub(super) fn into_value(self) -> Tensor {
        self.value
    }

    pub(super) fn operand(&self) -> Operand<'_> {
        self.value.as_operand()
    }

    /// What the variable computes with.
    #[must_use]
    pub fn autodiff(&self) -> &Autodiff {
        &self.autodiff
    }

    /// The tensor.
    #[must_use]
    pub fn value(&self) -> &Tensor {
        &self.value
    }

    /// The element type.
    #[must_use]
    pub fn dtype(&self) -> DType {
        self.value.dtype()
    }

    /// The extents.
    #[must_use]
    pub fn shape(&self) -> &Shape {
        self.value.shape()
    }

    /// The value as a constant: gradients stop here.
    #[must_use]
    pub fn detach(&self) -> Self {
        Self::plain(self.autodiff.clone(), self.value.clone())
    }

    /// The gradient that backward sweeps have accumulated in this leaf; `None` if none has reached it.
    #[must_use]
    pub fn gradient(&self) -> Option<Tensor> {
        match self.at(Level::BASE) {
            Some(Derivative::Node(node)) => node.accumulated().sum,
            _ => None,
        }
    }

    /// Forgets the gradient that was accumulated in this leaf.
    pub fn clear_gradient(&self) {
        if let Some(Derivative::Node(node)) = self.at(Level::BASE) {
            node.clear_gradient();
        }
    }

    /// Calls `hook` with the gradient of this variable in each backward sweep that reaches it; what it returns takes the
    /// gradient's place.
    ///
    /// Hooks run in the order in which they were added, without a lock held: a hook may differentiate, read and clear
    /// gradients, add hooks and run sweeps, also of the graph that it is in. A sweep adds to leaves when it has come to its
    /// end; what a hook reads and clears before is from sweeps that ended earlier. A hook that is added where a sweep is
    /// waits for the next one. If a hook fails or panics, its sweep ends there and adds to no leaf. A hook that keeps a
    /// variable computed from its own keeps both alive.
    ///
    /// # Errors
    /// [`Validation::Rule`] if no backward sweep can reach the variable.
    pub fn on_gradient(
        &self,
        hook: impl Fn(&Variable) -> Result<Variable> + Send + Sync + 'static,
    ) -> Result<()> {
        match self.track().map(|track| &track.derivative) {
            Some(Derivative::Node(node)) => {
                node.add_hook(Hook::new(hook));
                Ok(())
            }
            _ => Err(rule(
                "on_gradient",
                "the variable has no gradient: nothing that it was computed from is being differentiated in reverse",
            )),
        }
    }

    /// Adds the gradients of this real scalar to the leaves that it was computed from.
    ///
    /// The graph is used up: what only it kept alive is freed while the sweep passes. Use [`grad`](crate::grad) and its
    /// kin for gradients as values and for higher order.
    ///
    /// # Errors
    /// [`Validation::Rule`] unless this is a real scalar that leaves were used for; [`Error::Unsupported`] naming a
    /// primitive without a derivative; what the engine refuses. Gradients accumulated so far stay.
    pub fn backward(self) -> Result<()> {
        const OP: &str = "backward";
        check_loss(OP, &self)?;
        let Some(Derivative::Node(node)) = self.at(Level::BASE) else {
            return Err(rule(
                OP,
                "no leaf is below this value at this level: make leaves by `Autodiff::variable`, and use `grad` inside of transformations",
            ));
        };
        let node = Arc::clone(node);
        let (autodiff, seed) = (self.autodiff.clone(), scalar(self.dtype(), 1.0)?);
        drop(self);
        sweep::accumulate(&autodiff, node, seed)
    }
}

impl AsOperand for Variable {
    fn as_operand(&self) -> Operand<'_> {
        self.operand()
    }
}

impl fmt::Debug for Variable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Variable")
            .field("value", &self.value)
            .field("level", &self.track().map(|track| track.level))
            .finish()
    }
}

impl fmt::Display for Variable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value.fmt(f)
    }
}

/// Refuses dtypes that have no derivative.
pub(super) fn check_inexact(op: &'static str, dtype: DType) -> Result<()> {
    if dtype.is_inexact() {
        return Ok(());
    }
    let expected = Accepts::Inexact.description();
    Err(Validation::MeaninglessDType { dtype, expected }.of(op))
}

/// Refuses to take the gradient of what is no real number.
pub(super) fn check_loss(op: &'static str, loss: &Variable) -> Result<()> {
    if loss.value.elements() != 1 || loss.value.rank() != 0 {
        return Err(rule(
            op,
            "a gradient is that of a scalar; sum the result, or use `vjp` or `jacobian`",
        ));
    }
    if loss.dtype().is_complex() {
        return Err(rule(
            op,
            "a gradient is that of a real number; take the real part or the magnitude, or use `vjp`",
        ));
    }
    check_inexact(op, loss.dtype())
}

/// Refuses a tangent or cotangent that has not the dtype and shape of its value.
pub(super) fn check_like(
    op: &'static str,
    value: &impl Described,
    derivative: &Variable,
) -> Result<()> {
    if value.dtype() != derivative.dtype() {
        let (lhs, rhs) = (value.dtype(), derivative.dtype());
        return Err(Validation::DTypeMismatch { lhs, rhs }.of(op));
    }
    if value.shape() != derivative.shape() {
        let (lhs, rhs) = (value.shape()[..].into(), derivative.shape()[..].into());
        return Err(Validation::ShapeMismatch { lhs, rhs }.of(op));
    }
    Ok(())
}

pub(super) fn rule(op: &'static str, rule: &'static str) -> Error {
    Validation::Rule { rule }.of(op)
}
