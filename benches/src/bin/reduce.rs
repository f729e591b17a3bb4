//! Suite `reduce`: reductions of 1e7 elements over each axis, a short and two long ones.
//!
//! The limit is a plain sum over the input plus a plain write of the output, whatever the
//! reduction. ndarray's peers run on one thread and make their results.

#![forbid(unsafe_code)]

use std::hint::black_box;
use std::process::ExitCode;

use ndarray::{Array2, Array3, Axis, ShapeBuilder, Zip};
use tenferro_bench_limits::{any_bit, fill, on_threads, sum};
use tenferro_benches::{Case, Contender, Suite, scattered, scoped};
use tenferro_cpu::CpuBackend;
use tenferro_ops::TensorComposite;
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
    /// What the output holds.
    output: Output,
    ndarray: Option<Folding>,
}

/// ndarray's way to a reduction.
type Folding = fn(&Array3<f64>, Axis) -> Array2<f64>;

/// How many elements of eight bytes the output has.
#[derive(Clone, Copy)]
enum Output {
    /// One for each lane.
    Lanes,
    /// As many as the input.
    Whole,
}

const REDUCTIONS: &[Reduction] = &[
    Reduction {
        name: "sum",
        ours: |operations, x, axis| operations.sum(x, [axis], KeepAxes::Drop),
        output: Output::Lanes,
        ndarray: Some(|x, axis| x.sum_axis(axis)),
    },
    Reduction {
        name: "prod",
        ours: |operations, x, axis| operations.prod(x, [axis], KeepAxes::Drop),
        output: Output::Lanes,
        ndarray: Some(|x, axis| folded(x, axis, 1.0, |all, x| all * x)),
    },
    Reduction {
        name: "max",
        ours: |operations, x, axis| operations.max(x, [axis], KeepAxes::Drop),
        output: Output::Lanes,
        ndarray: Some(|x, axis| folded(x, axis, f64::NEG_INFINITY, f64::max)),
    },
    Reduction {
        name: "argmax",
        ours: |operations, x, axis| operations.argmax(x, [axis], KeepAxes::Drop),
        output: Output::Lanes,
        ndarray: None,
    },
    Reduction {
        name: "logsumexp",
        ours: |operations, x, axis| operations.logsumexp(x, [axis], KeepAxes::Drop),
        output: Output::Lanes,
        ndarray: None,
    },
    Reduction {
        name: "softmax",
        ours: |operations, x, axis| operations.softmax(x, [axis]),
        output: Output::Whole,
        ndarray: None,
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
    let count: usize = shape.iter().product();
    for reduction in REDUCTIONS {
        let outputs = match reduction.output {
            Output::Lanes => count / shape[axis],
            Output::Whole => count,
        };
        let case = format!("{}/axis{axis}/f64/{extents}", reduction.name);
        suite.case(&case, threads, |name, threads| Case {
            name,
            threads,
            ours: ours(threads, shape, axis, reduction.ours),
            limit: limit(threads, shape, outputs),
            peers: match reduction.ndarray {
                Some(reduce) if threads == 1 => vec![peer(shape, axis, reduce)],
                _ => Vec::new(),
            },
        });
    }
    suite.case(&format!("any/axis{axis}/bool/{extents}"), threads, |name, threads| Case {
        name,
        threads,
        ours: any(threads, shape, axis),
        limit: any_limit(threads, count, count / shape[axis]),
        peers: Vec::new(),
    });
}

/// Nothing is true, so that no element may be left out.
fn any(threads: usize, shape: [usize; 3], axis: usize) -> Contender<'static> {
    let x = Tensor::full(shape, false).expect("invariant: the extents");
    scoped(threads, move |operations| {
        operations.any(black_box(&x), [axis], KeepAxes::Drop).expect("an axis that is there")
    })
}

fn any_limit(threads: usize, count: usize, outputs: usize) -> Contender<'static> {
    // Written once: what was never written is one page of zeros, read again and again.
    let (mut x, mut out) = (vec![1_u8; count], vec![0_u8; outputs]);
    fill(black_box(&mut x), 0);
    Contender::sampled("plain or and write", move |repetitions| {
        let parts = x.chunks(count.div_ceil(threads));
        let parts = parts.zip(out.chunks_mut(outputs.div_ceil(threads)));
        on_threads(parts.collect(), repetitions, |(x, out)| {
            let any = any_bit(black_box(x));
            fill(black_box(out), u8::from(any));
        })
    })
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

fn peer(shape: [usize; 3], axis: usize, reduce: Folding) -> Contender<'static> {
    let x = Array3::from_shape_vec(shape.f(), elements(shape)).expect("invariant: the extents");
    Contender::repeated("ndarray", move || reduce(black_box(&x), Axis(axis)))
}
