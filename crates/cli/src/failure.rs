//! Every way in which a command can fail, as one line for people.
//!
//! A failure names the file or the argument it is about and says the way out. It never spans two lines, whatever a path
//! or a message holds.

use std::{io, path::PathBuf};

use tenferro::{einsum, program, provider, tensor};

use crate::npy;

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(super) enum Failure {
    /// The command line cannot be read.
    #[error("{0}; see --help")]
    Usage(String),
    /// An input file cannot be read.
    #[error("{}: {problem}", path.display())]
    Input {
        path: PathBuf,
        #[source]
        problem: npy::Problem,
    },
    /// Two inputs hold different dtypes.
    #[error(
        "{} holds {first_dtype} and {} holds {dtype}; convert one of them first, in NumPy with astype",
        first.display(),
        path.display()
    )]
    MixedDTypes { first: PathBuf, first_dtype: tensor::DType, path: PathBuf, dtype: tensor::DType },
    /// The output cannot be written.
    #[error("{}: cannot write: {problem}", path.display())]
    Output {
        path: PathBuf,
        #[source]
        problem: OutputProblem,
    },
    /// Subscripts and operands do not fit; `files` says which files the operands are.
    #[error("{error} ({files})")]
    Operands {
        #[source]
        error: einsum::Error,
        files: String,
    },
    /// Subscripts cannot be read, or the contraction failed.
    #[error(transparent)]
    Einsum(#[from] einsum::Error),
    /// The text of a program cannot be read.
    #[error("{}: {}", path.display(), text_problem(error))]
    Text {
        path: PathBuf,
        #[source]
        error: io::Error,
    },
    /// A text is no program, or the program failed.
    #[error("{}: {error}", path.display())]
    Program {
        path: PathBuf,
        #[source]
        error: program::Error,
    },
    /// A file does not fit the input of a program.
    #[error("{}: {error}", path.display())]
    ProgramInput {
        path: PathBuf,
        #[source]
        error: program::Error,
    },
    /// Results and outputs are not the same number.
    #[error(
        "{}: the program has {results} results and {named} outputs are named; give -o once for each result, in order",
        path.display()
    )]
    Outputs { path: PathBuf, results: usize, named: usize },
    /// A result cannot be written as an array.
    #[error(
        "{}: result {result} holds {dtype}, which NumPy does not have; let the program convert it",
        path.display()
    )]
    ForeignResult { path: PathBuf, result: usize, dtype: tensor::DType },
    /// The backend cannot be built, or cannot open a scope.
    #[error("{}", cause(.0))]
    Backend(#[source] tensor::Error),
    /// A provider that was named is not there.
    #[error("{0}")]
    Provider(#[source] provider::Error),
    /// A provider computes wrong results.
    #[error("{0}")]
    Unsound(#[source] Box<provider::conformance::Failure>),
    /// Standard output cannot be written.
    #[error("standard output: {0}")]
    Printing(io::Error),
}

/// Why an output cannot be written.
#[derive(Debug, thiserror::Error)]
pub(super) enum OutputProblem {
    #[error("it is a directory")]
    Directory,
    #[error("it exists and is no regular file")]
    Special,
    #[error("it exists and is read-only")]
    ReadOnly,
    #[error("the folder does not exist")]
    NoFolder,
    #[error("{0}")]
    System(#[from] io::Error),
}

impl Failure {
    /// The failure as one line: control characters, line ends among them, are escaped.
    pub(super) fn line(&self) -> String {
        let mut line = String::new();
        for character in self.to_string().chars() {
            if character.is_control() {
                line.extend(character.escape_default());
            } else {
                line.push(character);
            }
        }
        line
    }
}

/// Why a text cannot be read.
fn text_problem(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "no such file".to_owned(),
        io::ErrorKind::IsADirectory => "is a directory".to_owned(),
        io::ErrorKind::InvalidData => "is no text (UTF-8)".to_owned(),
        _ => error.to_string(),
    }
}

/// A backend's error without the name of the call, which no user of the program made.
fn cause(error: &tensor::Error) -> String {
    match error {
        tensor::Error::BackendSource { source, .. } => source.to_string(),
        other => other.to_string(),
    }
}
