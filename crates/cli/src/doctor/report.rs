//! A backend's diagnostics, for people and for programs.
//!
//! Plain data copied from the library's diagnostics; what a number means is said here, how it came about is not.

use std::{collections::BTreeMap, fmt};

use serde::Serialize;
use tenferro::{
    Diagnostics,
    arbiter::{AffinitySource, Sizing, Topology, WaitReason, WaiterInfo},
    scope::{Affinity, DomainOwnership},
};

use super::{
    hazards::{Facts, Hazard, hazards},
    sizing::decision,
};
use crate::words;

/// What the doctor found. Its fields are those of `--json`.
#[derive(Serialize)]
pub(super) struct DoctorReport {
    machine: Machine,
    backend: Backend,
    /// Who computes matrix products, most preferred first.
    providers: Vec<ProviderLine>,
    /// The names that `--provider` takes.
    registered: Vec<String>,
    buffers: Buffers,
    arbiter: Arbiter,
    hazards: Vec<Hazard>,
}

/// What this process may use, and why.
#[derive(Serialize)]
struct Machine {
    cpus: String,
    cpus_source: &'static str,
    quota: Option<f64>,
    quota_source: Option<String>,
    cap: Option<usize>,
    budget: usize,
    /// Which bound decided the budget.
    decision: String,
    /// Of the CPUs allowed, by the number of the node.
    numa_nodes: BTreeMap<usize, String>,
    /// The hardware threads of each core, of the CPUs allowed.
    cores: Vec<String>,
}

#[derive(Serialize)]
struct Backend {
    threads: usize,
    restricted_to: Option<String>,
    executor: &'static str,
    ownership: &'static str,
    affinity: &'static str,
    fan_outs: u64,
    default_float_state: bool,
}

#[derive(Serialize)]
struct ProviderLine {
    name: String,
    version: String,
    threads: &'static str,
    reentrancy: &'static str,
    dtypes: Vec<String>,
}

/// The memory of dropped tensors.
#[derive(Serialize)]
struct Buffers {
    kept_blocks: u64,
    kept_bytes: usize,
    limit_bytes: usize,
    reused: u64,
    fresh: u64,
}

/// Who holds CPUs and who waits, of everybody in this process.
#[derive(Serialize)]
struct Arbiter {
    capacity: usize,
    free: usize,
    parked: usize,
    overcommitted: usize,
    holders: Vec<String>,
    waiters: Vec<String>,
}

impl DoctorReport {
    /// The report of a backend in a process into which such libraries are mapped.
    pub(super) fn new(found: &Diagnostics, libraries: &[String]) -> Self {
        let arbiter = &found.arbiter;
        let facts = Facts { sizing: &found.sizing, providers: &found.providers, libraries };
        Self {
            machine: Machine::new(&found.sizing, &found.topology),
            backend: Backend {
                threads: found.threads,
                restricted_to: found.cpus.as_ref().map(ToString::to_string),
                executor: found.executor,
                ownership: match found.ownership {
                    DomainOwnership::Managed => "managed",
                    DomainOwnership::External => "external",
                    DomainOwnership::CallerManaged => "caller-managed",
                },
                affinity: match found.affinity {
                    Affinity::Floating => "floating",
                    Affinity::Declared => "declared",
                    Affinity::Verified => "verified",
                },
                fan_outs: found.fan_outs,
                default_float_state: found.default_float_state,
            },
            providers: found.providers.iter().map(ProviderLine::new).collect(),
            registered: found.registered.clone(),
            buffers: Buffers {
                kept_blocks: found.buffers.kept_blocks,
                kept_bytes: found.buffers.kept_bytes,
                limit_bytes: found.buffers.limit_bytes,
                reused: found.buffers.reused,
                fresh: found.buffers.fresh,
            },
            arbiter: Arbiter {
                capacity: arbiter.capacity,
                free: arbiter.free,
                parked: arbiter.parked,
                overcommitted: arbiter.overcommitted,
                holders: arbiter.holders.iter().map(ToString::to_string).collect(),
                waiters: arbiter.waiters.iter().map(waiter).collect(),
            },
            hazards: hazards(&facts),
        }
    }
}

