//! The shape of the machine as far as some CPUs go: NUMA nodes, and the cores that hardware threads share.
//!
//! It reads `/sys/devices/system` once when asked, and advises nobody: which CPUs to use is the caller's choice.
//! Formats: the kernel's `sysfs-devices-node` and `cputopology` pages.
//!
//! Invariant: nodes and cores are each a partition of the CPUs asked about, in ascending order.

use std::fmt;
use std::fs;
use std::path::Path;

use crate::cpu_set::CpuSet;

/// The CPUs of one NUMA node.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NumaNode {
    /// The kernel's number of the node.
    pub id: usize,
    /// Those of its CPUs that were asked about.
    pub cpus: CpuSet,
}

/// NUMA nodes, cores and hardware threads of a set of CPUs.
///
/// A set for a backend is chosen from it: one node, so that memory is near, or one CPU of each core, so that no two
/// threads share a core's units.
///
/// ```
/// use tenferro_arbiter::{Topology, allowed_cpus};
///
/// let topology = Topology::of(allowed_cpus().cpus());
/// let near = &topology.nodes()[0].cpus;
/// let separate = topology.one_cpu_per_core().intersection(near);
/// assert!(!separate.is_empty() && separate.len() <= near.len());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topology {
    nodes: Vec<NumaNode>,
    cores: Vec<CpuSet>,
}

impl Topology {
    /// The topology of `cpus` on this machine.
    #[must_use]
    pub fn of(cpus: &CpuSet) -> Self {
        Self::read_from(Path::new("/"), cpus)
    }

    /// The topology of `cpus` as the files below `root` tell it.
    ///
    /// `root` is `/` for the running system; tests give a directory with `sys/devices/system/node` and
    /// `sys/devices/system/cpu`. CPUs of which nothing can be read are cores of their own, and unless the nodes that
    /// can be read have all the CPUs, all are of node 0.
    #[must_use]
    pub fn read_from(root: &Path, cpus: &CpuSet) -> Self {
        let system = root.join("sys/devices/system");
        Self {
            nodes: read_nodes(&system.join("node"), cpus),
            cores: read_cores(&system.join("cpu"), cpus),
        }
    }

    /// The nodes that have some of the CPUs, by number.
    #[must_use]
    pub fn nodes(&self) -> &[NumaNode] {
        &self.nodes
    }

    /// The CPUs of the node with this number; `None` if it has none of them.
    #[must_use]
    pub fn node(&self, id: usize) -> Option<&CpuSet> {
        self.nodes.iter().find(|node| node.id == id).map(|node| &node.cpus)
    }

    /// The cores: each is the set of its hardware threads.
    #[must_use]
    pub fn cores(&self) -> &[CpuSet] {
        &self.cores
    }

    /// The hardware threads of the core that `cpu` is of, itself included; `None` if it was not asked about.
    #[must_use]
    pub fn siblings(&self, cpu: usize) -> Option<&CpuSet> {
        self.cores.iter().find(|core| core.contains(cpu))
    }

    /// The first CPU of each core.
    #[must_use]
    pub fn one_cpu_per_core(&self) -> CpuSet {
        self.cores.iter().filter_map(|core| core.iter().next()).collect()
    }

    /// Whether cores have more than one hardware thread among the CPUs.
    #[must_use]
    pub fn has_smt(&self) -> bool {
        self.cores.iter().any(|core| core.len() > 1)
    }
}

impl fmt::Display for Topology {
    /// `node 0: CPUs 0-3 on 2 cores; node 1: CPUs 4-7 on 2 cores`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, node) in self.nodes.iter().enumerate() {
            let lead = if place == 0 { "" } else { "; " };
            let cores = self.cores.iter().filter(|core| !core.is_disjoint(&node.cpus)).count();
            let plural = if cores == 1 { "" } else { "s" };
            write!(f, "{lead}node {}: CPUs {} on {cores} core{plural}", node.id, node.cpus)?;
        }
        Ok(())
    }
}

/// The nodes of `directory`, restricted to `cpus`.
fn read_nodes(directory: &Path, cpus: &CpuSet) -> Vec<NumaNode> {
    let mut nodes: Vec<NumaNode> = fs::read_dir(directory)
        .into_iter()
        .flatten()
        .filter_map(|entry| {
            let entry = entry.ok()?;
            let id = entry.file_name().to_str()?.strip_prefix("node")?.parse().ok()?;
            let cpus = read_list(&entry.path().join("cpulist"))?.intersection(cpus);
            Some(NumaNode { id, cpus }).filter(|node| !node.cpus.is_empty())
        })
        .collect();
    nodes.sort_unstable_by_key(|node| node.id);
    let covered = nodes.iter().fold(CpuSet::new(), |all, node| all.union(&node.cpus));
    let counted: usize = nodes.iter().map(|node| node.cpus.len()).sum();
    if covered != *cpus || counted != cpus.len() {
        return vec![NumaNode { id: 0, cpus: cpus.clone() }];
    }
    nodes
}

/// The cores of `cpus`, by their first CPU.
fn read_cores(directory: &Path, cpus: &CpuSet) -> Vec<CpuSet> {
    let mut covered = CpuSet::new();
    let mut cores = Vec::new();
    for cpu in cpus.iter() {
        if covered.contains(cpu) {
            continue;
        }
        let topology = directory.join(format!("cpu{cpu}/topology"));
        // The second is the older name of the first.
        let siblings = ["core_cpus_list", "thread_siblings_list"]
            .iter()
            .find_map(|name| read_list(&topology.join(name)))
            .unwrap_or_default();
        let mut core = siblings.intersection(cpus).difference(&covered);
        core.insert(cpu);
        covered = covered.union(&core);
        cores.push(core);
    }
    cores
}

fn read_list(file: &Path) -> Option<CpuSet> {
    fs::read_to_string(file).ok()?.trim().parse().ok()
}
