//! Tensors on CPUs whose threads are arbitrated: the crate to add.
//!
//! A [`CpuBackend`] computes; every operation is admitted to the CPUs by one arbiter that the whole process shares, and
//! an execution scope pays for admission once. The parts are re-exported as modules.
//!
//! ```
//! use tenferro::prelude::*;
//!
//! let backend = CpuBackend::with_threads(1)?;
//! let mut operations = backend.clone();
//! let a = Tensor::from_vec_row_major(vec![2, 2], vec![1.0_f64, 2.0, 3.0, 4.0])?;
//! let b = backend.with_execution_scope(|| operations.matmul(&a, &a))??;
//! assert_eq!(b.to_vec_row_major::<f64>()?, [7.0, 10.0, 15.0, 22.0]);
//! # Ok::<(), tenferro::Error>(())
//! ```
#![forbid(unsafe_code)]

pub use tenferro_cpu::{
    AbsentProvider, CancelToken, CpuBackend, CpuBackendBuilder, Diagnostics, Error, Patience,
    ProviderInfo, Result,
};
pub use tenferro_tensor::{DType, Shape, Tensor, TensorView, TensorViewMut, TypedTensor};

/// BLAS libraries that a backend loads.
#[cfg(feature = "loaded")]
pub use tenferro_cpu::{Threading, loaded};

/// Derivatives of eager computations, to any order.
pub use tenferro_ad as ad;
/// Who gets CPUs: sets, requests, permits and the arbiter.
pub use tenferro_arbiter as arbiter;
/// Sums over labelled axes.
pub use tenferro_einsum as einsum;
/// Operations, rules, the engine trait and the reference engine.
pub use tenferro_ops as ops;
/// Programs that are traced once, transformed, prepared and run many times.
pub use tenferro_program as program;
/// The contract of BLAS-like providers, and their registry.
pub use tenferro_provider as provider;
/// Domains, executors and execution scopes.
pub use tenferro_scope as scope;
/// Tensors, views and the vocabulary.
pub use tenferro_tensor as tensor;

/// What most programs need: the backend, tensors and the operation traits.
pub mod prelude {
    pub use tenferro_cpu::CpuBackend;
    pub use tenferro_ops::{Engine, TensorComposite, TensorRanking, WriteTo};
    pub use tenferro_tensor::{
        AsOperand, Combiner, Comparison, Contraction, Convolution, DType, GatherMode, Gathering,
        KeepAxes, Placement, ScatterMode, SortOrder, Sweep, Tensor, TensorAnalytic, TensorDot,
        TensorElementwise, TensorIndexing, TensorReduction, TensorScan, TensorSorting,
        TensorStructural, TensorView, TensorWindowed, TypedTensor, Window,
    };
}

/// The examples of the README are compiled and run with the documentation tests.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

/// As those of the README.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/adding-an-operation.md")]
struct AddingAnOperation;

/// As those of the README.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/adding-a-provider.md")]
struct AddingAProvider;

/// As those of the README.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/autodiff.md")]
struct AutomaticDifferentiation;

/// As those of the README.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/programs.md")]
struct Programs;

/// As those of the README.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/execution-scopes.md")]
struct ExecutionScopes;

/// As those of the README.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/admission.md")]
struct Admission;
