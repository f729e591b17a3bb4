//! How much memory this process may use, for limits that are relative to it.

use std::{fs, path::Path};

/// What is assumed where the system does not say.
const ASSUMED: usize = 4 << 30;

/// The bytes of memory of the machine, or of the cgroup if it has less.
pub(super) fn available() -> usize {
    let machine = meminfo(Path::new("/proc/meminfo")).unwrap_or(ASSUMED);
    let limits = ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"];
    limits.iter().filter_map(|file| number(Path::new(file))).fold(machine, usize::min)
}

/// The total memory in a file like `/proc/meminfo`.
fn meminfo(file: &Path) -> Option<usize> {
    let text = fs::read_to_string(file).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kibibytes: usize = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kibibytes.checked_mul(1024)
}

/// The number in a file; `None` for "max".
fn number(file: &Path) -> Option<usize> {
    fs::read_to_string(file).ok()?.trim().parse().ok()
}
