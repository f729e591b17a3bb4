//! What a provider can do, as facts that choosing and admission rely on.
//!
//! A capability that is claimed must hold: the conformance suite tries each. One that is not claimed is never asked
//! for by the suite, and a request for it gets [`Outcome::Unsupported`](crate::Outcome).

use std::fmt;

use tenferro_tensor::DType;

use crate::lapack::Routines;

/// A set of dtypes.
///
/// ```
/// use tenferro_provider::DTypes;
/// use tenferro_tensor::DType;
///
/// let floats: DTypes = [DType::F64, DType::F32].into_iter().collect();
/// assert!(floats.contains(DType::F32) && !floats.contains(DType::C64));
/// assert_eq!(floats.to_string(), "f64 f32");
/// ```
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct DTypes(u32);

impl DTypes {
    /// Whether `dtype` is in the set.
    #[must_use]
    pub const fn contains(self, dtype: DType) -> bool {
        self.0 & (1 << dtype as u8) != 0
    }

    /// The members in the order of the dtype table.
    pub fn iter(self) -> impl Iterator<Item = DType> {
        DType::ALL.iter().copied().filter(move |&dtype| self.contains(dtype))
    }
}

impl FromIterator<DType> for DTypes {
    fn from_iter<I: IntoIterator<Item = DType>>(dtypes: I) -> Self {
        Self(dtypes.into_iter().fold(0, |set, dtype| set | (1 << dtype as u8)))
    }
}

impl fmt::Display for DTypes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, dtype) in self.iter().enumerate() {
            let space = if position > 0 { " " } else { "" };
            write!(f, "{space}{dtype}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for DTypes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

/// Which strides of matrices a provider takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Layouts {
    /// One axis of each matrix in one piece, the other with a positive stride that does not overlap: BLAS's own.
    Leading,
    /// Any strides of inputs: zero, positive and negative; any of the output that do not overlap.
    Any,
}

/// How far results depend on how many threads computed them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Determinism {
    /// Bit-equal for every width.
    AnyWidth,
    /// Bit-equal for one width.
    SameWidth,
    /// Not even that is promised.
    Unknown,
}

/// Who owns the threads that a provider uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ThreadOwnership {
    /// The caller: jobs run through [`Workers`](crate::Workers), or on the calling thread alone.
    Caller,
    /// The provider, but a call can say how many.
    BoundedPerCall,
    /// The provider, with a count that is set for the calling thread.
    PerThread,
    /// The provider, with one count for the process.
    ProcessWide,
}

/// Whether several threads may be in a provider at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reentrancy {
    /// Any number of callers, at any width.
    Concurrent,
    /// One caller at a time while it uses more than one thread of the provider.
    Exclusive,
}

/// Whether a provider works in the child of a fork after it was used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fork {
    /// It works.
    Survives,
    /// It hangs or fails: the child must not call it.
    Lost,
}

/// Against whom a call must be alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Exclusion {
    /// Nobody.
    Free,
    /// Other users of the same provider.
    Provider,
    /// Every other user of CPUs.
    Process,
}

/// Facts about a provider.
///
/// ```
/// use tenferro_provider::{Capabilities, Exclusion, ThreadOwnership};
/// use tenferro_tensor::DType;
///
/// let mut capabilities = Capabilities::sequential([DType::F64]);
/// assert_eq!(capabilities.exclusion(4), Exclusion::Free);
/// capabilities.threads = ThreadOwnership::ProcessWide;
/// assert_eq!(capabilities.exclusion(1), Exclusion::Free);
/// assert_eq!(capabilities.exclusion(4), Exclusion::Process);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Capabilities {
    /// The dtypes of products.
    pub dtypes: DTypes,
    /// The strides of products.
    pub layouts: Layouts,
    /// Whether operands can be conjugated without a copy.
    pub conjugation: bool,
    /// Whether a request may hold more than one product.
    pub batch: bool,
    /// How results depend on the width.
    pub determinism: Determinism,
    /// Who owns the threads.
    pub threads: ThreadOwnership,
    /// Whether several callers may be inside.
    pub reentrancy: Reentrancy,
    /// Whether it works after a fork.
    pub fork: Fork,
    /// Whether it is there to be right rather than fast. It still answers where nobody else does, but is not among those
    /// that the fastest is chosen from: comparing would make somebody wait.
    pub reference: bool,
    /// The LAPACK routines on offer, each in all four dtypes.
    pub lapack: Routines,
}

impl Capabilities {
    /// A provider that computes on the calling thread, or through the caller's workers, and does all there is to
    /// products of these dtypes. Take away what does not hold.
    #[must_use]
    pub fn sequential(dtypes: impl IntoIterator<Item = DType>) -> Self {
        Self {
            dtypes: dtypes.into_iter().collect(),
            layouts: Layouts::Any,
            conjugation: true,
            batch: true,
            determinism: Determinism::AnyWidth,
            threads: ThreadOwnership::Caller,
            reentrancy: Reentrancy::Concurrent,
            fork: Fork::Survives,
            reference: false,
            lapack: Routines::default(),
        }
    }

    /// Against whom a call that uses `width` threads must be alone.
    ///
    /// Calls of one thread never are: where the count is process-wide, they share the setting. With more, threads that
    /// can neither be bounded nor isolated conflict with every user of CPUs.
    #[must_use]
    pub fn exclusion(&self, width: usize) -> Exclusion {
        match (self.threads, self.reentrancy) {
            _ if width <= 1 => Exclusion::Free,
            (ThreadOwnership::ProcessWide, _) => Exclusion::Process,
            (_, Reentrancy::Exclusive) => Exclusion::Provider,
            (_, Reentrancy::Concurrent) => Exclusion::Free,
        }
    }
}
