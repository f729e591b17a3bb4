//! Why a suite could not run to its end.

use std::io;
use std::path::PathBuf;

/// Why a suite could not run to its end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An option is unknown, or its value is missing.
    #[error(
        "`{word}`: {problem}; usage: SUITE [--quick] [--json FILE] [--patterns FILE] [--peer COMMAND] [PART-OF-A-CASE-NAME ...]"
    )]
    Usage {
        /// The word that was not understood.
        word: String,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// No case has a name that the filters ask for.
    #[error("no case of suite `{suite}` has a name with {filters:?} in it")]
    NoCase {
        /// The suite's name.
        suite: &'static str,
        /// The parts of names asked for.
        filters: Vec<String>,
    },
    /// The file for the rows could not be written.
    #[error("cannot write the rows to `{}`", path.display())]
    Json {
        /// The file that `--json` named.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The file of `--patterns` could not be read.
    #[error("cannot read patterns from `{}`", path.display())]
    Patterns {
        /// The file that `--patterns` named.
        path: PathBuf,
        /// What the system said, or where the text is no list of patterns.
        source: io::Error,
    },
    /// A pattern of a file makes no sense.
    #[error("pattern `{id}` cannot be run: {problem}")]
    Pattern {
        /// The pattern's name.
        id: String,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// A peer in a process of its own did not start, or did not answer.
    #[error("the peer `{command}` cannot be measured")]
    Peer {
        /// The command that starts it.
        command: String,
        /// What went wrong.
        source: io::Error,
    },
}
