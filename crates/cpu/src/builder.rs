//! The settings of a backend, and how its parts are put together.

use std::{path::PathBuf, sync::Arc, time::Duration};

use tenferro_arbiter::{
    Arbiter, ClaimKind, CpuSet, FairArbiter, Policy, ProviderClaim, ProviderKey, Sizing,
    allowed_cpus, process_arbiter,
};
use tenferro_engine::{CpuEngine, refused};
use tenferro_provider::{
    self as provider, Exclusion, Preference, Provider, Registry, choice::Store,
};
use tenferro_providers::{Naive, Native};
use tenferro_scope::{
    self as scope, DomainConfig, DomainOwnership, Executor, ResourceDomain, WaitLimit,
};
use tenferro_tensor::{Error, Validation};

use crate::{CpuBackend, Result, calibration, libraries::Libraries, memory};

/// In whose name errors of building are.
pub(super) const OP: &str = "build";

/// The settings of a [`CpuBackend`].
///
/// ```
/// use tenferro_cpu::CpuBackend;
///
/// let backend = CpuBackend::builder().threads(2).buffer_limit(1 << 30).provider("naive").build()?;
/// assert_eq!(backend.threads(), 2);
/// # Ok::<(), tenferro_cpu::Error>(())
/// ```
#[derive(Default)]
#[must_use = "settings do nothing until built"]
pub struct CpuBackendBuilder {
    threads: Option<usize>,
    cap: Option<usize>,
    cpus: Option<CpuSet>,
    preference: Preference,
    providers: Vec<Arc<dyn Provider>>,
    pub(super) libraries: Libraries,
    calibration: Calibration,
    buffer_limit: Option<usize>,
    arbiter: Option<Arc<dyn Arbiter>>,
    policy: Option<Policy>,
    wait_limit: WaitLimit,
    executor: Option<(DomainOwnership, Arc<dyn Executor>)>,
    placement: Placement,
}

/// Where choices of `Preference::Auto` are kept between processes.
#[derive(Default)]
enum Calibration {
    /// In the user's cache.
    #[default]
    Cached,
    /// In this folder.
    Folder(PathBuf),
    /// Nowhere.
    Forgotten,
}

/// Where the threads of a backend run.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Placement {
    /// Where the system puts them.
    #[default]
    Floating,
    /// Bound to the CPU set.
    Pinned,
}

impl Calibration {
    fn store(self) -> Option<Store> {
        let folder = match self {
            Calibration::Cached => calibration::default_folder()?,
            Calibration::Folder(folder) => folder,
            Calibration::Forgotten => return None,
        };
        Some(Store::new(folder, calibration::cpu_model()))
    }
}

/// How a backend came to its size and providers, for diagnostics.
pub(super) struct Setting {
    pub(super) sizing: Sizing,
    pub(super) cpus: Option<CpuSet>,
    pub(super) registry: Registry,
}

