//! Steps of the protocol that the mixed models do not decide: each has a model of its own.

use std::time::Duration;

use tenferro_arbiter::{Arbiter, Request};

use super::bodies::{once, twice, wide};
use super::{Ends, Model, check, explore, run_once};

/// A budget that does not end within a model.
const FOR_EVER: Duration = Duration::from_secs(1 << 30);

/// Holds one CPU until another body says that it has finished.
fn hold_until_told(model: &Model) {
    let permit = model.arbiter.acquire(&Request::one_thread()).unwrap();
    model.signal.wait();
    drop(permit);
}

/// Tries to pass the wide request.
fn pass(model: &Model) {
    if model.arbiter.snapshot().waiters.iter().any(|waiter| waiter.min == 2) {
        assert!(model.arbiter.try_acquire(&Request::one_thread()).is_err());
    }
    model.signal.notify();
}

/// With a holder of one CPU of two, a wide request waits for it and one CPU is free: that one is kept.
#[test]
fn x28_nobody_passes_a_waiter_that_it_would_delay() {
    check(2, Some(3), &[wide, pass, hold_until_told]);
}

/// Gives up at any moment.
fn wide_or_not(model: &Model) {
    drop(model.arbiter.acquire_timeout(&Request::new(2..=2), Duration::ZERO));
}

fn once_then_tell(model: &Model) {
    drop(model.arbiter.acquire(&Request::one_thread()).unwrap());
    model.signal.notify();
}

/// The narrow one waits behind the wide one only; nobody but the wide one can let it go.
#[test]
fn x28_a_waiter_that_gives_up_lets_those_behind_it_run() {
    check(2, Some(3), &[wide_or_not, once_then_tell, hold_until_told]);
}

fn nothing(_model: &Model) {}

/// A thread that ends an operation within the bypass budget keeps its CPU for the next one. If it ends instead,
/// the waiter that it passed gets the CPU at once: in this model its budget never ends. The main thread, which does
/// not end, does nothing.
#[test]
fn x28_a_thread_that_ends_gives_its_cpus_to_the_waiter_it_passed() {
    explore(Some(3), || {
        run_once(&Model::with_bypass(1, FOR_EVER), &[once, twice, nothing], Ends::EachForItself);
    });
}
