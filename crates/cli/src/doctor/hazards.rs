//! What can go wrong with the CPUs on this machine, and what to do about it.
//!
//! Pure findings from given facts: the sizing, the providers, and the libraries that are mapped into the process. It
//! loads nothing and changes nothing.

use std::{collections::BTreeSet, fs, path::Path};

use serde::Serialize;
use tenferro::{
    ProviderInfo,
    arbiter::Sizing,
    provider::{Reentrancy, ThreadOwnership},
};

/// One thing that can cost speed or hang a program.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct Hazard {
    /// What is so.
    pub(super) found: String,
    /// What to do about it.
    pub(super) advice: &'static str,
}

/// What the hazards are told from.
pub(super) struct Facts<'a> {
    pub(super) sizing: &'a Sizing,
    pub(super) providers: &'a [ProviderInfo],
    pub(super) libraries: &'a [String],
}

/// OpenMP runtimes, by the beginning of their file names.
const OPENMP: [&str; 4] = ["libgomp", "libiomp5", "libomp", "libkmp"];

/// Libraries of BLAS that start threads of their own.
const THREADED_BLAS: [&str; 6] =
    ["libopenblas", "libmkl_rt", "libmkl_intel_thread", "libmkl_gnu_thread", "libblis", "libatlas"];

/// File names of the shared libraries that are mapped into this process; none where the system does not tell.
pub(super) fn mapped_libraries() -> Vec<String> {
    fs::read_to_string("/proc/self/maps").map_or_else(|_| Vec::new(), |maps| libraries(&maps))
}

/// The shared libraries that a `/proc/PID/maps` names, each once.
fn libraries(maps: &str) -> Vec<String> {
    let paths = maps.lines().filter_map(|line| Some(&line[line.find('/')?..]));
    let names = paths.filter_map(|path| Path::new(path).file_name()?.to_str());
    let libraries: BTreeSet<&str> = names.filter(|name| name.contains(".so")).collect();
    libraries.into_iter().map(str::to_owned).collect()
}

/// Every known hazard among the facts.
pub(super) fn hazards(facts: &Facts<'_>) -> Vec<Hazard> {
    let found = [runtimes(facts), quota(facts), unbounded(facts), unknown_blas(facts)];
    found.into_iter().flatten().collect()
}

fn runtimes(facts: &Facts<'_>) -> Option<Hazard> {
    let found: Vec<&str> = named(facts.libraries, &OPENMP).collect();
    (found.len() > 1).then(|| Hazard {
        found: format!("{} OpenMP runtimes in one process: {}", found.len(), found.join(", ")),
        advice: "each has a thread pool of its own and they spin against each other: link everything against one, or \
                 keep all but one at a single thread",
    })
}

fn quota(facts: &Facts<'_>) -> Option<Hazard> {
    let (cpus, quota) = (facts.sizing.cpus().len(), facts.sizing.quota()?);
    (quota.cpus < cpus as f64).then(|| Hazard {
        found: format!("a quota of {:.2} CPUs below {cpus} allowed ones", quota.cpus),
        advice: "Tenferro keeps to the quota; libraries that count CPUs do not, and all threads are stopped when it is \
                 used up: set their thread counts to the budget",
    })
}

fn unbounded(facts: &Facts<'_>) -> Option<Hazard> {
    let blocks = |provider: &&ProviderInfo| {
        provider.threads == ThreadOwnership::ProcessWide
            || provider.reentrancy == Reentrancy::Exclusive
    };
    let names: Vec<&str> =
        facts.providers.iter().filter(blocks).map(|provider| provider.name.as_str()).collect();
    (!names.is_empty()).then(|| Hazard {
        found: format!("providers whose threads cannot be bounded call by call: {}", names.join(", ")),
        advice: "with several threads they keep others waiting; unnamed they compute on one thread: name one only \
                 where its products are most of the work",
    })
}

