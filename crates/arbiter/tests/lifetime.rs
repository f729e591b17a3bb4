//! X25 and X3: permits come back whatever happens to their thread, and are seen while they last.

#![allow(clippy::unwrap_used, reason = "a test fails by it")]

mod common;

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Duration;

use common::{arbiter, assert_all_returned, await_waiters, with_watchdog};
use tenferro_arbiter::{
    Arbiter, CpuSet, FairArbiter, HolderState, Label, Patience, PermitFuture, Request,
    ResourcePermit, WaitReason, process_arbiter,
};

#[test]
fn x25_a_permit_is_released_on_drop_and_on_unwind() {
    let arbiter = arbiter(2);
    drop(arbiter.acquire(&Request::up_to(2)).unwrap());
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        let _permit = arbiter.acquire(&Request::new(2..=2)).unwrap();
        let lent = arbiter.admit_now(&Request::one_thread()).unwrap();
        lent.lend();
        panic!("in the operation");
    }));
    assert!(outcome.is_err());
    assert_all_returned(&arbiter);
    assert_eq!(arbiter.try_acquire(&Request::new(2..=2)).unwrap().width(), 2);
}

#[test]
fn x25_a_permit_in_thread_local_storage_is_released_with_its_thread() {
    thread_local! {
        static KEPT: RefCell<Option<ResourcePermit>> = const { RefCell::new(None) };
    }
    with_watchdog(|| {
        // Both orders of initialisation, and so of destruction.
        for kept_first in [true, false] {
            let arbiter = Arc::new(arbiter(2));
            let thread = thread::spawn({
                let arbiter = Arc::clone(&arbiter);
                move || {
                    if kept_first {
                        KEPT.with(|kept| assert!(kept.borrow().is_none()));
                    }
                    let permit = arbiter.acquire(&Request::new(2..=2)).unwrap();
                    KEPT.set(Some(permit));
                }
            });
            thread.join().unwrap();
            assert_eq!(arbiter.snapshot().free, 2, "kept first: {kept_first}");
            assert_all_returned(&*arbiter);
        }
    });
}

#[test]
fn x25_a_permit_acquired_while_a_thread_ends_is_released() {
    struct Late(Arc<FairArbiter>);
    impl Drop for Late {
        fn drop(&mut self) {
            assert_eq!(self.0.acquire(&Request::up_to(2)).unwrap().width(), 2);
        }
    }
    thread_local! {
        static LATE: RefCell<Option<Late>> = const { RefCell::new(None) };
    }
    with_watchdog(|| {
        for late_first in [true, false] {
            let arbiter = Arc::new(arbiter(2));
            let thread = thread::spawn({
                let arbiter = Arc::clone(&arbiter);
                move || {
                    if !late_first {
                        drop(arbiter.acquire(&Request::one_thread()).unwrap());
                    }
                    LATE.set(Some(Late(Arc::clone(&arbiter))));
                    drop(arbiter.acquire(&Request::one_thread()).unwrap());
                }
            });
            thread.join().unwrap();
            assert_eq!(arbiter.snapshot().free, 2, "late first: {late_first}");
        }
    });
}

#[test]
fn x25_parked_cpus_return_when_their_thread_ends_and_wake_a_waiter() {
    with_watchdog(|| {
        let arbiter = Arc::new(arbiter(1));
        let (held, wait) = (Arc::new(Barrier::new(2)), Arc::new(Barrier::new(2)));
        let holder = thread::spawn({
            let (arbiter, held, wait) =
                (Arc::clone(&arbiter), Arc::clone(&held), Arc::clone(&wait));
            move || {
                let permit = arbiter.acquire(&Request::one_thread()).unwrap();
                held.wait();
                wait.wait();
                drop(permit);
            }
        });
        held.wait();
        let waiter = thread::spawn({
            let arbiter = Arc::clone(&arbiter);
            move || arbiter.acquire(&Request::one_thread()).unwrap().width()
        });
        await_waiters(&*arbiter, 1);
        wait.wait();
        holder.join().unwrap();
        assert_eq!(waiter.join().unwrap(), 1);
        assert_eq!(arbiter.snapshot().free, 1);
    });
}

#[test]
fn x25_a_leaked_permit_is_named() {
    with_watchdog(|| {
        let arbiter = Arc::new(arbiter(2));
        let thread = thread::Builder::new().name("careless".into()).spawn({
            let arbiter = Arc::clone(&arbiter);
            move || {
                let request = Request::one_thread().label(Label::new(&"forgotten"));
                std::mem::forget(arbiter.acquire(&request).unwrap());
            }
        });
        thread.unwrap().join().unwrap();
        let snapshot = arbiter.snapshot();
        assert_eq!(snapshot.holders.len(), 1);
        let leaked = &snapshot.holders[0];
        assert_eq!(leaked.state, HolderState::Leaked);
        assert_eq!((leaked.label.as_str(), leaked.thread.as_str()), ("forgotten", "careless"));
        assert_eq!(arbiter.acquire(&Request::up_to(2)).unwrap().width(), 1, "the rest still works");
    });
}

