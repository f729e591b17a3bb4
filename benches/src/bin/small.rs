//! Suite `small`: additions and products of a few elements, where everything but the arithmetic counts.
//!
//! Ours returns a fresh tensor, so the limit is a plain loop into a fresh `Vec` and the peer the
//! operator of ndarray, which makes a fresh array. In a scope, the scope is open before a sample
//! begins and closes after it: admission is paid for once and is not in the figure. Standalone,
//! each addition is admitted by itself. A chain is a hundred additions, each of the sum before.
//! A product's limit is the provider's call, which writes into an output that is there.

#![forbid(unsafe_code)]

use std::hint::black_box;
use std::process::ExitCode;

use ndarray::{Array1, Array2, ShapeBuilder};
use tenferro_bench_limits::{Matrices, add_fresh};
use tenferro_benches::{Case, Contender, Suite, called, scoped};
use tenferro_cpu::CpuBackend;
use tenferro_ops::TensorComposite;
use tenferro_provider::{Preference, Sequential};
use tenferro_tensor::{Tensor, TensorElementwise};

const THREADS: usize = 1;
const SIZES: [usize; 3] = [2, 64, 1024];

/// Extents of the square matrices that are multiplied.
const EXTENTS: [usize; 4] = [4, 8, 16, 64];

/// Additions of a chain.
const LINKS: usize = 100;

fn main() -> ExitCode {
    Suite::main("small", |suite| {
        for n in SIZES {
            suite.case(&format!("scope/add/f64/{n}"), THREADS, |name, threads| Case {
                name,
                threads,
                ours: in_scope(&tensors(n)),
                limit: limit(n),
                peers: vec![ndarray(n)],
            });
        }
        for n in SIZES {
            suite.case(&format!("standalone/add/f64/{n}"), THREADS, |name, threads| {
                // The same operands for both: where they lie counts for more than the admission.
                let operands = tensors(n);
                Case {
                    name,
                    threads,
                    ours: standalone(&operands),
                    limit: limit(n),
                    peers: vec![in_scope(&operands), ndarray(n)],
                }
            });
        }
        for n in SIZES {
            suite.case(&format!("scope/chain/f64/{n}"), THREADS, |name, threads| Case {
                name,
                threads,
                ours: chain(n),
                limit: chain_limit(n),
                peers: vec![ndarray_chain(n)],
            });
        }
        for n in EXTENTS {
            suite.case(&format!("scope/matmul/f64/{n}"), THREADS, |name, threads| Case {
                name,
                threads,
                ours: product(n, [n, n]),
                limit: product_limit(n, n),
                peers: vec![ndarray_product(n)],
            });
        }
        for n in EXTENTS {
            suite.case(&format!("scope/matmul/f64/{n}x{n}x1"), THREADS, |name, threads| Case {
                name,
                threads,
                ours: product(n, [n]),
                limit: product_limit(n, 1),
                peers: Vec::new(),
            });
        }
    })
}

/// The two operands' elements.
fn operands(n: usize) -> [Vec<f64>; 2] {
    [0.5, 0.25].map(|step| (0..n).map(|at| at as f64 * step).collect())
}

fn tensors(n: usize) -> [Tensor; 2] {
    operands(n).map(|elements| {
        Tensor::from_vec_col_major(vec![n], elements).expect("invariant: n elements")
    })
}

fn in_scope(operands: &[Tensor; 2]) -> Contender<'static> {
    let [x, y] = operands.clone();
    scoped(THREADS, move |operations| {
        operations.add(black_box(&x), black_box(&y)).expect("operands of one shape")
    })
}

fn standalone(operands: &[Tensor; 2]) -> Contender<'static> {
    let mut operations = CpuBackend::with_threads(THREADS).expect("a backend of one thread");
    let [x, y] = operands.clone();
    Contender::repeated("standalone", move || {
        operations.add(black_box(&x), black_box(&y)).expect("operands of one shape")
    })
}

fn limit(n: usize) -> Contender<'static> {
    let [x, y] = operands(n);
    Contender::repeated("loop into a fresh Vec", move || add_fresh(black_box(&x), black_box(&y)))
}

fn ndarray(n: usize) -> Contender<'static> {
    let [x, y] = operands(n).map(Array1::from_vec);
    Contender::repeated("ndarray", move || black_box(&x) + black_box(&y))
}

fn chain(n: usize) -> Contender<'static> {
    let [x, y] = tensors(n);
    scoped(THREADS, move |operations| {
        let mut add = |sum: &Tensor| operations.add(sum, black_box(&y)).expect("one shape");
        (1..LINKS).fold(add(&x), |sum, _| add(&sum))
    })
}

fn chain_limit(n: usize) -> Contender<'static> {
    let [x, y] = operands(n);
    Contender::repeated("loops into fresh Vecs", move || {
        (1..LINKS).fold(add_fresh(&x, &y), |sum, _| add_fresh(&sum, black_box(&y)))
    })
}

fn ndarray_chain(n: usize) -> Contender<'static> {
    let [x, y] = operands(n).map(Array1::from_vec);
    Contender::repeated("ndarray", move || {
        // By reference, as the other contenders: its by-value operator works in place.
        (1..LINKS).fold(&x + &y, |sum, _| &sum + black_box(&y))
    })
}

/// A square matrix of extent `n` times a matrix or a vector.
fn product<const RANK: usize>(n: usize, right: [usize; RANK]) -> Contender<'static> {
    let tensor = |extents: Vec<usize>| {
        let elements = (0..extents.iter().product()).map(|at| at as f64 * 0.5).collect();
        Tensor::from_vec_col_major(extents, elements)
            .expect("invariant: as many as the extents say")
    };
    let (lhs, rhs) = (tensor(vec![n, n]), tensor(right.to_vec()));
    scoped(THREADS, move |operations| {
        operations.matmul(black_box(&lhs), black_box(&rhs)).expect("operands that agree")
    })
}

/// The provider's call for `n` by `n` times `n` by `columns`.
fn product_limit(n: usize, columns: usize) -> Contender<'static> {
    let registry = CpuBackend::builder().registry().expect("the built-in providers");
    let chain = registry.select(&Preference::Auto).expect("the built-in providers");
    called(chain, Sequential, Matrices::<f64>::new([n, columns, n], 1))
}

fn ndarray_product(n: usize) -> Contender<'static> {
    let elements = || (0..n * n).map(|at| at as f64 * 0.5).collect();
    let matrix = || Array2::from_shape_vec((n, n).f(), elements()).expect("invariant: as many");
    let (lhs, rhs) = (matrix(), matrix());
    Contender::repeated("ndarray", move || black_box(&lhs).dot(black_box(&rhs)))
}
