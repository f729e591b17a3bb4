//! What providers and the registry refuse.

use tenferro_tensor::{DType, Factor, Validation};

#[cfg(feature = "conformance")]
use crate::conformance::Failure;
use crate::{
    Reason,
    lapack::{Breakdown, Routine},
};

/// Why a provider was not found, or has not computed what was asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No provider of this name is there at run time.
    #[error(
        "provider `{name}` was not found: {}; available: {}",
        cause.as_deref().unwrap_or("no provider of this name is known"),
        available.join(", ")
    )]
    NotFound {
        /// The name asked for.
        name: String,
        /// Why a provider that is enabled in this build is not there, if it is one.
        cause: Option<String>,
        /// The names that can be chosen.
        available: Vec<String>,
    },
    /// The provider is known but was not compiled in.
    #[error(
        "provider `{name}` is disabled in this build: enable the feature `{feature}`; available: {}",
        available.join(", ")
    )]
    Disabled {
        /// The name asked for.
        name: String,
        /// The feature that enables it.
        feature: String,
        /// The names that can be chosen.
        available: Vec<String>,
    },
    /// Two providers of one name.
    #[error("provider `{name}` is registered already; register the second one under another name")]
    Duplicate {
        /// The name that is taken.
        name: String,
    },
    /// A provider computes wrong results, which the self-test found: it is not registered.
    #[cfg(feature = "conformance")]
    #[error(
        "provider `{name}` {version} was refused, because its self-test failed: {failure}; use another build of it, or \
         another provider"
    )]
    Refused {
        /// Its name.
        name: String,
        /// Its version.
        version: String,
        /// The product that came out wrong, and how.
        #[source]
        failure: Box<Failure>,
    },
    /// No provider of the chain does what was asked; the output is untouched.
    #[error(
        "no provider does this product: {}; add `naive`, which does all of them, to the chain",
        refusals.iter().map(|(name, reason)| format!("`{name}`: {reason}")).collect::<Vec<_>>().join("; ")
    )]
    Unsupported {
        /// Who was asked, in order, and what each said.
        refusals: Vec<(String, Reason)>,
    },
    /// No provider of the chain has the routine; nothing was written.
    #[error(
        "no provider does this {routine} of {dtype}: {}; enable the feature `linalg` or add a LAPACK to the chain",
        refusals.iter().map(|(name, reason)| format!("`{name}`: {reason}")).collect::<Vec<_>>().join("; ")
    )]
    NoRoutine {
        /// The routine asked for.
        routine: Routine,
        /// The dtype of the matrices.
        dtype: DType,
        /// Who was asked, in order, and what each said.
        refusals: Vec<(String, Reason)>,
    },
    /// The operands do not fit the routine.
    #[error("{routine}: {source}")]
    InvalidRequest {
        /// The routine asked for.
        routine: Routine,
        /// What does not fit.
        source: Validation,
    },
    /// An element that the routine would read is infinite or NaN; nothing was called.
    #[error("{routine}: element {index:?} of {operand} is not finite; replace such elements first")]
    NonFinite {
        /// The routine asked for.
        routine: Routine,
        /// Which operand.
        operand: &'static str,
        /// Row and column of the first such element.
        index: [usize; 2],
    },
    /// The matrix has no such result.
    #[error("{routine}: {breakdown}")]
    Breakdown {
        /// The routine asked for.
        routine: Routine,
        /// What the matrix lacks.
        breakdown: Breakdown,
    },
    /// The operands do not make a product.
    #[error("product: {0}")]
    InvalidProduct(#[from] Validation),
    /// A factor is not a value of the product's dtype.
    #[error("product: {name} = {factor:?} is not a value of {dtype}; scale in another dtype")]
    Factor {
        /// Which factor: alpha or beta.
        name: &'static str,
        /// Its value.
        factor: Factor,
        /// The dtype of the product.
        dtype: DType,
    },
    /// A provider broke down; the output has no meaning.
    #[error("provider `{provider}` failed: {source}")]
    Failed {
        /// Who failed.
        provider: String,
        /// What it said.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}