impl CpuBackendBuilder {
    /// The most threads an operation may use, the caller's included, whatever the machine has.
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = Some(threads);
        self
    }

    /// A bound for the number of threads that is chosen by the machine: no effect beside [`Self::threads`].
    pub fn cap(mut self, cap: usize) -> Self {
        self.cap = Some(cap);
        self
    }

    /// The CPUs whose accounting this backend takes part in. They must be among the arbiter's.
    pub fn cpu_set(mut self, cpus: CpuSet) -> Self {
        self.cpus = Some(cpus);
        self
    }

    /// The provider that is asked first, by name.
    ///
    /// If it must be alone to use several threads, permits of this backend keep others out of it. Where none is named
    /// such a provider computes on one thread.
    pub fn provider(self, name: impl Into<String>) -> Self {
        self.provider_preference(Preference::Named(name.into()))
    }

    /// The providers to ask, in order.
    pub fn provider_preference(mut self, preference: Preference) -> Self {
        self.preference = preference;
        self
    }

    /// The folder in which the choices of `Preference::Auto` are kept between processes; `None` for nowhere.
    ///
    /// Unless said it is `tenferro` in the folder `XDG_CACHE_HOME`, or in `.cache` of `HOME`. A file there holds for one model of
    /// CPU and one set of providers and versions.
    pub fn calibration_folder(mut self, folder: Option<PathBuf>) -> Self {
        self.calibration = folder.map_or(Calibration::Forgotten, Calibration::Folder);
        self
    }

    /// The providers that a backend with these settings could choose among.
    ///
    /// # Errors
    /// [`Error::BackendSource`] for two providers of one name, and for a library that was asked for and is not usable.
    pub fn registry(self) -> Result<Registry> {
        registry(self.providers, self.libraries, &self.preference)
    }

    /// Adds a provider to the built-in ones. It is preferred to them.
    pub fn register_provider(mut self, provider: Arc<dyn Provider>) -> Self {
        self.providers.push(provider);
        self
    }

    /// The most bytes of free buffers that are kept; a quarter of the memory unless said.
    pub fn buffer_limit(mut self, bytes: usize) -> Self {
        self.buffer_limit = Some(bytes);
        self
    }

    /// Who admits; the arbiter that the process shares unless said.
    pub fn arbiter(mut self, arbiter: Arc<dyn Arbiter>) -> Self {
        self.arbiter = Some(arbiter);
        self
    }

    /// How an arbiter of this backend's own admits.
    ///
    /// The arbiter that the process shares keeps its policy; a backend with another one does not share its CPUs.
    pub fn admission_policy(mut self, policy: Policy) -> Self {
        self.policy = Some(policy);
        self
    }

    /// How long an operation waits while no holder runs one; `None` is for ever.
    ///
    /// It holds for this backend's requests, whoever else shares the arbiter; unsaid, the arbiter's policy holds.
    pub fn wait_limit(mut self, limit: Option<Duration>) -> Self {
        self.wait_limit = limit.map_or(WaitLimit::Never, WaitLimit::After);
        self
    }

    /// Who runs the work, instead of the calling thread and a pool of ours.
    pub fn executor(mut self, ownership: DomainOwnership, executor: Arc<dyn Executor>) -> Self {
        self.executor = Some((ownership, executor));
        self
    }

    /// Binds the threads of this backend to its CPU set, or to all of the arbiter's CPUs, one thread for each.
    ///
    /// Scopes, sessions and operations then run on those threads and not on the calling one, whose affinity is never
    /// changed; they take the CPUs by name and alone, so that calls to this backend follow each other. Where the threads
    /// may run is read back from the system before the backend is made. A [`Topology`](tenferro_arbiter::Topology)
    /// helps to choose the set:
    ///
    /// ```
    /// use tenferro_arbiter::{Topology, allowed_cpus};
    /// use tenferro_cpu::CpuBackend;
    ///
    /// let topology = Topology::of(allowed_cpus().cpus());
    /// let set = topology.one_cpu_per_core().intersection(&topology.nodes()[0].cpus);
    /// let backend = CpuBackend::builder().cpu_set(set.clone()).pinned().build();
    /// // A cgroup's quota may be less than the CPUs that the affinity mask has.
    /// # if tenferro_arbiter::Sizing::new(allowed_cpus(), None).budget() >= set.len() && cfg!(target_os = "linux") {
    /// assert_eq!(backend?.threads(), set.len());
    /// # }
    /// # Ok::<(), tenferro_cpu::Error>(())
    /// ```
    pub fn pinned(mut self) -> Self {
        self.placement = Placement::Pinned;
        self
    }

    /// The backend with these settings.
    ///
    /// # Errors
    /// [`Error::BackendSource`] for 0 threads, an empty or foreign CPU set, threads that could not be pinned, and a
    /// provider that is not there or computes wrong results; [`Error::Validation`] if both an arbiter and a policy were given, or both an executor
    /// and pinning.
    pub fn build(self) -> Result<CpuBackend> {
        let sizing = Sizing::new(allowed_cpus(), self.cap);
        let arbiter = self.choose_arbiter(&sizing)?;
        self.check_cpus(&*arbiter)?;
        let width = self.threads.unwrap_or_else(|| match self.placement {
            Placement::Floating => self.own_width(&sizing, &*arbiter),
            Placement::Pinned => self.cpus.as_ref().unwrap_or(arbiter.cpus()).len(),
        });
        let registry = registry(self.providers, self.libraries, &self.preference)?;
        let providers = registry.select(&self.preference).map_err(unavailable)?;
        let providers = match self.preference {
            Preference::Auto => providers.choosing(self.calibration.store()),
            _ => providers,
        };
        let named = !matches!(self.preference, Preference::Registered | Preference::Auto);
        let claim =
            if named { providers.first().and_then(|first| claim(first, width)) } else { None };
        let providers = if claim.is_some() { providers.holding_first() } else { providers };
        let config = DomainConfig {
            width,
            cpus: self.cpus.clone(),
            arbiter,
            provider: claim,
            wait_limit: self.wait_limit,
        };
        let domain = match (self.executor, self.placement) {
            (None, Placement::Floating) => ResourceDomain::managed(config),
            (None, Placement::Pinned) => ResourceDomain::pinned(config),
            (Some((ownership, executor)), Placement::Floating) => {
                ResourceDomain::with_executor(ownership, config, executor)
            }
            (Some(_), Placement::Pinned) => {
                let rule = "the threads of an executor that is given are its own to pin; give one of the two";
                return Err(Validation::Rule { rule }.of(OP));
            }
        };
        let limit = self.buffer_limit.unwrap_or_else(|| memory::available() / 4);
        let engine = CpuEngine::new(domain.map_err(|e| refused(OP, e))?, providers, limit);
        Ok(CpuBackend::from_parts(engine, Setting { sizing, cpus: self.cpus, registry }))
    }

    /// The width that nobody named: what the machine, the settings and the executor have.
    fn own_width(&self, sizing: &Sizing, arbiter: &dyn Arbiter) -> usize {
        let own = if self.arbiter.is_some() { arbiter.capacity() } else { sizing.budget() };
        let set = self.cpus.as_ref().map_or(usize::MAX, CpuSet::len);
        let executor = self.executor.as_ref().map(|(_, executor)| executor.capabilities().width);
        own.min(set).min(self.cap.unwrap_or(usize::MAX)).min(executor.unwrap_or(usize::MAX))
    }

    fn choose_arbiter(&self, sizing: &Sizing) -> Result<Arc<dyn Arbiter>> {
        match (&self.arbiter, self.policy) {
            (Some(_), Some(_)) => {
                let rule = "an arbiter that is given has its own policy; give one of the two";
                Err(Validation::Rule { rule }.of(OP))
            }
            (Some(arbiter), None) => Ok(arbiter.clone()),
            (None, None) => Ok(process_arbiter().clone()),
            (None, Some(policy)) => {
                let capacity = Some(policy.capacity.unwrap_or_else(|| sizing.budget()));
                let policy = Policy { capacity, ..policy };
                let own = FairArbiter::with_policy(sizing.cpus().clone(), policy);
                Ok(Arc::new(own.map_err(|e| refused(OP, e.into()))?))
            }
        }
    }

    /// Refuses a CPU set that nothing could ever be granted on.
    fn check_cpus(&self, arbiter: &dyn Arbiter) -> Result<()> {
        let Some(cpus) = &self.cpus else { return Ok(()) };
        let foreign = cpus.difference(arbiter.cpus());
        let problem = if cpus.is_empty() {
            tenferro_arbiter::Error::EmptyCpuSet
        } else if !foreign.is_empty() {
            tenferro_arbiter::Error::ForeignCpus { foreign, allowed: arbiter.cpus().clone() }
        } else {
            return Ok(());
        };
        Err(refused(OP, scope::Error::from(problem)))
    }
}