/// A BLAS that is in the process, while no provider of that name sets its threads.
fn unknown_blas(facts: &Facts<'_>) -> Option<Hazard> {
    let known = |library: &&str| {
        let of = |provider: &ProviderInfo| library.contains(&provider.name.to_lowercase());
        facts.providers.iter().any(of)
    };
    let names: Vec<&str> =
        named(facts.libraries, &THREADED_BLAS).filter(|library| !known(library)).collect();
    (!names.is_empty()).then(|| Hazard {
        found: format!("a threaded BLAS that no provider bounds: {}", names.join(", ")),
        advice: "calls of others into it take CPUs that nobody counts: set its thread count to 1, or register it as a \
                 provider",
    })
}

/// The libraries of some families. `libomp` is not the beginning of `libompi`: after the family comes no letter.
fn named<'a>(libraries: &'a [String], families: &'static [&str]) -> impl Iterator<Item = &'a str> {
    let is = |name: &str, family: &&str| {
        name.strip_prefix(*family).is_some_and(|rest| !rest.starts_with(char::is_alphabetic))
    };
    let names = libraries.iter().map(String::as_str);
    names.filter(move |name| families.iter().any(|family| is(name, family)))
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use tenferro::arbiter::{AllowedCpus, CpuSet};

    use super::*;

    const MAPS: &str = "\
55e0-55e1 r-xp 00000000 08:01 131 /usr/bin/python3.12
7f00-7f01 r-xp 00000000 08:01 132 /usr/lib/x86_64-linux-gnu/libgomp.so.1.0.0
7f01-7f02 r--p 00001000 08:01 132 /usr/lib/x86_64-linux-gnu/libgomp.so.1.0.0
7f03-7f04 r-xp 00000000 08:01 133 /opt/venv/lib/torch/libiomp5.so
7f05-7f06 r-xp 00000000 08:01 134 /usr/lib/x86_64-linux-gnu/libopenblas.so.0
7f07-7f08 r-xp 00000000 08:01 135 /usr/lib/libompitrace.so.40
7ffc-7ffd rw-p 00000000 00:00 0 [stack]
";

    /// The sizing of 64 CPUs under a quota of one and a half, or under none.
    fn sizing(quota: &str) -> Sizing {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write(
            "proc/self/mountinfo",
            "30 24 0:26 / /sys/fs/cgroup rw shared:9 - cgroup2 cgroup2 rw\n",
        );
        write("proc/self/cgroup", "0::/app\n");
        write("sys/fs/cgroup/app/cpu.max", quota);
        Sizing::new(AllowedCpus::read_from(root.path(), CpuSet::first(64)), None)
    }

    fn text(quota: &str, maps: &str) -> String {
        let facts = Facts { sizing: &sizing(quota), providers: &[], libraries: &libraries(maps) };
        hazards(&facts).iter().fold(String::new(), |mut text, hazard| {
            writeln!(text, "{}\n  {}", hazard.found, hazard.advice).unwrap();
            text
        })
    }

    #[test]
    fn libraries_are_named_once() {
        assert_eq!(
            libraries(MAPS),
            ["libgomp.so.1.0.0", "libiomp5.so", "libompitrace.so.40", "libopenblas.so.0"]
        );
    }

    #[test]
    fn two_openmp_runtimes_a_quota_and_a_blas_are_hazards() {
        insta::assert_snapshot!(text("150000 100000\n", MAPS), @"
        2 OpenMP runtimes in one process: libgomp.so.1.0.0, libiomp5.so
          each has a thread pool of its own and they spin against each other: link everything against one, or keep all but one at a single thread
        a quota of 1.50 CPUs below 64 allowed ones
          Tenferro keeps to the quota; libraries that count CPUs do not, and all threads are stopped when it is used up: set their thread counts to the budget
        a threaded BLAS that no provider bounds: libopenblas.so.0
          calls of others into it take CPUs that nobody counts: set its thread count to 1, or register it as a provider
        ");
    }

    #[test]
    fn a_process_of_its_own_on_a_whole_machine_has_none() {
        let maps = "7f00-7f01 r-xp 0 08:01 132 /usr/lib/libc.so.6\n7f02-7f03 r-xp 0 08:01 1 /usr/lib/libomp.so.5\n";
        assert_eq!(text("max 100000\n", maps), "");
    }
}
