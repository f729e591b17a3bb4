//! Fair, adaptive admission of every thread pool and BLAS call to the CPUs.
