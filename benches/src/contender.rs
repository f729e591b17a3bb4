//! Something that can be timed, and the contenders of one case.

use std::fmt;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// Something that does one operation as often as it is told and says how long that took.
///
/// It holds its own inputs, made before anything is timed.
pub struct Contender<'a> {
    pub(super) name: String,
    pub(super) version: Option<String>,
    sample: Box<dyn FnMut(u64) -> Duration + 'a>,
}

impl<'a> Contender<'a> {
    /// A contender that does its own timing: what stands around its loop is not counted.
    ///
    /// `sample` takes the number of operations.
    pub fn sampled(name: impl Into<String>, sample: impl FnMut(u64) -> Duration + 'a) -> Self {
        Self { name: name.into(), version: None, sample: Box::new(sample) }
    }

    /// A contender that repeats `operation`; dropping its result is part of the operation.
    pub fn repeated<R>(name: impl Into<String>, mut operation: impl FnMut() -> R + 'a) -> Self {
        Self::sampled(name, move |count| {
            let start = Instant::now();
            for _ in 0..count {
                // By reference: passing a result through by value would copy it.
                black_box(&operation());
            }
            start.elapsed()
        })
    }

    /// The contender under another name.
    #[must_use]
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// The contender with the version of the library that it is.
    #[must_use]
    pub fn of_version(mut self, version: impl Into<String>) -> Self {
        self.version = Some(version.into());
        self
    }

    pub(super) fn sample(&mut self, count: u64) -> Duration {
        (self.sample)(count)
    }
}

impl fmt::Debug for Contender<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Contender").field("name", &self.name).finish_non_exhaustive()
    }
}

/// One case of a suite: the same work by everyone.
#[derive(Debug)]
pub struct Case<'a> {
    /// `place/operation/dtype/size`, such as `scope/add/f64/64`.
    pub name: String,
    /// Threads that each contender may use.
    pub threads: usize,
    /// Our code; its name is not reported.
    pub ours: Contender<'a>,
    /// What the machine can do.
    pub limit: Contender<'a>,
    /// Other libraries. Each makes a row.
    pub peers: Vec<Contender<'a>>,
}
