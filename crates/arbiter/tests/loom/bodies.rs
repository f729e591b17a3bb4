//! What a model's threads do.

use std::time::Duration;

use tenferro_arbiter::{Arbiter, ClaimKind, CpuSet, Error, ProviderClaim, ProviderKey, Request};

use super::Model;

pub(super) fn claim(kind: ClaimKind) -> Request {
    Request::up_to(2).with_provider(ProviderClaim::new(ProviderKey(1), kind))
}

pub(super) fn once(model: &Model) {
    model.run(&Request::one_thread());
}

pub(super) fn twice(model: &Model) {
    model.run(&Request::one_thread());
    model.run(&Request::one_thread());
}

pub(super) fn wide(model: &Model) {
    model.run(&Request::new(2..=2));
}

pub(super) fn adaptive(model: &Model) {
    model.run(&Request::up_to(2));
}

pub(super) fn adaptive_twice(model: &Model) {
    adaptive(model);
    adaptive(model);
}

pub(super) fn scope(model: &Model) {
    model.run_scope(&Request::one_thread(), 1);
}

pub(super) fn wide_scope(model: &Model) {
    model.run_scope(&Request::up_to(2), 1);
}

pub(super) fn unbounded(model: &Model) {
    let permit = model.arbiter.acquire(&claim(ClaimKind::Unbounded)).unwrap();
    model.operate(&permit);
}

pub(super) fn claiming(model: &Model) {
    let permit = model.arbiter.acquire(&claim(ClaimKind::Exclusive)).unwrap();
    model.alone.with_mut(|_| ());
    model.operate(&permit);
}

pub(super) fn pinned(model: &Model) {
    let permit = model.arbiter.acquire(&Request::exclusive(CpuSet::from_iter([1]))).unwrap();
    model.alone.with_mut(|_| ());
    permit.lend();
    assert_eq!(permit.resume(), 1);
    model.alone.with_mut(|_| ());
}

pub(super) fn cancelled(model: &Model) {
    match model.arbiter.acquire_timeout(&Request::one_thread(), Duration::ZERO) {
        Ok(permit) => model.operate(&permit),
        Err(error) => assert!(matches!(error, Error::TimedOut { .. })),
    }
}

pub(super) fn wide_cancelled(model: &Model) {
    match model.arbiter.acquire_timeout(&Request::new(2..=2), Duration::ZERO) {
        Ok(permit) => model.operate(&permit),
        Err(error) => assert!(matches!(error, Error::TimedOut { .. })),
    }
}

pub(super) fn trying(model: &Model) {
    match model.arbiter.try_acquire(&Request::one_thread()) {
        Ok(permit) => model.operate(&permit),
        Err(error) => assert!(matches!(error, Error::WouldBlock { .. })),
    }
}

/// A permit that ends between two operations, as one that a panic drops may.
pub(super) fn idle_scope(model: &Model) {
    let permit = model.arbiter.acquire(&Request::one_thread()).unwrap();
    model.operate(&permit);
    permit.lend();
}
