//! The contract that BLAS-like providers keep, and the registry that finds them.
