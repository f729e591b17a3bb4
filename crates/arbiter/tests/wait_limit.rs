//! X27: a wait in which nothing runs ends in an error that names the holders.
//!
//! A file of its own, whose tests run one at a time: a busy test beside them is CPU time in use.

#![allow(clippy::unwrap_used, reason = "a test fails by it")]

mod common;

use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use common::{HandClock, assert_all_returned, await_waiters, with_watchdog};
use tenferro_arbiter::{
    Arbiter, ClaimKind, CpuSet, Error, FairArbiter, HolderState, Label, Policy, ProviderClaim,
    ProviderKey, Request,
};

const LIMIT: Duration = Duration::from_millis(100);

fn quiet() -> MutexGuard<'static, ()> {
    static QUIET: Mutex<()> = Mutex::new(());
    QUIET.lock().unwrap_or_else(PoisonError::into_inner)
}

fn impatient(cpus: usize) -> Arc<FairArbiter> {
    with_limit(cpus, LIMIT)
}

fn with_limit(cpus: usize, limit: Duration) -> Arc<FairArbiter> {
    let policy = Policy { wait_limit: Some(limit), ..Policy::default() };
    Arc::new(FairArbiter::with_policy(CpuSet::first(cpus), policy).unwrap())
}

fn acquire_elsewhere(arbiter: &Arc<FairArbiter>, request: Request) -> Result<usize, Error> {
    let arbiter = Arc::clone(arbiter);
    thread::spawn(move || arbiter.acquire(&request).map(|permit| permit.width())).join().unwrap()
}

#[test]
fn x27_an_idle_pinned_scope_ends_a_wait_for_its_cpus() {
    let _quiet = quiet();
    with_watchdog(|| {
        let arbiter = impatient(2);
        let pinned = Request::exclusive(CpuSet::first(2)).label(Label::new(&"pinned scope"));
        let scope = arbiter.acquire(&pinned).unwrap();
        scope.lend();
        let start = Instant::now();
        let Err(Error::WaitLimit { waited, holders }) =
            acquire_elsewhere(&arbiter, Request::one_thread())
        else {
            panic!("the wait limit is reached")
        };
        assert!(LIMIT <= waited && waited <= start.elapsed());
        assert_eq!(holders.len(), 1);
        assert_eq!(
            (holders[0].label.as_str(), holders[0].state),
            ("pinned scope", HolderState::Idle)
        );
        assert_eq!((holders[0].owner, holders[0].width), (scope.owner(), 2));
        assert!(holders[0].age >= LIMIT);
        drop(scope);
        assert_eq!(acquire_elsewhere(&arbiter, Request::one_thread()).unwrap(), 1);
        assert_eq!(arbiter.snapshot().free, 2);
    });
}

#[test]
fn x27_who_sets_no_limit_waits_for_ten_seconds() {
    const TEN: Duration = Duration::from_secs(10);
    assert_eq!(Policy::default().wait_limit, Some(TEN));
    with_watchdog(|| {
        let clock = HandClock::new();
        let arbiter = FairArbiter::with_clock(CpuSet::first(1), Policy::default(), clock.clone());
        let arbiter = Arc::new(arbiter.unwrap());
        let scope = arbiter.acquire(&Request::exclusive(CpuSet::first(1))).unwrap();
        scope.lend();
        let waiter = thread::spawn({
            let arbiter = Arc::clone(&arbiter);
            move || arbiter.acquire(&Request::one_thread()).map(drop)
        });
        await_waiters(&*arbiter, 1);
        while !waiter.is_finished() {
            clock.advance(Duration::from_millis(500));
            thread::yield_now();
        }
        let Err(Error::WaitLimit { waited, .. }) = waiter.join().unwrap() else {
            panic!("the wait limit is reached")
        };
        assert!(waited >= TEN, "{waited:?}");
    });
}

#[test]
fn x27_an_idle_holder_of_a_provider_ends_a_wait_for_it() {
    let _quiet = quiet();
    with_watchdog(|| {
        let arbiter = impatient(2);
        let claim = ProviderClaim::new(ProviderKey(3), ClaimKind::Exclusive);
        let request = Request::one_thread().with_provider(claim);
        let scope = arbiter.acquire(&request).unwrap();
        scope.lend();
        let other = arbiter.acquire(&Request::one_thread()).unwrap();
        let error = acquire_elsewhere(&arbiter, request).unwrap_err();
        let Error::WaitLimit { holders, .. } = error else { panic!("{error}") };
        assert_eq!(holders.len(), 1, "the other permit is not in the way");
        assert_eq!(holders[0].provider, Some(claim));
        drop((scope, other));
        assert_all_returned(&*arbiter);
    });
}

#[cfg(unix)]
#[test]
fn x27_an_operation_that_joins_its_own_waiter_does_not_hang() {
    let _quiet = quiet();
    with_watchdog(|| {
        let arbiter = impatient(1);
        let running = arbiter.acquire(&Request::one_thread()).unwrap();
        // The permit says that an operation runs, but the process is idle.
        let error = acquire_elsewhere(&arbiter, Request::one_thread()).unwrap_err();
        let Error::WaitLimit { holders, .. } = error else { panic!("{error}") };
        assert_eq!(holders[0].state, HolderState::Running);
        drop(running);
        assert_eq!(acquire_elsewhere(&arbiter, Request::one_thread()).unwrap(), 1);
    });
}

#[test]
fn x27_time_in_which_a_holder_computes_does_not_count() {
    let _quiet = quiet();
    with_watchdog(|| {
        // Long enough for a crowded machine to give this process some CPU in every quarter of it.
        let limit = LIMIT * 8;
        let arbiter = with_limit(1, limit);
        let (stop, started) = (Arc::new(AtomicBool::new(false)), mpsc::channel());
        let holder = thread::spawn({
            let (arbiter, stop, started) = (Arc::clone(&arbiter), Arc::clone(&stop), started.0);
            move || {
                let _permit = arbiter.acquire(&Request::one_thread()).unwrap();
                started.send(()).unwrap();
                while !stop.load(SeqCst) {
                    std::hint::spin_loop();
                }
            }
        });
        started.1.recv().unwrap();
        let (timeout, start) = (limit * 2, Instant::now());
        let error = arbiter.acquire_timeout(&Request::one_thread(), timeout).unwrap_err();
        let Error::TimedOut { holders, .. } = error else { panic!("{error}") };
        assert!(start.elapsed() >= timeout);
        assert_eq!(holders[0].state, HolderState::Running);
        stop.store(true, SeqCst);
        holder.join().unwrap();
        assert_all_returned(&*arbiter);
    });
}

#[test]
fn x27_no_limit_waits_until_the_holder_is_done() {
    let _quiet = quiet();
    with_watchdog(|| {
        let policy = Policy { wait_limit: None, ..Policy::default() };
        let arbiter = Arc::new(FairArbiter::with_policy(CpuSet::first(1), policy).unwrap());
        let scope = arbiter.acquire(&Request::exclusive(CpuSet::first(1))).unwrap();
        scope.lend();
        let waiter = thread::spawn({
            let arbiter = Arc::clone(&arbiter);
            move || arbiter.acquire(&Request::one_thread()).unwrap().width()
        });
        common::await_waiters(&*arbiter, 1);
        drop(scope);
        assert_eq!(waiter.join().unwrap(), 1);
    });
}
