//! The contract of a provider: whoever computes products, in one file each.

use std::borrow::Cow;

use tenferro_tensor::DType;

use crate::{
    Capabilities, Error, Product, Workers,
    lapack::{Request, Routine},
};

/// Computes matrix products, in Rust or by a foreign library.
///
/// A provider is registered by name and called through a [`Chain`](crate::Chain). It checks what it can do and either
/// executes the whole request or leaves the output untouched.
pub trait Provider: Send + Sync {
    /// The name by which it is chosen: lower case, such as `native`.
    fn name(&self) -> &str;

    /// The version of what computes, as it calls itself.
    fn version(&self) -> &str;

    /// What it can do.
    fn capabilities(&self) -> &Capabilities;

    /// What a user should know beyond that, a sentence each: where it was found, how it was built, what it was denied.
    fn notes(&self) -> &[String] {
        &[]
    }

    /// Computes `request`, with no more threads than `workers` has.
    ///
    /// The request stays the caller's, who asks the next provider after [`Outcome::Unsupported`]; then no element of
    /// the output may have been written. Must not be called on a width that [`Capabilities::exclusion`] forbids.
    ///
    /// # Errors
    /// [`Error::Failed`] if the computation broke down; the output then has no meaning.
    fn product(&self, request: &mut Product<'_>, workers: &dyn Workers) -> Result<Outcome, Error>;

    /// Carries out a LAPACK routine, with no more threads than `workers` has; one that offers none refuses all.
    ///
    /// As for [`Provider::product`], nothing is written before [`Outcome::Unsupported`]. Work space is the provider's to
    /// size and to find; no element that is read is infinite or NaN.
    ///
    /// # Errors
    /// [`Error::Breakdown`] if the matrix has no such result; [`Error::Failed`] if the computation broke down.
    fn lapack(&self, request: &mut Request<'_>, workers: &dyn Workers) -> Result<Outcome, Error> {
        let _ = workers;
        Ok(Outcome::Unsupported(Reason::Routine(request.routine())))
    }
}

/// What became of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub enum Outcome {
    /// The output holds the result.
    Executed,
    /// The provider does not do this; the output is untouched.
    Unsupported(Reason),
}

/// Why a provider does not do what was asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Reason {
    /// It does not have the dtype.
    #[error("it has no products of {0}")]
    DType(DType),
    /// It does not take the strides.
    #[error("it cannot read or write these strides without a copy")]
    Strides,
    /// It cannot conjugate the operand.
    #[error("it cannot conjugate an operand without a copy")]
    Conjugation,
    /// It takes one product at a time.
    #[error("it has no batched products")]
    Batch,
    /// It does not have the LAPACK routine.
    #[error("it has no {0}")]
    Routine(Routine),
    /// An extent or stride does not fit its integers.
    #[error("an extent or stride of {0} does not fit its integers")]
    Extent(usize),
    /// Another user holds it, and the caller is on a thread that must not wait.
    #[error("another user holds it, and this thread may not wait for that")]
    Held,
    /// Anything else.
    #[error("{0}")]
    Other(Cow<'static, str>),
}
