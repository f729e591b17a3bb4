//! Suite `reduce`: reductions of 1e7 elements over each axis, a short and two long ones.
//!
//! The limit is a plain sum over the input plus a plain write of the output, whatever the
//! reduction. ndarray's peers run on one thread and make their results.

#![forbid(unsafe_code)]

use std::hint::black_box;
use std::process::ExitCode;

use ndarray::{Array2, Array3, Axis, ShapeBuilder, Zip};
use tenferro_bench_limits::{fill, on_threads, sum};
use tenferro_benches::{Case, Contender, Suite, scattered, scoped};
use tenferro_cpu::CpuBackend;
use tenferro_tensor::{KeepAxes, Result, Tensor, TensorReduction};

const SHAPES: [[usize; 3]; 2] = [[1000, 1000, 10], [10, 1000, 1000]];

fn main() -> ExitCode {
    Suite::main("reduce", |suite| {
        for threads in [1, 2] {
            for shape in SHAPES {
                for axis in 0..3 {
                    rows(suite, threads, shape, axis);
                }
            }
        }
    })
}

/// A reduction: ours, and ndarray's way to it.
struct Reduction {
    name: &'static str,
    ours: fn(&mut CpuBackend, &Tensor, usize) -> Result<Tensor>,
    ndarray: fn(&Array3<f64>, Axis) -> Array2<f64>,
}

const REDUCTIONS: &[Reduction] = &[
    Reduction {
        name: "sum",
        ours: |operations, x, axis| operations.sum(x, [axis], KeepAxes::Drop),
        ndarray: |x, axis| x.sum_axis(axis),
    },
    Reduction {
        name: "prod",
        ours: |operations, x, axis| operations.prod(x, [axis], KeepAxes::Drop),
        ndarray: |x, axis| folded(x, axis, 1.0, |all, x| all * x),
    },
    Reduction {
        name: "max",
        ours: |operations, x, axis| operations.max(x, [axis], KeepAxes::Drop),
        ndarray: |x, axis| folded(x, axis, f64::NEG_INFINITY, f64::max),
    },
];

/// ndarray's fastest way to fold along an axis: slab after slab into the array of results.
fn folded(x: &Array3<f64>, axis: Axis, start: f64, fold: impl Fn(f64, f64) -> f64) -> Array2<f64> {
    let rest: Vec<usize> = (0..3).filter(|&at| at != axis.0).map(|at| x.len_of(Axis(at))).collect();
    let mut all = Array2::from_elem((rest[0], rest[1]).f(), start);
    for slab in x.axis_iter(axis) {
        Zip::from(&mut all).and(&slab).for_each(|all, &x| *all = fold(*all, x));
    }
    all
}

fn rows(suite: &mut Suite, threads: usize, shape: [usize; 3], axis: usize) {
    let extents = shape.map(|extent| extent.to_string()).join("x");
    for reduction in REDUCTIONS {
        let case = format!("{}/axis{axis}/f64/{extents}", reduction.name);
        suite.case(&case, threads, |name, threads| Case {
            name,
            threads,
            ours: ours(threads, shape, axis, reduction.ours),
            limit: limit(threads, shape, shape.iter().product::<usize>() / shape[axis]),
            peers: if threads == 1 { vec![peer(shape, axis, reduction)] } else { Vec::new() },
        });
    }
}

/// Numbers whose products neither overflow nor vanish.
fn elements(shape: [usize; 3]) -> Vec<f64> {
    scattered(shape.iter().product(), 0.75, 1.25)
}

fn ours(
    threads: usize,
    shape: [usize; 3],
    axis: usize,
    operation: fn(&mut CpuBackend, &Tensor, usize) -> Result<Tensor>,
) -> Contender<'static> {
    let x = Tensor::from_vec_col_major(shape, elements(shape)).expect("invariant: the extents");
    scoped(threads, move |operations| {
        operation(operations, black_box(&x), axis).expect("an axis that is there")
    })
}

/// Each thread sums its part of the input and writes its part of the output.
fn limit(threads: usize, shape: [usize; 3], outputs: usize) -> Contender<'static> {
    let (x, mut out) = (elements(shape), vec![0.0; outputs]);
    Contender::sampled("plain sum and write", move |count| {
        let parts = x.chunks(x.len().div_ceil(threads));
        let parts = parts.zip(out.chunks_mut(outputs.div_ceil(threads)));
        on_threads(parts.collect(), count, |(x, out)| {
            let total = sum(black_box(x));
            fill(black_box(out), total);
        })
    })
}

fn peer(shape: [usize; 3], axis: usize, reduction: &Reduction) -> Contender<'static> {
    let x = Array3::from_shape_vec(shape.f(), elements(shape)).expect("invariant: the extents");
    let reduce = reduction.ndarray;
    Contender::repeated("ndarray", move || reduce(black_box(&x), Axis(axis)))
}
