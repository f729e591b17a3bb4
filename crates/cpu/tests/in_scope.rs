//! Ordinary operations, eager training steps and prepared programs in one scope. The only test of its process, because
//! the allocator counts for all.

#![allow(clippy::unwrap_used, reason = "a test fails by it")]

mod common;

use std::{
    alloc::{GlobalAlloc, Layout, System},
    sync::atomic::{AtomicUsize, Ordering},
};

use common::counted;
use tenferro_ad::{Autodiff, Variable, value_and_grads};
use tenferro_cpu::CpuBackend;
use tenferro_program::{Argument, Outputs, Passes, Prepared, Spec, trace};
use tenferro_tensor::{DType, KeepAxes, Result, Tensor, TensorElementwise};

static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);

/// The system's allocator, which counts the allocations of all threads.
struct Counting;

// SAFETY: every call is handed on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
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

const ROWS: usize = 24;
const INPUTS: usize = 4;
const RATE: f64 = 0.05;
const TIMES: usize = 1000;
/// Turns before, after which the pool has what a turn needs.
const WARM: usize = 3;

/// A number between -1 and 1, another for each place.
fn number(place: usize) -> f64 {
    ((place * 37 + 11) % 64) as f64 / 32.0 - 1.0
}

fn samples() -> Vec<f64> {
    (0..ROWS * INPUTS).map(number).collect()
}

fn targets() -> Vec<f64> {
    (0..ROWS).map(|row| number(row + 500)).collect()
}

/// The gradient of the mean square of `tanh(x w) - y`, by hand.
fn gradient(w: &[f64]) -> Vec<f64> {
    let (x, y) = (samples(), targets());
    let at = |row: usize, column: usize| x[row + ROWS * column];
    let mut gradient = vec![0.0; INPUTS];
    for (row, target) in y.iter().enumerate() {
        let output = (0..INPUTS).map(|column| at(row, column) * w[column]).sum::<f64>().tanh();
        let slope = 2.0 * (output - target) * (1.0 - output * output) / ROWS as f64;
        for (column, gradient) in gradient.iter_mut().enumerate() {
            *gradient += slope * at(row, column);
        }
    }
    gradient
}

fn assert_close(actual: &Tensor, expected: &[f64]) {
    let actual = actual.to_vec_col_major::<f64>().unwrap();
    assert_eq!(actual.len(), expected.len());
    for (actual, expected) in actual.iter().zip(expected) {
        assert!((actual - expected).abs() < 1e-12, "{actual} is not {expected}");
    }
}

/// The value and the gradient by `w`, prepared.
fn prepared() -> Prepared {
    let spec = |extents: &[usize]| Spec::new(DType::F64, extents).unwrap();
    let specs =
        [spec(&[INPUTS]).named("w"), spec(&[ROWS, INPUTS]).named("x"), spec(&[ROWS]).named("y")];
    let loss = trace(&specs, |xs| {
        let missed = xs[1].matmul(&xs[0]).tanh() - &xs[2];
        (&missed * &missed).mean([0], KeepAxes::Drop)
    });
    let step = loss.unwrap().value_and_grad().unwrap().with_results(&[0, 1]);
    step.prepare(&Passes::all()).unwrap()
}

/// The same, eagerly.
fn eager(w: &Variable, x: &Variable, y: &Variable) -> Result<(Variable, Vec<Variable>)> {
    value_and_grads(
        |ws| {
            let missed = x.matmul(&ws[0])?.tanh()?.sub(y)?;
            missed.mul(&missed)?.mean([0], KeepAxes::Drop)
        },
        &[w],
    )
}

fn downhill(
    operations: &mut CpuBackend,
    w: &Tensor,
    slope: &Tensor,
    rate: &Tensor,
) -> Result<Tensor> {
    let step = operations.mul(slope, rate)?;
    operations.sub(w, &step)
}

#[test]
fn a_thousand_turns_of_everything_in_a_scope_are_one_entry_and_one_permit() {
    for budget in [1, 2] {
        let (owner, executor, arbiter) = counted(budget, 2);
        let mut operations = owner.clone();
        let autodiff = Autodiff::new(owner.clone());
        let program = prepared();
        let x = Tensor::from_vec_col_major([ROWS, INPUTS], samples()).unwrap();
        let y = Tensor::from_vec_col_major([ROWS], targets()).unwrap();
        let rate = Tensor::scalar(RATE).unwrap();
        let (x_known, y_known) = (autodiff.constant(x.clone()), autodiff.constant(y.clone()));
        let start: Vec<f64> = (0..INPUTS).map(|place| number(place + 900)).collect();
        let mut w = Tensor::from_vec_col_major([INPUTS], start).unwrap();
        let run = |w: &Tensor, operations: &mut CpuBackend| -> Outputs {
            program.run(operations, [w, &x, &y].map(Argument::from)).unwrap()
        };
        owner
            .with_execution_scope(|| {
                let mut allocations = 0;
                for turn in 0..WARM + TIMES {
                    let expected = gradient(w.as_slice::<f64>().unwrap());
                    let (loss, slopes) =
                        eager(&autodiff.constant(w.clone()), &x_known, &y_known).unwrap();
                    assert_close(slopes[0].value(), &expected);
                    let before = ALLOCATIONS.load(Ordering::Relaxed);
                    let results = run(&w, &mut operations);
                    if turn >= WARM {
                        allocations += ALLOCATIONS.load(Ordering::Relaxed) - before;
                    }
                    assert_close(&results[0], loss.value().as_slice::<f64>().unwrap());
                    assert_close(&results[1], &expected);
                    w = downhill(&mut operations, &w, &results[1], &rate).unwrap();
                }
                assert_eq!(allocations, 0, "a warm prepared program takes memory of the pool");
            })
            .unwrap();
        assert_eq!((executor.entries(), arbiter.requests()), (1, 1), "budget {budget}");
        // The steps led somewhere.
        let slope = gradient(w.as_slice::<f64>().unwrap());
        assert!(slope.iter().all(|slope| slope.abs() < 1e-2), "{slope:?}");
    }
    let before = ALLOCATIONS.load(Ordering::Relaxed);
    drop(vec![1_u8]);
    assert!(ALLOCATIONS.load(Ordering::Relaxed) > before, "the count counts");
}
