//! The interleaved measurement: ours, the limit and the peers in turns within one run.
//!
//! On a shared machine the same code takes 1.6 times as long from one minute to the next, so a
//! time means little and a quotient of two runs less. Here every round samples all contenders
//! back to back, and ours twice; what is reported is the median of the rounds' own ratios. The
//! ratio of ours to ours, the A/A row, says what a ratio of this run is worth.
//!
//! This library measures closures and knows no operation: a suite is a program that hands them. The limits are in
//! `tenferro-bench-limits`; benches/README.md explains the rows.
//!
//! ```
//! use tenferro_benches::{Case, Contender, Plan, measure};
//!
//! let sum = |n: u64| (0..n).sum::<u64>();
//! let case = Case {
//!     name: "doc/sum/u64/100".to_owned(),
//!     threads: 1,
//!     ours: Contender::repeated("ours", move || sum(100)),
//!     limit: Contender::repeated("closed form", || 100_u64 * 99 / 2),
//!     peers: vec![Contender::repeated("fold", || (0..100_u64).fold(0, |a, b| a + b))],
//! };
//! let measurement = measure(case, &Plan::quick());
//! assert_eq!(measurement.rows("doc").len(), 1);
//! ```

#![forbid(unsafe_code)]

mod called;
mod contender;
mod error;
mod family;
mod measurement;
mod options;
mod pattern;
mod peer;
mod plan;
mod row;
mod rows;
mod scoped;
mod statistics;
mod suite;

pub use called::called;
pub use contender::{Case, Contender};
pub use error::Error;
pub use family::Family;
pub use measurement::{Measurement, Series, measure};
pub use options::{Mode, Options};
pub use pattern::Pattern;
pub use plan::Plan;
pub use row::Row;
pub use rows::read_rows;
pub use scoped::{scoped, scoped_over};
pub use suite::Suite;
pub use tenferro_bench_worker::{extents, scattered, size};
