//! A handle on one runtime: its engine, pools, caches and identity, shared by its clones.

use std::{fmt, sync::Arc};

use tenferro_arbiter::{Patience, Recording};
use tenferro_engine::{CpuEngine, refused};
use tenferro_ops::{Engine, Input, Inputs, LaneJob, Region, Results, Scale};
use tenferro_scope::{DomainOwnership, ResourceDomain, RuntimeIdentity};
use tenferro_tensor::{
    Contraction, Exponentials, Operand, OperandMut, Primitive, Tensor, Vocabulary,
};

use crate::{CpuBackendBuilder, Diagnostics, Result, builder::Setting};

/// A CPU backend.
///
/// A clone is a cheap witness of the same backend: it shares the engine, the pool, the caches and the identity. Nothing
/// changes a backend after it is built. Operations come from the traits of `tenferro_tensor`, and may be called from
/// any thread.
///
/// ```
/// use tenferro_cpu::CpuBackend;
/// use tenferro_tensor::{KeepAxes, Tensor, TensorElementwise, TensorReduction};
///
/// let mut backend = CpuBackend::with_threads(1)?;
/// let x = Tensor::from_vec_col_major(vec![3], vec![1.0_f64, 2.0, 3.0])?;
/// let squares = backend.mul(&x, &x)?;
/// assert_eq!(backend.sum(&squares, [0], KeepAxes::Drop)?.as_slice::<f64>()?, &[14.0]);
/// # Ok::<(), tenferro_cpu::Error>(())
/// ```
#[derive(Clone)]
pub struct CpuBackend {
    shared: Arc<Shared>,
}

pub(super) struct Shared {
    pub(super) engine: CpuEngine,
    pub(super) setting: Setting,
}

impl CpuBackend {
    pub(super) fn from_parts(engine: CpuEngine, setting: Setting) -> Self {
        Self { shared: Arc::new(Shared { engine, setting }) }
    }

    /// A backend for the CPUs that this process may use: its affinity mask, bounded by its cgroup's quota.
    ///
    /// # Errors
    /// [`Error::BackendSource`](crate::Error::BackendSource) if a part cannot be built.
    pub fn new() -> Result<Self> {
        Self::builder().build()
    }

    /// A backend whose operations use at most `threads` threads, the caller's included.
    ///
    /// More than the allowed CPUs is no error: grants are never wider than what is there.
    ///
    /// # Errors
    /// [`Error::BackendSource`](crate::Error::BackendSource) for 0 threads.
    pub fn with_threads(threads: usize) -> Result<Self> {
        Self::builder().threads(threads).build()
    }

    /// A backend with other settings than the default ones.
    pub fn builder() -> CpuBackendBuilder {
        CpuBackendBuilder::default()
    }

    pub(super) fn engine(&self) -> &CpuEngine {
        &self.shared.engine
    }

