//! What a model's threads do. Their choices are part of the schedule, so that a failure can be run again.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::Ordering::SeqCst;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use shuttle::future::block_on;
use shuttle::rand::{Rng, thread_rng};
use shuttle::thread;
use tenferro_arbiter::{
    Arbiter, ClaimKind, CpuSet, Error, Patience, ProviderClaim, ProviderKey, Request,
};

use super::Model;

fn below(n: usize) -> usize {
    thread_rng().gen_range(0..n)
}

pub(super) fn mixed(model: &Model) {
    for _ in 0..3 {
        match below(8) {
            0..=2 => floating(model),
            3..=4 => scope(model),
            5 => claiming(model),
            6 if model.cpus() > 1 => pinned(model),
            6 => narrow(model),
            _ => panicking(model),
        }
    }
}

pub(super) fn narrow(model: &Model) {
    for _ in 0..3 {
        let permit = model.arbiter.acquire(&Request::one_thread()).unwrap();
        model.books.operate(&permit, model.cpus());
    }
}

pub(super) fn wide(model: &Model) {
    let cpus = model.cpus();
    for _ in 0..2 {
        let permit = model.arbiter.acquire(&Request::new(cpus..=cpus)).unwrap();
        assert_eq!(permit.width(), cpus);
        model.books.operate(&permit, cpus);
    }
}

pub(super) fn floating(model: &Model) {
    let cpus = model.cpus();
    let min = 1 + below(cpus);
    let request = Request::new(min..=min + below(cpus));
    let outcome = match below(4) {
        0 => model.arbiter.try_acquire(&request),
        1 => model.arbiter.acquire_timeout(&request, Duration::ZERO),
        _ => model.arbiter.acquire(&request),
    };
    match outcome {
        Ok(permit) => {
            assert!(min <= permit.width() && !permit.is_overcommitted());
            model.books.operate(&permit, cpus);
        }
        Err(Error::WouldBlock { .. } | Error::TimedOut { .. }) => {}
        Err(error) => panic!("{error}"),
    }
}

/// Operations with pauses, in one of which the thread may be admitted beside its own scope.
pub(super) fn scope(model: &Model) {
    let cpus = model.cpus();
    let permit = model.arbiter.acquire(&Request::up_to(cpus)).unwrap();
    model.books.operate(&permit, cpus);
    for _ in 0..2 {
        permit.lend();
        match below(3) {
            0 => thread::yield_now(),
            1 => {
                let beside = model.arbiter.admit_now(&Request::one_thread()).unwrap();
                model.books.operate(&beside, cpus);
            }
            _ => {}
        }
        permit.resume_up_to(1 + below(cpus));
        model.books.operate(&permit, cpus);
    }
    if below(2) == 0 {
        permit.lend();
    }
}

pub(super) fn pinned(model: &Model) {
    let low = below(model.cpus() - 1);
    let set = CpuSet::from_iter([low, low + 1]);
    let permit = model.arbiter.acquire(&Request::exclusive(set.clone())).unwrap();
    model.books.pin(&set);
    assert_eq!(permit.width(), 2);
    model.books.operate(&permit, model.cpus());
    permit.lend();
    thread::yield_now();
    assert_eq!(permit.resume(), 2);
    model.books.operate(&permit, model.cpus());
    model.books.unpin(&set);
}

pub(super) fn restricted(model: &Model) {
    let set = CpuSet::from_iter([below(model.cpus()), below(model.cpus())]);
    let permit = model.arbiter.acquire(&Request::up_to(2).on(set.clone())).unwrap();
    assert!(permit.width() <= set.len());
    model.books.operate(&permit, model.cpus());
    permit.lend();
    thread::yield_now();
    permit.resume();
    model.books.operate(&permit, model.cpus());
}

pub(super) fn claiming(model: &Model) {
    let kind = match below(4) {
        0 => ClaimKind::Unbounded,
        1 => ClaimKind::SharedOneThread,
        _ => ClaimKind::Exclusive,
    };
    let claim = ProviderClaim::new(ProviderKey(7), kind);
    let permit = model.arbiter.acquire(&Request::up_to(2).with_provider(claim)).unwrap();
    model.books.claim(kind);
    model.books.operate(&permit, model.cpus());
    model.books.unclaim(kind);
}

/// Panics while an operation runs, or between two operations of a scope.
pub(super) fn panicking(model: &Model) {
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        let permit = model.arbiter.acquire(&Request::one_thread()).unwrap();
        model.books.operate(&permit, model.cpus());
        if below(2) == 0 {
            permit.lend();
        }
        resume_unwind(Box::new(permit.width()));
    }));
    assert_eq!(outcome.unwrap_err().downcast_ref::<usize>(), Some(&1));
}

/// A future that is polled whenever it is called.
pub(super) fn future(model: &Model) {
    for _ in 0..2 {
        let request = Request::up_to(1 + below(model.cpus()));
        let permit = block_on(model.arbiter.acquire_async(&request, &Patience::unlimited()));
        model.books.operate(&permit.unwrap(), model.cpus());
    }
}

/// A future that is dropped after its first poll, granted or not.
pub(super) fn dropped_future(model: &Model) {
    let mut future = model.arbiter.acquire_async(&Request::one_thread(), &Patience::unlimited());
    let permit = future.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    thread::yield_now();
    if let Poll::Ready(permit) = permit {
        model.books.operate(&permit.unwrap(), model.cpus());
    }
}

/// Holds a CPU until the narrow request behind the wide one has run.
pub(super) fn hold_one_for_the_narrow(model: &Model) {
    let permit = model.arbiter.acquire(&Request::one_thread()).unwrap();
    while !model.books.told.load(SeqCst) {
        thread::yield_now();
    }
    drop(permit);
}

pub(super) fn wide_or_not(model: &Model) {
    drop(model.arbiter.acquire_timeout(&Request::new(2..=2), Duration::ZERO));
}

pub(super) fn narrow_and_tell(model: &Model) {
    drop(model.arbiter.acquire(&Request::one_thread()).unwrap());
    model.books.told.store(true, SeqCst);
}
