//! Suite `ad`: values and gradients of a small network and of logsumexp, eager and prepared.
//!
//! The network is `sum(tanh(W2 tanh(W1 x)))` with square weights, differentiated by both; its size is
//! that of the weights, with one column of `x` or as many as the size says. The limit of a gradient
//! is our own forward in the same mode; that of a forward a plain loop. Eager gradients are those
//! of a tape that is built and dropped every time; a prepared one is traced and prepared before.

#![forbid(unsafe_code)]

use std::hint::black_box;
use std::process::ExitCode;

use tenferro_ad::{Autodiff, value_and_grads};
use tenferro_bench_limits::tanh_layer;
use tenferro_benches::{Case, Contender, Suite, scattered, scoped, scoped_over};
use tenferro_cpu::CpuBackend;
use tenferro_ops::TensorComposite;
use tenferro_program::{Argument, Passes, Program, Spec, Traced, trace};
use tenferro_tensor::{DType, KeepAxes, Tensor, TensorAnalytic, TensorReduction};

const THREADS: usize = 1;

/// A network: its name, the extent of its weights, the columns of its operand.
const NETWORKS: [(&str, usize, usize); 5] =
    [("8", 8, 1), ("64", 64, 1), ("512", 512, 1), ("64x64", 64, 64), ("512x512", 512, 512)];

/// Elements of the operand of logsumexp.
const LARGE: usize = 1_000_000;

fn main() -> ExitCode {
    Suite::main("ad", |suite| {
        for (size, n, columns) in NETWORKS {
            suite.case(&format!("eager/mlp/f64/{size}"), THREADS, |name, threads| Case {
                name,
                threads,
                ours: eager_gradient(n, columns),
                limit: eager_forward(n, columns),
                peers: Vec::new(),
            });
            suite.case(&format!("prepared/mlp/f64/{size}"), THREADS, |name, threads| Case {
                name,
                threads,
                ours: prepared(network_gradient(n, columns), operands(n, columns)),
                limit: prepared(network(n, columns), operands(n, columns)),
                peers: Vec::new(),
            });
        }
        for (size, n, columns) in NETWORKS.into_iter().filter(|network| network.2 == 1) {
            for (place, ours) in [("eager", eager_forward as fn(_, _) -> _), ("prepared", forward)]
            {
                let case = format!("{place}/mlp-forward/f64/{size}");
                suite.case(&case, THREADS, |name, threads| Case {
                    name,
                    threads,
                    ours: ours(n, columns),
                    limit: forward_limit(n),
                    peers: Vec::new(),
                });
            }
        }
        suite.case("eager/logsumexp/f64/1e6", THREADS, |name, threads| Case {
            name,
            threads,
            ours: eager_logsumexp(),
            limit: scoped(THREADS, {
                let x = large();
                move |operations| operations.logsumexp(black_box(&x), [0], KeepAxes::Drop)
            }),
            peers: Vec::new(),
        });
        suite.case("prepared/logsumexp/f64/1e6", THREADS, |name, threads| Case {
            name,
            threads,
            ours: prepared(logsumexp().value_and_grad().expect("a real scalar"), vec![large()]),
            limit: prepared(logsumexp(), vec![large()]),
            peers: Vec::new(),
        });
    })
}

/// The weights and the operand, scaled so that no tangent vanishes.
fn operands(n: usize, columns: usize) -> Vec<Tensor> {
    let scale = 1.0 / n as f64;
    let tensor = |extents: [usize; 2], low: f64, high: f64| {
        let elements = scattered(extents[0] * extents[1], low, high);
        Tensor::from_vec_col_major(extents, elements).expect("invariant: the extents")
    };
    vec![
        tensor([n, n], -scale, 3.0 * scale),
        tensor([n, n], -2.0 * scale, 2.0 * scale),
        tensor([n, columns], -1.0, 1.0),
    ]
}

fn large() -> Tensor {
    Tensor::from_vec_col_major([LARGE], scattered(LARGE, -4.0, 4.0)).expect("invariant: one axis")
}

