//! What a warm scope allocates: nothing. A process of its own, because the allocator counts for all of its tests.

#![allow(clippy::unwrap_used, reason = "a test fails by it")]

use std::{
    alloc::{GlobalAlloc, Layout, System},
    cell::Cell,
};

use tenferro_arbiter::{CpuSet, FairArbiter};
use tenferro_cpu::CpuBackend;
use tenferro_ops::TensorComposite;
use tenferro_tensor::{
    BatchPosition, Comparison, Contraction, DType, KeepAxes, Sweep, Tensor, TensorAnalytic,
    TensorDot, TensorElementwise, TensorIndexing, TensorReduction, TensorScan, TensorStructural,
};

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

/// The system's allocator, which counts the allocations of each thread.
struct Counting;

// SAFETY: every call is handed on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the block came from `System` with this layout.
        unsafe { System.dealloc(block, layout) };
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn count(body: impl FnOnce()) -> usize {
    let before = ALLOCATIONS.get();
    body();
    ALLOCATIONS.get() - before
}

#[test]
fn x18_a_warm_scope_and_an_empty_operation_in_it_allocate_nothing() {
    let arbiter = std::sync::Arc::new(FairArbiter::new(CpuSet::first(2)).unwrap());
    let owner = CpuBackend::builder().arbiter(arbiter).build().unwrap();
    let mut operations = owner.clone();
    let (empty, small) =
        (Tensor::zeros(DType::F64, [0]).unwrap(), Tensor::ones(DType::F64, [64]).unwrap());
    let mut run = |x: &Tensor, n: usize| {
        owner
            .with_execution_scope(|| {
                for _ in 0..n {
                    operations.add(x, x).unwrap();
                }
            })
            .unwrap();
    };
    run(&empty, 1);
    run(&small, 1);
    assert_eq!(count(|| run(&empty, 0)), 0, "opening a scope");
    assert_eq!(count(|| run(&empty, 1)), 0, "an empty operation");
    assert_eq!(count(|| run(&small, 100)), 0, "small results come from the pool");
    assert_eq!(count(|| drop(owner.clone().add(&small, &small).unwrap())), 0, "a lone operation");
    let matrix = Tensor::ones(DType::F64, [8, 8]).unwrap();
    let families = || {
        let b = &mut owner.clone();
        owner
            .with_execution_scope(|| {
                b.exp(&small).unwrap();
                b.compare(&small, &small, Comparison::Lt).unwrap();
                b.convert(&small, DType::F32).unwrap();
                b.sum(&matrix, [1], KeepAxes::Drop).unwrap();
                b.argmax(&matrix, [0], KeepAxes::Drop).unwrap();
                b.transpose(&matrix, [1, 0]).unwrap();
                b.slice(&matrix, [1, 1], [7, 5], [2, 1]).unwrap();
                b.cumsum(&small, 0_usize, Sweep::default()).unwrap();
            })
            .unwrap();
    };
    families();
    assert_eq!(count(families), 0, "one of each family");
    // The count itself counts.
    assert!(count(|| drop(vec![1_u8])) > 0);
}

#[test]
fn x18_small_products_in_a_warm_scope_allocate_nothing() {
    let owner = CpuBackend::with_threads(1).unwrap();
    let mut operations = owner.clone();
    let ones = |extents: &[usize]| Tensor::ones(DType::F64, extents).unwrap();
    let (matrix, vector, batch) = (ones(&[16, 16]), ones(&[16]), ones(&[8, 8, 4]));
    let in_step = Contraction {
        lhs_batch: [2].into(),
        rhs_batch: [2].into(),
        batch: BatchPosition::Trailing,
        ..Contraction::over([1], [0])
    };
    let mut run = |n: usize| {
        owner
            .with_execution_scope(|| {
                for _ in 0..n {
                    operations.matmul(&matrix, &matrix).unwrap();
                    operations.matmul(&matrix.view().transpose(), &matrix).unwrap();
                    operations.matmul(&matrix, &vector).unwrap();
                    operations.matmul(&vector, &matrix).unwrap();
                    operations.matmul(&vector, &vector).unwrap();
                    operations.dot_general(&batch, &batch, in_step.clone()).unwrap();
                }
            })
            .unwrap();
    };
    run(1);
    assert_eq!(count(|| run(100)), 0);
}
