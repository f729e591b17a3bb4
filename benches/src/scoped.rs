//! Ours as a contender: one operation, repeated inside an execution scope that is open already.
//!
//! The scope opens before a sample's clock starts and closes after it stops, so that no figure
//! holds an admission; what the operation returns is dropped within it, so that the pool is warm.

use std::hint::black_box;
use std::time::Instant;

use tenferro_cpu::CpuBackend;

use super::Contender;

/// Ours on `threads` threads: `operation` repeated in an open scope.
///
/// # Panics
/// If no backend of so many threads can be built.
pub fn scoped<R>(
    threads: usize,
    mut operation: impl FnMut(&mut CpuBackend) -> R + Send + 'static,
) -> Contender<'static> {
    scoped_over(threads, |mut operations| move || operation(&mut operations))
}

/// The same for an operation that is made over a clone of the backend, such as a step of training.
///
/// # Panics
/// As [`scoped`].
pub fn scoped_over<R, F: FnMut() -> R + Send + 'static>(
    threads: usize,
    operation: impl FnOnce(CpuBackend) -> F,
) -> Contender<'static> {
    let owner = CpuBackend::with_threads(threads).expect("a backend of so many threads");
    let mut operation = operation(owner.clone());
    let mut repeat = move |count| {
        let start = Instant::now();
        for _ in 0..count {
            black_box(&operation());
        }
        start.elapsed()
    };
    Contender::sampled("in scope", move |count| {
        owner.with_execution_scope(|| repeat(count)).expect("no other scope is open")
    })
}
