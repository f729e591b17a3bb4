//! What several test files share: an executor and an arbiter that count, a provider that calls back, a watchdog.
#![allow(dead_code, reason = "each test file uses its part")]

use std::{
    sync::{
        Arc, OnceLock,
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
    thread,
    time::{Duration, Instant},
};

use tenferro_arbiter::{
    Arbiter, CpuSet, FairArbiter, Patience, PermitFuture, Policy, Request, ResourcePermit,
    Result as Admitted, Snapshot,
};
use tenferro_cpu::{CpuBackend, Error};
use tenferro_provider::{Capabilities, Outcome, Product, Provider, Workers};
use tenferro_providers::Naive;
use tenferro_scope::{
    self as scope, Affinity, DomainOwnership, Executor, ExecutorCapabilities, ExecutorFault,
};
use tenferro_tensor::Tensor;

#[path = "../../../arbiter/tests/watchdog/mod.rs"]
mod watching;
use watching::PATIENCE;
#[allow(unused_imports, reason = "each test file uses its part")]
pub(crate) use watching::with_watchdog as watchdog;

/// An executor that enters on the calling thread, fans out over threads of its own, and counts both.
pub(crate) struct CountingExecutor {
    width: usize,
    affinity: Affinity,
    entries: AtomicUsize,
    fan_outs: AtomicUsize,
}

impl CountingExecutor {
    pub(crate) fn new(width: usize) -> Arc<Self> {
        Self::with_affinity(width, Affinity::Floating)
    }

    pub(crate) fn with_affinity(width: usize, affinity: Affinity) -> Arc<Self> {
        let (entries, fan_outs) = (AtomicUsize::new(0), AtomicUsize::new(0));
        Arc::new(Self { width, affinity, entries, fan_outs })
    }

    pub(crate) fn entries(&self) -> usize {
        self.entries.load(Ordering::Relaxed)
    }

    pub(crate) fn fan_outs(&self) -> usize {
        self.fan_outs.load(Ordering::Relaxed)
    }
}

impl Executor for CountingExecutor {
    fn name(&self) -> &'static str {
        "counting"
    }

    fn capabilities(&self) -> ExecutorCapabilities {
        ExecutorCapabilities { width: self.width, affinity: self.affinity }
    }

    fn enter(&self, _width: usize, job: &mut (dyn FnMut() + Send)) -> Result<(), ExecutorFault> {
        self.entries.fetch_add(1, Ordering::Relaxed);
        job();
        Ok(())
    }

    fn fan_out(&self, width: usize, jobs: usize, job: &(dyn Fn(usize) + Sync)) {
        self.fan_outs.fetch_add(1, Ordering::Relaxed);
        let next = AtomicUsize::new(0);
        let work = || {
            loop {
                let index = next.fetch_add(1, Ordering::Relaxed);
                if index >= jobs {
                    return;
                }
                job(index);
            }
        };
        thread::scope(|threads| {
            for _ in 1..width.min(jobs) {
                threads.spawn(work);
            }
            work();
        });
    }
}

/// A fair arbiter over synthetic CPUs that counts what it is asked for.
pub(crate) struct CountingArbiter {
    fair: FairArbiter,
    requests: AtomicUsize,
}

impl CountingArbiter {
    pub(crate) fn new(cpus: usize) -> Arc<Self> {
        Self::with_policy(cpus, Policy::default())
    }

    pub(crate) fn with_policy(cpus: usize, policy: Policy) -> Arc<Self> {
        let fair = FairArbiter::with_policy(CpuSet::first(cpus), policy).unwrap();
        Arc::new(Self { fair, requests: AtomicUsize::new(0) })
    }

    /// An arbiter whose waiters give up after 50 ms in which nothing ran.
    pub(crate) fn impatient(cpus: usize) -> Arc<Self> {
        let policy = Policy { wait_limit: Some(Duration::from_millis(50)), ..Policy::default() };
        Self::with_policy(cpus, policy)
    }

    /// How often a permit was asked for.
    pub(crate) fn requests(&self) -> usize {
        self.requests.load(Ordering::Relaxed)
    }

    /// Waits until a snapshot shows what is wanted.
    pub(crate) fn await_snapshot(&self, wanted: impl Fn(&Snapshot) -> bool) -> Snapshot {
        let start = Instant::now();
        loop {
            let snapshot = self.snapshot();
            if wanted(&snapshot) {
                return snapshot;
            }
            assert!(start.elapsed() < PATIENCE, "never seen; last: {snapshot:#?}");
            thread::yield_now();
        }
    }