impl Machine {
    fn new(sizing: &Sizing, topology: &Topology) -> Self {
        Self {
            cpus: sizing.cpus().to_string(),
            cpus_source: match sizing.source() {
                AffinitySource::Mask => "affinity mask",
                AffinitySource::AvailableParallelism => "available parallelism",
                AffinitySource::Given => "given",
            },
            quota: sizing.quota().map(|quota| quota.cpus),
            quota_source: sizing.quota().map(|quota| quota.source.display().to_string()),
            cap: sizing.cap(),
            budget: sizing.budget(),
            decision: decision(sizing),
            numa_nodes: topology
                .nodes()
                .iter()
                .map(|node| (node.id, node.cpus.to_string()))
                .collect(),
            cores: topology.cores().iter().map(ToString::to_string).collect(),
        }
    }
}

impl ProviderLine {
    fn new(provider: &tenferro::ProviderInfo) -> Self {
        Self {
            name: provider.name.clone(),
            version: provider.version.clone(),
            threads: words::threads(provider.threads),
            reentrancy: words::reentrancy(provider.reentrancy),
            dtypes: provider.dtypes.split(' ').map(str::to_owned).collect(),
        }
    }
}

fn waiter(waiter: &WaiterInfo) -> String {
    let reason = match &waiter.reason {
        WaitReason::Cpus => "CPUs".to_owned(),
        WaitReason::CpuSet => "its CPU set".to_owned(),
        WaitReason::Provider(key) => format!("provider {key:?}"),
        WaitReason::OlderWaiters => "older waiters".to_owned(),
        WaitReason::Poll => "its own future, which was granted CPUs and did not come".to_owned(),
    };
    format!(
        "\"{}\" ({} to {} CPUs) for {reason}, {:.1?}, thread {}",
        waiter.label, waiter.min, waiter.max, waiter.waited, waiter.thread
    )
}

impl fmt::Display for DoctorReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (machine, backend) = (&self.machine, &self.backend);
        writeln!(f, "Machine")?;
        row(f, "CPUs allowed", format_args!("{} ({})", machine.cpus, machine.cpus_source))?;
        match (machine.quota, &machine.quota_source) {
            (Some(quota), Some(source)) => {
                row(f, "CPU quota", format_args!("{quota:.2} CPUs ({source})"))?;
            }
            _ => row(f, "CPU quota", "none")?,
        }
        row(f, "CPU budget", &machine.decision)?;
        for (node, cpus) in &machine.numa_nodes {
            row(f, "NUMA node", format_args!("{node}: CPUs {cpus}"))?;
        }
        row(
            f,
            "cores",
            format_args!("{}: CPUs {}", machine.cores.len(), machine.cores.join(" | ")),
        )?;

        writeln!(f, "Backend")?;
        row(f, "threads", format_args!("at most {}", backend.threads))?;
        if let Some(cpus) = &backend.restricted_to {
            row(f, "restricted to", format_args!("CPUs {cpus}"))?;
        }
        row(f, "executor", format_args!("{} ({})", backend.executor, backend.ownership))?;
        row(f, "affinity", backend.affinity)?;
        row(f, "fan-outs", backend.fan_outs)?;
        let state = if backend.default_float_state {
            "default"
        } else {
            "not the default: operations of this thread use one thread"
        };
        row(f, "float state", state)?;

        writeln!(f, "Providers of matrix products, in order of preference")?;
        for provider in &self.providers {
            row(f, &provider.name, format_args!("version {}", provider.version))?;
            row(f, "", format_args!("threads: {}; {}", provider.threads, provider.reentrancy))?;
            row(f, "", format_args!("dtypes: {}", provider.dtypes.join(" ")))?;
        }
        self.write_state(f)
    }
}

impl DoctorReport {
    /// What changes from one moment to the next.
    fn write_state(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (buffers, arbiter) = (&self.buffers, &self.arbiter);
        writeln!(f, "Buffers")?;
        let limit = Mebibytes(buffers.limit_bytes);
        let kept = Mebibytes(buffers.kept_bytes);
        row(f, "kept", format_args!("{kept} in {} blocks, at most {limit}", buffers.kept_blocks))?;
        row(f, "served", format_args!("{} reused, {} new", buffers.reused, buffers.fresh))?;
        writeln!(f, "CPUs of this process")?;
        let (free, parked) = (arbiter.free, arbiter.parked);
        let over = arbiter.overcommitted;
        let text = format_args!(
            "{free} of {}, {parked} kept by threads that used them, {over} overcommitted",
            arbiter.capacity
        );
        row(f, "free", text)?;
        arbiter.holders.iter().try_for_each(|holder| row(f, "holds", holder))?;
        arbiter.waiters.iter().try_for_each(|waiter| row(f, "waits", waiter))?;
        if !self.hazards.is_empty() {
            writeln!(f, "Hazards")?;
        }
        self.hazards.iter().try_for_each(|hazard| {
            writeln!(f, "  {}", hazard.found)?;
            writeln!(f, "    {}", hazard.advice)
        })
    }
}

