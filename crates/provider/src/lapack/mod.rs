//! The LAPACK slot: factorisations, solvers and decompositions of one column-major matrix.
//!
//! A [`Request`] is checked and screened when it is made, like a [`Product`](crate::Product): shapes and dtypes fit, and
//! no element that is read is infinite or NaN. A provider takes its [`Call`], raw parts that go straight through to a
//! LAPACK; it sizes and allocates workspaces itself, and says what a matrix lacked as a [`Breakdown`]. Routines have
//! LAPACK's names for real dtypes and do all of f32, f64, c32 and c64. Nothing here computes.

mod breakdown;
mod call;
mod request;
mod routine;
mod screen;

pub use breakdown::Breakdown;
pub use call::{
    Call, Columns, Diagonal, Driver, Entries, Geev, Gels, Geqrf, Gesvd, Getrf, Getrs, Orgqr, Potrf,
    SingularVectors, Syevd, Transposition, Triangle, Trtri, Trtrs, Vectors,
};
pub use request::Request;
pub use routine::{Routine, Routines};
