//! The task runner: test, ci, layers, bench.
fn main() {}