    /// Asserts that nobody holds or waits, and that every CPU is there for the next one.
    pub(crate) fn assert_all_returned(&self) {
        let snapshot = self.snapshot();
        assert!(snapshot.holders.is_empty() && snapshot.waiters.is_empty(), "{snapshot:#?}");
        assert_eq!(snapshot.free + snapshot.parked, snapshot.capacity, "{snapshot:#?}");
    }

    fn count(&self) {
        self.requests.fetch_add(1, Ordering::Relaxed);
    }
}

impl Arbiter for CountingArbiter {
    fn acquire(&self, request: &Request) -> Admitted<ResourcePermit> {
        self.count();
        self.fair.acquire(request)
    }

    fn try_acquire(&self, request: &Request) -> Admitted<ResourcePermit> {
        self.count();
        self.fair.try_acquire(request)
    }

    fn acquire_within(&self, request: &Request, patience: &Patience) -> Admitted<ResourcePermit> {
        self.count();
        self.fair.acquire_within(request, patience)
    }

    fn acquire_async<'a>(&'a self, request: &Request, patience: &Patience) -> PermitFuture<'a> {
        self.count();
        self.fair.acquire_async(request, patience)
    }

    fn admit_now(&self, request: &Request) -> Admitted<ResourcePermit> {
        self.count();
        self.fair.admit_now(request)
    }

    fn cpus(&self) -> &CpuSet {
        self.fair.cpus()
    }

    fn capacity(&self) -> usize {
        self.fair.capacity()
    }

    fn snapshot(&self) -> Snapshot {
        self.fair.snapshot()
    }
}

/// A backend of `threads` threads under a counting executor and arbiter, and the two.
pub(crate) fn counted(
    threads: usize,
    cpus: usize,
) -> (CpuBackend, Arc<CountingExecutor>, Arc<CountingArbiter>) {
    let (executor, arbiter) = (CountingExecutor::new(threads), CountingArbiter::new(cpus));
    let backend = CpuBackend::builder()
        .threads(threads)
        .arbiter(arbiter.clone())
        .executor(DomainOwnership::Managed, executor.clone())
        .build()
        .unwrap();
    (backend, executor, arbiter)
}

/// A backend of `threads` threads of ours under an arbiter of its own over `cpus` CPUs.
pub(crate) fn backend(threads: usize, cpus: usize) -> (CpuBackend, Arc<CountingArbiter>) {
    let arbiter = CountingArbiter::new(cpus);
    let backend = CpuBackend::builder().threads(threads).arbiter(arbiter.clone()).build().unwrap();
    (backend, arbiter)
}

/// What a [`Probe`] does before it computes.
type Hook = Box<dyn Fn(&dyn Workers) + Send + Sync>;

/// The reference provider with something to do first, inside of the provider's call.
pub(crate) struct Probe {
    naive: Naive,
    hook: Hook,
}

impl Probe {
    pub(crate) fn new(hook: impl Fn(&dyn Workers) + Send + Sync + 'static) -> Arc<Self> {
        Arc::new(Self { naive: Naive::new(), hook: Box::new(hook) })
    }
}

impl Provider for Probe {
    fn name(&self) -> &str {
        "probe"
    }

    fn version(&self) -> &str {
        "1"
    }

    fn capabilities(&self) -> &Capabilities {
        self.naive.capabilities()
    }

    fn product(
        &self,
        request: &mut Product<'_>,
        workers: &dyn Workers,
    ) -> Result<Outcome, tenferro_provider::Error> {
        (self.hook)(workers);
        self.naive.product(request, workers)
    }
}

/// A backend whose products call `hook` with a clone of it first.
pub(crate) fn calling_back(
    threads: usize,
    arbiter: &Arc<CountingArbiter>,
    hook: impl Fn(CpuBackend, &dyn Workers) + Send + Sync + 'static,
) -> CpuBackend {
    let itself = Arc::new(OnceLock::<CpuBackend>::new());
    let known = itself.clone();
    let probe = Probe::new(move |workers| hook(known.get().unwrap().clone(), workers));
    let builder = CpuBackend::builder().threads(threads).arbiter(arbiter.clone());
    let backend = builder.register_provider(probe).build().unwrap();
    assert!(itself.set(backend.clone()).is_ok());
    backend
}

