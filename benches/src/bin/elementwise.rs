//! Suite `elementwise`: one operation on each of many elements, where memory is the limit.
//!
//! Ours returns a tensor from a warm pool. The limit is the same loop, written plainly, into
//! memory that is there already; for transcendental functions it is a copy of as many bytes, the
//! time that their memory traffic takes. ndarray's peer writes into a given array and runs on one
//! thread.

#![forbid(unsafe_code)]

use std::hint::black_box;
use std::ops::{Add, Mul};
use std::process::ExitCode;

use ndarray::{Array1, Zip};
use tenferro_bench_limits::{map_into, on_threads, zip_into};
use tenferro_benches::{Case, Contender, Suite, scattered, scoped};
use tenferro_cpu::CpuBackend;
use tenferro_tensor::{Comparison, Result, Scalar, Tensor, TensorAnalytic, TensorElementwise};

const SIZE: usize = 10_000_000;

fn main() -> ExitCode {
    Suite::main("elementwise", |suite| {
        for threads in [1, 2] {
            rows::<f64, f32>(suite, "f64", threads);
            rows::<f32, f64>(suite, "f32", threads);
        }
    })
}

/// A real float of the suite.
trait Real: Scalar + Copy + Add<Output = Self> + Mul<Output = Self> + PartialOrd {
    fn of(x: f64) -> Self;
    fn wide(self) -> f64;
    fn apply(self, function: Function) -> Self;
}

macro_rules! real {
    ($float:ident) => {
        impl Real for $float {
            fn of(x: f64) -> Self {
                x as Self
            }
            fn wide(self) -> f64 {
                f64::from(self)
            }
            fn apply(self, function: Function) -> Self {
                (function.$float)(self)
            }
        }
    };
}
real!(f64);
real!(f32);

/// A function of one element: ours, and what ndarray maps.
#[derive(Clone, Copy)]
struct Function {
    name: &'static str,
    range: [f64; 2],
    ours: fn(&mut CpuBackend, &Tensor) -> Result<Tensor>,
    f64: fn(f64) -> f64,
    f32: fn(f32) -> f32,
}

/// The analytic functions, each on a range where it does its whole work.
const FUNCTIONS: &[Function] = &[
    Function {
        name: "exp",
        range: [-8.0, 8.0],
        ours: |operations, x| operations.exp(x),
        f64: f64::exp,
        f32: f32::exp,
    },
    Function {
        name: "tanh",
        range: [-4.0, 4.0],
        ours: |operations, x| operations.tanh(x),
        f64: f64::tanh,
        f32: f32::tanh,
    },
    Function {
        name: "log",
        range: [0.001, 1000.0],
        ours: |operations, x| operations.log(x),
        f64: f64::ln,
        f32: f32::ln,
    },
    Function {
        name: "sin",
        range: [-8.0, 8.0],
        ours: |operations, x| operations.sin(x),
        f64: f64::sin,
        f32: f32::sin,
    },
];

/// The error function, which the standard library and so ndarray do not have.
const ERF: [f64; 2] = [-3.0, 3.0];

/// All cases of a dtype; `Other` is the one that it is converted to.
fn rows<T: Real, Other: Real>(suite: &mut Suite, dtype: &str, threads: usize) {
    let case = |name: &str| format!("{name}/{dtype}/1e7");
    suite.case(&case("add"), threads, |name, threads| Case {
        name,
        threads,
        ours: binary::<T>(threads, |operations, x, y| operations.add(x, y)),
        limit: zip_limit(threads, |x: T, y| x + y),
        peers: ndarray_zip(threads, |x: T, y| x + y),
    });
    suite.case(&case("mul"), threads, |name, threads| Case {
        name,
        threads,
        ours: binary::<T>(threads, |operations, x, y| operations.mul(x, y)),
        limit: zip_limit(threads, |x: T, y| x * y),
        peers: ndarray_zip(threads, |x: T, y| x * y),
    });
    suite.case(&case("compare"), threads, |name, threads| Case {
        name,
        threads,
        ours: binary::<T>(threads, |operations, x, y| operations.compare(x, y, Comparison::Lt)),
        limit: zip_limit(threads, |x: T, y| x < y),
        peers: ndarray_zip(threads, |x: T, y| x < y),
    });
    suite.case(&case("convert"), threads, |name, threads| Case {
        name,
        threads,
        ours: unary::<T>(threads, WIDE, |operations, x| operations.convert(x, Other::DTYPE)),
        limit: map_limit(threads, |x: T| Other::of(x.wide())),
        peers: ndarray_map(threads, WIDE, |x: T| Other::of(x.wide())),
    });
    for &function in FUNCTIONS {
        suite.case(&case(function.name), threads, |name, threads| Case {
            name,
            threads,
            ours: unary::<T>(threads, function.range, function.ours),
            limit: map_limit(threads, |x: T| x),
            peers: ndarray_map(threads, function.range, move |x: T| x.apply(function)),
        });
    }
    suite.case(&case("erf"), threads, |name, threads| Case {
        name,
        threads,
        ours: unary::<T>(threads, ERF, |operations, x| operations.erf(x)),
        limit: map_limit(threads, |x: T| x),
        peers: Vec::new(),
    });
}

