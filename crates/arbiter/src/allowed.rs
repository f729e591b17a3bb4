//! Which CPUs this process may use, how many of them, and why.
//!
//! It reads the affinity mask and the cgroup quota once when asked; it watches nothing.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::affinity::current_affinity;
use crate::cgroup;
use crate::cpu_set::CpuSet;

/// Where a CPU set came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AffinitySource {
    /// The affinity mask of the process.
    Mask,
    /// No mask on this platform: as many CPUs as it reports for us, numbered from 0.
    AvailableParallelism,
    /// Given by the caller.
    Given,
}

/// A limit of CPU time per time.
#[derive(Clone, Debug, PartialEq)]
pub struct Quota {
    /// CPUs' worth of time, in CPUs; may be fractional.
    pub cpus: f64,
    /// The file that says so.
    pub source: PathBuf,
}

/// The CPUs that this process may use.
#[derive(Clone, Debug, PartialEq)]
pub struct AllowedCpus {
    cpus: CpuSet,
    source: AffinitySource,
    quota: Option<Quota>,
}

impl AllowedCpus {
    /// Given CPUs under the cgroup quota that the files below `root` tell.
    ///
    /// `root` is `/` for the running system; tests give a directory with `proc/self/cgroup`,
    /// `proc/self/mountinfo` and the mounted hierarchies.
    #[must_use]
    pub fn read_from(root: &Path, cpus: CpuSet) -> Self {
        Self { cpus, source: AffinitySource::Given, quota: cgroup::quota(root) }
    }

    /// The CPUs of the affinity mask.
    #[must_use]
    pub fn cpus(&self) -> &CpuSet {
        &self.cpus
    }

    /// Where the set came from.
    #[must_use]
    pub fn source(&self) -> AffinitySource {
        self.source
    }

    /// The smallest cgroup quota on the way to this process, if there is one.
    #[must_use]
    pub fn quota(&self) -> Option<&Quota> {
        self.quota.as_ref()
    }
}

/// The CPUs that this process may use now: affinity mask and cgroup quota.
#[must_use]
pub fn allowed_cpus() -> AllowedCpus {
    let quota = cgroup::quota(Path::new("/"));
    if let Some(cpus) = current_affinity() {
        return AllowedCpus { cpus, source: AffinitySource::Mask, quota };
    }
    let count = std::thread::available_parallelism().map_or(1, usize::from);
    AllowedCpus { cpus: CpuSet::first(count), source: AffinitySource::AvailableParallelism, quota }
}

/// How many CPUs to use, with every reason for the number.
///
/// The budget is the least of the affinity count, the quota rounded up, and the cap; at least 1.
#[derive(Clone, Debug, PartialEq)]
pub struct Sizing {
    allowed: AllowedCpus,
    cap: Option<usize>,
}

impl Sizing {
    /// The sizing of `allowed` under an explicit cap.
    #[must_use]
    pub fn new(allowed: AllowedCpus, cap: Option<usize>) -> Self {
        Self { allowed, cap }
    }

    /// The affinity set.
    #[must_use]
    pub fn cpus(&self) -> &CpuSet {
        &self.allowed.cpus
    }

    /// Where the affinity set came from.
    #[must_use]
    pub fn source(&self) -> AffinitySource {
        self.allowed.source
    }

    /// The CPU quota, and where it was read.
    #[must_use]
    pub fn quota(&self) -> Option<&Quota> {
        self.allowed.quota()
    }

    /// The explicit cap.
    #[must_use]
    pub fn cap(&self) -> Option<usize> {
        self.cap
    }

    /// The resulting number of CPUs.
    #[must_use]
    pub fn budget(&self) -> usize {
        let quota = self.quota().map_or(usize::MAX, |quota| quota.cpus.ceil() as usize);
        self.cpus().len().min(quota).min(self.cap.unwrap_or(usize::MAX)).max(1)
    }
}

impl fmt::Display for Sizing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let source = match self.source() {
            AffinitySource::Mask => "affinity mask",
            AffinitySource::AvailableParallelism => "available parallelism",
            AffinitySource::Given => "given",
        };
        write!(f, "budget {}: CPUs {} ({source})", self.budget(), self.cpus())?;
        if let Some(quota) = self.quota() {
            write!(f, ", quota {:.2} CPUs ({})", quota.cpus, quota.source.display())?;
        }
        if let Some(cap) = self.cap {
            write!(f, ", cap {cap}")?;
        }
        Ok(())
    }
}