/// `[1, 2, .., n]` as f64.
pub(crate) fn vector(n: usize) -> Tensor {
    Tensor::from_vec_col_major(vec![n], (1..=n).map(|i| i as f64).collect()).unwrap()
}

/// A square matrix of ones: a product of two pays for a second thread from extent 128 on.
pub(crate) fn ones(n: usize) -> Tensor {
    Tensor::full(vec![n, n], 1.0_f64).unwrap()
}

/// An extent of vectors that an addition shares out over up to 4 threads.
pub(crate) const LARGE: usize = 1 << 17;

/// The reason of a refusal for the state of the thread.
pub(crate) fn runtime_state<T>(result: Result<T, Error>) -> String {
    match result {
        Err(Error::RuntimeState { reason, .. }) => reason.into(),
        Err(other) => panic!("another error: {other:?}"),
        Ok(_) => panic!("it was not refused"),
    }
}

/// The typed error of the execution core that a failure carries.
pub(crate) fn core_error<T>(result: Result<T, Error>) -> scope::Error {
    match result {
        Err(Error::BackendSource { source, .. }) => *source.downcast::<scope::Error>().unwrap(),
        Err(other) => panic!("another error: {other:?}"),
        Ok(_) => panic!("it did not fail"),
    }
}

/// The message of a panic.
pub(crate) fn panic_message(body: impl FnOnce()) -> String {
    let payload = std::panic::catch_unwind(std::panic::AssertUnwindSafe(body)).unwrap_err();
    match payload.downcast::<String>() {
        Ok(message) => *message,
        Err(payload) => (*payload.downcast::<&'static str>().unwrap()).to_owned(),
    }
}

/// Holds every CPU of an arbiter by name, idle, until dropped.
pub(crate) struct Pinned {
    stop: Option<mpsc::Sender<()>>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Pinned {
    pub(crate) fn all(arbiter: &Arc<CountingArbiter>) -> Self {
        Self::on(arbiter, arbiter.cpus().clone())
    }

    pub(crate) fn on(arbiter: &Arc<CountingArbiter>, cpus: CpuSet) -> Self {
        let ((stop, stopped), (ready, is_ready)) = (mpsc::channel(), mpsc::channel());
        let arbiter = arbiter.clone();
        let thread = thread::Builder::new().name("pinned".into()).spawn(move || {
            let permit = arbiter.fair.acquire(&Request::exclusive(cpus)).unwrap();
            permit.lend();
            ready.send(()).unwrap();
            let _ = stopped.recv();
            drop(permit);
        });
        is_ready.recv_timeout(PATIENCE).unwrap();
        Self { stop: Some(stop), thread: Some(thread.unwrap()) }
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// A caller's pool of plain threads: whoever waits at its door runs what is handed in.
pub(crate) struct OwnPool {
    inner: Arc<CountingExecutor>,
}

impl OwnPool {
    pub(crate) fn new(width: usize) -> Self {
        Self { inner: CountingExecutor::new(width) }
    }

    pub(crate) fn entries(&self) -> usize {
        self.inner.entries()
    }

    pub(crate) fn fan_outs(&self) -> usize {
        self.inner.fan_outs()
    }

    /// Runs `task` on a thread that is one of the pool's workers.
    pub(crate) fn on_a_worker<R: Send + 'static>(
        &self,
        task: impl FnOnce() -> R + Send + 'static,
    ) -> R {
        let worker = thread::Builder::new().name("own pool".into());
        worker.spawn(task).unwrap().join().unwrap()
    }
}

impl Executor for OwnPool {
    fn name(&self) -> &'static str {
        "own pool"
    }

    fn capabilities(&self) -> ExecutorCapabilities {
        self.inner.capabilities()
    }

    fn enter(&self, width: usize, job: &mut (dyn FnMut() + Send)) -> Result<(), ExecutorFault> {
        // Elsewhere, as a pool of the caller's may do.
        thread::scope(|threads| {
            let worker = thread::Builder::new().name("own pool".into());
            worker.spawn_scoped(threads, || self.inner.enter(width, job)).unwrap().join().unwrap()
        })
    }

    fn fan_out(&self, width: usize, jobs: usize, job: &(dyn Fn(usize) + Sync)) {
        self.inner.fan_out(width, jobs, job);
    }

    fn is_worker(&self) -> bool {
        thread::current().name() == Some("own pool")
    }
}
