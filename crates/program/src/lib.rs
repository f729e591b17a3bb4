//! Programs: computations that are traced once, transformed, prepared, and run many times.
//!
//! [`trace`] records what a closure does with [`Traced`] values as a [`Program`], which is data: it prints, can be
//! differentiated into other programs ([`Program::grad`], [`Program::vjp`], [`Program::jvp`]), and costs can be read off
//! ([`Program::cost`]). [`Program::prepare`] passes it through optimisations, each of which can be left out, into a
//! [`Prepared`] program, which runs on any [`Engine`](tenferro_ops::Engine), on several at once, and frees or reuses
//! each intermediate result after its last use. This crate knows no kernel and no backend, and no derivative of its own.
//!
//! ```
//! use tenferro_ops::reference::Reference;
//! use tenferro_program::{Passes, Spec, trace};
//! use tenferro_tensor::{DType, KeepAxes, Tensor};
//!
//! let loss = trace(&[Spec::new(DType::F64, [3])?], |xs| {
//!     let x = &xs[0];
//!     (x.tanh() * x).sum([0], KeepAxes::Drop)
//! })?;
//! let slope = loss.grad()?.prepare(&Passes::all())?;
//! let x = Tensor::from_vec_col_major([3], vec![0.0_f64, 1.0, -1.0])?;
//! let results = slope.run(&mut Reference, vec![(&x).into()])?;
//! assert_eq!(results[0].shape()[..], [3]);
//! # Ok::<(), tenferro_program::Error>(())
//! ```

#![forbid(unsafe_code)]

mod cache;
mod control;
mod cost;
mod error;
mod flow;
mod graphviz;
mod identity;
mod into;
mod methods;
mod pass;
mod prepared;
mod program;
mod recording;
mod running;
mod schedule;
mod template;
mod text;
mod trace;
mod transform;

pub use cache::{Cache, CacheCounters};
pub use control::{Control, Misfit};
pub use cost::Cost;
pub use error::{Error, Result};
pub use flow::Scan;
pub use pass::{Pass, Passes};
pub use prepared::{Argument, Outputs, Prepared};
pub use program::{Program, Spec, Step, StepKind, Value};
pub use template::{Extent, Pattern, Template};
pub use text::{Parser, Problem};
pub use trace::{Traced, trace};
