//! Resource domains, executors and execution scopes.
