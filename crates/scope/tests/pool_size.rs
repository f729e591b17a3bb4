//! How many threads a managed domain makes.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;

use tenferro_arbiter::{CpuSet, FairArbiter};
use tenferro_scope::{DomainConfig, ResourceDomain, WaitLimit};

#[test]
fn x1_a_domain_asked_for_more_threads_than_cpus_makes_only_as_many_as_can_be_granted() {
    for (cpus, executor) in [(1, "inline"), (3, "rayon")] {
        let arbiter = Arc::new(FairArbiter::new(CpuSet::from_iter(0..cpus)).unwrap());
        let (width, wait_limit) = (100_000, WaitLimit::Policy);
        let config = DomainConfig { width, cpus: None, arbiter, provider: None, wait_limit };
        let domain = ResourceDomain::managed(config).unwrap();
        assert_eq!(domain.width(), 100_000);
        assert_eq!(domain.executor().name(), executor);
        assert_eq!(domain.executor().capabilities().width, cpus);
    }
}
