//! The protocol between a suite and a peer that runs in a process of its own.
//!
//! A peer in another language, or one whose dependencies do not go with ours, still takes its
//! turn in every round: the suite writes a request, one line of JSON, to the peer's standard
//! input, and waits for the line that answers it. While the peer waits it uses no CPU. It times
//! itself, so that no figure holds the pipe.
//!
//! | request | answer |
//! |---|---|
//! | (at the start) | `{"hello": {"name": "PyTorch", "version": "2.15.0"}}` |
//! | `{"prepare": {"suite": .., "case": .., "threads": .., "movement": ..}}` | `{"prepared": true}`, or `false` for a case that it does not have |
//! | `{"sample": 12}` | `{"took": 34567}`, the nanoseconds of 12 operations |
//! | `"release"` | `"released"`: the case's memory is free again |
//! | any | `{"failed": "why"}` |
//!
//! This crate is the peer's half for peers in Rust, see [`serve`], and the words for both, with
//! what the suites' inputs are made of.

#![forbid(unsafe_code)]

mod data;

use std::hint::black_box;
use std::io::{self, BufRead, Write};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

pub use data::{extents, range, scattered, size};

/// What a suite asks of a peer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Request {
    /// Make the inputs of a case.
    Prepare(Task),
    /// Do the operation so many times.
    Sample(u64),
    /// Let go of the case.
    Release,
}

/// What a peer answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// The peer has started.
    Hello {
        /// The library's name.
        name: String,
        /// Its version.
        version: String,
    },
    /// Whether it has the case.
    Prepared(bool),
    /// Nanoseconds that the sample took.
    Took(u64),
    /// The case is gone.
    Released,
    /// It could not do what was asked.
    Failed(String),
}

/// A case, as a peer needs to know it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    /// The suite.
    pub suite: String,
    /// The case's name; its words say operation, dtype and size.
    pub case: String,
    /// Threads that may be used.
    pub threads: usize,
    /// What is moved, for cases whose name does not say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub movement: Option<Movement>,
}

/// A permutation of the axes of an `f64` tensor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Movement {
    /// The source's extents.
    pub shape: Vec<usize>,
    /// The source's strides in elements.
    pub strides: Vec<isize>,
    /// Axis `k` of the result is axis `permutation[k]` of the source.
    pub permutation: Vec<usize>,
}

impl Movement {
    /// How many elements are moved, unless the source has strides of its own, for which many a library has no
    /// tensor, or leaves no room for everyone's copies.
    pub fn dense(&self) -> Option<usize> {
        const LARGEST: usize = 1 << 27;
        let mut count = 1_usize;
        for (extent, &stride) in self.shape.iter().zip(&self.strides) {
            if stride != count.cast_signed() {
                return None;
            }
            count *= extent;
        }
        (count <= LARGEST).then_some(count)
    }
}

/// An operation that a peer repeats; its inputs are in it.
pub struct Operation(Box<dyn FnMut(u64) -> Duration>);

impl Operation {
    /// An operation that is done again and again.
    pub fn repeated<R>(mut operation: impl FnMut() -> R + 'static) -> Self {
        Self::sampled(move |count| time(&mut operation, count))
    }

    /// One that keeps the time of so many repetitions itself, because something is opened before
    /// them and closed after them.
    pub fn sampled(sample: impl FnMut(u64) -> Duration + 'static) -> Self {
        Self(Box::new(sample))
    }
}

/// The time that so many repetitions take.
pub fn time<R>(mut operation: impl FnMut() -> R, count: u64) -> Duration {
    let start = Instant::now();
    for _ in 0..count {
        black_box(operation());
    }
    start.elapsed()
}

/// The body of a peer's `main`: answers requests until the suite closes its end.
///
/// `prepare` makes the inputs of a case and returns the operation, or nothing for a case that the
/// library does not have.
///
/// # Errors
/// What reading and writing the pipes fails with, and requests that are not understood.
pub fn serve(
    name: &str,
    version: &str,
    prepare: impl FnMut(&Task) -> Option<Operation>,
) -> io::Result<()> {
    serve_on(io::stdin().lock(), io::stdout().lock(), name, version, prepare)
}

/// As [`serve`], on any two ends.
///
/// # Errors
/// As [`serve`].
pub fn serve_on(
    requests: impl BufRead,
    mut replies: impl Write,
    name: &str,
    version: &str,
    mut prepare: impl FnMut(&Task) -> Option<Operation>,
) -> io::Result<()> {
    let mut answer = |reply: &Reply| -> io::Result<()> {
        serde_json::to_writer(&mut replies, reply)?;
        replies.write_all(b"\n")?;
        replies.flush()
    };
    answer(&Reply::Hello { name: name.to_owned(), version: version.to_owned() })?;
    let mut operation = None;
    for line in requests.lines() {
        answer(&match serde_json::from_str(&line?)? {
            Request::Prepare(task) => {
                operation = prepare(&task);
                Reply::Prepared(operation.is_some())
            }
            Request::Sample(count) => match &mut operation {
                Some(Operation(sample)) => Reply::Took(nanoseconds(sample(count))),
                None => Reply::Failed("no case is prepared".to_owned()),
            },
            Request::Release => {
                operation = None;
                Reply::Released
            }
        })?;
    }
    Ok(())
}

fn nanoseconds(took: Duration) -> u64 {
    u64::try_from(took.as_nanos()).expect("invariant: a sample takes less than a century")
}
