//! A provider that notes every call and passes it on: it proves which path was taken.

use std::sync::Arc;

use parking_lot::Mutex;
use tenferro_tensor::DType;

use crate::{
    Capabilities, Error, Outcome, Product, Provider, Workers,
    lapack::{Request, Routine},
};

/// One call that a [`Counting`] provider saw.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// The dtype of the product.
    pub dtype: DType,
    /// Extents `m`, `n`, `k` and the size of the batch.
    pub extents: [usize; 4],
    /// The width of the workers that came with the call.
    pub width: usize,
    /// Whether the inner provider executed it; not so if it refused or failed.
    pub executed: bool,
}

/// Wraps a provider, keeps its name and capabilities, and counts.
///
/// Not for use under load: each call locks the list of calls once, after the inner provider is done.
pub struct Counting {
    inner: Arc<dyn Provider>,
    calls: Mutex<Vec<Call>>,
    routines: Mutex<Vec<Routine>>,
}

impl Counting {
    /// Counts the calls to `inner`.
    #[must_use]
    pub fn new(inner: Arc<dyn Provider>) -> Self {
        Self { inner, calls: Mutex::default(), routines: Mutex::default() }
    }

    /// How many products there were.
    #[must_use]
    pub fn count(&self) -> usize {
        self.calls.lock().len()
    }

    /// The products since the last time, in the order in which they ended.
    #[must_use]
    pub fn take(&self) -> Vec<Call> {
        std::mem::take(&mut self.calls.lock())
    }

    /// The LAPACK routines since the last time, in the order in which they ended.
    #[must_use]
    pub fn take_routines(&self) -> Vec<Routine> {
        std::mem::take(&mut self.routines.lock())
    }
}

impl Provider for Counting {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn version(&self) -> &str {
        self.inner.version()
    }

    fn capabilities(&self) -> &Capabilities {
        self.inner.capabilities()
    }

    fn notes(&self) -> &[String] {
        self.inner.notes()
    }

    fn product(&self, request: &mut Product<'_>, workers: &dyn Workers) -> Result<Outcome, Error> {
        let outcome = self.inner.product(request, workers);
        self.calls.lock().push(Call {
            dtype: request.dtype(),
            extents: [request.m(), request.n(), request.k(), request.batch()],
            width: workers.width(),
            executed: matches!(outcome, Ok(Outcome::Executed)),
        });
        outcome
    }

    fn lapack(&self, request: &mut Request<'_>, workers: &dyn Workers) -> Result<Outcome, Error> {
        let outcome = self.inner.lapack(request, workers);
        self.routines.lock().push(request.routine());
        outcome
    }
}
