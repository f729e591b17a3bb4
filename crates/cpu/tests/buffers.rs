//! The buffer pool: bounded, clearable, counted, and indifferent to where and when tensors are dropped.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod samples;

use std::{
    fs,
    sync::{Arc, mpsc},
    thread,
};

use samples::{Dice, backend};
use tenferro_arbiter::{CpuSet, FairArbiter};
use tenferro_cpu::CpuBackend;
use tenferro_tensor::{DType, Tensor, TensorElementwise, TensorStructural};

/// More than a thread keeps of its own: 1 MiB.
const LARGE: usize = 1 << 17;
/// What a thread's front keeps beyond the limit of the pool.
const FRONT: usize = 1 << 20;

fn limited(bytes: usize) -> CpuBackend {
    let arbiter = Arc::new(FairArbiter::new(CpuSet::first(4)).unwrap());
    CpuBackend::builder().threads(1).arbiter(arbiter).buffer_limit(bytes).build().unwrap()
}

fn ones(elements: usize) -> Tensor {
    Tensor::ones(DType::F64, [elements]).unwrap()
}

#[test]
fn x52_the_second_of_two_equal_operations_takes_its_memory_from_the_pool() {
    for elements in [0, 1, 100, 8192, LARGE] {
        let mut backend = backend(1);
        let x = ones(elements);
        drop(backend.neg(&x).unwrap());
        let first = backend.diagnostics().buffers;
        assert_eq!((first.fresh, first.reused, first.kept_blocks), (1, 0, 1));
        drop(backend.neg(&x).unwrap());
        let second = backend.diagnostics().buffers;
        assert_eq!((second.fresh, second.reused, second.kept_blocks), (1, 1, 1));
        assert_eq!(first.kept_bytes, second.kept_bytes);
    }
}

#[test]
fn x52_a_block_dropped_on_a_foreign_thread_returns_to_its_pool() {
    for elements in [10, LARGE] {
        let mut backend = backend(1);
        let x = ones(elements);
        let result = backend.neg(&x).unwrap();
        thread::spawn(move || drop(result)).join().unwrap();
        assert_eq!(backend.diagnostics().buffers.kept_blocks, 1);
        let again = backend.neg(&x).unwrap();
        let buffers = backend.diagnostics().buffers;
        assert_eq!((buffers.fresh, buffers.reused, buffers.kept_blocks), (1, 1, 0));
        drop(again);
    }
}

#[test]
fn x52_a_thread_that_ends_leaves_its_blocks_and_its_counts() {
    let owner = backend(1);
    let mut backend = owner.clone();
    let work = move || {
        let x = ones(10);
        for _ in 0..3 {
            drop(backend.neg(&x).unwrap());
        }
    };
    thread::spawn(work).join().unwrap();
    let buffers = owner.diagnostics().buffers;
    assert_eq!((buffers.fresh, buffers.reused, buffers.kept_blocks), (1, 2, 1));
}

#[test]
fn x52_tensors_outlive_their_backend() {
    for elements in [10, LARGE] {
        let mut backend = backend(1);
        let results =
            [backend.neg(&ones(elements)).unwrap(), backend.neg(&ones(elements)).unwrap()];
        drop(backend);
        let [here, there] = results;
        assert_eq!(here.as_slice::<f64>().unwrap()[elements - 1], -1.0);
        drop(here);
        thread::spawn(move || {
            assert_eq!(there.as_slice::<f64>().unwrap()[0], -1.0);
            drop(there);
        })
        .join()
        .unwrap();
    }
}

#[test]
fn x52_a_limit_of_zero_keeps_nothing_large() {
    let mut backend = limited(0);
    for _ in 0..3 {
        drop(backend.neg(&ones(LARGE)).unwrap());
    }
    let buffers = backend.diagnostics().buffers;
    assert_eq!((buffers.kept_bytes, buffers.kept_blocks, buffers.limit_bytes), (0, 0, 0));
    assert_eq!((buffers.fresh, buffers.reused, buffers.released), (3, 0, 3));
    // A small block dropped where its pool has no front would go to the shared bins, which keep nothing.
    let small = backend.neg(&ones(10)).unwrap();
    thread::spawn(move || drop(small)).join().unwrap();
    assert_eq!(backend.diagnostics().buffers.kept_bytes, 0);
}

#[test]
fn x52_what_is_kept_stays_within_the_limit() {
    let limit = 3 << 20;
    let mut backend = limited(limit);
    let results: Vec<Tensor> = (0..8).map(|_| backend.neg(&ones(LARGE)).unwrap()).collect();
    drop(results);
    let buffers = backend.diagnostics().buffers;
    assert_eq!((buffers.kept_bytes, buffers.kept_blocks, buffers.released), (limit, 3, 5));
    let small: Vec<Tensor> = (0..20_000).map(|_| backend.neg(&ones(20)).unwrap()).collect();
    drop(small);
    assert!(backend.diagnostics().buffers.kept_bytes <= limit + FRONT);
}

