//! The CPU quota of the cgroups that this process is in, version 1 and 2, nested.
//!
//! It only reads files below a given root; what it cannot read sets no limit, as the kernel has it.
//! Formats: `proc_pid_mountinfo(5)`, `cgroups(7)`, and the kernel's cgroup-v2 and CFS bandwidth pages.

use std::fs;
use std::path::{Component, Path, PathBuf};

use crate::allowed::Quota;

/// One mounted hierarchy that limits CPU time.
struct Mount {
    version: Version,
    /// The cgroup that is visible at the mount point.
    root: PathBuf,
    point: PathBuf,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Version {
    One,
    Two,
}

/// The smallest quota on the way from a mounted root to this process's cgroup.
pub(super) fn quota(root: &Path) -> Option<Quota> {
    let mounts = fs::read_to_string(root.join("proc/self/mountinfo")).ok()?;
    let groups = fs::read_to_string(root.join("proc/self/cgroup")).ok()?;
    mounts
        .lines()
        .filter_map(parse_mount)
        .filter_map(|mount| smallest_on_path(root, &mount, group_of(&groups, mount.version)?))
        .min_by(|a, b| a.cpus.total_cmp(&b.cpus))
}

/// `36 25 0:31 / /sys/fs/cgroup/cpu rw shared:9 - cgroup cgroup rw,cpu,cpuacct`
fn parse_mount(line: &str) -> Option<Mount> {
    let (place, kind) = line.split_once(" - ")?;
    let mut place = place.split(' ').skip(3);
    let (root, point) = (unescape(place.next()?), unescape(place.next()?));
    let mut kind = kind.split(' ');
    let version = match kind.next()? {
        "cgroup2" => Version::Two,
        "cgroup" if kind.nth(1)?.split(',').any(|option| option == "cpu") => Version::One,
        _ => return None,
    };
    Some(Mount { version, root: root.into(), point: point.into() })
}

/// The process's path in a hierarchy: `0::/a/b`, or `4:cpu,cpuacct:/a/b`.
fn group_of(groups: &str, version: Version) -> Option<&Path> {
    groups.lines().find_map(|line| {
        let mut fields = line.splitn(3, ':');
        let (number, controllers, path) = (fields.next()?, fields.next()?, fields.next()?);
        let found = match version {
            Version::Two => number == "0" && controllers.is_empty(),
            Version::One => controllers.split(',').any(|controller| controller == "cpu"),
        };
        found.then_some(Path::new(path))
    })
}

fn smallest_on_path(root: &Path, mount: &Mount, group: &Path) -> Option<Quota> {
    // A path outside the mounted root (another namespace) leaves the mount point itself.
    let inside = group.strip_prefix(&mount.root).unwrap_or(Path::new(""));
    let inside: PathBuf =
        inside.components().filter(|c| matches!(c, Component::Normal(_))).collect();
    let point = root.join(mount.point.strip_prefix("/").unwrap_or(&mount.point));
    inside
        .ancestors()
        .filter_map(|group| read_quota(&point.join(group), mount.version))
        .min_by(|a, b| a.cpus.total_cmp(&b.cpus))
}

fn read_quota(directory: &Path, version: Version) -> Option<Quota> {
    let read = |name| fs::read_to_string(directory.join(name)).ok();
    let (limit, period, name) = match version {
        Version::Two => {
            let text = read("cpu.max")?;
            let (limit, period) = text.trim().split_once(' ').unwrap_or((text.trim(), "100000"));
            (limit.to_owned(), period.to_owned(), "cpu.max")
        }
        Version::One => (read("cpu.cfs_quota_us")?, read("cpu.cfs_period_us")?, "cpu.cfs_quota_us"),
    };
    // "max" and -1 mean no limit.
    let limit = limit.trim().parse::<u64>().ok().filter(|&limit| limit > 0)?;
    let period = period.trim().parse::<u64>().ok().filter(|&period| period > 0)?;
    Some(Quota { cpus: limit as f64 / period as f64, source: directory.join(name) })
}

/// Undoes mountinfo's octal escapes of space, tab, newline and backslash.
fn unescape(text: &str) -> String {
    ["\\040", "\\011", "\\012", "\\134"]
        .iter()
        .zip([" ", "\t", "\n", "\\"])
        .fold(text.to_owned(), |text, (escape, plain)| text.replace(escape, plain))
}
