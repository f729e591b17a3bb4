//! Why a library was not loaded, or is not used.

use std::path::PathBuf;

use tenferro_provider::{
    self as provider,
    foreign::{IntegerWidth, MissingFunction},
};

/// Why a library does not become a provider.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// It is in none of the places.
    #[error(
        "no library for provider `{name}` was found; looked for {}; install it, or say where it is",
        looked_for.join(", ")
    )]
    NotFound {
        /// The provider's name.
        name: String,
        /// The places, in the order of the search.
        looked_for: Vec<String>,
    },
    /// The name says nothing about which library is meant.
    #[error("`{name}` is no library that is known by name: load it by its path")]
    UnknownName {
        /// The name asked for.
        name: String,
    },
    /// The system cannot open it.
    #[error("{} cannot be opened: {reason}", path.display())]
    Open {
        /// The file, or the name that the system looks for.
        path: PathBuf,
        /// What the system said, and what was tried before.
        reason: String,
    },
    /// It is no CBLAS, or lacks a function of one.
    #[error("{} is not a CBLAS that can be used: {missing}; symbols were read as {form}", path.display())]
    Function {
        /// The file.
        path: PathBuf,
        /// Which function.
        #[source]
        missing: MissingFunction,
        /// How the names of its symbols are formed.
        form: String,
    },
    /// Its integers are not as wide as its names, or the caller, say.
    #[error(
        "{} takes {found}, but {expected} were expected of it: a call would read the wrong memory; \
         use a build whose symbols say what it takes",
        path.display()
    )]
    Integers {
        /// The file.
        path: PathBuf,
        /// What its names or the caller say.
        expected: IntegerWidth,
        /// What it takes.
        found: IntegerWidth,
    },
    /// It does not compute a dot product of two elements with either width of integers.
    #[error("{} answers a dot product of two elements wrongly, whatever the width of its integers", path.display())]
    Probe {
        /// The file.
        path: PathBuf,
    },
    /// Nothing in it tells how to bound its threads.
    #[error(
        "the threads of {} cannot be bounded: it has none of the functions of MKL, OpenBLAS or BLIS for that; if it \
         uses the calling thread alone, say so with `single_threaded`",
        path.display()
    )]
    Threads {
        /// The file.
        path: PathBuf,
    },
    /// The self-test found wrong results.
    #[error(transparent)]
    Refused(provider::Error),
}