fn row(f: &mut fmt::Formatter<'_>, name: &str, value: impl fmt::Display) -> fmt::Result {
    writeln!(f, "  {name:<14} {value}")
}

/// Bytes as people read them.
struct Mebibytes(usize);

impl fmt::Display for Mebibytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.1} MiB", self.0 as f64 / f64::from(1 << 20))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tenferro::{
        CpuBackend,
        arbiter::{CpuSet, FairArbiter},
    };

    use super::*;

    /// A backend on eight synthetic CPUs, with what differs between machines written over.
    fn report() -> DoctorReport {
        let arbiter = FairArbiter::new(CpuSet::from_iter(0..8)).unwrap();
        let backend = CpuBackend::builder()
            .arbiter(Arc::new(arbiter))
            .threads(4)
            .provider("naive")
            .buffer_limit(64 << 20)
            .build()
            .unwrap();
        let mut report = DoctorReport::new(&backend.diagnostics(), &[]);
        report.machine = Machine {
            cpus: "0-7".to_owned(),
            cpus_source: "affinity mask",
            quota: Some(1.5),
            quota_source: Some("/sys/fs/cgroup/cpu.max".to_owned()),
            cap: None,
            budget: 2,
            decision: "2: 2 by the quota of 1.50, rounded up, less than 8 allowed CPUs".to_owned(),
            numa_nodes: BTreeMap::from([(0, "0-7".to_owned())]),
            cores: ["0,4", "1,5", "2,6", "3,7"].map(str::to_owned).to_vec(),
        };
        report.hazards = vec![Hazard {
            found: "a quota of 1.50 CPUs below 8 allowed ones".to_owned(),
            advice: "keep to it",
        }];
        for provider in &mut report.providers {
            provider.version = "1.0".to_owned();
        }
        report.registered.retain(|name| name == "naive");
        report.providers.truncate(1);
        report
    }

    #[test]
    fn the_report_reads_well() {
        insta::assert_snapshot!(report(), @"
        Machine
          CPUs allowed   0-7 (affinity mask)
          CPU quota      1.50 CPUs (/sys/fs/cgroup/cpu.max)
          CPU budget     2: 2 by the quota of 1.50, rounded up, less than 8 allowed CPUs
          NUMA node      0: CPUs 0-7
          cores          4: CPUs 0,4 | 1,5 | 2,6 | 3,7
        Backend
          threads        at most 4
          executor       rayon (managed)
          affinity       floating
          fan-outs       0
          float state    default
        Providers of matrix products, in order of preference
          naive          version 1.0
                         threads: Tenferro's; any number of callers
                         dtypes: f64 f32 f16 bf16 c32 c64 i8 i16 i32 i64 u8 u16 u32 u64
        Buffers
          kept           0.0 MiB in 0 blocks, at most 64.0 MiB
          served         0 reused, 0 new
        CPUs of this process
          free           8 of 8, 0 kept by threads that used them, 0 overcommitted
        Hazards
          a quota of 1.50 CPUs below 8 allowed ones
            keep to it
        ");
    }

    #[test]
    fn the_report_has_the_same_facts_as_json() {
        insta::assert_snapshot!(crate::report::json(&report()), @r#"{"machine":{"cpus":"0-7","cpus_source":"affinity mask","quota":1.5,"quota_source":"/sys/fs/cgroup/cpu.max","cap":null,"budget":2,"decision":"2: 2 by the quota of 1.50, rounded up, less than 8 allowed CPUs","numa_nodes":{"0":"0-7"},"cores":["0,4","1,5","2,6","3,7"]},"backend":{"threads":4,"restricted_to":null,"executor":"rayon","ownership":"managed","affinity":"floating","fan_outs":0,"default_float_state":true},"providers":[{"name":"naive","version":"1.0","threads":"Tenferro's","reentrancy":"any number of callers","dtypes":["f64","f32","f16","bf16","c32","c64","i8","i16","i32","i64","u8","u16","u32","u64"]}],"registered":["naive"],"buffers":{"kept_blocks":0,"kept_bytes":0,"limit_bytes":67108864,"reused":0,"fresh":0},"arbiter":{"capacity":8,"free":8,"parked":0,"overcommitted":0,"holders":[],"waiters":[]},"hazards":[{"found":"a quota of 1.50 CPUs below 8 allowed ones","advice":"keep to it"}]}"#);
    }
}