    /// Runs `operation` in one execution scope, on the calling thread.
    ///
    /// Clones of this backend run operations inside without entering the executor or acquiring a permit again: any
    /// number of operations, one entry, one permit. The value of `operation` comes back unchanged. While no operation
    /// runs, the scope lends its CPUs to others.
    ///
    /// A scope removes the admission of each operation. It does not remove the allocation of outputs (the buffer pool
    /// makes that cheap) nor the dispatch on dtype and layout. When timing, enter the scope and prepare inputs first.
    /// Build eager and traced runtimes from a clone of the backend, so that they share its identity.
    ///
    /// # Errors
    /// [`Error::RuntimeState`](crate::Error::RuntimeState) if a scope or another execution is active on this thread,
    /// or the thread is a worker of a managed pool; [`Error::Unsupported`](crate::Error::Unsupported) for an external
    /// domain; [`Error::BackendSource`](crate::Error::BackendSource) with the source of a failed admission.
    ///
    /// # Panics
    /// If `operation` does; everything is released first.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use tenferro_cpu::CpuBackend;
    /// use tenferro_tensor::{Tensor, TensorElementwise};
    ///
    /// let owner = CpuBackend::with_threads(1)?;
    /// let mut operations = owner.clone();
    /// let x = Tensor::from_vec_col_major(vec![2], vec![1.0_f64, 3.0])?;
    /// let y = owner.with_execution_scope(|| {
    ///     let y = operations.add(&x, &x)?;
    ///     operations.add(&y, &x)
    /// })??;
    /// assert_eq!(y.as_slice::<f64>()?, &[3.0, 9.0]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn with_execution_scope<R: Send>(
        &self,
        operation: impl FnOnce() -> R + Send,
    ) -> crate::Result<R> {
        self.domain()
            .with_execution_scope(operation)
            .map_err(|error| refused("with_execution_scope", error))
    }

    /// As [`CpuBackend::with_execution_scope`], but without waiting: now or not.
    ///
    /// # Errors
    /// As there; [`Error::BackendSource`](crate::Error::BackendSource) where the scope would have to wait for CPUs.
    pub fn try_with_execution_scope<R: Send>(
        &self,
        operation: impl FnOnce() -> R + Send,
    ) -> Result<R> {
        self.domain()
            .try_with_execution_scope(operation)
            .map_err(|error| refused("try_with_execution_scope", error))
    }

    /// As [`CpuBackend::with_execution_scope`], but waits only as long as `patience` allows: to a deadline, or until a
    /// token is cancelled.
    ///
    /// # Errors
    /// As there; [`Error::BackendSource`](crate::Error::BackendSource) when the time is up or the token is cancelled.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tenferro_cpu::{CpuBackend, Patience};
    ///
    /// let backend = CpuBackend::with_threads(1)?;
    /// let patience = Patience::at_most(Duration::from_secs(5));
    /// assert_eq!(backend.with_execution_scope_within(&patience, || 3)?, 3);
    /// # Ok::<(), tenferro_cpu::Error>(())
    /// ```
    pub fn with_execution_scope_within<R: Send>(
        &self,
        patience: &Patience,
        operation: impl FnOnce() -> R + Send,
    ) -> Result<R> {
        self.domain()
            .with_execution_scope_within(patience, operation)
            .map_err(|error| refused("with_execution_scope_within", error))
    }

    /// As [`CpuBackend::with_execution_scope_within`], for a task: waiting for CPUs parks no thread.
    ///
    /// `operation` is a synchronous callback. It runs inside the poll that gets the permit, from its start to its end,
    /// on the polling thread: a scope never spans an await. A future that is dropped before leaves no trace.
    ///
    /// # Errors
    /// The future's result: as [`CpuBackend::with_execution_scope_within`].
    ///
    /// ```
    /// use tenferro_cpu::{CpuBackend, Patience};
    ///
    /// let backend = CpuBackend::with_threads(1)?;
    /// let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    /// let scope = backend.with_execution_scope_async(&Patience::unlimited(), || 3);
    /// assert_eq!(runtime.block_on(scope)?, 3);
    /// # Ok::<(), tenferro_cpu::Error>(())
    /// ```
    pub fn with_execution_scope_async<'b, R, F>(
        &'b self,
        patience: &Patience,
        operation: F,
    ) -> impl Future<Output = Result<R>> + Send + use<'b, R, F>
    where
        R: Send,
        F: FnOnce() -> R + Send,
    {
        let scope = self.domain().with_execution_scope_async(patience, operation);
        async move { scope.await.map_err(|error| refused("with_execution_scope_async", error)) }
    }

    /// Runs the caller's own `work` under one permit and one entry, on the calling thread.
    ///
    /// Unlike a scope it keeps its CPUs to the end, because `work` itself uses them. Operations of clones share the
    /// permit.
    ///
    /// # Panics
    /// Where an operation would return an error, with the same message; if `work` does.
    pub fn install<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        self.try_install(work).unwrap_or_else(|error| panic!("{error}"))
    }

    /// As [`CpuBackend::install`], but returns the error.
    ///
    /// # Errors
    /// As [`CpuBackend::with_execution_scope`].
    pub fn try_install<R: Send>(&self, work: impl FnOnce() -> R + Send) -> Result<R> {
        self.domain().install(work).map_err(|error| refused("install", error))
    }

    /// Runs `work` with an engine that holds one permit and one entry for all of its operations.
    ///
    /// The session's engine is not admitted operation by operation. Calls on the backend itself are refused inside.
    ///
    /// # Panics
    /// Where an operation would return an error, with the same message; if `work` does.
    ///
    /// ```
    /// use tenferro_cpu::CpuBackend;
    /// use tenferro_tensor::{Tensor, TensorElementwise};
    ///
    /// let backend = CpuBackend::with_threads(1)?;
    /// let x = Tensor::from_vec_col_major(vec![2], vec![1.0_f64, 3.0])?;
    /// let y = backend.with_backend_session(|engine| engine.mul(&x, &x))?;
    /// assert_eq!(y.as_slice::<f64>()?, &[1.0, 9.0]);
    /// # Ok::<(), tenferro_cpu::Error>(())
    /// ```
    pub fn with_backend_session<R: Send>(
        &self,
        work: impl FnOnce(&mut dyn Engine) -> R + Send,
    ) -> R {
        self.try_with_backend_session(work).unwrap_or_else(|error| panic!("{error}"))
    }

    /// As [`CpuBackend::with_backend_session`], but returns the error.
    ///
    /// # Errors
    /// What an operation would be refused for.
    pub fn try_with_backend_session<R: Send>(
        &self,
        work: impl FnOnce(&mut dyn Engine) -> R + Send,
    ) -> Result<R> {
        self.shared.engine.with_session(work)
    }

    /// What this backend is, who holds CPUs and who waits. Does not wait for running operations.
    #[must_use]
    pub fn diagnostics(&self) -> Diagnostics {
        Diagnostics::of(&self.shared)
    }

    /// Records the operations and waits of everybody who shares this backend's arbiter, the latest `spans` of them.
    ///
    /// [`Recording::finish`] gives the trace, which is written as Chrome trace events for a viewer such as Perfetto.
    ///
    /// # Errors
    /// [`Error::BackendSource`](crate::Error::BackendSource) if somebody records already, or the arbiter cannot.
    ///
    /// ```
    /// use tenferro_cpu::CpuBackend;
    ///
    /// let backend = CpuBackend::with_threads(1)?;
    /// let recording = backend.record(1 << 16)?;
    /// backend.install(|| ());
    /// let trace = recording.finish();
    /// let mut file = Vec::new();
    /// trace.write_chrome(&mut file).expect("a Vec takes everything");
    /// # Ok::<(), tenferro_cpu::Error>(())
    /// ```
    pub fn record(&self, spans: usize) -> Result<Recording> {
        self.domain().arbiter().record(spans).map_err(|error| refused("record", error.into()))
    }

    /// Which runtime this is: clones share it, other backends do not.
    #[must_use]
    pub fn identity(&self) -> RuntimeIdentity {
        self.domain().identity()
    }

    /// The most threads that an operation may use.
    #[must_use]
    pub fn threads(&self) -> usize {
        self.domain().width()
    }

    /// The CPUs granted to the scope that is open on this thread; `None` outside of one of this backend.
    #[must_use]
    pub fn scope_width(&self) -> Option<usize> {
        self.domain().scope_width()
    }

    /// The domain whose CPUs this backend uses.
    #[must_use]
    pub fn domain(&self) -> &ResourceDomain {
        self.shared.engine.domain()
    }

    /// Gives the memory of dropped tensors back to the system.
    pub fn clear_buffers(&self) {
        self.shared.engine.pool().clear();
    }
}

