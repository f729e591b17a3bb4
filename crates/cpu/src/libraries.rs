//! BLAS libraries of a backend: those that the builder was given, those in the path, and those asked for by name.
//!
//! This is the only place that reads `TENFERRO_PROVIDER_PATH`. Nothing is loaded but what the builder was given, what
//! lies in the path, and what the preference names. What lies in the path and does not load is missing, with its
//! reason; what was asked for and does not load is an error.

use std::{env, path::PathBuf};

use tenferro_provider::Preference;
use tenferro_providers::loaded::{Family, Found, Library, LoadError, SearchPath};

use crate::{
    CpuBackendBuilder, Error, Result,
    builder::{Absent, LoadedLibraries, OP},
};

/// The environment variable that holds more entries of the search path.
const PATH: &str = "TENFERRO_PROVIDER_PATH";

/// Why a library that is known by name is not there if nobody asked for it.
pub(super) const ABSENT: Absent =
    Absent::Missing("it is loaded only where it is named or lies in the search path");

/// What a backend is to load.
#[derive(Default)]
pub(super) struct Libraries {
    chosen: Vec<Library>,
    path: SearchPath,
}

impl CpuBackendBuilder {
    /// Loads a BLAS library and prefers it to the built-in providers.
    ///
    /// It is tested when the backend is built, which then fails if it computes wrong results.
    ///
    /// ```no_run
    /// use tenferro_cpu::{CpuBackend, Threading, loaded::Library};
    ///
    /// let openblas = Library::at("/opt/openblas/lib/libopenblas.so.0");
    /// let backend = CpuBackend::builder().library(openblas).build()?;
    /// // Its own threads instead of the backend's: then other users of CPUs wait while it computes.
    /// let mkl = Library::named("mkl").threading(Threading::Library);
    /// let backend = CpuBackend::builder().library(mkl).provider("mkl").build()?;
    /// # Ok::<(), tenferro_cpu::Error>(())
    /// ```
    pub fn library(mut self, library: Library) -> Self {
        self.libraries.chosen.push(library);
        self
    }

    /// Files and folders in which libraries are looked for before those of `TENFERRO_PROVIDER_PATH`.
    ///
    /// Every library in them becomes a provider, after the built-in ones: `openblas` is the name of one that lies in an
    /// entry, `openblas-openmp` that of one in a folder of this name in an entry.
    pub fn provider_path(mut self, entries: impl IntoIterator<Item = impl Into<PathBuf>>) -> Self {
        self.libraries.path = self.libraries.path.then(entries.into_iter().collect());
        self
    }
}

impl Libraries {
    /// Loads what the builder was given, what lies in the path, and what the preference names unless it is `taken`.
    pub(super) fn load(self, preference: &Preference, taken: &[&str]) -> Result<LoadedLibraries> {
        let inherited = env::var_os(PATH).map(|value| SearchPath::parse(&value));
        let search = self.path.then(inherited.unwrap_or_default());
        let mut loaded = LoadedLibraries::default();
        for library in &self.chosen {
            loaded.chosen.push(library.load(&search).map_err(unloadable)?);
        }
        for Found { name, path } in search.libraries() {
            if loaded.has(&name) || taken.contains(&&*name) {
                continue;
            }
            match Library::at(path).called(&name).load(&search) {
                Ok(provider) => loaded.found.push(provider),
                Err(error) => loaded.missing.push((name, error.to_string())),
            }
        }
        for (name, need) in named(preference) {
            let known = Family::of_provider(name).is_some();
            if !known || loaded.has(name) || taken.contains(&name) {
                continue;
            }
            match (Library::named(name).load(&search), need) {
                (Ok(provider), _) => loaded.found.push(provider),
                (Err(LoadError::NotFound { looked_for, .. }), _) => {
                    let cause = format!("looked for {}", looked_for.join(", "));
                    loaded.missing.push((name.to_owned(), cause));
                }
                (Err(error), Need::May) => {
                    loaded.missing.push((name.to_owned(), error.to_string()))
                }
                (Err(error), Need::Must) => return Err(unloadable(error)),
            }
        }
        Ok(loaded)
    }
}

impl LoadedLibraries {
    fn has(&self, name: &str) -> bool {
        self.chosen.iter().chain(&self.found).any(|provider| provider.name() == name)
    }
}

/// Whether a backend can do without a library.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Need {
    Must,
    May,
}

/// The names of a preference.
fn named(preference: &Preference) -> Vec<(&str, Need)> {
    match preference {
        Preference::Named(name) | Preference::Only(name) => vec![(name, Need::Must)],
        Preference::Order(names) => names.iter().map(|name| (name.as_str(), Need::May)).collect(),
        _ => Vec::new(),
    }
}

fn unloadable(error: LoadError) -> Error {
    Error::BackendSource { op: OP, source: Box::new(error) }
}
