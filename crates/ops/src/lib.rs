//! Operations, their shape and dtype rules, and the reference engine.
//!
//! The vocabulary table of `tenferro-tensor` names the operations; this crate says what each of them means: which
//! operands it takes ([`infer`]), what it computes for one element ([`scalar`]), and what a whole result is
//! ([`mod@reference`], by plain loops). [`Engine`] is what everything that runs operations is written against. There is no
//! kernel here, no thread, and no unsafe code.
//!
//! ```
//! use tenferro_ops::reference::Reference;
//! use tenferro_tensor::{Tensor, TensorElementwise};
//!
//! let x = Tensor::from_vec_col_major(vec![2], vec![1.0_f64, 3.0])?;
//! let y = Reference.add(&x, &x)?;
//! assert_eq!(y.as_slice::<f64>()?, &[2.0, 6.0]);
//! # Ok::<(), tenferro_tensor::Error>(())
//! ```

#![forbid(unsafe_code)]

mod builder;
pub mod composite;
pub mod derivative;
mod destination;
mod engine;
mod meta;
mod op;
mod positions;
#[cfg(feature = "reference")]
pub mod reference;
mod region;
mod rules;
mod running_index;
pub mod scalar;
mod writer;

pub use builder::{Build, Builder, Eager, Lent, stretching};
pub use composite::{TensorComposite, TensorRanking};
pub use destination::{accumulate_into, check_destination, check_scale, copy_into, scale_into};
pub use engine::{Engine, Input, Inputs, LaneJob, Scale};
pub use meta::{Described, Meta};
pub use op::{CustomOp, Op};
pub use positions::{OutOfRange, Start, index_elements, part_starts, slice_starts};
pub use region::{Place as RegionPlace, Planned, Region, RegionResult, RegionStep, Results};
pub use rules::{infer, infer_contraction, is_like_first, reduced_axes, result_like};
pub use writer::{WriteTo, Writer};
