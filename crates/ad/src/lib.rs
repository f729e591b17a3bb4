//! Eager automatic differentiation: variables that remember how they were computed.
//!
//! An [`Autodiff`] computes with any [`Engine`](tenferro_ops::Engine); its [`Variable`]s have the whole vocabulary as
//! methods. [`Variable::backward`] accumulates gradients in leaves; [`grad`], [`vjp`], [`jvp`] and their kin are functions of
//! functions, and nest to any order. The rules are those of [`tenferro_ops::derivative`]; this crate knows no
//! derivative of its own, no kernel and no backend.
//!
//! Each transformation has a *level*, and an inner one a higher level than those around it. A variable of a level stands
//! for a variable of the levels below (its primal) and what that level knows of it: a tangent, or a node of
//! the tape. An operation peels the highest level off its operands, runs below, and lets the rules say what
//! becomes of tangents. In reverse mode a rule is carried out once on symbols and turned around; the tape
//! is what these plans keep of each operation, and a backward sweep runs them one by one.
//!
//! ```
//! use tenferro_ad::{Autodiff, grad};
//! use tenferro_ops::reference::Reference;
//! use tenferro_tensor::Tensor;
//!
//! let ad = Autodiff::new(Reference);
//! let x = ad.constant(Tensor::from_vec_col_major(vec![2], vec![1.0_f64, 3.0])?);
//! let cube = |x: &tenferro_ad::Variable| x.mul(x)?.mul(x)?.sum([0], tenferro_tensor::KeepAxes::Drop);
//! assert_eq!(grad(cube, &x)?.value().as_slice::<f64>()?, &[3.0, 27.0]);
//! let second = grad(|x| grad(cube, x)?.sum([0], tenferro_tensor::KeepAxes::Drop), &x)?;
//! assert_eq!(second.value().as_slice::<f64>()?, &[6.0, 18.0]);
//! # Ok::<(), tenferro_tensor::Error>(())
//! ```

#![forbid(unsafe_code)]

mod autodiff;
mod checkpoint;
mod emit;
mod exponentials;
mod function;
mod fused;
mod known;
mod level;
mod methods;
mod node;
mod plan;
mod planner;
mod plans;
mod remains;
mod sweep;
mod transform;
mod variable;

pub use autodiff::Autodiff;
pub use checkpoint::checkpoint;
pub use function::{Call, Function};
pub use level::no_grad;
pub use transform::{
    Pullback, grad, hessian, hvp, jacobian, jvp, value_and_grad, value_and_grads, vjp,
};
pub use variable::Variable;
