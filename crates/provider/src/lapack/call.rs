//! A checked request as raw parts, a type for each family of routines.
//!
//! Like [`Matrix`](crate::Matrix), these are addresses and numbers that borrow nothing: the [`Request`](super::Request)
//! they come from vouches for the memory while the call lasts. Unless said otherwise elements are of the request's dtype
//! and matrices are read and overwritten; what is only written need not be initialised.

use std::ptr::NonNull;

/// A matrix whose columns lie in one piece each, as LAPACK has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Columns {
    /// Element (0, 0).
    pub data: NonNull<u8>,
    /// The number of rows.
    pub rows: usize,
    /// The number of columns.
    pub cols: usize,
    /// From a column to the next one: at least `rows`, and at least 1.
    pub leading: usize,
}

impl Columns {
    /// Element (0, 0) as an element of type `T`, for whose being the dtype the caller answers.
    #[must_use]
    pub fn pointer<T>(&self) -> *mut T {
        self.data.cast().as_ptr()
    }
}

/// A vector in one piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entries {
    /// Entry 0.
    pub data: NonNull<u8>,
    /// The number of entries.
    pub len: usize,
}

impl Entries {
    /// Entry 0 as an element of type `T`, for whose being the dtype the caller answers.
    #[must_use]
    pub fn pointer<T>(&self) -> *mut T {
        self.data.cast().as_ptr()
    }
}

/// Which half of a matrix is used. The other half is neither read nor written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Triangle {
    /// On and below the diagonal.
    Lower,
    /// On and above the diagonal.
    Upper,
}

/// What stands on the diagonal of a triangular matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Diagonal {
    /// What is stored.
    Stored,
    /// Ones, whatever is stored: it is neither read nor written.
    Unit,
}

/// How a matrix stands in an equation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Transposition {
    /// As it is.
    Plain,
    /// Transposed.
    Transposed,
    /// Transposed and conjugated.
    Adjoint,
}

/// Whether vectors are wanted beside values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Vectors {
    /// Values alone.
    Omitted,
    /// Values and vectors.
    Computed,
}

/// How singular values are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Driver {
    /// `gesdd`: faster.
    DivideAndConquer,
    /// `gesvd`: less memory.
    QrIteration,
}

/// `P L U = a`, in place.
///
/// `L` is below the diagonal with ones on it, `U` on and above. Step `i` exchanged rows `i` and `pivots[i]`.
#[derive(Clone, Copy, Debug)]
pub struct Getrf {
    /// `[m, n]`: the matrix, then its factors.
    pub a: Columns,
    /// `min(m, n)` entries of i64 to be written, counted from 0.
    pub pivots: Entries,
}

/// Solves `op(a) x = b` from the factors of `a` that `getrf` gave.
#[derive(Clone, Copy, Debug)]
pub struct Getrs {
    /// Which equation.
    pub op: Transposition,
    /// `[n, n]`: the factors, only read.
    pub lu: Columns,
    /// `n` entries of i64, each inside of `i..n`; only read.
    pub pivots: Entries,
    /// `[n, k]`: right sides, then solutions.
    pub b: Columns,
}

/// `L L^H = a` or `U^H U = a`, in place of the triangle.
#[derive(Clone, Copy, Debug)]
pub struct Potrf {
    /// Which half.
    pub triangle: Triangle,
    /// `[n, n]`: the matrix, then its factor.
    pub a: Columns,
}

/// `Q R = a`, in place: `R` on and above the diagonal, below it the reflectors that make `Q`.
///
/// `Q = H_0 H_1 ..` with `H_i = 1 - tau_i v v^H`, `v` being 0 above place `i`, 1 at it, and column `i` below it.
#[derive(Clone, Copy, Debug)]
pub struct Geqrf {
    /// `[m, n]`: the matrix, then its factors.
    pub a: Columns,
    /// `min(m, n)` entries to be written.
    pub tau: Entries,
}