impl Vocabulary for CpuBackend {
    #[inline]
    fn apply(&mut self, primitive: &Primitive, inputs: &[Operand<'_>]) -> Result<Tensor> {
        self.shared.engine.apply(primitive, inputs)
    }

    fn exponentials(
        &mut self,
        exponentials: &Exponentials,
        x: &Operand<'_>,
    ) -> Result<Option<Tensor>> {
        self.shared.engine.exponentials(exponentials, x)
    }
}

impl Engine for CpuBackend {
    #[inline]
    fn apply_shared(
        &self,
        primitive: &Primitive,
        inputs: &[Operand<'_>],
    ) -> Option<Result<Tensor>> {
        Some(self.shared.engine.apply(primitive, inputs))
    }

    fn apply_into(
        &mut self,
        primitive: &Primitive,
        inputs: &[Operand<'_>],
        out: OperandMut<'_>,
    ) -> Result<()> {
        self.shared.engine.apply_into(primitive, inputs, out)
    }

    fn contract_into(
        &mut self,
        contraction: &Contraction,
        lhs: &Operand<'_>,
        rhs: &Operand<'_>,
        scale: Scale,
        out: OperandMut<'_>,
    ) -> Result<()> {
        self.shared.engine.contract_into(contraction, &[*lhs, *rhs], scale, out)
    }

    /// Jobs run in lanes, as those of [`CpuBackend::map_lanes`]; one after the other on a domain that is not managed.
    fn run_lanes(&mut self, jobs: usize, job: &LaneJob<'_>) -> Result<()> {
        if self.domain().ownership() != DomainOwnership::Managed {
            return (0..jobs).try_for_each(|index| job(self, index));
        }
        let backend = &*self;
        self.shared.engine.run_lanes(jobs, || backend.clone(), job)
    }

    fn donate(&mut self, primitive: &Primitive, inputs: Inputs<'_>) -> Result<Tensor> {
        self.shared.engine.donate(primitive, inputs)
    }

    fn run_region_shared(
        &self,
        region: &Region,
        inputs: &[Operand<'_>],
    ) -> Option<Result<Results>> {
        Some(self.shared.engine.run_lent_region(region, inputs))
    }

    fn run_region(&mut self, region: &Region, inputs: &mut [Input<'_>]) -> Result<Results> {
        self.shared.engine.run_region(region, inputs)
    }

    fn run_region_into(
        &mut self,
        region: &Region,
        inputs: &mut [Input<'_>],
        outs: &mut [OperandMut<'_>],
    ) -> Result<()> {
        self.shared.engine.run_region_into(region, inputs, outs)
    }
}

impl fmt::Debug for CpuBackend {
    /// What it is, not what it is doing: formatting never waits.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CpuBackend")
            .field("identity", &self.identity())
            .field("threads", &self.threads())
            .field("providers", self.shared.engine.providers())
            .finish_non_exhaustive()
    }
}
