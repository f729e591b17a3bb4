//! What stands in for loaded libraries in a build without them.

use tenferro_provider::Preference;

use crate::{
    Result,
    builder::{Absent, LoadedLibraries},
};

/// Which feature would bring the libraries that are known by name.
pub(super) const ABSENT: Absent = Absent::Disabled("loaded");

/// No libraries.
#[derive(Default)]
pub(super) struct Libraries;

impl Libraries {
    /// Nothing, whatever is preferred.
    pub(super) fn load(self, _: &Preference, _: &[&str]) -> Result<LoadedLibraries> {
        Ok(LoadedLibraries::default())
    }
}
