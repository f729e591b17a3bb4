//! Everyday use that once went wrong elsewhere: many threads with products of their own, many shapes.

#![allow(clippy::unwrap_used, reason = "a test fails by it")]

mod common;

use std::thread;

use common::{backend, watchdog};
use tenferro_ops::TensorComposite;
use tenferro_tensor::{Tensor, TensorElementwise, TensorStructural};

/// An `n` by `n` matrix with `seed` on the diagonal.
fn diagonal(n: usize, seed: f64) -> Tensor {
    let elements = (0..n * n).map(|i| if i % (n + 1) == 0 { seed } else { 0.0 });
    Tensor::from_vec_col_major(vec![n, n], elements.collect()).unwrap()
}

#[test]
fn f49_eight_threads_with_one_thread_products_all_get_theirs() {
    watchdog(|| {
        let (owner, arbiter) = backend(1, 8);
        thread::scope(|threads| {
            for number in 1..=8_u8 {
                let mut operations = owner.clone();
                threads.spawn(move || {
                    let seed = f64::from(number);
                    for n in 1..40 {
                        let x = diagonal(n, seed);
                        let square = operations.matmul(&x, &x).unwrap();
                        let expected = diagonal(n, seed * seed);
                        assert_eq!(
                            square.as_slice::<f64>().unwrap(),
                            expected.as_slice::<f64>().unwrap()
                        );
                    }
                });
            }
        });
        // On eight CPUs nobody was held up by the others.
        assert_eq!(owner.diagnostics().arbiter.statistics.waits, 0);
        arbiter.await_snapshot(|snapshot| snapshot.free + snapshot.parked == 8);
    });
}

#[test]
fn f54_the_memory_kept_for_a_thousand_random_shapes_is_bounded() {
    let limit = 16 << 20;
    let arbiter = common::CountingArbiter::new(1);
    let builder = tenferro_cpu::CpuBackend::builder().arbiter(arbiter).buffer_limit(limit);
    let mut backend = builder.build().unwrap();
    // One front beside the shared blocks, of 1 MiB at most.
    let most = limit + (1 << 20);
    let mut state = 0x2545_f491_u64;
    let mut extent = |below: u64| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below as usize
    };
    let mut fresh_at_half = 0;
    for round in 0..1000 {
        let x = Tensor::full(vec![extent(300), extent(300)], 1.5_f64).unwrap();
        let sum = backend.add(&x, &x).unwrap();
        let turned = backend.transpose(&sum, [1, 0]).unwrap();
        drop(sum);
        drop(turned);
        let buffers = backend.diagnostics().buffers;
        assert!(buffers.kept_bytes <= most, "round {round}: {buffers:?}");
        if round == 499 {
            fresh_at_half = buffers.fresh;
        }
    }
    let buffers = backend.diagnostics().buffers;
    // A plateau: most of what the second half needed was there.
    assert!(buffers.fresh - fresh_at_half < 100, "{buffers:?} after {fresh_at_half}");
    assert!(buffers.reused > buffers.fresh, "{buffers:?}");
    backend.clear_buffers();
    assert_eq!(backend.diagnostics().buffers.kept_bytes, 0);
}

#[test]
fn f54_a_full_pool_makes_room_for_the_shapes_that_are_used_now() {
    let arbiter = common::CountingArbiter::new(1);
    let builder = tenferro_cpu::CpuBackend::builder().arbiter(arbiter).buffer_limit(1 << 20);
    let mut backend = builder.build().unwrap();
    let before = common::vector(1 << 16);
    let both = [0, 1].map(|_| backend.add(&before, &before).unwrap());
    drop(both);
    assert_eq!(backend.diagnostics().buffers.kept_bytes, 1 << 20);
    let now = common::vector(100_000);
    for _ in 0..10 {
        drop(backend.add(&now, &now).unwrap());
    }
    let buffers = backend.diagnostics().buffers;
    assert_eq!((buffers.fresh, buffers.reused), (3, 9), "{buffers:?}");
    assert!(buffers.kept_bytes <= 1 << 20, "{buffers:?}");
    // A result that fits no limit goes back to the system.
    let large = common::vector(1 << 18);
    drop(backend.add(&large, &large).unwrap());
    assert_eq!(backend.diagnostics().buffers.kept_bytes, buffers.kept_bytes);
}

#[test]
fn f54_a_full_pool_lets_go_of_what_was_not_used_for_longest() {
    let arbiter = common::CountingArbiter::new(1);
    let builder = tenferro_cpu::CpuBackend::builder().arbiter(arbiter).buffer_limit(1 << 20);
    let mut backend = builder.build().unwrap();
    // 512, 256 and 448 KiB, of which two fit.
    let [often, once, new] = [1 << 16, 1 << 15, 57_344].map(common::vector);
    for x in [&often, &once, &often, &new] {
        drop(backend.add(x, x).unwrap());
    }
    assert_eq!(backend.diagnostics().buffers.fresh, 3);
    for x in [&often, &new] {
        drop(backend.add(x, x).unwrap());
    }
    assert_eq!(backend.diagnostics().buffers.fresh, 3);
}
