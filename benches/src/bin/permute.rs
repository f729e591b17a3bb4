//! Suite `permute`: tensors copied into another order of their axes.
//!
//! The limit is a copy of as many bytes, in order and into memory that is there already. ndarray's
//! peer assigns a permuted view to a given array, on one thread. `--patterns FILE` runs the
//! patterns of a JSON file instead of the built-in ones, see benches/README.md.

#![forbid(unsafe_code)]

use std::hint::black_box;
use std::process::ExitCode;
use std::sync::Arc;

use ndarray::{ArrayD, ArrayViewD, IxDyn, ShapeBuilder};
use tenferro_bench_limits::{copy, on_threads};
use tenferro_benches::{Case, Contender, Pattern, Suite, scattered, scoped};
use tenferro_tensor::{TensorStructural, TensorView};

fn main() -> ExitCode {
    Suite::main("permute", |suite| {
        let given = suite.patterns().map(<[Pattern]>::to_vec);
        for threads in [1, 2] {
            for pattern in given.clone().unwrap_or_else(built_in) {
                suite.moving(&pattern.case, threads, pattern.movement(), |name, threads| {
                    let source = source(pattern.elements());
                    let peer = (threads == 1).then(|| ndarray(&pattern, source.clone()));
                    Case {
                        name,
                        threads,
                        ours: ours(threads, &pattern, source.clone()),
                        limit: limit(threads, source),
                        peers: peer.into_iter().collect(),
                    }
                });
            }
        }
    })
}

/// The patterns of the suite: one that every library is asked for, and powers of two.
fn built_in() -> Vec<Pattern> {
    let six = [16; 6];
    vec![
        Pattern::new("transpose", &[4096, 4096], &[1, 0]),
        Pattern::new("slow-to-fast", &six, &[5, 0, 1, 2, 3, 4]),
        Pattern::new("fast-to-slow", &six, &[1, 2, 3, 4, 5, 0]),
        Pattern::new("reverse", &six, &[5, 4, 3, 2, 1, 0]),
    ]
}

/// A source that everyone reads, so that the largest patterns fit into memory.
fn source(elements: usize) -> Arc<[f64]> {
    scattered(elements, -1.0, 1.0).into()
}

fn ours(threads: usize, pattern: &Pattern, source: Arc<[f64]>) -> Contender<'static> {
    let Pattern { shape, strides, permutation, .. } = pattern.clone();
    scoped(threads, move |operations| {
        let x = TensorView::from_slice(black_box(&source), &shape[..], &strides, 0)
            .expect("invariant: a pattern's strides stay inside its elements");
        operations.transpose(&x, &permutation[..]).expect("a permutation")
    })
}

fn limit(threads: usize, source: Arc<[f64]>) -> Contender<'static> {
    let mut out = vec![0.0; source.len()];
    Contender::sampled("memcpy", move |count| {
        let part = source.len().div_ceil(threads);
        on_threads(source.chunks(part).zip(out.chunks_mut(part)).collect(), count, |(from, to)| {
            copy(black_box(from), black_box(to));
        })
    })
}

fn ndarray(pattern: &Pattern, source: Arc<[f64]>) -> Contender<'static> {
    let strides: Vec<usize> = pattern.strides.iter().map(|&stride| stride.unsigned_abs()).collect();
    let shape = IxDyn(&pattern.shape).strides(IxDyn(&strides));
    let mut out = ArrayD::zeros(IxDyn(&pattern.permuted()).f());
    let permutation = IxDyn(&pattern.permutation);
    Contender::repeated("ndarray", move || {
        let x = ArrayViewD::from_shape(shape.clone(), black_box(&source))
            .expect("invariant: a pattern's strides stay inside its elements");
        out.assign(&x.permuted_axes(permutation.clone()));
        black_box(&mut out);
    })
}