/// The built-in providers, libraries, and those that were added. Naive is there always, so that there is an answer.
fn registry(
    added: Vec<Arc<dyn Provider>>,
    libraries: Libraries,
    preference: &Preference,
) -> Result<Registry> {
    let taken: Vec<&str> = added.iter().map(|provider| provider.name()).collect();
    let loaded = libraries.load(preference, &taken)?;
    let naive: Arc<dyn Provider> = Arc::new(Naive::default());
    let native: Arc<dyn Provider> = Arc::new(Native::default());
    let all = std::iter::once(naive).chain(loaded.found).chain([native]).chain(loaded.chosen);
    let registry = all
        .chain(added)
        .try_fold(Registry::builder(), |registry, provider| registry.register(provider))
        .map_err(unavailable)?;
    let known = tenferro_providers::LOADABLE.iter().fold(registry, |registry, name| {
        match crate::libraries::ABSENT {
            Absent::Disabled(feature) => registry.disabled(name, feature),
            Absent::Missing(cause) => registry.missing(name, cause),
        }
    });
    let missing = loaded.missing.iter();
    Ok(missing.fold(known, |registry, (name, cause)| registry.missing(name, cause)).build())
}

/// What became of the libraries that a backend is to load.
#[derive(Default)]
pub(super) struct LoadedLibraries {
    /// Those that the builder was given: preferred to the built-in providers.
    pub(super) chosen: Vec<Arc<dyn Provider>>,
    /// Those in the path, and those that the preference names.
    pub(super) found: Vec<Arc<dyn Provider>>,
    /// Names of those that are not there, and why.
    pub(super) missing: Vec<(String, String)>,
}

/// Why a library that nobody asked for is not there.
pub(super) enum Absent {
    /// The feature that is off.
    #[cfg_attr(feature = "loaded", expect(dead_code, reason = "the feature is on"))]
    Disabled(&'static str),
    /// What would bring it.
    #[cfg_attr(not(feature = "loaded"), expect(dead_code, reason = "the feature is off"))]
    Missing(&'static str),
}

/// The claim under which permits of `width` threads keep others out of a provider; `None` if that is not needed.
fn claim(provider: &dyn Provider, width: usize) -> Option<ProviderClaim> {
    let kind = match provider.capabilities().exclusion(width) {
        Exclusion::Free => return None,
        Exclusion::Provider => ClaimKind::Exclusive,
        Exclusion::Process => ClaimKind::Unbounded,
    };
    Some(ProviderClaim::new(key(provider.name()), kind))
}

/// The key of a provider: the same for backends that name the same one. FNV-1a of the name.
fn key(name: &str) -> ProviderKey {
    let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    ProviderKey(hash)
}

fn unavailable(error: provider::Error) -> Error {
    Error::BackendSource { op: OP, source: Box::new(error) }
}
