//! Suite `index`: elements picked and placed by position, and slices.
//!
//! The limit is the plain loop over the same positions into memory that is there already, each
//! thread on its part of the result; additions to scattered places stay on one thread.

#![forbid(unsafe_code)]

use std::hint::black_box;
use std::process::ExitCode;

use tenferro_bench_limits::{copy, on_threads};
use tenferro_benches::{Case, Contender, Suite, scattered, scoped};
use tenferro_ops::TensorComposite;
use tenferro_tensor::{Combiner, GatherMode, Gathering, ScatterMode, Tensor, TensorIndexing};

/// Elements that are picked or placed.
const PICKS: usize = 1_000_000;
const LONG: usize = 10_000_000;
const WIDE: [usize; 2] = [1000, 10_000];
const SQUARE: [usize; 2] = [4096, 4096];

fn main() -> ExitCode {
    Suite::main("index", |suite| {
        for threads in [1, 2] {
            let mut run = |name: &str, make: fn(usize) -> [Contender<'static>; 2]| {
                suite.case(name, threads, |name, threads| {
                    let [ours, limit] = make(threads);
                    Case { name, threads, ours, limit, peers: Vec::new() }
                });
            };
            run("gather/f64/1e7", gather);
            run("gather-columns/f64/1000x10000", gather_columns);
            run("take-along/axis0/f64/1000x10000", take_along);
            run("scatter-add/f64/1e6", scatter_add);
            run("slice-block/f64/4096x4096", slice_block);
            run("slice-strided/f64/4096x4096", slice_strided);
        }
    })
}

/// Positions without order, each below a bound.
fn positions(count: usize, below: usize) -> Vec<i64> {
    scattered(count, 0.0, below as f64).into_iter().map(|at| at as i64).collect()
}

fn tensor(extents: &[usize]) -> Tensor {
    let elements = scattered(extents.iter().product(), -1.0, 1.0);
    Tensor::from_vec_col_major(extents, elements).expect("invariant: so many elements")
}

fn indices(extents: &[usize], below: usize) -> Tensor {
    let places = positions(extents.iter().product(), below);
    Tensor::from_vec_col_major(extents, places).expect("invariant: so many indices")
}

/// A loop over the columns of the result, `rows` elements each, shared out to threads.
fn columns(
    threads: usize,
    [rows, columns]: [usize; 2],
    fill: impl Fn(usize, &mut [f64]) + Sync + 'static,
) -> Contender<'static> {
    let mut out = vec![0.0; rows * columns];
    Contender::sampled("plain loop", move |count| {
        let share = columns.div_ceil(threads);
        on_threads(out.chunks_mut(share * rows).enumerate().collect(), count, |(part, out)| {
            for (at, column) in out.chunks_mut(rows).enumerate() {
                fill(*part * share + at, black_box(column));
            }
        })
    })
}

fn gather(threads: usize) -> [Contender<'static>; 2] {
    const BLOCK: usize = 1000;
    let (x, places) = (tensor(&[LONG]), indices(&[PICKS], LONG));
    let ours = scoped(threads, move |operations| {
        let gathering = Box::new(Gathering::along(0, &[LONG]));
        operations.gather(black_box(&x), &places, gathering, GatherMode::Refuse).expect("in range")
    });
    let (x, places) = (scattered(LONG, -1.0, 1.0), positions(PICKS, LONG));
    let limit = columns(threads, [BLOCK, PICKS / BLOCK], move |at, out| {
        for (out, &place) in out.iter_mut().zip(&places[at * BLOCK..]) {
            *out = x[place as usize];
        }
    });
    [ours, limit]
}

fn gather_columns(threads: usize) -> [Contender<'static>; 2] {
    let (x, places) = (tensor(&WIDE), indices(&WIDE[1..], WIDE[1]));
    let ours = scoped(threads, move |operations| {
        let gathering = Box::new(Gathering::along(1, &WIDE));
        operations.gather(black_box(&x), &places, gathering, GatherMode::Refuse).expect("in range")
    });
    let (x, places) = (scattered(WIDE[0] * WIDE[1], -1.0, 1.0), positions(WIDE[1], WIDE[1]));
    let limit = columns(threads, WIDE, move |at, out| {
        let from = places[at] as usize * WIDE[0];
        copy(&x[from..from + WIDE[0]], out);
    });
    [ours, limit]
}

fn take_along(threads: usize) -> [Contender<'static>; 2] {
    let (x, places) = (tensor(&WIDE), indices(&WIDE, WIDE[0]));
    let ours = scoped(threads, move |operations| {
        operations
            .take_along_axis(black_box(&x), &places, 0_usize, GatherMode::Refuse)
            .expect("in range")
    });
    let count = WIDE[0] * WIDE[1];
    let (x, places) = (scattered(count, -1.0, 1.0), positions(count, WIDE[0]));
    let limit = columns(threads, WIDE, move |at, out| {
        let (x, places) = (&x[at * WIDE[0]..], &places[at * WIDE[0]..]);
        for (out, &place) in out.iter_mut().zip(places) {
            *out = x[place as usize];
        }
    });
    [ours, limit]
}

fn scatter_add(threads: usize) -> [Contender<'static>; 2] {
    let (x, places) = (tensor(&[PICKS]), indices(&[PICKS], PICKS));
    let updates = tensor(&[PICKS]);
    let ours = scoped(threads, move |operations| {
        let gathering = Box::new(Gathering::along(0, &[PICKS]));
        let added = operations.scatter(
            black_box(&x),
            &places,
            &updates,
            gathering,
            Combiner::Sum,
            ScatterMode::Refuse,
        );
        added.expect("in range")
    });
    let (x, places) = (scattered(PICKS, -1.0, 1.0), positions(PICKS, PICKS));
    let mut out = vec![0.0; PICKS];
    let limit = Contender::repeated("plain loop", move || {
        copy(black_box(&x), &mut out);
        for (&place, update) in places.iter().zip(&x) {
            out[place as usize] += update;
        }
        black_box(&mut out);
    });
    [ours, limit]
}

fn slice_block(threads: usize) -> [Contender<'static>; 2] {
    let [rows, _] = SQUARE;
    let (first, end) = (SQUARE.map(|extent| extent / 4), SQUARE.map(|extent| 3 * extent / 4));
    let x = tensor(&SQUARE);
    let ours = scoped(threads, move |operations| {
        operations.slice(black_box(&x), first, end, [1, 1]).expect("inside")
    });
    let x = scattered(SQUARE[0] * SQUARE[1], -1.0, 1.0);
    let limit = columns(threads, [end[0] - first[0], end[1] - first[1]], move |at, out| {
        let from = (first[1] + at) * rows + first[0];
        copy(&x[from..from + out.len()], out);
    });
    [ours, limit]
}

fn slice_strided(threads: usize) -> [Contender<'static>; 2] {
    let x = tensor(&SQUARE);
    let ours = scoped(threads, move |operations| {
        operations.slice(black_box(&x), [1, 1], SQUARE, [2, 2]).expect("inside")
    });
    let x = scattered(SQUARE[0] * SQUARE[1], -1.0, 1.0);
    let limit = columns(threads, SQUARE.map(|extent| extent / 2), move |at, out| {
        let column = &x[(2 * at + 1) * SQUARE[0]..][..SQUARE[0]];
        for (out, from) in out.iter_mut().zip(column.iter().skip(1).step_by(2)) {
            *out = *from;
        }
    });
    [ours, limit]
}
