//! What a backend says of itself: sizes, providers, holders and waiters at one moment.

use std::fmt;

use tenferro_arbiter::{CpuSet, Sizing, Snapshot, Topology};
use tenferro_engine::PoolStatistics;
use tenferro_provider::{
    self as provider, Fork, Provider, Reentrancy, Registry, ThreadOwnership,
    choice::{Choice, Entry},
};
use tenferro_scope::{Affinity, DomainOwnership, RuntimeIdentity};

use crate::backend::Shared;

/// A backend at one moment. Plain data; `Display` explains it to people.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Diagnostics {
    /// Which runtime it is.
    pub identity: RuntimeIdentity,
    /// The most threads that an operation may use.
    pub threads: usize,
    /// The CPUs it is restricted to; `None` for all of the arbiter's.
    pub cpus: Option<CpuSet>,
    /// What this process may use, and why.
    pub sizing: Sizing,
    /// The NUMA nodes and cores of the CPUs that this process may use.
    pub topology: Topology,
    /// Who owns its threads.
    pub ownership: DomainOwnership,
    /// Who runs its work.
    pub executor: &'static str,
    /// What is known of the CPUs of its threads.
    pub affinity: Affinity,
    /// How often an operation was shared out over threads.
    pub fan_outs: u64,
    /// Whether the calling thread has the default floating-point state; without it operations run on one thread.
    pub default_float_state: bool,
    /// Who computes products, most preferred first.
    pub providers: Vec<ProviderInfo>,
    /// Which provider is chosen for each class of products, where that is measured.
    pub choices: Vec<Entry>,
    /// The names of all registered providers.
    pub registered: Vec<String>,
    /// Providers that are known by name and not there.
    pub absent: Vec<AbsentProvider>,
    /// The memory of dropped tensors.
    pub buffers: PoolStatistics,
    /// Who holds CPUs and who waits, of everybody who shares the arbiter.
    pub arbiter: Snapshot,
}

/// What is known of a provider.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ProviderInfo {
    /// Its name.
    pub name: String,
    /// Its version, in its own words.
    pub version: String,
    /// Who owns its threads.
    pub threads: ThreadOwnership,
    /// Whether several threads may be in it at once.
    pub reentrancy: Reentrancy,
    /// Its dtypes, as one text.
    pub dtypes: String,
    /// Its LAPACK routines, as one text.
    pub lapack: String,
    /// Whether it works in the child of a fork after it was used.
    pub survives_fork: bool,
    /// What there is to know beyond that, a sentence each.
    pub notes: Vec<String>,
}

/// A provider that is known by name and not there.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct AbsentProvider {
    /// Its name.
    pub name: String,
    /// Why it is not there.
    pub reason: String,
}

impl AbsentProvider {
    fn of(registry: &Registry, name: &str) -> Self {
        let reason = match registry.get(name) {
            Err(provider::Error::Disabled { feature, .. }) => {
                format!("disabled in this build: the feature `{feature}` is off")
            }
            Err(provider::Error::NotFound { cause: Some(cause), .. }) => cause,
            Err(other) => other.to_string(),
            Ok(_) => String::new(),
        };
        Self { name: name.to_owned(), reason }
    }
}

impl ProviderInfo {
    fn of(provider: &dyn Provider) -> Self {
        let capabilities = provider.capabilities();
        Self {
            name: provider.name().to_owned(),
            version: provider.version().to_owned(),
            threads: capabilities.threads,
            reentrancy: capabilities.reentrancy,
            dtypes: capabilities.dtypes.to_string(),
            lapack: capabilities.lapack.to_string(),
            survives_fork: capabilities.fork == Fork::Survives,
            notes: provider.notes().to_vec(),
        }
    }
}

impl Diagnostics {
    pub(super) fn of(shared: &Shared) -> Self {
        let (engine, setting) = (&shared.engine, &shared.setting);
        let domain = engine.domain();
        Self {
            identity: domain.identity(),
            threads: domain.width(),
            cpus: setting.cpus.clone(),
            sizing: setting.sizing.clone(),
            topology: Topology::of(setting.sizing.cpus()),
            ownership: domain.ownership(),
            executor: domain.executor().name(),
            affinity: domain.affinity(),
            fan_outs: domain.fan_outs(),
            default_float_state: tenferro_engine::has_default_float_state(),
            providers: engine.providers().iter().map(ProviderInfo::of).collect(),
            choices: engine.providers().choice().map(Choice::table).unwrap_or_default(),
            registered: setting.registry.iter().map(|p| p.name().to_owned()).collect(),
            absent: setting
                .registry
                .absent()
                .map(|name| AbsentProvider::of(&setting.registry, name))
                .collect(),
            buffers: engine.pool().statistics(),
            arbiter: domain.arbiter().snapshot(),
        }
    }
}

impl fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}: up to {} threads, {}", self.identity, self.threads, self.sizing)?;
        writeln!(f, "  topology: {}", self.topology)?;
        if let Some(cpus) = &self.cpus {
            writeln!(f, "  restricted to CPUs {cpus}")?;
        }
        writeln!(
            f,
            "  executor: {} ({:?}, affinity {:?}), {} fan-outs",
            self.executor, self.ownership, self.affinity, self.fan_outs
        )?;
        for provider in &self.providers {
            writeln!(
                f,
                "  provider: {} {}, threads owned by {:?}, {:?}, {}",
                provider.name,
                provider.version,
                provider.threads,
                provider.reentrancy,
                provider.dtypes
            )?;
            for note in &provider.notes {
                writeln!(f, "    {note}")?;
            }
        }
        for Entry { class, chosen, .. } in &self.choices {
            let chosen = chosen.as_deref().unwrap_or("being compared");
            writeln!(f, "  choice: {class}: {chosen}")?;
        }
        if !self.default_float_state {
            writeln!(
                f,
                "  floating-point state: not the default, so this thread's operations use one thread"
            )?;
        }
        let buffers = &self.buffers;
        writeln!(
            f,
            "  buffers: {} kept ({} bytes of at most {}), {} reused, {} from the system",
            buffers.kept_blocks,
            buffers.kept_bytes,
            buffers.limit_bytes,
            buffers.reused,
            buffers.fresh
        )?;
        let arbiter = &self.arbiter;
        writeln!(
            f,
            "  arbiter: {} of {} CPUs free, {} parked, {} overcommitted",
            arbiter.free, arbiter.capacity, arbiter.parked, arbiter.overcommitted
        )?;
        for holder in &arbiter.holders {
            writeln!(f, "  holds: {holder}")?;
        }
        for waiter in &arbiter.waiters {
            writeln!(
                f,
                "  waits: \"{}\" for {} to {} CPUs ({:?}), for {:.1?}, thread {}",
                waiter.label, waiter.min, waiter.max, waiter.reason, waiter.waited, waiter.thread
            )?;
        }
        Ok(())
    }
}
