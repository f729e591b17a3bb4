//! The one place where refusals of the execution core become tensor errors.

use tenferro_scope as scope;
use tenferro_tensor::Error;

/// A refusal of the execution core, met by the operation `op`.
///
/// What the caller's own state forbids is [`Error::RuntimeState`], what the domain does not have is
/// [`Error::Unsupported`], and what failed while waiting or running is [`Error::BackendSource`] with its typed source.
#[must_use]
#[cold]
pub fn refused(op: &'static str, error: scope::Error) -> Error {
    match error {
        scope::Error::ScopeActive { .. }
        | scope::Error::ForeignScope { .. }
        | scope::Error::OperationActive { .. }
        | scope::Error::ManagedWorker { .. }
        | scope::Error::DomainBusy { .. } => {
            Error::RuntimeState { op, reason: error.to_string().into() }
        }
        scope::Error::ExternalDomain => Error::Unsupported { op, reason: error.to_string().into() },
        other => Error::BackendSource { op, source: Box::new(other) },
    }
}
