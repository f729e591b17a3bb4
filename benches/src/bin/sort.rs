//! Suite `sort`: stable sorts, sorting places and the first ten, of a vector and along both axes.
//!
//! The limit is the standard library's stable sort of a copy, lane by lane; of places by their
//! keys for `argsort`, and a selection of a copy for the first ten. It runs on one thread, for several
//! threads too where there is one lane.

#![forbid(unsafe_code)]

use std::hint::black_box;
use std::process::ExitCode;

use tenferro_bench_limits::on_threads;
use tenferro_benches::{Case, Contender, Suite, scattered, scoped};
use tenferro_cpu::CpuBackend;
use tenferro_ops::TensorRanking;
use tenferro_tensor::{Result, SortOrder, Tensor, TensorSorting};

fn main() -> ExitCode {
    Suite::main("sort", |suite| {
        for threads in [1, 2] {
            for (extents, axis) in [([1_000_000, 1], 0), ([1000, 1000], 0), ([1000, 1000], 1)] {
                rows(suite, threads, extents, axis);
            }
        }
    })
}

fn rows(suite: &mut Suite, threads: usize, extents: [usize; 2], axis: usize) {
    let size = if extents[1] == 1 {
        extents[0].to_string()
    } else {
        extents.map(|extent| extent.to_string()).join("x")
    };
    let case = |name: &str| format!("{name}/axis{axis}/f64/{size}");
    let mut run = |name: &str, ours: Contender<'static>, limit: Contender<'static>| {
        let peers = Vec::new();
        suite.case(&case(name), threads, |name, threads| Case {
            name,
            threads,
            ours,
            limit,
            peers,
        });
    };
    let lanes = Lanes { extents, axis, threads };
    run(
        "sort",
        lanes.ours(move |operations, x| operations.sort(x, axis, ASCENDING)),
        lanes.limit(sort),
    );
    run(
        "argsort",
        lanes.ours(move |operations, x| operations.argsort(x, axis, ASCENDING)),
        lanes.limit(argsort),
    );
    run(
        "top-10",
        lanes.ours(move |operations, x| Ok(operations.top_k(x, axis, 10)?.0)),
        lanes.limit(top),
    );
}

const ASCENDING: SortOrder = SortOrder::Ascending;

/// What is sorted, and along which axis.
#[derive(Clone, Copy)]
struct Lanes {
    extents: [usize; 2],
    axis: usize,
    threads: usize,
}

impl Lanes {
    fn elements(&self) -> Vec<f64> {
        scattered(self.extents.iter().product(), -1.0, 1.0)
    }

    fn ours(
        self,
        operation: impl Fn(&mut CpuBackend, &Tensor) -> Result<Tensor> + Send + 'static,
    ) -> Contender<'static> {
        let extents = if self.extents[1] == 1 { &self.extents[..1] } else { &self.extents };
        let x = Tensor::from_vec_col_major(extents, self.elements()).expect("invariant: so many");
        scoped(self.threads, move |operations| {
            operation(operations, black_box(&x)).expect("an axis that is there")
        })
    }

    /// `sort` on each lane, gathered into a buffer first if it is not contiguous; lanes are shared
    /// out to the threads.
    fn limit(self, sort: fn(&mut [f64]) -> f64) -> Contender<'static> {
        let x = self.elements();
        let [rows, columns] = self.extents;
        let (count, length) = if self.axis == 0 { (columns, rows) } else { (rows, columns) };
        Contender::sampled("std sort of copies", move |repetitions| {
            let share = count.div_ceil(self.threads);
            let parts = (0..count).step_by(share).map(|first| first..count.min(first + share));
            on_threads(parts.collect(), repetitions, |lanes| {
                let mut lane = Vec::with_capacity(length);
                for at in lanes.clone() {
                    lane.clear();
                    match self.axis {
                        0 => lane.extend_from_slice(&x[at * rows..(at + 1) * rows]),
                        _ => lane.extend(x.iter().skip(at).step_by(rows)),
                    }
                    black_box(sort(&mut lane));
                }
            })
        })
    }
}

fn sort(lane: &mut [f64]) -> f64 {
    lane.sort_by(f64::total_cmp);
    lane[0]
}

fn argsort(lane: &mut [f64]) -> f64 {
    let mut places: Vec<usize> = (0..lane.len()).collect();
    places.sort_by(|&a, &b| lane[a].total_cmp(&lane[b]));
    lane[places[0]]
}

fn top(lane: &mut [f64]) -> f64 {
    let (first, tenth, _) = lane.select_nth_unstable_by(9, |a, b| b.total_cmp(a));
    first.sort_by(|a, b| b.total_cmp(a));
    *tenth
}
