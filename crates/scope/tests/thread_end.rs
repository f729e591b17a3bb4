//! X25: a thread that ends is an ordinary caller until it is gone, whatever else of it is gone already.
//!
//! A panic in the destructor of a thread's value would abort the process.

#![allow(clippy::unwrap_used, reason = "a test fails by it")]

use std::{
    cell::RefCell,
    sync::{Arc, mpsc},
    thread,
    time::Duration,
};

use tenferro_arbiter::{CpuSet, FairArbiter};
use tenferro_scope::{
    Breadth, DomainConfig, Error, LaneCount, ResourceDomain, Result, WaitLimit,
    has_active_execution,
};

type Call = Box<dyn FnOnce() + Send>;

/// Runs a call when it is dropped.
struct Late(Option<Call>);

impl Drop for Late {
    fn drop(&mut self) {
        self.0.take().unwrap()();
    }
}

thread_local! {
    static LATE: RefCell<Option<Late>> = const { RefCell::new(None) };
}

fn domain() -> Arc<ResourceDomain> {
    let arbiter = Arc::new(FairArbiter::new(CpuSet::first(2)).unwrap());
    let wait_limit = WaitLimit::Policy;
    let config = DomainConfig { width: 2, cpus: None, arbiter, provider: None, wait_limit };
    Arc::new(ResourceDomain::managed(config).unwrap())
}

fn operate(domain: &ResourceDomain) {
    let outcome: Result<()> = domain.run(Breadth::Wide, |_| Ok(()), |error| error);
    outcome.unwrap();
    domain.run_briefly(|| ()).unwrap();
}

/// Everything that one can ask of a domain.
fn everything(domain: &ResourceDomain) {
    operate(domain);
    domain
        .with_execution_scope(|| {
            operate(domain);
            assert!(domain.scope_width().is_some());
            let again = domain.with_execution_scope(|| ());
            assert!(matches!(again, Err(Error::ScopeActive { .. })));
        })
        .unwrap();
    domain.install(|| operate(domain)).unwrap();
    domain.with_lanes(LaneCount::UpTo(2), |_| operate(domain)).unwrap();
    assert!(!has_active_execution());
}

/// What a thread that ends does, with a value that dies before what this crate keeps for the thread, or after.
fn at_the_end(used_before: bool) {
    let domain = domain();
    let (say, said) = mpsc::channel();
    let called = Arc::clone(&domain);
    let thread = thread::spawn(move || {
        if used_before {
            everything(&called);
        }
        let late = Arc::clone(&called);
        LATE.set(Some(Late(Some(Box::new(move || {
            everything(&late);
            say.send(()).unwrap();
        })))));
        everything(&called);
    });
    said.recv_timeout(Duration::from_secs(60)).expect("the thread hangs");
    thread.join().unwrap();
    let snapshot = domain.arbiter().snapshot();
    assert!(snapshot.holders.is_empty() && snapshot.waiters.is_empty(), "{snapshot:#?}");
    assert_eq!(snapshot.free, snapshot.capacity, "{snapshot:#?}");
}

#[test]
fn x25_everything_works_in_a_thread_that_ends_and_was_here_before() {
    at_the_end(true);
}

#[test]
fn x25_everything_works_in_a_thread_that_ends_and_keeps_nothing_any_more() {
    at_the_end(false);
}
