//! Kernels, buffer pool and scheduling inside a grant.
