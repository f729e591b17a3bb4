//! The embedded provider without the feature `linalg`: it has no LAPACK routine and says so.

use tenferro_provider::{
    Error, Outcome, Reason,
    lapack::{Request, Routines},
};

/// None.
pub(super) fn routines() -> Routines {
    Routines::default()
}

/// Refuses.
pub(super) fn execute(request: &mut Request<'_>) -> Result<Outcome, Error> {
    Ok(Outcome::Unsupported(Reason::Routine(request.routine())))
}
