//! X1 and F53: the budget from affinity, quota and cap, read from fixtures.

#![allow(clippy::unwrap_used, reason = "a test fails by it")]

use std::fs;
use std::path::Path;

use tempfile::TempDir;
use tenferro_arbiter::{AffinitySource, AllowedCpus, CpuSet, Sizing, allowed_cpus};

const V2_MOUNT: &str = "30 24 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw\n";
const V1_MOUNT: &str = "33 24 0:29 / /sys/fs/cgroup/cpu,cpuacct rw shared:11 - cgroup cgroup rw,cpu,cpuacct\n\
                        34 24 0:30 / /sys/fs/cgroup/memory rw shared:12 - cgroup cgroup rw,memory\n";

fn fixture(mounts: &str, groups: &str, files: &[(&str, &str)]) -> TempDir {
    let root = tempfile::tempdir().unwrap();
    let write = |path: &str, text: &str| {
        let path = root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write("proc/self/mountinfo", mounts);
    write("proc/self/cgroup", groups);
    files.iter().for_each(|(path, text)| write(path, text));
    root
}

fn read(root: &Path, cpus: usize) -> AllowedCpus {
    AllowedCpus::read_from(root, CpuSet::first(cpus))
}

fn quota(root: &TempDir) -> Option<(f64, String)> {
    let allowed = read(root.path(), 64);
    allowed.quota().map(|quota| {
        let source = quota.source.strip_prefix(root.path()).unwrap();
        (quota.cpus, source.to_str().unwrap().to_owned())
    })
}

#[test]
fn f53_a_quota_of_one_and_a_half_cpus_on_a_wide_host_is_a_budget_of_two() {
    let root = fixture(V2_MOUNT, "0::/app\n", &[("sys/fs/cgroup/app/cpu.max", "150000 100000\n")]);
    let sizing = Sizing::new(read(root.path(), 64), None);
    assert_eq!(sizing.budget(), 2);
    assert_eq!(sizing.quota().unwrap().cpus, 1.5);
    assert!(sizing.to_string().starts_with("budget 2: CPUs 0-63 (given), quota 1.50 CPUs ("));
}

#[test]
fn x1_the_smallest_quota_of_nested_groups_counts() {
    let groups = "0::/a/b/c\n";
    let files =
        |outer, inner| [("sys/fs/cgroup/a/cpu.max", outer), ("sys/fs/cgroup/a/b/c/cpu.max", inner)];
    let root = fixture(V2_MOUNT, groups, &files("300000 100000", "800000 100000"));
    assert_eq!(quota(&root), Some((3.0, "sys/fs/cgroup/a/cpu.max".into())));
    let root = fixture(V2_MOUNT, groups, &files("max 100000", "25000 50000"));
    assert_eq!(quota(&root), Some((0.5, "sys/fs/cgroup/a/b/c/cpu.max".into())));
    assert_eq!(Sizing::new(read(root.path(), 8), None).budget(), 1, "at least one");
    let root = fixture(V2_MOUNT, groups, &files("max 100000", "max 100000"));
    assert_eq!(quota(&root), None);
}

#[test]
fn x1_a_version_1_quota_is_read() {
    let groups = "5:memory:/elsewhere\n4:cpu,cpuacct:/box/inner\n0::/\n";
    let base = "sys/fs/cgroup/cpu,cpuacct";
    let files = [
        (format!("{base}/cpu.cfs_quota_us"), "-1\n"),
        (format!("{base}/cpu.cfs_period_us"), "100000\n"),
        (format!("{base}/box/cpu.cfs_quota_us"), "250000\n"),
        (format!("{base}/box/cpu.cfs_period_us"), "100000\n"),
        (format!("{base}/box/inner/cpu.cfs_quota_us"), "-1\n"),
        (format!("{base}/box/inner/cpu.cfs_period_us"), "100000\n"),
    ];
    let files: Vec<_> = files.iter().map(|(path, text)| (path.as_str(), *text)).collect();
    let root = fixture(V1_MOUNT, groups, &files);
    assert_eq!(quota(&root), Some((2.5, format!("{base}/box/cpu.cfs_quota_us"))));
    assert_eq!(Sizing::new(read(root.path(), 64), None).budget(), 3);
}

#[test]
fn x1_a_container_sees_its_group_at_the_mount_point() {
    let mount = "30 24 0:26 /docker/0a1b /sys/fs/my\\040cgroup rw - cgroup2 cgroup2 rw\n";
    let files = [("sys/fs/my cgroup/work/cpu.max", "200000 100000")];
    let root = fixture(mount, "0::/docker/0a1b/work\n", &files);
    assert_eq!(quota(&root), Some((2.0, "sys/fs/my cgroup/work/cpu.max".into())));
    // A path of another namespace: the mount point itself.
    let files = [("sys/fs/my cgroup/cpu.max", "400000 100000")];
    let root = fixture(mount, "0::/../other\n", &files);
    assert_eq!(quota(&root), Some((4.0, "sys/fs/my cgroup/cpu.max".into())));
}

#[test]
fn x1_both_versions_at_once_take_the_smaller() {
    let mounts = format!("{V1_MOUNT}{V2_MOUNT}");
    let files = [
        ("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "600000"),
        ("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000"),
        ("sys/fs/cgroup/cpu.max", "500000"),
    ];
    let root = fixture(&mounts, "4:cpu,cpuacct:/\n0::/\n", &files);
    assert_eq!(quota(&root), Some((5.0, "sys/fs/cgroup/cpu.max".into())));
}

#[test]
fn x1_what_cannot_be_read_sets_no_limit() {
    let empty = tempfile::tempdir().unwrap();
    assert_eq!(read(empty.path(), 6).quota(), None);
    for junk in ["", "junk", "0 100000", "100000 0", "-5 100000", "1e9 1"] {
        let root = fixture(V2_MOUNT, "0::/app\n", &[("sys/fs/cgroup/app/cpu.max", junk)]);
        assert_eq!(quota(&root), None, "{junk:?}");
    }
    let root = fixture("junk\n", "junk\n", &[]);
    assert_eq!(quota(&root), None);
}

#[test]
fn x1_the_budget_is_the_least_of_affinity_quota_and_cap() {
    let root = fixture(V2_MOUNT, "0::/\n", &[("sys/fs/cgroup/cpu.max", "350000 100000")]);
    for (cpus, cap, budget) in
        [(8, None, 4), (2, None, 2), (8, Some(3), 3), (8, Some(100), 4), (8, Some(0), 1)]
    {
        assert_eq!(Sizing::new(read(root.path(), cpus), cap).budget(), budget, "{cpus} {cap:?}");
    }
}

#[test]
fn x1_this_process_is_allowed_some_cpu() {
    let allowed = allowed_cpus();
    assert!(!allowed.cpus().is_empty());
    if cfg!(target_os = "linux") {
        assert_eq!(allowed.source(), AffinitySource::Mask);
    }
    let available = std::thread::available_parallelism().unwrap().get();
    assert!(Sizing::new(allowed, None).budget() >= available, "never less than std, which floors");
}