#[test]
fn x3_a_snapshot_names_holders_and_waiters_while_they_run() {
    with_watchdog(|| {
        let arbiter = Arc::new(arbiter(3));
        let scope = arbiter.acquire(&Request::up_to(2).label(Label::new(&"scope"))).unwrap();
        scope.lend();
        let matmul = arbiter.acquire(&Request::new(3..=3).label(Label::new(&"matmul"))).unwrap();
        let waiter = thread::Builder::new().name("caller".into()).spawn({
            let arbiter = Arc::clone(&arbiter);
            move || {
                let request = Request::new(2..=5).label(Label::new(&"sum"));
                drop(arbiter.acquire(&request).unwrap());
            }
        });
        let first = await_waiters(&*arbiter, 1);
        let seen: Vec<_> =
            first.holders.iter().map(|h| (h.label.as_str(), h.state, h.width)).collect();
        assert_eq!(seen, [("scope", HolderState::Idle, 0), ("matmul", HolderState::Running, 3)]);
        assert_eq!(first.holders[1].owner, matmul.owner());
        let waiting = &first.waiters[0];
        assert_eq!((waiting.label.as_str(), waiting.thread.as_str()), ("sum", "caller"));
        assert_eq!((waiting.min, waiting.max, waiting.reason), (2, 3, WaitReason::Cpus));
        let second = arbiter.snapshot();
        assert!(second.holders[1].age >= first.holders[1].age);
        assert!(second.waiters[0].waited >= first.waiters[0].waited);
        drop(matmul);
        waiter.unwrap().join().unwrap();
        // The next permit on the same seat starts a new age.
        let again = arbiter.acquire(&Request::one_thread().label(Label::new(&"again"))).unwrap();
        let snapshot = arbiter.snapshot();
        let again = snapshot.holders.iter().find(|holder| holder.owner == again.owner()).unwrap();
        assert_eq!((again.label.as_str(), again.age), ("again", Duration::ZERO));
        drop(scope);
    });
}

#[test]
fn x3_owners_are_unique() {
    let arbiter = arbiter(4);
    let first = arbiter.acquire(&Request::one_thread()).unwrap();
    let second = arbiter.acquire(&Request::one_thread()).unwrap();
    assert_ne!(first.owner(), second.owner());
    let before = first.owner();
    drop(first);
    assert_ne!(arbiter.acquire(&Request::one_thread()).unwrap().owner(), before);
}

#[test]
fn an_arbiter_of_your_own_delegates() {
    struct Counting(FairArbiter, std::sync::atomic::AtomicUsize);
    impl Arbiter for Counting {
        fn acquire(&self, request: &Request) -> tenferro_arbiter::Result<ResourcePermit> {
            self.1.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            self.0.acquire(request)
        }
        fn try_acquire(&self, request: &Request) -> tenferro_arbiter::Result<ResourcePermit> {
            self.0.try_acquire(request)
        }
        fn acquire_within(
            &self,
            request: &Request,
            patience: &Patience,
        ) -> tenferro_arbiter::Result<ResourcePermit> {
            self.0.acquire_within(request, patience)
        }
        fn acquire_async<'a>(&'a self, request: &Request, patience: &Patience) -> PermitFuture<'a> {
            self.0.acquire_async(request, patience)
        }
        fn admit_now(&self, request: &Request) -> tenferro_arbiter::Result<ResourcePermit> {
            self.0.admit_now(request)
        }
        fn cpus(&self) -> &CpuSet {
            self.0.cpus()
        }
        fn capacity(&self) -> usize {
            self.0.capacity()
        }
        fn snapshot(&self) -> tenferro_arbiter::Snapshot {
            self.0.snapshot()
        }
    }
    let counting = Arc::new(Counting(arbiter(2), 0.into()));
    let dynamic: Arc<dyn Arbiter> = Arc::clone(&counting) as _;
    for _ in 0..3 {
        assert_eq!(dynamic.acquire(&Request::up_to(2)).unwrap().width(), 2);
    }
    assert_eq!(counting.1.load(std::sync::atomic::Ordering::Relaxed), 3);
}

#[test]
fn x1_the_process_arbiter_governs_the_allowed_cpus() {
    let arbiter = process_arbiter();
    assert!(Arc::ptr_eq(arbiter, process_arbiter()));
    assert!(1 <= arbiter.capacity() && arbiter.capacity() <= arbiter.cpus().len());
    assert_eq!(arbiter.acquire(&Request::up_to(usize::MAX)).unwrap().width(), arbiter.capacity());
}
