//! The LAPACK routines of the embedded provider, on the kernels of the crate `faer`.
//!
//! A request's raw parts become matrices here, in one place; what computes (`factors`, `solutions`, `spectra`) has no
//! unsafe code and knows no request. Everything runs on the calling thread: no pool of faer's is ever used. What a
//! library leaves undefined for singular matrices is defined here as LAPACK has it.

mod factors;
mod parts;
mod reflectors;
mod solutions;
mod spectra;

use faer::{
    dyn_stack::{MemBuffer, StackReq},
    traits::{ComplexField, RealField},
};
use tenferro_provider::{
    Error, Outcome, Reason,
    lapack::{Breakdown, Call, Request, Routines},
};
use tenferro_tensor::{Complex32, Complex64, DType, Scalar};

use self::parts::{read, read_entries, update, write, write_entries};

/// What is on offer.
pub(super) fn routines() -> Routines {
    Routines::all()
}

/// Carries out a request on the calling thread.
pub(super) fn execute(request: &mut Request<'_>) -> Result<Outcome, Error> {
    let (routine, dtype) = (request.routine(), request.dtype());
    let call = request.call();
    let done = match dtype {
        DType::F32 => run::<f32>(call),
        DType::F64 => run::<f64>(call),
        DType::C32 => run::<Complex32>(call),
        DType::C64 => run::<Complex64>(call),
        other => return Ok(Outcome::Unsupported(Reason::DType(other))),
    };
    match done {
        Ok(()) => Ok(Outcome::Executed),
        Err(breakdown) => Err(Error::Breakdown { routine, breakdown }),
    }
}

/// A dtype of LAPACK in both libraries' terms.
trait Field:
    Scalar<Real: RealField, Complex: ComplexField>
    + ComplexField<Real = <Self as Scalar>::Real>
    + spectra::Eigen
{
}

impl Field for f32 {}
impl Field for f64 {}
impl Field for Complex32 {}
impl Field for Complex64 {}

type Done = Result<(), Breakdown>;

/// The call in elements of the request's dtype, `T`.
fn run<T: Field>(call: Call) -> Done {
    // SAFETY, for all arms: the parts are those of a request that the caller borrows for longer than this call, `T` is
    // its dtype, and each of its operands becomes one matrix or slice.
    match call {
        Call::Getrf(c) => {
            // SAFETY: as above.
            let (a, pivots) = unsafe { (update::<T>(c.a), write_entries(c.pivots)) };
            factors::getrf(a, pivots)
        }
        Call::Getrs(c) => {
            // SAFETY: as above.
            let (lu, pivots, b) = unsafe { (read::<T>(c.lu), read_entries(c.pivots), update(c.b)) };
            solutions::getrs(c.op, lu, pivots, b)
        }
        Call::Potrf(c) => {
            // SAFETY: as above.
            factors::potrf(c.triangle, unsafe { update::<T>(c.a) })
        }
        Call::Geqrf(c) => {
            // SAFETY: as above.
            let (a, tau) = unsafe { (update::<T>(c.a), write_entries(c.tau)) };
            reflectors::geqrf(a, tau);
            Ok(())
        }
        Call::Orgqr(c) => {
            // SAFETY: as above.
            let (a, tau) = unsafe { (update::<T>(c.a), read_entries(c.tau)) };
            reflectors::orgqr(a, tau);
            Ok(())
        }
        Call::Gesvd(c) => {
            // SAFETY: as above.
            let (a, values) = unsafe { (update::<T>(c.a), write_entries(c.values)) };
            // SAFETY: as above.
            let vectors = c.vectors.map(|v| unsafe { (write(v.u), write(v.vh)) });
            spectra::singular(a, values, vectors)
        }
        Call::Syevd(c) => {
            // SAFETY: as above.
            let (a, values) = unsafe { (update::<T>(c.a), write_entries(c.values)) };
            spectra::hermitian(c.triangle, c.vectors, a, values)
        }
        Call::Geev(c) => {
            // SAFETY: as above.
            let (a, values) = unsafe { (update::<T>(c.a), write_entries(c.values)) };
            // SAFETY: as above.
            let [left, right] = [c.left, c.right].map(|v| v.map(|v| unsafe { write(v) }));
            spectra::general(a, values, left, right)
        }
        Call::Trtri(c) => {
            // SAFETY: as above.
            factors::trtri(c.triangle, c.diagonal, unsafe { update::<T>(c.a) })
        }
        Call::Trtrs(c) => {
            // SAFETY: as above.
            let (a, b) = unsafe { (read::<T>(c.a), update(c.b)) };
            solutions::trtrs(c.triangle, c.op, c.diagonal, a, b)
        }
        Call::Gels(c) => {
            // SAFETY: as above.
            let (a, b) = unsafe { (update::<T>(c.a), update(c.b)) };
            solutions::gels(c.op, a, b)
        }
    }
}

/// Work space of the size that a routine of faer asks for.
fn space(request: StackReq) -> MemBuffer {
    MemBuffer::new(request)
}