/// The range of operands that are only added, compared or moved.
const WIDE: [f64; 2] = [-1000.0, 1000.0];

fn elements<T: Real>([low, high]: [f64; 2]) -> Vec<T> {
    scattered(SIZE, low, high).into_iter().map(T::of).collect()
}

/// Two operands that differ everywhere.
fn operands<T: Real>() -> [Vec<T>; 2] {
    let lhs = elements(WIDE);
    let rhs = lhs.iter().rev().copied().collect();
    [lhs, rhs]
}

fn tensor<T: Real>(elements: Vec<T>) -> Tensor {
    Tensor::from_vec_col_major(vec![elements.len()], elements).expect("invariant: one axis")
}

fn binary<T: Real>(
    threads: usize,
    operation: fn(&mut CpuBackend, &Tensor, &Tensor) -> Result<Tensor>,
) -> Contender<'static> {
    let [x, y] = operands::<T>().map(tensor);
    scoped(threads, move |operations| {
        operation(operations, black_box(&x), black_box(&y)).expect("operands that agree")
    })
}

fn unary<T: Real>(
    threads: usize,
    range: [f64; 2],
    operation: fn(&mut CpuBackend, &Tensor) -> Result<Tensor>,
) -> Contender<'static> {
    let x = tensor(elements::<T>(range));
    scoped(threads, move |operations| {
        operation(operations, black_box(&x)).expect("an operand that fits")
    })
}

/// Each thread has its own part of the operands, and its own loop.
fn zip_limit<T: Real, R: Clone + Default + Send + 'static>(
    threads: usize,
    function: impl Fn(T, T) -> R + Copy + Sync + 'static,
) -> Contender<'static> {
    let [x, y] = operands::<T>();
    let mut out = vec![R::default(); SIZE];
    Contender::sampled("plain loop", move |count| {
        let part = SIZE.div_ceil(threads);
        let parts = x.chunks(part).zip(y.chunks(part)).zip(out.chunks_mut(part));
        on_threads(parts.collect(), count, |((x, y), out)| {
            zip_into(black_box(x), black_box(y), black_box(out), function);
        })
    })
}

fn map_limit<T: Real, R: Clone + Default + Send + 'static>(
    threads: usize,
    function: impl Fn(T) -> R + Copy + Sync + 'static,
) -> Contender<'static> {
    let x = elements::<T>(WIDE);
    let mut out = vec![R::default(); SIZE];
    Contender::sampled("plain loop", move |count| {
        let part = SIZE.div_ceil(threads);
        on_threads(x.chunks(part).zip(out.chunks_mut(part)).collect(), count, |(x, out)| {
            map_into(black_box(x), black_box(out), function);
        })
    })
}

/// ndarray on one thread, into a given array; nothing for several threads.
fn ndarray_zip<T: Real, R: Clone + Default + 'static>(
    threads: usize,
    function: impl Fn(T, T) -> R + Copy + Sync + 'static,
) -> Vec<Contender<'static>> {
    if threads > 1 {
        return Vec::new();
    }
    let [x, y] = operands::<T>().map(Array1::from_vec);
    let mut out = Array1::from_elem(SIZE, R::default());
    vec![Contender::repeated("ndarray", move || {
        let (x, y) = black_box((&x, &y));
        Zip::from(&mut out).and(x).and(y).for_each(|out, &x, &y| *out = function(x, y));
        black_box(&mut out);
    })]
}

fn ndarray_map<T: Real, R: Clone + Default + 'static>(
    threads: usize,
    range: [f64; 2],
    function: impl Fn(T) -> R + 'static,
) -> Vec<Contender<'static>> {
    if threads > 1 {
        return Vec::new();
    }
    let x = Array1::from_vec(elements::<T>(range));
    let mut out = Array1::from_elem(SIZE, R::default());
    vec![Contender::repeated("ndarray", move || {
        Zip::from(&mut out).and(black_box(&x)).for_each(|out, &x| *out = function(x));
        black_box(&mut out);
    })]
}
