//! Where a library is looked for: a fixed order, and nowhere else.
//!
//! For a name: the entries of the path, each before the next, then what the system finds under the names that the
//! library has. An entry is a file or a folder; of a folder, the library itself and a folder of the provider's name in
//! it. Nothing is opened here.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use super::family::Family;

/// Files and folders in which libraries are looked for, in order.
///
/// ```
/// use tenferro_providers::loaded::SearchPath;
///
/// let path = SearchPath::parse("/opt/blas:/usr/local/lib/libopenblas.so.0".as_ref());
/// assert_eq!(path.entries().len(), 2);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SearchPath(Vec<PathBuf>);

/// A library that was found and not opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The provider's name: the folder's, if the library has one of its own in the path, or else the library's.
    pub name: String,
    /// The file.
    pub path: PathBuf,
}

/// A place to try.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Candidate {
    /// A file that is there.
    File(PathBuf),
    /// A name for the system to look for.
    System(&'static str),
}

impl SearchPath {
    /// Entries as an environment variable has them: separated by `:` on Unix, empty ones left out.
    #[must_use]
    pub fn parse(value: &std::ffi::OsStr) -> Self {
        env::split_paths(value).filter(|entry| !entry.as_os_str().is_empty()).collect()
    }

    /// The entries, first searched first.
    #[must_use]
    pub fn entries(&self) -> &[PathBuf] {
        &self.0
    }

    /// The path with the entries of another after its own.
    #[must_use]
    pub fn then(mut self, other: SearchPath) -> Self {
        self.0.extend(other.0);
        self
    }

    /// Every library in the path, the first of each name: files that are entries, known libraries in folders that are,
    /// and those in folders in them that have the name of a provider, such as `openblas` or `openblas-openmp`.
    #[must_use]
    pub fn libraries(&self) -> Vec<Found> {
        let mut found: Vec<Found> = Vec::new();
        let mut add = |name: &str, path: PathBuf| {
            if !found.iter().any(|other| other.name == name || other.path == path) {
                found.push(Found { name: name.to_owned(), path });
            }
        };
        for entry in &self.0 {
            if entry.is_file() {
                let stem = || entry.file_stem().unwrap_or_default().to_string_lossy().into_owned();
                let family = Family::of_file(entry).map(|family| family.name().to_owned());
                add(&family.unwrap_or_else(stem), entry.clone());
                continue;
            }
            for family in Family::ALL {
                if let Some(path) = family.file_in(entry) {
                    add(family.name(), path);
                }
            }
            for folder in folders(entry) {
                let Some(name) = folder.file_name().and_then(|name| name.to_str()) else {
                    continue;
                };
                let library = Family::of_provider(name).and_then(|family| family.file_in(&folder));
                if let Some(path) = library {
                    add(name, path);
                }
            }
        }
        found
    }

    /// The places for a provider's name, in the order of the search.
    pub(super) fn candidates(&self, name: &str, family: Family) -> Vec<Candidate> {
        let mut candidates = Vec::new();
        for entry in &self.0 {
            let own = (name == family.name()).then_some(entry);
            if let Some(file) =
                own.filter(|file| file.is_file() && Family::of_file(file) == Some(family))
            {
                candidates.push(Candidate::File(file.clone()));
            }
            let folders = [own.cloned(), Some(entry.join(name))];
            let files = folders.into_iter().flatten().filter_map(|folder| family.file_in(&folder));
            candidates.extend(files.map(Candidate::File));
        }
        if name == family.name() {
            candidates.extend(family.files().iter().map(|file| Candidate::System(file)));
        }
        candidates
    }

    /// What was searched, in words, for a name that was not found.
    pub(super) fn places(&self, name: &str, family: Family) -> Vec<String> {
        let files = family.files().join(" or ");
        let mut places: Vec<String> = self
            .0
            .iter()
            .map(|entry| format!("{files} in {} and in its folder {name}", entry.display()))
            .collect();
        if name == family.name() {
            places.push(format!("{files} where the system looks for libraries"));
        }
        places
    }
}

impl<P: Into<PathBuf>> FromIterator<P> for SearchPath {
    fn from_iter<I: IntoIterator<Item = P>>(entries: I) -> Self {
        Self(entries.into_iter().map(Into::into).collect())
    }
}

/// The folders in a folder, by name.
fn folders(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut folders: Vec<PathBuf> =
        entries.flatten().map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
    folders.sort_unstable();
    folders
}
