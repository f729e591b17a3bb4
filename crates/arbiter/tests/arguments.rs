//! Bad arguments get typed errors whose text names the way out.

#![allow(clippy::unwrap_used, reason = "a test fails by it")]

mod common;

use std::time::Duration;

use common::arbiter;
use insta::assert_snapshot;
use tenferro_arbiter::{Arbiter, CpuSet, Error, FairArbiter, Policy, Request, ResourcePermit};

fn refusal(outcome: tenferro_arbiter::Result<ResourcePermit>) -> Error {
    outcome.unwrap_err()
}

#[test]
fn x1_an_arbiter_needs_cpus() {
    assert!(matches!(FairArbiter::new(CpuSet::new()), Err(Error::EmptyCpuSet)));
    let policy = Policy { capacity: Some(0), ..Policy::default() };
    let error = FairArbiter::with_policy(CpuSet::first(2), policy).unwrap_err();
    assert!(matches!(error, Error::InvalidWidth { .. }));
    let error = FairArbiter::new(CpuSet::first(70_000)).unwrap_err();
    assert_snapshot!(error, @"70000 CPUs are more than an arbiter counts (65535): bound its capacity");
}

#[test]
fn x1_a_capacity_bounds_the_width_and_any_cpu_number_will_do() {
    let cpus: CpuSet = "3,1000000-1000002,8589934592".parse().unwrap();
    let policy = Policy { capacity: Some(2), ..Policy::default() };
    let arbiter = FairArbiter::with_policy(cpus, policy).unwrap();
    assert_eq!((arbiter.capacity(), arbiter.cpus().len()), (2, 5));
    assert_eq!(arbiter.acquire(&Request::up_to(5)).unwrap().width(), 2);
    let high = Request::exclusive(CpuSet::from_iter([8_589_934_592]));
    assert_eq!(arbiter.acquire(&high).unwrap().width(), 1);
}

#[test]
fn x1_an_empty_or_foreign_cpu_set_is_refused() {
    let arbiter = arbiter(4);
    let empty = refusal(arbiter.acquire(&Request::exclusive(CpuSet::new())));
    assert!(matches!(empty, Error::EmptyCpuSet));
    assert_snapshot!(empty, @"the CPU set is empty: name at least one CPU, or none at all for every allowed one");
    let foreign = refusal(arbiter.try_acquire(&Request::one_thread().on("2-5,9".parse().unwrap())));
    assert_snapshot!(foreign, @"CPUs 4-5,9 are not among the allowed ones (0-3): choose from those");
}

#[test]
#[allow(clippy::reversed_empty_ranges, reason = "the refusal of one is what is tested")]
fn x20_an_impossible_width_is_refused_at_once() {
    let arbiter = arbiter(2);
    let zero = refusal(arbiter.acquire(&Request::new(0..=2)));
    assert_snapshot!(zero, @"a request for 0 to 2 CPUs: ask for at least one, and no more than the maximum");
    let reversed = refusal(arbiter.acquire(&Request::new(2..=1)));
    assert!(matches!(reversed, Error::InvalidWidth { min: 2, max: 1 }));
    let wide = refusal(arbiter.acquire_timeout(&Request::new(3..=9), Duration::MAX));
    assert_snapshot!(wide, @"a request needs 3 CPUs of 2: lower its minimum, or widen its CPU set");
    let narrow_set = refusal(arbiter.admit_now(&Request::new(2..=2).on(CpuSet::first(1))));
    assert!(matches!(narrow_set, Error::TooWide { min: 2, limit: 1 }));
    assert_eq!(arbiter.acquire(&Request::up_to(2)).unwrap().width(), 2, "it still works");
}

#[test]
fn x26_refusals_name_the_holders() {
    let arbiter = arbiter(1);
    let holder = arbiter.acquire(&Request::one_thread()).unwrap();
    let held = "; held by \"operation\" (1 CPU, running, seen for ";
    let error = refusal(arbiter.try_acquire(&Request::one_thread())).to_string();
    assert!(error.starts_with(&format!("1 CPU cannot be had at once{held}")), "{error}");
    assert!(error.ends_with("): wait with `acquire`, or ask again later"), "{error}");
    assert!(error.contains(&format!("owner {})", holder.owner())), "{error}");
    let soon = Duration::from_millis(3);
    let error = refusal(arbiter.acquire_timeout(&Request::one_thread(), soon)).to_string();
    assert!(error.starts_with("no admission within ") && error.contains(held), "{error}");
    assert!(error.ends_with("): allow more time, or let the holders finish"), "{error}");
}
