//! What is told to `tracing`, under the feature of that name: scopes, installations and operations.
//!
//! A span begins after the CPUs have come and ends before they go, on the thread that holds them.

pub(super) use told::{ARE_TOLD, Told, held, operation};

#[cfg(feature = "tracing")]
mod told {
    use tenferro_arbiter::{ExecutionOwner, ResourcePermit};
    use tracing::{field::display, span::EnteredSpan};

    /// Whether anybody is told.
    pub(crate) const ARE_TOLD: bool = true;

    /// A span that ends when this is dropped.
    pub(crate) type Told = EnteredSpan;

    /// A scope or installation, as `name` says.
    pub(crate) fn held(name: &'static str, permit: &ResourcePermit) -> Told {
        let (owner, width) = (display(permit.owner()), permit.width());
        tracing::debug_span!("execution", kind = name, owner, width).entered()
    }

    /// An operation on `width` CPUs.
    #[inline]
    pub(crate) fn operation(owner: impl FnOnce() -> Option<ExecutionOwner>, width: usize) -> Told {
        tracing::trace_span!("operation", owner = owner().map(display), width).entered()
    }
}

#[cfg(not(feature = "tracing"))]
mod told {
    use tenferro_arbiter::{ExecutionOwner, ResourcePermit};

    /// Whether anybody is told.
    pub(crate) const ARE_TOLD: bool = false;

    /// Nobody is told.
    pub(crate) struct Told;

    pub(crate) fn held(_name: &'static str, _permit: &ResourcePermit) -> Told {
        Told
    }

    #[inline(always)]
    pub(crate) fn operation(
        _owner: impl FnOnce() -> Option<ExecutionOwner>,
        _width: usize,
    ) -> Told {
        Told
    }
}
