//! How loom explores a model, for those of each crate.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering::Relaxed},
};

/// Explores `model`, which says from where on by `loom::explore`, with at most so many preemptions, if it has a bound.
pub(crate) fn explore(preemptions: Option<usize>, model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    // The environment can only widen: what is explored exhaustively stays so.
    builder.preemption_bound =
        preemptions.map(|own| builder.preemption_bound.unwrap_or(own).max(own));
    builder.max_branches = 20_000;
    builder.expect_explicit_explore = true;
    let runs = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&runs);
    builder.check(move || {
        counted.fetch_add(1, Relaxed);
        model();
    });
    println!("{} schedules", runs.load(Relaxed));
}
