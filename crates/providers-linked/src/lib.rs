//! One BLAS and LAPACK that is linked into the program, as a provider for a backend's builder.
//!
//! A feature names the library; without one this crate is empty. Features exclude each other, because libraries with the
//! same symbols do not link together. Whoever can do without linking has the choice at run time with the providers that
//! are loaded. Nothing is computed here: the crate collects addresses and says how the library's threads are bounded.

#[cfg(any(
    all(feature = "openblas", feature = "mkl-static"),
    all(feature = "openblas", feature = "blis"),
    all(feature = "openblas", feature = "netlib"),
    all(feature = "openblas", feature = "accelerate"),
    all(feature = "mkl-static", feature = "blis"),
    all(feature = "mkl-static", feature = "netlib"),
    all(feature = "mkl-static", feature = "accelerate"),
    all(feature = "blis", feature = "netlib"),
    all(feature = "blis", feature = "accelerate"),
    all(feature = "netlib", feature = "accelerate"),
))]
compile_error!(
    "the features of tenferro-providers-linked exclude each other: a program can be linked with one BLAS; turn on one of \
     openblas, mkl-static, blis, netlib and accelerate, and load others at run time"
);

#[cfg(feature = "openblas")]
#[path = "library/openblas.rs"]
mod library;
#[cfg(all(feature = "mkl-static", not(feature = "openblas")))]
#[path = "library/mkl.rs"]
mod library;
#[cfg(all(feature = "blis", not(any(feature = "openblas", feature = "mkl-static"))))]
#[path = "library/blis.rs"]
mod library;
#[cfg(all(
    feature = "netlib",
    not(any(feature = "openblas", feature = "mkl-static", feature = "blis"))
))]
#[path = "library/netlib.rs"]
mod library;
#[cfg(all(
    feature = "accelerate",
    not(any(feature = "openblas", feature = "mkl-static", feature = "blis", feature = "netlib"))
))]
#[path = "library/accelerate.rs"]
mod library;

#[cfg(any(
    feature = "openblas",
    feature = "mkl-static",
    feature = "blis",
    feature = "netlib",
    feature = "accelerate"
))]
mod linked;

#[cfg(any(
    feature = "openblas",
    feature = "mkl-static",
    feature = "blis",
    feature = "netlib",
    feature = "accelerate"
))]
pub use linked::provider;
