//! A value that a level does not differentiate, as the levels below know it.

use std::borrow::Cow;

use tenferro_ops::{Described, Meta};
use tenferro_tensor::{DType, Shape, Tensor};

use crate::{Autodiff, Variable};

/// What is known of an operand, a result or a gradient, lent or kept. Two words, since a tape is made of them.
#[derive(Clone)]
pub(super) enum Known<'a> {
    /// Differentiated by no level: most values, which need be no variables.
    Plain(Cow<'a, Tensor>),
    /// Differentiated by a level below; lent.
    Lent(&'a Variable),
    /// The same, kept.
    Kept(Box<Variable>),
    /// Computed on the way to something else and gone: of use only where a rule does not ask for it.
    Unseen(&'a Meta),
}

const ASKED_FOR: &str = "invariant: no rule asks for what is not kept";

impl<'a> Known<'a> {
    /// A variable as all levels below know it.
    pub(super) fn below(variable: &'a Variable) -> Self {
        match variable.is_tracked() {
            true => Known::Lent(variable),
            false => Known::plain(variable),
        }
    }

    /// The value of a variable, which no level below differentiates.
    pub(super) fn plain(variable: &'a Variable) -> Self {
        Known::Plain(Cow::Borrowed(variable.value()))
    }

    /// Whether no level differentiates the value.
    pub(super) fn is_plain(&self) -> bool {
        matches!(self, Known::Plain(_))
    }

    /// The value without what lent it.
    pub(super) fn into_owned(self) -> Known<'static> {
        match self {
            Known::Plain(tensor) => Known::Plain(Cow::Owned(tensor.into_owned())),
            Known::Lent(variable) => Known::Kept(Box::new(variable.clone())),
            Known::Kept(variable) => Known::Kept(variable),
            Known::Unseen(_) => unreachable!("{ASKED_FOR}"),
        }
    }

    pub(super) fn into_variable(self, autodiff: &Autodiff) -> Variable {
        match self {
            Known::Plain(tensor) => autodiff.constant(tensor.into_owned()),
            Known::Lent(variable) => variable.clone(),
            Known::Kept(variable) => *variable,
            Known::Unseen(_) => unreachable!("{ASKED_FOR}"),
        }
    }
}

impl From<Tensor> for Known<'_> {
    fn from(tensor: Tensor) -> Self {
        Known::Plain(Cow::Owned(tensor))
    }
}

impl From<Variable> for Known<'_> {
    fn from(variable: Variable) -> Self {
        match variable.is_tracked() {
            true => Known::Kept(Box::new(variable)),
            false => variable.into_value().into(),
        }
    }
}

impl Described for Known<'_> {
    #[inline]
    fn dtype(&self) -> DType {
        match self {
            Known::Plain(tensor) => tensor.dtype(),
            Known::Lent(variable) => variable.dtype(),
            Known::Kept(variable) => variable.dtype(),
            Known::Unseen(meta) => meta.dtype,
        }
    }

    #[inline]
    fn shape(&self) -> &Shape {
        match self {
            Known::Plain(tensor) => tensor.shape(),
            Known::Lent(variable) => variable.shape(),
            Known::Kept(variable) => variable.shape(),
            Known::Unseen(meta) => &meta.shape,
        }
    }
}
