//! What is told to `tracing`, under the feature of that name.
//!
//! Subscribers are code of somebody else's, so that nothing is told under the lock.

pub(super) use told::admission;

#[cfg(feature = "tracing")]
mod told {
    use tracing::span::EnteredSpan;

    use crate::request::Request;

    /// An admission that takes the lock, and may wait.
    pub(crate) fn admission(request: &Request) -> EnteredSpan {
        let (label, min, max) = (request.name().as_str(), request.min(), request.max());
        tracing::debug_span!("admission", label, min, max).entered()
    }
}

#[cfg(not(feature = "tracing"))]
mod told {
    use crate::request::Request;

    /// Nobody is told.
    pub(crate) struct Untold;

    pub(crate) fn admission(_request: &Request) -> Untold {
        Untold
    }
}
