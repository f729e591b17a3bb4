//! Why a file cannot be read as a NumPy array.

use std::io;

/// Why a file cannot be read as a NumPy array.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Problem {
    #[error("no such file")]
    Missing,
    #[error("is a directory")]
    Directory,
    #[error("is empty; it should be a NumPy array file (.npy)")]
    Empty,
    #[error("is an archive of arrays (.npz); unpack it and name the .npy files in it")]
    Archive,
    #[error("is not a NumPy array file (.npy): it does not begin with \\x93NUMPY")]
    NotNumPy,
    #[error("has format version {major}.{minor}; versions 1.0, 2.0 and 3.0 can be read")]
    Version { major: u8, minor: u8 },
    #[error("is cut short inside of its header")]
    HeaderCutShort,
    #[error("has a damaged header: {0}")]
    Header(String),
    #[error("has a header of {0} bytes; NumPy's are far shorter")]
    HeaderLength(u64),
    #[error("holds Python objects, which are no numbers; save it with a numeric dtype")]
    Objects,
    #[error("holds records; save each field as an array of its own")]
    Records,
    #[error(
        "holds dtype {descr}, which Tenferro does not have; convert it with astype to bool, int8 to int64, uint8 to uint64, float16, float32, float64, complex64 or complex128"
    )]
    DType { descr: String },
    #[error("has a shape with more elements than can be addressed")]
    TooLarge,
    #[error(
        "is cut short: its header promises {promised} bytes of elements, and there are {actual}"
    )]
    CutShort { promised: u64, actual: u64 },
    #[error("ends before the {promised} bytes of elements that its header promises")]
    PipeCutShort { promised: u64 },
    #[error("has a damaged element: {0}")]
    Element(String),
    #[error(
        "has {0} bytes after its array; it is damaged or holds several arrays: save one array to a file"
    )]
    Trailing(u64),
    #[error("cannot be read: {0}")]
    System(io::Error),
    #[error("{0}")]
    Tensor(#[from] tenferro::tensor::Error),
}

impl From<io::Error> for Problem {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound => Problem::Missing,
            io::ErrorKind::IsADirectory => Problem::Directory,
            _ => Problem::System(error),
        }
    }
}
