//! Suite `matmul`: products of square matrices, against ndarray and faer.
//!
//! Ours is a call like a user's, inside an execution scope: it checks its operands and makes its
//! output, from a warm pool. The peers and the limit write into an output that they are given,
//! which is the faster of the two ways they offer. ndarray's own kernel runs on one thread.

#![forbid(unsafe_code)]

use std::hint::black_box;
use std::process::ExitCode;
use std::time::Instant;

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, Par};
use ndarray::linalg::general_mat_mul;
use ndarray::{Array2, ShapeBuilder};
use tenferro_bench_limits::{Product, fma_f64, gemm_f64};
use tenferro_benches::{Case, Contender, Suite};
use tenferro_cpu::CpuBackend;
use tenferro_ops::TensorComposite;
use tenferro_provider::Preference;
use tenferro_tensor::Tensor;

fn main() -> ExitCode {
    println!("one core's peak: {:.1} GFLOP/s f64", fma_f64(20_000_000).gflops());
    Suite::main("matmul", |suite| {
        for threads in [1, 2] {
            for n in [64, 256, 1024] {
                suite.case(&format!("native/f64/{n}"), threads, |name, threads| {
                    case(name, threads, &Operands::new(n))
                });
            }
        }
    })
}

/// Two square matrices in column-major order.
struct Operands {
    n: usize,
    lhs: Vec<f64>,
    rhs: Vec<f64>,
}

impl Operands {
    fn new(n: usize) -> Self {
        let wave = |step: f64| (0..n * n).map(|at| (at as f64 * step).sin()).collect();
        Self { n, lhs: wave(0.37), rhs: wave(0.73) }
    }
}

fn case(name: String, threads: usize, operands: &Operands) -> Case<'static> {
    let mut peers = vec![faer(threads, operands)];
    if threads == 1 {
        peers.insert(0, ndarray(operands));
    }
    Case { name, threads, ours: ours(threads, operands), limit: limit(threads, operands), peers }
}

/// The scope is open before a sample begins and closes after it.
fn ours(threads: usize, operands: &Operands) -> Contender<'static> {
    // No other provider: a row named after one must not show what another did.
    let owner = CpuBackend::builder()
        .threads(threads)
        .provider_preference(Preference::Only("native".to_owned()))
        .build()
        .expect("a backend of so many threads with the native provider");
    let mut operations = owner.clone();
    let tensor = |elements: &Vec<f64>| {
        Tensor::from_vec_col_major(vec![operands.n, operands.n], elements.clone())
            .expect("invariant: n * n elements")
    };
    let (lhs, rhs) = (tensor(&operands.lhs), tensor(&operands.rhs));
    let mut multiply = move |count| {
        let start = Instant::now();
        for _ in 0..count {
            let product = operations.matmul(black_box(&lhs), black_box(&rhs));
            black_box(&product.expect("operands that agree"));
        }
        start.elapsed()
    };
    Contender::sampled("scope", move |count| {
        owner.with_execution_scope(|| multiply(count)).expect("no other scope is open")
    })
}

/// The raw kernel on panels of columns, the threads meeting once a sample.
fn limit(threads: usize, operands: &Operands) -> Contender<'static> {
    let Operands { n, lhs, rhs } = operands;
    let (n, lhs, rhs) = (*n, lhs.clone(), rhs.clone());
    let mut out = vec![0.0; n * n];
    Contender::sampled("gemm kernel", move |count| {
        gemm_f64(Product { m: n, n, k: n, lhs: &lhs, rhs: &rhs, out: &mut out }, threads, count)
    })
}

fn ndarray(operands: &Operands) -> Contender<'static> {
    let array = |elements: &Vec<f64>| {
        Array2::from_shape_vec((operands.n, operands.n).f(), elements.clone())
            .expect("invariant: n * n elements")
    };
    let (lhs, rhs) = (array(&operands.lhs), array(&operands.rhs));
    let mut out = Array2::zeros((operands.n, operands.n).f());
    Contender::repeated("ndarray", move || {
        general_mat_mul(1.0, black_box(&lhs), black_box(&rhs), 0.0, &mut out);
    })
}

/// faer in a pool of its own, which the measuring thread enters once a sample.
fn faer(threads: usize, operands: &Operands) -> Contender<'static> {
    let n = operands.n;
    let matrix = |elements: &[f64]| Mat::from_fn(n, n, |row, column| elements[row + column * n]);
    let (lhs, rhs) = (matrix(&operands.lhs), matrix(&operands.rhs));
    let mut out = Mat::zeros(n, n);
    let mut multiply = move |par| {
        matmul(&mut out, Accum::Replace, black_box(&lhs), black_box(&rhs), 1.0, par);
    };
    if threads == 1 {
        return Contender::repeated("faer", move || multiply(Par::Seq));
    }
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .expect("the peer's pool starts");
    Contender::sampled("faer", move |count| {
        pool.install(|| {
            let start = Instant::now();
            for _ in 0..count {
                multiply(Par::rayon(threads));
            }
            start.elapsed()
        })
    })
}