fn eager_gradient(n: usize, columns: usize) -> Contender<'static> {
    let operands = operands(n, columns);
    scoped_over(THREADS, move |backend| {
        let autodiff = Autodiff::new(backend);
        let [w1, w2, x] = [0, 1, 2].map(|place: usize| autodiff.constant(operands[place].clone()));
        move || {
            let loss = |weights: &[tenferro_ad::Variable]| {
                let hidden = weights[0].matmul(&x)?.tanh()?;
                weights[1].matmul(&hidden)?.tanh()?.sum([0, 1], KeepAxes::Drop)
            };
            value_and_grads(loss, &[black_box(&w1), &w2]).expect("a network that fits")
        }
    })
}

fn eager_forward(n: usize, columns: usize) -> Contender<'static> {
    let operands = operands(n, columns);
    scoped(THREADS, move |operations| {
        let [w1, w2, x] = &operands[..] else { unreachable!("invariant: three operands") };
        let layer = |operations: &mut CpuBackend, w: &Tensor, x: &Tensor| {
            let product = operations.matmul(w, x)?;
            operations.tanh(&product)
        };
        let hidden = layer(operations, black_box(w1), x).expect("a network that fits");
        let output = layer(operations, w2, &hidden).expect("a network that fits");
        operations.sum(&output, [0, 1], KeepAxes::Drop).expect("a network that fits")
    })
}

fn network(n: usize, columns: usize) -> Program {
    let weights = Spec::new(DType::F64, [n, n]).expect("a small shape");
    let operand = Spec::new(DType::F64, [n, columns]).expect("a small shape");
    let specs = [weights.clone().named("w1"), weights.named("w2"), operand.named("x")];
    trace(&specs, |xs| {
        let hidden = xs[0].matmul(&xs[2]).tanh();
        xs[1].matmul(&hidden).tanh().sum([0, 1], KeepAxes::Drop)
    })
    .expect("a network that fits")
}

fn logsumexp() -> Program {
    let spec = Spec::new(DType::F64, [LARGE]).expect("a shape that can be addressed");
    trace(&[spec], |xs: &[Traced]| xs[0].logsumexp([0], KeepAxes::Drop)).expect("one axis")
}

/// The value and the gradients by the weights.
fn network_gradient(n: usize, columns: usize) -> Program {
    let all = network(n, columns).value_and_grad().expect("a real scalar");
    all.with_results(&[0, 1, 2])
}

fn prepared(program: Program, operands: Vec<Tensor>) -> Contender<'static> {
    let prepared = program.prepare(&Passes::all()).expect("memory for constants");
    scoped(THREADS, move |operations| {
        let arguments = operands.iter().map(|operand| Argument::from(black_box(operand)));
        prepared.run(operations, arguments).expect("the program's own operands")
    })
}

fn forward(n: usize, columns: usize) -> Contender<'static> {
    prepared(network(n, columns), operands(n, columns))
}

fn forward_limit(n: usize) -> Contender<'static> {
    let [w1, w2, x] = [0, 1, 2].map(|place: usize| {
        operands(n, 1)[place].to_vec_col_major::<f64>().expect("invariant: f64")
    });
    let (mut hidden, mut output) = (vec![0.0; n], vec![0.0; n]);
    Contender::repeated("plain loops", move || {
        tanh_layer(black_box(&w1), &x, &mut hidden);
        tanh_layer(&w2, &hidden, &mut output);
        output.iter().sum::<f64>()
    })
}

fn eager_logsumexp() -> Contender<'static> {
    let x = large();
    scoped_over(THREADS, move |backend| {
        let x = Autodiff::new(backend).constant(x);
        move || {
            let loss = |xs: &[tenferro_ad::Variable]| xs[0].logsumexp([0], KeepAxes::Drop);
            value_and_grads(loss, &[black_box(&x)]).expect("one axis")
        }
    })
}
