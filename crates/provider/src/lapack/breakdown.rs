//! What a matrix lacked for a routine to give its result.

/// Why a routine has no result, though it was called as it should be.
///
/// Pivots count from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Breakdown {
    /// A pivot is exactly 0. After `getrf` the factors are complete all the same, and there may be more such pivots.
    #[error("the matrix is singular: pivot {pivot} is 0")]
    Singular {
        /// The first pivot that is 0.
        pivot: usize,
    },
    /// A leading minor is not positive.
    #[error("the matrix is not positive definite: its leading minor of order {} is not positive", pivot + 1)]
    NotPositiveDefinite {
        /// The row at which the factorisation stopped.
        pivot: usize,
    },
    /// An iteration came to its end without a result.
    #[error("the iteration did not converge: {unconverged} values are missing")]
    NotConverged {
        /// How many values are missing, in the library's own count.
        unconverged: usize,
    },
}
