//! The limits compute what they claim: a limit that skipped work would flatter nobody.

use std::sync::atomic::AtomicU64;

use tenferro_bench_limits::{
    Kernel, Matrices, add_fresh, add_into, add_repeatedly, any_bit, copy, cross_entropy,
    cross_entropy_gradient, exchange_twice, fill, fma_f32, fma_f64, map_into, muladd_into,
    on_threads, sum, sum_of_squares, tanh_layer, triad, zip_into,
};

fn ramp(len: usize, step: f64) -> Vec<f64> {
    (0..len).map(|at| at as f64 * step).collect()
}

#[test]
fn the_loops_compute_sums_copies_and_triads() {
    for len in [0, 1, 7, 16, 33] {
        let (x, y) = (ramp(len, 1.0), ramp(len, 0.5));
        let sums: Vec<f64> = ramp(len, 1.5);
        assert_eq!(add_fresh(&x, &y), sums);
        let mut out = vec![f64::NAN; len];
        add_into(&x, &y, &mut out);
        assert_eq!(out, sums);
        triad(&x, 2.0, &y, &mut out);
        assert_eq!(out, ramp(len, 2.0));
        copy(&x, &mut out);
        assert_eq!(out, x);
        let squares: f64 = x.iter().map(|x| x * x).sum();
        assert_eq!(sum_of_squares(&x), squares);
        assert_eq!(sum(&x), x.iter().sum::<f64>());
        map_into(&x, &mut out, |x| 2.0 * x);
        assert_eq!(out, ramp(len, 2.0));
        zip_into(&x, &y, &mut out, |x, y| x - y);
        assert_eq!(out, y);
        fill(&mut out, 1.0);
        assert!(out.iter().all(|&x| x == 1.0));
    }
}

#[test]
fn chains_products_and_layers_are_those_of_the_formulas() {
    let (x, y) = (ramp(5, 1.0), ramp(5, 0.5));
    let mut sum = x.clone();
    add_repeatedly(&mut sum, &y, 4);
    assert_eq!(sum, ramp(5, 3.0));
    let mut out = vec![f64::NAN; 5];
    muladd_into([&x, &x, &y, &y], &mut out);
    assert_eq!(out, [0.0, 1.25, 5.0, 11.25, 20.0]);
    let mut layer = vec![f64::NAN; 2];
    tanh_layer(&[1.0, 2.0, 3.0, 4.0], &[0.5, 0.25], &mut layer);
    assert_eq!(layer, [1.25_f64.tanh(), 2.0_f64.tanh()]);
}

#[test]
fn the_gradient_of_cross_entropy_is_its_slope() {
    let (logits, labels) = (ramp(12, 0.3), [0, 3, 1]);
    let mut slope = vec![f64::NAN; 12];
    cross_entropy_gradient(&logits, 4, &labels, &mut slope);
    for at in 0..12 {
        let moved = |step: f64| {
            let mut logits = logits.clone();
            logits[at] += step;
            cross_entropy(&logits, 4, &labels)
        };
        let difference = (moved(1e-5) - moved(-1e-5)) / 2e-5;
        assert!((slope[at] - difference).abs() < 1e-9, "{at}: {} {difference}", slope[at]);
    }
}

#[test]
fn both_exchanges_happen() {
    let word = AtomicU64::new(5);
    assert_eq!(exchange_twice(&word), 7);
    assert_eq!(word.into_inner(), 7);
}

#[test]
fn a_bit_anywhere_is_seen() {
    for len in [1, 15, 64, 100] {
        let mut bytes = vec![0; len];
        assert!(!any_bit(&bytes));
        bytes[len - 1] = 4;
        assert!(any_bit(&bytes));
    }
}

#[test]
fn every_part_is_worked_on_as_often_as_asked() {
    for threads in 1..=3 {
        let mut counts = vec![0_u64; threads];
        on_threads(counts.iter_mut().collect(), 5, |count| **count += 1);
        assert_eq!(counts, vec![5; threads]);
    }
}

#[test]
fn each_kernel_makes_every_product_of_a_batch() {
    for (m, n, k) in [(1, 1, 1), (5, 7, 3), (4, 2, 6), (16, 16, 16), (70, 65, 90)] {
        for kernel in [Kernel::Gemm, Kernel::Nano] {
            let mut matrices = Matrices::<f64>::new([m, n, k], 2);
            matrices.out.fill(f64::NAN);
            kernel.multiply(&mut matrices);
            let Matrices { lhs, rhs, out, .. } = &matrices;
            for (at, product) in out.iter().enumerate() {
                let (batch, row, column) = (at / (m * n), at % m, at / m % n);
                let (lhs, rhs) = (&lhs[batch * m * k..], &rhs[batch * k * n..]);
                let terms = (0..k).map(|inner| lhs[row + inner * m] * rhs[inner + column * k]);
                let expected: f64 = terms.sum();
                assert!((product - expected).abs() < 1e-12, "{kernel:?} of {m} {n} {k}, at {at}");
            }
        }
    }
}

#[test]
fn chains_count_two_operations_for_each_chain_lane_and_step() {
    for (peak, widths) in [(fma_f64(1000), [4.0, 8.0]), (fma_f32(1000), [8.0, 16.0])] {
        let lanes = peak.flops / (1000.0 * 12.0 * 2.0);
        assert!(widths.contains(&lanes), "{lanes} lanes");
        assert!(peak.gflops() > 0.0);
    }
}
