//! Whether a provider's LAPACK routines give what they should, judged by residuals.
//!
//! Each routine that capabilities claim runs on matrices of several shapes in all four dtypes. A result is right if it
//! solves the equation that the routine stands for, as plain loops of complex f64 see it; no library's result is compared
//! with another's. Halves that must not be read are full of NaN, and what lies between columns must stay.

mod dense;
mod factors;
mod held;
mod solutions;
mod spectra;

use tenferro_tensor::{Complex64, Scalar};

use self::dense::Dense;
use super::{Defect, Failure, Report, number::Sample};
use crate::{
    Error, Outcome, Provider, Reason, Sequential,
    lapack::{Breakdown, Request, Routine},
};

/// A dtype that LAPACK has.
trait Number:
    Sample<Exact = Complex64>
    + Scalar<Real: Sample<Exact = Complex64>, Complex: Sample<Exact = Complex64>>
{
    /// The rounding unit of a component.
    const EPSILON: f64;

    /// The nearest number.
    fn of(value: Complex64) -> Self;
}

macro_rules! numbers {
    (float [$($_f:ident: $float:ty = $_fn:literal),*] half $_h:tt complex [$($_c:ident: $complex:ty = $_cn:literal),*] $($_rest:tt)*) => {
        $(impl Number for $float {
            const EPSILON: f64 = <$float>::EPSILON as f64;
            fn of(value: Complex64) -> Self { value.re as $float }
        })*
        $(impl Number for $complex {
            const EPSILON: f64 = <$complex as Scalar>::Real::EPSILON as f64;
            fn of(value: Complex64) -> Self { <$complex>::new(value.re as _, value.im as _) }
        })*

        /// Tries every routine in every dtype.
        pub(super) fn run(provider: &dyn Provider, report: &mut Report) -> Result<(), Failure> {
            $(run_for::<$float>(provider, report)?;)*
            $(run_for::<$complex>(provider, report)?;)*
            Ok(())
        }
    };
}

tenferro_tensor::dtypes!(numbers,);

/// Why a case went no further.
enum Stop {
    /// The provider does not have the routine, and has touched nothing.
    Refused(Reason),
    Broken(Defect),
}

impl From<Defect> for Stop {
    fn from(defect: Defect) -> Self {
        Stop::Broken(defect)
    }
}

/// A named check of one routine, with the extents of its matrix.
type Check = fn(&dyn Provider, [usize; 2]) -> Result<(), Stop>;

const SQUARE: &[[usize; 2]] = &[[0, 0], [1, 1], [2, 2], [5, 5], [17, 17], [33, 33]];
const ANY: &[[usize; 2]] = &[
    [0, 0],
    [0, 3],
    [3, 0],
    [1, 1],
    [1, 4],
    [4, 1],
    [3, 3],
    [9, 5],
    [5, 9],
    [33, 33],
    [36, 17],
    [17, 36],
];
const TALL: &[[usize; 2]] = &[[0, 0], [3, 0], [1, 1], [4, 1], [6, 6], [9, 5], [36, 17]];