/// The first columns of the `Q` of [`Geqrf`], in place of the reflectors.
#[derive(Clone, Copy, Debug)]
pub struct Orgqr {
    /// `[m, n]`, `n` at most `m`: reflectors in the first columns, then orthonormal columns.
    pub a: Columns,
    /// At most `n` entries, one a reflector; only read.
    pub tau: Entries,
}

/// `u diag(values) vh = a`.
#[derive(Clone, Copy, Debug)]
pub struct Gesvd {
    /// Which routine.
    pub driver: Driver,
    /// `[m, n]`: the matrix, then nothing of meaning.
    pub a: Columns,
    /// `min(m, n)` real entries to be written, descending.
    pub values: Entries,
    /// Where vectors go, if they are wanted.
    pub vectors: Option<SingularVectors>,
}

/// Where singular vectors are written: all of them, or as many as there are values.
#[derive(Clone, Copy, Debug)]
pub struct SingularVectors {
    /// `[m, min(m, n)]`, or `[m, m]` for all.
    pub u: Columns,
    /// `[min(m, n), n]`, or `[n, n]` for all: the adjoint of the right vectors.
    pub vh: Columns,
}

impl SingularVectors {
    /// Whether all vectors are wanted, and there are more of them than values.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.u.cols != self.vh.rows
    }
}

/// `v diag(values) v^H = a` for a symmetric or Hermitian matrix, of which one triangle is read.
#[derive(Clone, Copy, Debug)]
pub struct Syevd {
    /// Which half is read. All of `a` is written.
    pub triangle: Triangle,
    /// Whether `a` is to hold the vectors.
    pub vectors: Vectors,
    /// `[n, n]`: the matrix, then orthonormal vectors, or nothing of meaning.
    pub a: Columns,
    /// `n` real entries to be written, ascending.
    pub values: Entries,
}

/// `a right = right diag(values)` and `left^H a = diag(values) left^H`, vectors having length 1.
#[derive(Clone, Copy, Debug)]
pub struct Geev {
    /// `[n, n]`: the matrix, then nothing of meaning.
    pub a: Columns,
    /// `n` complex entries to be written; those of a real matrix come in conjugate pairs.
    pub values: Entries,
    /// `[n, n]`, complex, to be written, if wanted.
    pub left: Option<Columns>,
    /// `[n, n]`, complex, to be written, if wanted.
    pub right: Option<Columns>,
}

/// The inverse, in place of the triangle.
#[derive(Clone, Copy, Debug)]
pub struct Trtri {
    /// Which half.
    pub triangle: Triangle,
    /// What is on the diagonal.
    pub diagonal: Diagonal,
    /// `[n, n]`: the matrix, then its inverse.
    pub a: Columns,
}

/// Solves `op(a) x = b` for a triangular `a`.
#[derive(Clone, Copy, Debug)]
pub struct Trtrs {
    /// Which half.
    pub triangle: Triangle,
    /// Which equation.
    pub op: Transposition,
    /// What is on the diagonal.
    pub diagonal: Diagonal,
    /// `[n, n]`, only read.
    pub a: Columns,
    /// `[n, k]`: right sides, then solutions.
    pub b: Columns,
}

/// `op(a) x = b` for a matrix of full rank: the `x` with the least error, or the least one of those without.
#[derive(Clone, Copy, Debug)]
pub struct Gels {
    /// Plain or adjoint.
    pub op: Transposition,
    /// `[m, n]`: the matrix, then nothing of meaning.
    pub a: Columns,
    /// `[max(m, n), k]`: right sides in the first rows, then solutions in the first rows and nothing of meaning below.
    pub b: Columns,
}

/// What a provider is asked for.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "each variant is the type of its name, which says what it is")]
pub enum Call {
    Getrf(Getrf),
    Getrs(Getrs),
    Potrf(Potrf),
    Geqrf(Geqrf),
    Orgqr(Orgqr),
    Gesvd(Gesvd),
    Syevd(Syevd),
    Geev(Geev),
    Trtri(Trtri),
    Trtrs(Trtrs),
    Gels(Gels),
}
