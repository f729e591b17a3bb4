//! LAPACK routines of a foreign library: requests in Fortran's words.
//!
//! Matrices are column-major already and go straight through. What Fortran has otherwise is made here: pivots that count
//! from 1, eigenvalues of real matrices as two vectors of reals, work space. Matrices without elements are done here too,
//! because libraries differ about them.

mod common;
mod functions;
mod spectra;
mod work;

use std::ffi::c_char;

use tenferro_tensor::{Complex32, Complex64, DType, Scalar};

pub use self::functions::LapackFunctions;
use self::{spectra::Spectra, work::integer};
use super::functions::Integer;
use crate::{
    Outcome, Reason,
    lapack::{Breakdown, Call, Columns, Entries, Request, Routine},
};

/// A routine says that one of its arguments has a value that it cannot have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{routine} says that its argument {argument} is wrong, which a checked request never has: the library takes other \
     arguments than LAPACK's; use another build of it"
)]
pub struct WrongArgument {
    /// The routine.
    pub routine: Routine,
    /// Which argument, counted from 1.
    pub argument: u64,
}

/// Why there is no result.
pub(super) enum Failure {
    Breakdown(Breakdown),
    WrongArgument(WrongArgument),
}

/// Why a routine went no further.
enum Stop {
    /// The library's integers do not hold a number; nothing was written.
    Extent(usize),
    /// It found this argument wrong.
    Argument(u64),
    /// It broke down at this place, counted from 1.
    Broke(usize),
}

/// Carries out a request in the library, with whatever threads it is bounded to.
pub(super) fn execute<I: Integer>(
    functions: &LapackFunctions<I>,
    request: &mut Request<'_>,
) -> Result<Outcome, Failure> {
    let (routine, call) = (request.routine(), request.call());
    let done = match request.dtype() {
        DType::F32 => run::<f32, I>(functions, call),
        DType::F64 => run::<f64, I>(functions, call),
        DType::C32 => run::<Complex32, I>(functions, call),
        DType::C64 => run::<Complex64, I>(functions, call),
        other => return Ok(Outcome::Unsupported(Reason::DType(other))),
    };
    match done {
        Ok(()) => Ok(Outcome::Executed),
        Err(Stop::Extent(extent)) => Ok(Outcome::Unsupported(Reason::Extent(extent))),
        Err(Stop::Argument(argument)) => {
            Err(Failure::WrongArgument(WrongArgument { routine, argument }))
        }
        Err(Stop::Broke(place)) => Err(Failure::Breakdown(breakdown(routine, place))),
    }
}

/// What the place at which a routine stopped means.
fn breakdown(routine: Routine, place: usize) -> Breakdown {
    match routine {
        Routine::Gesdd | Routine::Gesvd | Routine::Syevd | Routine::Geev => {
            Breakdown::NotConverged { unconverged: place }
        }
        Routine::Potrf => Breakdown::NotPositiveDefinite { pivot: place - 1 },
        _ => Breakdown::Singular { pivot: place - 1 },
    }
}

/// About how many multiply-add steps a request is worth: what its matrix times itself would be.
pub(super) fn work(call: &Call) -> usize {
    let Columns { rows, cols, .. } = match call {
        Call::Getrf(c) => c.a,
        Call::Getrs(c) => c.b,
        Call::Potrf(c) => c.a,
        Call::Geqrf(c) => c.a,
        Call::Orgqr(c) => c.a,
        Call::Gesvd(c) => c.a,
        Call::Syevd(c) => c.a,
        Call::Geev(c) => c.a,
        Call::Trtri(c) => c.a,
        Call::Trtrs(c) => c.b,
        Call::Gels(c) => c.a,
    };
    rows.saturating_mul(cols).saturating_mul(rows.min(cols))
}

fn run<T: Spectra<I>, I: Integer>(functions: &LapackFunctions<I>, call: Call) -> Result<(), Stop> {
    let common = T::common(functions);
    match call {
        Call::Getrf(c) => common::getrf(common, c),
        Call::Getrs(c) => common::getrs(common, c),
        Call::Potrf(c) => common::potrf(common, c),
        Call::Geqrf(c) => common::geqrf(common, c),
        Call::Orgqr(c) => common::orgqr(common, c),
        Call::Trtri(c) => common::trtri(common, c),
        Call::Trtrs(c) => common::trtrs(common, c),
        Call::Gels(c) => common::gels(common, c),
        Call::Gesvd(c) => spectra::singular::<T, I>(functions, c),
        Call::Syevd(c) if c.a.rows == 0 => Ok(()),
        Call::Syevd(c) => T::hermitian(functions, c),
        Call::Geev(c) if c.a.rows == 0 => Ok(()),
        Call::Geev(c) => T::general(functions, c),
    }
}

/// A matrix as Fortran takes it. Whoever passes it on relies on the request that the columns are of.
#[derive(Clone, Copy)]
struct Matrix<T, I> {
    data: *mut T,
    rows: I,
    cols: I,
    leading: I,
}

impl<T, I: Integer> Matrix<T, I> {
    fn of(columns: Columns) -> Result<Self, Stop> {
        Ok(Self {
            data: columns.pointer(),
            rows: integer(columns.rows)?,
            cols: integer(columns.cols)?,
            leading: integer(columns.leading)?,
        })
    }
}

/// A letter as Fortran takes it: by address.
macro_rules! letter {
    ($letter:expr) => {{
        const LETTER: &std::ffi::c_char = &($letter as std::ffi::c_char);
        LETTER
    }};
}
use letter;

/// Writes one element of a vector.
///
/// # Safety
/// The entries are of a request that is borrowed, their elements are `T`, and there is one at this place.
unsafe fn set<T>(entries: Entries, place: usize, value: T) {
    // SAFETY: the caller's promise.
    unsafe { entries.pointer::<T>().add(place).write(value) };
}

/// Makes a matrix one of ones on the diagonal and zeros elsewhere.
///
/// # Safety
/// The columns are of a request that is borrowed and writes them, and their elements are `T`.
unsafe fn identity<T: Scalar>(columns: Columns) {
    for (row, col) in (0..columns.cols).flat_map(|col| (0..columns.rows).map(move |row| (row, col)))
    {
        let element = if row == col { T::ONE } else { T::default() };
        // SAFETY: the element is inside of the matrix.
        unsafe { columns.pointer::<T>().add(row + col * columns.leading).write(element) };
    }
}

/// The address that stands for the text of one letter.
type Letter = &'static c_char;
