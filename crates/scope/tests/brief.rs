//! Brief operations: what they take and give back, and what they leave to the general way.

#![cfg(not(feature = "tracing"))]
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    time::Duration,
};

use tenferro_arbiter::{Arbiter, CpuSet, FairArbiter, HolderState, Request};
use tenferro_scope::{
    Breadth, DomainConfig, DomainOwnership, Error, InlineExecutor, ResourceDomain, WaitLimit,
};

fn arbiter() -> Arc<FairArbiter> {
    Arc::new(FairArbiter::new(CpuSet::first(1)).unwrap())
}

fn config(arbiter: &Arc<FairArbiter>, wait_limit: WaitLimit) -> DomainConfig {
    DomainConfig { width: 1, cpus: None, arbiter: arbiter.clone(), provider: None, wait_limit }
}

fn domain(arbiter: &Arc<FairArbiter>) -> ResourceDomain {
    ResourceDomain::managed(config(arbiter, WaitLimit::Policy)).unwrap()
}

/// The holders' states, while a brief operation runs.
fn seen_by_an_operation(domain: &ResourceDomain) -> Option<Vec<HolderState>> {
    domain.run_briefly(|| states(domain)).unwrap()
}

fn states(domain: &ResourceDomain) -> Vec<HolderState> {
    domain.arbiter().snapshot().holders.iter().map(|holder| holder.state).collect()
}

/// Whether a brief operation is left to the general way.
fn is_left(domain: &ResourceDomain) -> bool {
    let mut ran = false;
    let left = domain.run_briefly(|| ran = true).unwrap().is_none();
    assert_eq!(left, !ran);
    left
}

fn panic_briefly(domain: &ResourceDomain) {
    let panicked = catch_unwind(AssertUnwindSafe(|| domain.run_briefly(|| panic!("on purpose"))));
    assert!(panicked.is_err());
}

#[test]
fn in_a_scope_a_brief_operation_takes_its_cpu_and_lends_it_again() {
    let domain = domain(&arbiter());
    domain
        .with_execution_scope(|| {
            assert_eq!(seen_by_an_operation(&domain), Some(vec![HolderState::Running]));
            assert_eq!(states(&domain), [HolderState::Idle]);
            panic_briefly(&domain);
            assert_eq!(states(&domain), [HolderState::Idle]);
        })
        .unwrap();
}

#[test]
fn alone_a_brief_operation_has_a_permit_of_its_own() {
    let domain = domain(&arbiter());
    assert_eq!(seen_by_an_operation(&domain), Some(vec![HolderState::Running]));
    assert_eq!(states(&domain), []);
    panic_briefly(&domain);
    assert_eq!(states(&domain), []);
}

#[test]
fn what_is_not_admitted_in_the_plainest_way_is_not_run() {
    let arbiter = arbiter();
    let (ours, other) = (domain(&arbiter), domain(&arbiter));
    ours.install(|| assert!(is_left(&ours), "in an installation")).unwrap();
    other.with_execution_scope(|| assert!(is_left(&ours), "in a foreign scope")).unwrap();
    let entry = ours.admit(Breadth::Narrow).unwrap();
    entry.run(|_| assert!(is_left(&ours), "in an operation")).unwrap();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    pool.install(|| assert!(is_left(&ours), "on a worker of somebody's pool"));
    assert!(!is_left(&ours));
}

#[test]
fn an_executor_of_the_callers_is_entered_in_the_general_way() {
    for ownership in
        [DomainOwnership::Managed, DomainOwnership::External, DomainOwnership::CallerManaged]
    {
        let config = config(&arbiter(), WaitLimit::Policy);
        let domain =
            ResourceDomain::with_executor(ownership, config, Arc::new(InlineExecutor)).unwrap();
        assert!(is_left(&domain), "{ownership:?}");
    }
}

#[test]
fn waiting_in_vain_is_an_error_and_nothing_was_run() {
    let arbiter = arbiter();
    let limit = WaitLimit::After(Duration::from_millis(1));
    let domain = ResourceDomain::managed(config(&arbiter, limit)).unwrap();
    let _held = arbiter.acquire(&Request::one_thread()).unwrap();
    let refused = domain.run_briefly(|| panic!("it was run"));
    assert!(matches!(refused, Err(Error::Admission(_))));
}