fn checks<T: Number>() -> [(Routine, &'static [[usize; 2]], Check); 12] {
    [
        (Routine::Getrf, ANY, factors::getrf::<T>),
        (Routine::Getrs, SQUARE, solutions::getrs::<T>),
        (Routine::Potrf, SQUARE, factors::potrf::<T>),
        (Routine::Geqrf, ANY, factors::geqrf::<T>),
        (Routine::Orgqr, TALL, factors::orgqr::<T>),
        (Routine::Gesdd, ANY, spectra::gesdd::<T>),
        (Routine::Gesvd, ANY, spectra::gesvd::<T>),
        (Routine::Syevd, SQUARE, spectra::syevd::<T>),
        (Routine::Geev, SQUARE, spectra::geev::<T>),
        (Routine::Trtri, SQUARE, factors::trtri::<T>),
        (Routine::Trtrs, SQUARE, solutions::trtrs::<T>),
        (Routine::Gels, ANY, solutions::gels::<T>),
    ]
}

fn run_for<T: Number>(provider: &dyn Provider, report: &mut Report) -> Result<(), Failure> {
    for (routine, shapes, check) in checks::<T>() {
        let claimed = provider.capabilities().lapack.contains(routine);
        for &extents in if claimed { shapes } else { &shapes[..4] } {
            let defect = match check(provider, extents) {
                Ok(()) => {
                    report.solved += 1;
                    continue;
                }
                Err(Stop::Refused(_)) if !claimed => {
                    report.unsupported_routines += 1;
                    continue;
                }
                Err(Stop::Refused(reason)) => Defect::Refused(reason),
                Err(Stop::Broken(defect)) => defect,
            };
            let [m, n] = extents;
            return Err(Failure {
                provider: provider.name().to_owned(),
                case: format!("{routine} of {} [{m}, {n}]", T::DTYPE),
                defect: Box::new(defect),
            });
        }
    }
    Ok(())
}

/// What became of one call.
enum Answer {
    Done,
    Broke(Breakdown),
    Refused(Reason),
}

/// Makes the call of a request that is valid.
fn call(provider: &dyn Provider, request: Result<Request<'_>, Error>) -> Result<Answer, Defect> {
    let mut request = request.expect("invariant: the suite's operands are valid");
    match super::check::caught(|| provider.lapack(&mut request, &Sequential))? {
        Ok(Outcome::Executed) => Ok(Answer::Done),
        Ok(Outcome::Unsupported(reason)) => Ok(Answer::Refused(reason)),
        Err(Error::Breakdown { breakdown, .. }) => Ok(Answer::Broke(breakdown)),
        Err(error) => Err(Defect::Failed(error)),
    }
}

/// What an operand can say of itself once a call is over.
trait Kept {
    /// A place outside of the operand's elements that has changed, in elements from the first.
    fn guard(&self) -> Option<isize>;
    /// Row and column of an element that has changed.
    fn changed(&self) -> Option<[usize; 2]>;
}

/// Looks at the guards of all operands; a refusal must have left their elements too.
fn settle(
    answer: Result<Answer, Defect>,
    operands: &[&dyn Kept],
) -> Result<Option<Breakdown>, Stop> {
    let answer = answer?;
    if let Some(distance) = operands.iter().find_map(|operand| operand.guard()) {
        return Err(Defect::Guard { distance }.into());
    }
    match answer {
        Answer::Done => Ok(None),
        Answer::Broke(breakdown) => Ok(Some(breakdown)),
        Answer::Refused(reason) => match operands.iter().find_map(|operand| operand.changed()) {
            Some([row, col]) => Err(Defect::Touched { reason, index: [row, col, 0] }.into()),
            None => Err(Stop::Refused(reason)),
        },
    }
}

/// A result without breakdown.
fn solved(answer: Result<Answer, Defect>, operands: &[&dyn Kept]) -> Result<(), Stop> {
    broke(answer, operands, None)
}

/// A result with this breakdown.
fn broke(
    answer: Result<Answer, Defect>,
    operands: &[&dyn Kept],
    expected: Option<Breakdown>,
) -> Result<(), Stop> {
    let actual = settle(answer, operands)?;
    if actual == expected {
        return Ok(());
    }
    Err(Defect::Breakdown { actual, expected }.into())
}

/// Whether two matrices agree up to `n` roundings relative to `scale`.
fn agree<T: Number>(
    what: &'static str,
    actual: &Dense,
    expected: &Dense,
    scale: f64,
) -> Result<(), Stop> {
    let distance = actual.distance(expected);
    let length = actual.rows.max(actual.cols).max(4) as f64;
    let bound = 40.0 * length * T::EPSILON * scale.max(f64::MIN_POSITIVE);
    // NaN is no distance.
    if distance <= bound { Ok(()) } else { Err(Defect::Residual { what, distance, bound }.into()) }
}

/// Whether the columns are orthonormal.
fn orthonormal<T: Number>(what: &'static str, columns: &Dense) -> Result<(), Stop> {
    agree::<T>(what, &columns.adjoint().times(columns), &Dense::identity(columns.cols), 1.0)
}

fn in_order(what: &'static str, ordered: impl Iterator<Item = bool>) -> Result<(), Stop> {
    match ordered.into_iter().all(|pair| pair) {
        true => Ok(()),
        false => Err(Defect::Disorder { what }.into()),
    }
}
