//! Suite `program`: prepared programs, and the same computations one operation after the other.
//!
//! A chain is a hundred dependent additions of 64 elements; the limit adds in place. Over 1e7 elements
//! the limits are plain loops into warm memory. Cross-entropy is that of 1024 rows of 1000 classes,
//! its gradient by the logits; the limit is a plain loop with the C library's functions, which
//! vectorised ones can undercut. Ours is prepared; the peer `eager`
//! is ours too, one operation after the other.
//!
//! Preparing itself: a program of a thousand steps, all passes, where the limit copies the steps; and a cache that has it
//! already, where the limit counts one more owner; and one that has an equal program, traced again each time, where the
//! limit traces it and asks no cache.

#![forbid(unsafe_code)]

use std::hint::black_box;
use std::process::ExitCode;
use std::sync::Arc;

use tenferro_bench_limits::{
    add_repeatedly, cross_entropy, cross_entropy_gradient, muladd_into, on_threads, sum_of_squares,
};
use tenferro_benches::{Case, Contender, Suite, scattered, scoped};
use tenferro_cpu::CpuBackend;
use tenferro_program::{Argument, Cache, Passes, Program, Spec, Traced, trace};
use tenferro_tensor::{
    DType, GatherMode, KeepAxes, Result, Tensor, TensorElementwise, TensorReduction,
};

const LINKS: usize = 100;
const SHORT: usize = 64;
const LONG: usize = 10_000_000;
const ROWS: usize = 1024;
const CLASSES: usize = 1000;

fn main() -> ExitCode {
    Suite::main("program", |suite| {
        suite.case("chain100/f64/64", 1, |name, threads| Case {
            name,
            threads,
            ours: prepared(threads, chain(), pair(SHORT)),
            limit: chain_limit(),
            peers: vec![eager_chain()],
        });
        suite.case("prepare/f64/1000", 1, |name, threads| {
            let (program, same) = (layers(), layers());
            Case {
                name,
                threads,
                ours: Contender::repeated("ours", move || {
                    program.prepare(&Passes::all()).expect("memory for constants")
                }),
                limit: Contender::repeated("copy of the steps", move || same.steps().to_vec()),
                peers: Vec::new(),
            }
        });
        suite.case("cache-hit/f64/1000", 1, |name, threads| {
            let (program, cache) = (layers(), Cache::new(16));
            let kept = cache.prepare(&program).expect("memory for constants");
            Case {
                name,
                threads,
                ours: Contender::repeated("ours", move || {
                    cache.prepare(black_box(&program)).expect("a prepared program")
                }),
                limit: Contender::repeated("clone of an Arc", move || Arc::clone(black_box(&kept))),
                peers: Vec::new(),
            }
        });
        suite.case("cache-hit-traced-again/f64/1000", 1, |name, threads| {
            let cache = Cache::new(16);
            cache.prepare(&layers()).expect("memory for constants");
            Case {
                name,
                threads,
                ours: Contender::repeated("ours", move || {
                    cache.prepare(&layers()).expect("a prepared program")
                }),
                limit: Contender::repeated("the trace alone", layers),
                peers: Vec::new(),
            }
        });
        for threads in [1, 2] {
            suite.case("fused-muladd/f64/1e7", threads, |name, threads| Case {
                name,
                threads,
                ours: prepared(threads, muladd(), four(LONG)),
                limit: muladd_limit(threads),
                peers: vec![eager(threads, four(LONG), |operations, x| {
                    let (ab, cd) = (operations.mul(&x[0], &x[1])?, operations.mul(&x[2], &x[3])?);
                    operations.add(&ab, &cd)
                })],
            });
            suite.case("sum-of-squares/f64/1e7", threads, |name, threads| Case {
                name,
                threads,
                ours: prepared(threads, squares(), pair(LONG)[..1].to_vec()),
                limit: squares_limit(threads),
                peers: vec![eager(threads, pair(LONG)[..1].to_vec(), |operations, x| {
                    let squares = operations.mul(&x[0], &x[0])?;
                    operations.sum(&squares, [0], KeepAxes::Drop)
                })],
            });
            suite.case("cross-entropy/f64/1024x1000", threads, |name, threads| Case {
                name,
                threads,
                ours: prepared(threads, loss(), batch()),
                limit: loss_limit(threads),
                peers: Vec::new(),
            });
            suite.case("cross-entropy-gradient/f64/1024x1000", threads, |name, threads| Case {
                name,
                threads,
                ours: prepared(threads, loss().value_and_grad().expect("a real scalar"), batch()),
                limit: gradient_limit(threads),
                peers: Vec::new(),
            });
        }
    })
}

fn program(specs: &[Spec], f: impl FnOnce(&[Traced]) -> Traced) -> Program {
    trace(specs, f).expect("a program that fits")
}

fn vectors<const N: usize>(extent: usize) -> [Spec; N] {
    std::array::from_fn(|_| Spec::new(DType::F64, [extent]).expect("a shape that can be addressed"))
}

fn chain() -> Program {
    program(&vectors::<2>(SHORT), |xs| (0..LINKS).fold(xs[0].clone(), |sum, _| sum + &xs[1]))
}

/// A thousand steps: layers of products, sums and functions, and transpositions to be folded.
fn layers() -> Program {
    let square = Spec::new(DType::F64, [4, 4]).expect("a small shape");
    let layers = program(&[square.clone(), square], |xs| {
        (0..200)
            .fold(xs[0].clone(), |x, _| (x.transpose([1, 0]).matmul(&xs[1]) * 0.5 + &xs[0]).tanh())
    });
    assert!(layers.steps().len() >= 1000, "{} steps", layers.steps().len());
    layers
}

