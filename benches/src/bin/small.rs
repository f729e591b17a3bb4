//! Suite `small`: additions of a few elements, where everything but the addition counts.
//!
//! Ours returns a fresh tensor, so the limit is a plain loop into a fresh `Vec` and the peer the
//! operator of ndarray, which makes a fresh array. In a scope, the scope is open before a sample
//! begins and closes after it: admission is paid for once and is not in the figure. Standalone,
//! each addition is admitted by itself. A chain is a hundred additions, each of the sum before.

#![forbid(unsafe_code)]

use std::hint::black_box;
use std::process::ExitCode;

use ndarray::Array1;
use tenferro_bench_limits::add_fresh;
use tenferro_benches::{Case, Contender, Suite, scoped};
use tenferro_cpu::CpuBackend;
use tenferro_tensor::{Tensor, TensorElementwise};

const THREADS: usize = 1;
const SIZES: [usize; 3] = [2, 64, 1024];

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
