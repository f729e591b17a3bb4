//! Facts about providers in words, the same in every report.

use tenferro::provider::{Reentrancy, ThreadOwnership};

/// Whose threads compute.
pub(super) fn threads(owner: ThreadOwnership) -> &'static str {
    match owner {
        ThreadOwnership::Caller => "Tenferro's",
        ThreadOwnership::BoundedPerCall => "its own, counted by call",
        ThreadOwnership::PerThread => "its own, counted by thread",
        ThreadOwnership::ProcessWide => "its own, one count for the process",
    }
}

/// Who may be inside at once.
pub(super) fn reentrancy(reentrancy: Reentrancy) -> &'static str {
    match reentrancy {
        Reentrancy::Concurrent => "any number of callers",
        Reentrancy::Exclusive => "one caller at a time",
    }
}