fn muladd() -> Program {
    program(&vectors::<4>(LONG), |xs| &xs[0] * &xs[1] + &xs[2] * &xs[3])
}

fn squares() -> Program {
    program(&vectors::<1>(LONG), |xs| (&xs[0] * &xs[0]).sum([0], KeepAxes::Drop))
}

/// The mean of logsumexp less the label's logit, classes along the fast axis.
fn loss() -> Program {
    let logits = Spec::new(DType::F64, [CLASSES, ROWS]).expect("a small shape").named("logits");
    let labels = Spec::new(DType::I64, [1, ROWS]).expect("a small shape").named("labels");
    program(&[logits, labels], |xs| {
        let all = xs[0].logsumexp([0], KeepAxes::Keep);
        let own = xs[0].take_along_axis(&xs[1], 0_usize, GatherMode::Refuse);
        (all - own).mean([0, 1], KeepAxes::Drop)
    })
}

fn elements(count: usize) -> Vec<f64> {
    scattered(count, -1.0, 1.0)
}

fn tensor(extents: &[usize], elements: Vec<f64>) -> Tensor {
    Tensor::from_vec_col_major(extents, elements).expect("invariant: the extents")
}

fn pair(count: usize) -> Vec<Tensor> {
    let reversed = elements(count).into_iter().rev().collect();
    vec![tensor(&[count], elements(count)), tensor(&[count], reversed)]
}

fn four(count: usize) -> Vec<Tensor> {
    let [x, y] = [pair(count), pair(count)];
    x.into_iter().chain(y).collect()
}

fn labels() -> Vec<usize> {
    (0..ROWS).map(|row| row * 7 % CLASSES).collect()
}

fn batch() -> Vec<Tensor> {
    let logits = tensor(&[CLASSES, ROWS], scattered(CLASSES * ROWS, -4.0, 4.0));
    let labels = labels().into_iter().map(|label| label as i64).collect();
    vec![logits, Tensor::from_vec_col_major([1, ROWS], labels).expect("invariant: a label a row")]
}

fn prepared(threads: usize, program: Program, operands: Vec<Tensor>) -> Contender<'static> {
    let prepared = program.prepare(&Passes::all()).expect("memory for constants");
    scoped(threads, move |operations| {
        let arguments = operands.iter().map(|operand| Argument::from(black_box(operand)));
        prepared.run(operations, arguments).expect("the program's own operands")
    })
}

/// The same operations one by one, as a peer.
fn eager(
    threads: usize,
    operands: Vec<Tensor>,
    operation: fn(&mut CpuBackend, &[Tensor]) -> Result<Tensor>,
) -> Contender<'static> {
    let contender = scoped(threads, move |operations| {
        operation(operations, black_box(&operands)).expect("operands that agree")
    });
    contender.named("eager")
}

fn eager_chain() -> Contender<'static> {
    eager(1, pair(SHORT), |operations, x| {
        (1..LINKS).try_fold(operations.add(&x[0], &x[1])?, |sum, _| operations.add(&sum, &x[1]))
    })
}

fn chain_limit() -> Contender<'static> {
    let (x, y) = (elements(SHORT), vec![1e-6; SHORT]);
    let mut sum = x;
    Contender::repeated("plain loop in place", move || {
        add_repeatedly(black_box(&mut sum), &y, LINKS);
    })
}

fn muladd_limit(threads: usize) -> Contender<'static> {
    let operands: [Vec<f64>; 4] = std::array::from_fn(|_| elements(LONG));
    let mut out = vec![0.0; LONG];
    Contender::sampled("plain loop", move |count| {
        let part = LONG.div_ceil(threads);
        let parts = out.chunks_mut(part).enumerate().map(|(at, out)| {
            let range = at * part..at * part + out.len();
            (std::array::from_fn(|of: usize| &operands[of][range.clone()]), out)
        });
        on_threads(parts.collect(), count, |(operands, out)| {
            muladd_into(black_box(*operands), black_box(out));
        })
    })
}

fn squares_limit(threads: usize) -> Contender<'static> {
    let x = elements(LONG);
    Contender::sampled("plain loop", move |count| {
        on_threads(x.chunks(LONG.div_ceil(threads)).collect(), count, |x| {
            black_box(sum_of_squares(black_box(x)));
        })
    })
}

fn loss_limit(threads: usize) -> Contender<'static> {
    let (logits, labels) = (scattered(CLASSES * ROWS, -4.0, 4.0), labels());
    Contender::sampled("plain loop", move |count| {
        let rows = ROWS.div_ceil(threads);
        let parts = logits.chunks(rows * CLASSES).zip(labels.chunks(rows));
        on_threads(parts.collect(), count, |(logits, labels)| {
            black_box(cross_entropy(black_box(logits), CLASSES, labels));
        })
    })
}

fn gradient_limit(threads: usize) -> Contender<'static> {
    let (logits, labels) = (scattered(CLASSES * ROWS, -4.0, 4.0), labels());
    let mut out = vec![0.0; CLASSES * ROWS];
    Contender::sampled("plain loop", move |count| {
        let rows = ROWS.div_ceil(threads);
        let parts = logits.chunks(rows * CLASSES).zip(labels.chunks(rows));
        let parts = parts.zip(out.chunks_mut(rows * CLASSES));
        on_threads(parts.collect(), count, |((logits, labels), out)| {
            cross_entropy_gradient(black_box(logits), CLASSES, labels, black_box(out));
        })
    })
}
