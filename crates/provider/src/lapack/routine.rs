//! The routines of the slot by name, and sets of them.

use std::fmt;

/// A routine, by LAPACK's name for real dtypes without the dtype letter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Routine {
    /// LU factors with row exchanges.
    Getrf,
    /// Solutions from LU factors.
    Getrs,
    /// The Cholesky factor.
    Potrf,
    /// QR factors as reflectors.
    Geqrf,
    /// The orthonormal matrix that reflectors make; LAPACK says `ungqr` where it is complex.
    Orgqr,
    /// Singular values and vectors by divide and conquer.
    Gesdd,
    /// Singular values and vectors by QR iteration.
    Gesvd,
    /// Eigenvalues and vectors of a symmetric or Hermitian matrix; LAPACK says `heevd` where it is complex.
    Syevd,
    /// Eigenvalues and vectors of any square matrix.
    Geev,
    /// The inverse of a triangular matrix.
    Trtri,
    /// Solutions from a triangular matrix.
    Trtrs,
    /// Least squares and minimum norm solutions of matrices of full rank.
    Gels,
}

impl Routine {
    /// Every routine.
    pub const ALL: &'static [Routine] = &[
        Routine::Getrf,
        Routine::Getrs,
        Routine::Potrf,
        Routine::Geqrf,
        Routine::Orgqr,
        Routine::Gesdd,
        Routine::Gesvd,
        Routine::Syevd,
        Routine::Geev,
        Routine::Trtri,
        Routine::Trtrs,
        Routine::Gels,
    ];

    /// The name, such as `getrf`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Routine::Getrf => "getrf",
            Routine::Getrs => "getrs",
            Routine::Potrf => "potrf",
            Routine::Geqrf => "geqrf",
            Routine::Orgqr => "orgqr",
            Routine::Gesdd => "gesdd",
            Routine::Gesvd => "gesvd",
            Routine::Syevd => "syevd",
            Routine::Geev => "geev",
            Routine::Trtri => "trtri",
            Routine::Trtrs => "trtrs",
            Routine::Gels => "gels",
        }
    }
}

impl fmt::Display for Routine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A set of routines, each offered for f32, f64, c32 and c64.
///
/// ```
/// use tenferro_provider::lapack::{Routine, Routines};
///
/// let routines: Routines = [Routine::Potrf, Routine::Getrf].into_iter().collect();
/// assert!(routines.contains(Routine::Getrf) && !routines.contains(Routine::Geev));
/// assert_eq!(routines.to_string(), "getrf potrf");
/// ```
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct Routines(u16);

impl Routines {
    /// Every routine.
    #[must_use]
    pub fn all() -> Self {
        Routine::ALL.iter().copied().collect()
    }

    /// Whether the routine is in the set.
    #[must_use]
    pub const fn contains(self, routine: Routine) -> bool {
        self.0 & (1 << routine as u8) != 0
    }

    /// The routines in the order of [`Routine::ALL`].
    pub fn iter(self) -> impl Iterator<Item = Routine> {
        Routine::ALL.iter().copied().filter(move |&routine| self.contains(routine))
    }

    /// Whether no routine is in the set.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }
}

impl FromIterator<Routine> for Routines {
    fn from_iter<I: IntoIterator<Item = Routine>>(routines: I) -> Self {
        Self(routines.into_iter().fold(0, |set, routine| set | (1 << routine as u8)))
    }
}

impl fmt::Display for Routines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, routine) in self.iter().enumerate() {
            let space = if position > 0 { " " } else { "" };
            write!(f, "{space}{routine}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Routines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}
