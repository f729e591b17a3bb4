//! Operations, their shape and dtype rules, and the reference engine.
//!
//! The vocabulary table of `tenferro-tensor` names the operations; this crate says what each of them means: which
//! operands it takes ([`infer`]), what it computes for one element ([`scalar`]), and what a whole result is. [`Engine`] is what everything that runs operations is written against. There is no
//! kernel here, no thread, and no unsafe code.

#![forbid(unsafe_code)]

mod destination;
mod engine;
mod meta;
mod op;
mod rules;
pub mod scalar;

pub use destination::{accumulate_into, copy_into, scale_into};
pub use engine::{Engine, Input, Inputs, Scale};
pub use meta::{Described, Meta};
pub use op::{CustomOp, Op};
pub use rules::{infer, infer_contraction};
