//! NUMA nodes, cores and hardware threads, read from fixtures of /sys, and the affinity of threads.

#![cfg(not(loom))]
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

use std::fs;
use std::thread;

use tempfile::TempDir;
use tenferro_arbiter::{CpuSet, Topology, allowed_cpus, current_affinity, pin_current_thread};

/// A machine of `nodes`, whose CPUs have the siblings that `siblings` lists.
fn machine(nodes: &[(usize, &str)], siblings: &[(usize, &str)]) -> TempDir {
    let root = tempfile::tempdir().unwrap();
    let write = |path: String, text: &str| {
        let path = root.path().join("sys/devices/system").join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, format!("{text}\n")).unwrap();
    };
    write("node/possible".into(), "0-1");
    nodes.iter().for_each(|(node, cpus)| write(format!("node/node{node}/cpulist"), cpus));
    siblings.iter().for_each(|(cpu, cpus)| {
        write(format!("cpu/cpu{cpu}/topology/thread_siblings_list"), cpus);
    });
    root
}

/// Two nodes of two cores of two hardware threads each, numbered as servers do.
fn server() -> TempDir {
    let siblings: Vec<_> = (0..8).map(|cpu| (cpu, ["0,4", "1,5", "2,6", "3,7"][cpu % 4])).collect();
    machine(&[(0, "0-1,4-5"), (1, "2-3,6-7")], &siblings)
}

fn set(list: &str) -> CpuSet {
    list.parse().unwrap()
}

#[test]
fn x3_nodes_and_siblings_are_read() {
    let root = server();
    let topology = Topology::read_from(root.path(), &CpuSet::first(8));
    assert_eq!(
        topology.to_string(),
        "node 0: CPUs 0-1,4-5 on 2 cores; node 1: CPUs 2-3,6-7 on 2 cores"
    );
    assert_eq!(topology.cores(), [set("0,4"), set("1,5"), set("2,6"), set("3,7")]);
    assert_eq!(topology.node(1), Some(&set("2-3,6-7")));
    assert_eq!(topology.node(2), None);
    assert_eq!(topology.siblings(6), Some(&set("2,6")));
    assert_eq!(topology.siblings(8), None);
    assert_eq!(topology.one_cpu_per_core(), set("0-3"));
    assert!(topology.has_smt());
}

#[test]
fn x3_only_the_cpus_asked_about_count() {
    let root = server();
    let topology = Topology::read_from(root.path(), &set("3-5"));
    assert_eq!(topology.to_string(), "node 0: CPUs 4-5 on 2 cores; node 1: CPUs 3 on 1 core");
    assert_eq!(topology.one_cpu_per_core(), set("3-5"));
    assert!(!topology.has_smt());
    let topology = Topology::read_from(root.path(), &set("2,6"));
    assert_eq!(topology.nodes().len(), 1);
    assert_eq!(topology.nodes()[0].id, 1);
}

#[test]
fn x3_the_newer_name_of_the_siblings_is_preferred() {
    let root = machine(&[(0, "0-1")], &[(0, "0"), (1, "1")]);
    let file = root.path().join("sys/devices/system/cpu/cpu0/topology/core_cpus_list");
    fs::write(file, "0-1").unwrap();
    let topology = Topology::read_from(root.path(), &CpuSet::first(2));
    assert_eq!(topology.cores(), [set("0-1")]);
}

#[test]
fn x3_what_cannot_be_read_is_one_node_of_separate_cores() {
    let flat = |root: &TempDir| {
        let topology = Topology::read_from(root.path(), &CpuSet::first(3));
        assert_eq!(topology.node(0), Some(&set("0-2")));
        assert_eq!((topology.nodes().len(), topology.has_smt()), (1, false));
        assert_eq!(topology.one_cpu_per_core(), set("0-2"));
    };
    flat(&tempfile::tempdir().unwrap());
    // A node that lacks a CPU, one that has it twice, and junk.
    flat(&machine(&[(0, "0"), (1, "1")], &[]));
    flat(&machine(&[(0, "0-2"), (1, "2")], &[]));
    flat(&machine(&[(0, "all of them")], &[(0, "0-"), (1, "-"), (2, "two")]));
}

#[test]
fn x3_nodes_and_cores_are_partitions_on_this_machine() {
    let cpus = allowed_cpus().cpus().clone();
    let topology = Topology::of(&cpus);
    for parts in [
        topology.nodes().iter().map(|node| node.cpus.clone()).collect::<Vec<_>>(),
        topology.cores().to_vec(),
    ] {
        let union = parts.iter().fold(CpuSet::new(), |all, part| all.union(part));
        assert_eq!(union, cpus);
        assert_eq!(parts.iter().map(CpuSet::len).sum::<usize>(), cpus.len());
    }
}

#[test]
#[cfg(target_os = "linux")]
fn x30_a_pinned_thread_is_where_it_was_pinned_to_and_no_other_thread_is() {
    let before = current_affinity().unwrap();
    let last: CpuSet = before.iter().last().into_iter().collect();
    let pinned = last.clone();
    thread::spawn(move || {
        assert_eq!(pin_current_thread(&pinned).unwrap(), pinned);
        assert_eq!(current_affinity(), Some(pinned.clone()));
        // Threads that it starts begin where it is.
        let child = thread::spawn(current_affinity).join().unwrap();
        assert_eq!(child, Some(pinned));
    })
    .join()
    .unwrap();
    assert_eq!(current_affinity(), Some(before));
}

#[test]
#[cfg(target_os = "linux")]
fn x30_a_thread_cannot_be_pinned_to_no_cpu_or_to_one_that_is_not_there() {
    let before = current_affinity();
    for cpus in [CpuSet::new(), CpuSet::from_iter([1 << 19]), CpuSet::from_iter([1 << 30])] {
        assert!(pin_current_thread(&cpus).is_err(), "{cpus}");
    }
    assert_eq!(current_affinity(), before);
}