#[test]
fn x52_clearing_gives_everything_back() {
    let mut backend = backend(1);
    for elements in [10, 1000, LARGE] {
        drop(backend.neg(&ones(elements)).unwrap());
    }
    assert_eq!(backend.diagnostics().buffers.kept_blocks, 3);
    backend.clear_buffers();
    let buffers = backend.diagnostics().buffers;
    assert_eq!((buffers.kept_bytes, buffers.kept_blocks, buffers.fresh), (0, 0, 3));
    drop(backend.neg(&ones(10)).unwrap());
    assert_eq!(backend.diagnostics().buffers.fresh, 4);
}

#[test]
fn x52_two_backends_do_not_share_buffers() {
    let (mut one, mut other) = (backend(1), backend(1));
    let (mine, yours) = (one.neg(&ones(10)).unwrap(), other.neg(&ones(10)).unwrap());
    drop(mine);
    assert_eq!(one.diagnostics().buffers.kept_blocks, 1);
    assert_eq!(other.diagnostics().buffers.kept_blocks, 0);
    drop(one);
    drop(yours);
    assert_eq!(other.diagnostics().buffers.kept_blocks, 1);
}

#[test]
fn x52_no_block_is_lost_when_tensors_change_threads() {
    let owner = limited(1 << 20);
    let threads = 4;
    let (senders, receivers): (Vec<_>, Vec<_>) =
        (0..threads).map(|_| mpsc::channel::<(Tensor, f64)>()).unzip();
    let workers: Vec<_> = receivers
        .into_iter()
        .enumerate()
        .map(|(me, received)| {
            let (mut backend, next) = (owner.clone(), senders[(me + 1) % threads].clone());
            thread::spawn(move || {
                let mut dice = Dice(me as u64);
                for round in 0..400 {
                    let mark = (1000 * me + round) as f64;
                    let mark_tensor = Tensor::scalar(mark).unwrap();
                    let extent = if dice.one_in(10) { 20_000 } else { 1 + dice.roll(600) };
                    let x = backend.broadcast_in_dim(&mark_tensor, [extent], []).unwrap();
                    // What somebody else made still has its own elements.
                    if let Ok((tensor, mark)) = received.try_recv() {
                        assert!(tensor.as_slice::<f64>().unwrap().iter().all(|&x| x == mark));
                    }
                    if dice.one_in(2) {
                        let _ = next.send((x, mark));
                    }
                }
            })
        })
        .collect();
    drop(senders);
    for worker in workers {
        worker.join().unwrap();
    }
    let buffers = owner.diagnostics().buffers;
    assert_eq!(buffers.fresh, buffers.released + buffers.kept_blocks, "{buffers:?}");
    assert!(buffers.released > 0 && buffers.reused > buffers.fresh, "{buffers:?}");
    assert!(buffers.kept_bytes <= buffers.limit_bytes, "{buffers:?}");
}

/// The resident memory of this process in bytes.
fn resident() -> Option<usize> {
    let text = fs::read_to_string("/proc/self/statm").ok()?;
    let pages: usize = text.split_whitespace().nth(1)?.parse().ok()?;
    Some(pages * 4096)
}

#[test]
fn f54_a_thousand_random_shapes_reach_a_plateau() {
    let mut backend = backend(1);
    let mut dice = Dice(7);
    let most = 300;
    let mut run = |count: usize| {
        for _ in 0..count {
            let extents = [1 + dice.roll(most), 1 + dice.roll(most)];
            let x = Tensor::ones(DType::F32, extents).unwrap();
            let y = backend.neg(&x).unwrap();
            let z = backend.neg(&y).unwrap();
            assert_eq!(z.get::<f32>(&[0, 0]).unwrap(), 1.0);
        }
        backend.diagnostics().buffers
    };
    let early = run(400);
    let resident_early = resident();
    let late = run(600);
    // Two blocks live at a time. Classes grow by a quarter at most, so that those up to the largest add up to less than
    // nine times it, and some of each are kept by the thread and by the bins.
    let largest = most * most * 4;
    assert!(late.kept_bytes <= 2 * 9 * largest, "{late:?}");
    assert!(late.fresh - early.fresh <= early.fresh / 10 + 5, "{early:?} {late:?}");
    if let (Some(early), Some(late)) = (resident_early, resident()) {
        assert!(late <= early + (32 << 20), "{early} then {late} bytes");
    }
}
