//! X26: futures wait for permits without a thread, and tokens end waits from anywhere.

#![allow(clippy::unwrap_used, reason = "a test fails by it")]

mod common;

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Barrier};
use std::task::Poll;
use std::thread;
use std::time::{Duration, Instant};

use common::{
    Calls, arbiter, assert_all_returned, await_snapshot, await_waiters, block_on, poll_once,
    still_arbiter, with_watchdog,
};
use tenferro_arbiter::{
    Arbiter, CancelToken, ClaimKind, CpuSet, Error, FairArbiter, HolderState, Patience, Policy,
    ProviderClaim, ProviderKey, Request, WaitReason,
};

fn one() -> Request {
    Request::one_thread()
}

#[test]
fn x26_a_future_is_called_once_and_gets_its_permit_in_the_poll() {
    let (arbiter, _still) = still_arbiter(1);
    let holder = arbiter.acquire(&one()).unwrap();
    let (mut future, calls) = (arbiter.acquire_async(&one(), &Patience::unlimited()), Calls::new());
    assert!(poll_once(&mut future, &calls).is_pending());
    assert!(poll_once(&mut future, &calls).is_pending());
    let snapshot = arbiter.snapshot();
    assert_eq!((snapshot.waiters.len(), snapshot.waiters[0].thread.as_str()), (1, "a future"));
    assert_eq!(calls.count(), 0);
    drop(holder);
    assert_eq!(calls.count(), 1);
    let holders = arbiter.snapshot().holders;
    assert_eq!((holders.len(), holders[0].state), (1, HolderState::Granted));
    let Poll::Ready(permit) = poll_once(&mut future, &calls) else { panic!("it was granted") };
    let permit = permit.unwrap();
    assert_eq!(arbiter.snapshot().holders[0].owner, permit.owner());
    drop(permit);
    assert_eq!(calls.count(), 1);
    let statistics = arbiter.snapshot().statistics;
    assert_eq!((statistics.waits, statistics.sleeps, statistics.hand_offs), (1, 0, 1));
    assert_all_returned(&arbiter);
}

#[test]
fn x26_a_future_that_need_not_wait_is_ready_at_once() {
    let arbiter = arbiter(2);
    for _ in 0..100 {
        let mut future = arbiter.acquire_async(&Request::up_to(2), &Patience::unlimited());
        let Poll::Ready(permit) = poll_once(&mut future, &Calls::new()) else { panic!("it is") };
        assert_eq!(permit.unwrap().width(), 2);
    }
    assert_eq!(arbiter.snapshot().statistics.slow_paths, 0);
}

#[test]
fn x26_a_dropped_future_leaves_no_trace() {
    let (arbiter, _still) = still_arbiter(2);
    let holder = arbiter.acquire(&Request::new(2..=2)).unwrap();
    let calls = Calls::new();
    let mut never_polled = arbiter.acquire_async(&one(), &Patience::unlimited());
    let mut queued = arbiter.acquire_async(&Request::new(2..=2), &Patience::unlimited());
    let mut young = arbiter.acquire_async(&one(), &Patience::unlimited());
    assert!(poll_once(&mut queued, &calls).is_pending());
    assert!(poll_once(&mut young, &Calls::new()).is_pending());
    drop(queued);
    assert_eq!(arbiter.snapshot().waiters.len(), 1);
    drop(holder);
    assert!(poll_once(&mut young, &calls).is_ready());
    assert!(poll_once(&mut never_polled, &calls).is_ready());
    assert_eq!(calls.count(), 0);
    assert_all_returned(&arbiter);
}

#[test]
fn x26_a_dropped_future_passes_on_its_grant() {
    let (arbiter, _still) = still_arbiter(1);
    let holder = arbiter.acquire(&one()).unwrap();
    let (calls, later) = (Calls::new(), Calls::new());
    let mut first = arbiter.acquire_async(&one(), &Patience::unlimited());
    let mut second = arbiter.acquire_async(&one(), &Patience::unlimited());
    assert!(poll_once(&mut first, &calls).is_pending());
    assert!(poll_once(&mut second, &later).is_pending());
    drop(holder);
    assert_eq!((calls.count(), later.count()), (1, 0));
    drop(first);
    assert_eq!(later.count(), 1);
    assert!(matches!(poll_once(&mut second, &later), Poll::Ready(Ok(_))));
    assert_all_returned(&arbiter);
}

#[test]
fn x26_a_grant_that_nobody_comes_for_is_lent_and_the_place_is_kept() {
    with_watchdog(|| {
        let (arbiter, clock) = still_arbiter(1);
        let holder = arbiter.acquire(&one()).unwrap();
        let calls = Calls::new();
        let mut lazy = arbiter.acquire_async(&one(), &Patience::unlimited());
        assert!(poll_once(&mut lazy, &calls).is_pending());
        drop(holder);
        assert_eq!(calls.count(), 1);
        // Granted, and not polled: a thread that comes later is served all the same.
        clock.advance(Duration::from_micros(900));
        assert!(arbiter.try_acquire(&one()).is_err());
        clock.advance(Duration::from_micros(200));
        let permit = arbiter.acquire(&one()).unwrap();
        let waiters = arbiter.snapshot().waiters;
        assert_eq!((waiters.len(), waiters[0].reason), (1, WaitReason::Poll));
        // Back in the queue it is older than whoever came meanwhile.
        let mut young = arbiter.acquire_async(&one(), &Patience::unlimited());
        let youngs = Calls::new();
        assert!(poll_once(&mut young, &youngs).is_pending());
        assert!(poll_once(&mut lazy, &calls).is_pending());
        drop(permit);
        assert_eq!((calls.count(), youngs.count()), (2, 0));
        assert!(matches!(poll_once(&mut lazy, &calls), Poll::Ready(Ok(_))));
        assert!(matches!(poll_once(&mut young, &youngs), Poll::Ready(Ok(_))));
        assert_all_returned(&arbiter);
    });
}

#[test]
fn x26_a_future_that_is_back_takes_what_younger_ones_did_not_come_for() {
    with_watchdog(|| {
        let (arbiter, clock) = still_arbiter(1);
        let holder = arbiter.acquire(&one()).unwrap();
        let (calls, youngs) = (Calls::new(), Calls::new());
        let mut lazy = arbiter.acquire_async(&one(), &Patience::unlimited());
        let mut young = arbiter.acquire_async(&one(), &Patience::unlimited());
        assert!(poll_once(&mut lazy, &calls).is_pending());
        assert!(poll_once(&mut young, &youngs).is_pending());
        drop(holder);
        clock.advance(Duration::from_millis(2));
        // The alarm passes the grant on to the young one, which does not come either.
        await_snapshot(&arbiter, |_| youngs.count() == 1);
        assert!(matches!(poll_once(&mut lazy, &calls), Poll::Ready(Ok(_))));
        assert!(matches!(poll_once(&mut young, &youngs), Poll::Ready(Ok(_))));
        assert_all_returned(&arbiter);
    });
}

#[test]
fn x26_a_future_is_given_up_at_its_deadline() {
    with_watchdog(|| {
        let arbiter = arbiter(1);
        let holder = arbiter.acquire(&one()).unwrap();
        let start = Instant::now();
        let patience = Patience::at_most(Duration::from_millis(30));
        let error = block_on(arbiter.acquire_async(&one(), &patience)).unwrap_err();
        let Error::TimedOut { waited, holders } = error else { panic!("{error}") };
        assert!(waited <= start.elapsed() && start.elapsed() >= Duration::from_millis(30));
        assert_eq!(holders[0].owner, holder.owner());
        assert!(arbiter.snapshot().waiters.is_empty());
        drop(holder);
        assert_all_returned(&arbiter);
    });
}

#[test]
fn x27_a_future_has_a_wait_limit() {
    with_watchdog(|| {
        let limit = Duration::from_millis(50);
        let policy = Policy { wait_limit: Some(limit), ..Policy::default() };
        let arbiter = FairArbiter::with_policy(CpuSet::first(1), policy).unwrap();
        let scope = arbiter.acquire(&Request::exclusive(CpuSet::first(1))).unwrap();
        scope.lend();
        let error = block_on(arbiter.acquire_async(&one(), &Patience::unlimited())).unwrap_err();
        let Error::WaitLimit { waited, holders } = error else { panic!("{error}") };
        assert!(waited >= limit);
        assert_eq!(holders[0].owner, scope.owner());
        drop(scope);
        assert!(block_on(arbiter.acquire_async(&one(), &Patience::unlimited())).is_ok());
    });
}

#[test]
fn x26_a_token_ends_the_wait_of_a_thread() {
    with_watchdog(|| {
        let arbiter = Arc::new(arbiter(1));
        let holder = arbiter.acquire(&one()).unwrap();
        let token = CancelToken::new();
        let waiter = thread::spawn({
            let (arbiter, patience) = (Arc::clone(&arbiter), Patience::unlimited().unless(&token));
            move || arbiter.acquire_within(&Request::new(1..=1), &patience).map(|p| p.width())
        });
        await_waiters(&*arbiter, 1);
        token.cancel();
        let error = waiter.join().unwrap().unwrap_err();
        assert!(matches!(error, Error::Cancelled { .. }), "{error}");
        let text = error.to_string();
        assert!(text.contains("ask again with a new token"), "{text}");
        assert!(arbiter.snapshot().waiters.is_empty());
        drop(holder);
        assert_all_returned(&*arbiter);
    });
}

#[test]
fn x26_a_token_ends_any_number_of_waits_and_refuses_later_ones() {
    with_watchdog(|| {
        let arbiter = Arc::new(still_arbiter(2).0);
        let holder = arbiter.acquire(&Request::new(2..=2)).unwrap();
        let token = CancelToken::new();
        let patience = Patience::at_most(Duration::from_secs(3600)).unless(&token);
        let calls = Calls::new();
        let mut futures: Vec<_> =
            (0..50).map(|_| arbiter.acquire_async(&one(), &patience)).collect();
        for future in &mut futures {
            assert!(poll_once(future, &calls).is_pending());
        }
        let thread = thread::spawn({
            let (arbiter, patience) = (Arc::clone(&arbiter), patience.clone());
            move || arbiter.acquire_within(&one(), &patience).map(|permit| permit.width())
        });
        await_waiters(&*arbiter, 51);
        let mut kept = arbiter.acquire_async(&one(), &Patience::unlimited());
        assert!(poll_once(&mut kept, &Calls::new()).is_pending());
        token.cancel();
        assert!(matches!(thread.join().unwrap(), Err(Error::Cancelled { .. })));
        assert_eq!((arbiter.snapshot().waiters.len(), calls.count()), (1, 50));
        for future in &mut futures {
            let outcome = poll_once(future, &calls);
            assert!(matches!(outcome, Poll::Ready(Err(Error::Cancelled { .. }))));
        }
        let later = poll_once(&mut arbiter.acquire_async(&one(), &patience), &calls);
        assert!(matches!(later, Poll::Ready(Err(Error::Cancelled { .. }))));
        assert!(matches!(arbiter.acquire_within(&one(), &patience), Err(Error::Cancelled { .. })));
        drop(holder);
        assert!(matches!(poll_once(&mut kept, &calls), Poll::Ready(Ok(_))));
        assert_all_returned(&*arbiter);
    });
}

#[test]
fn x26_a_token_takes_back_a_grant_that_was_not_polled() {
    let (arbiter, _still) = still_arbiter(1);
    let holder = arbiter.acquire(&one()).unwrap();
    let (token, calls) = (CancelToken::new(), Calls::new());
    let mut future = arbiter.acquire_async(&one(), &Patience::unlimited().unless(&token));
    assert!(poll_once(&mut future, &calls).is_pending());
    drop(holder);
    token.cancel();
    assert_all_returned(&arbiter);
    assert!(matches!(poll_once(&mut future, &calls), Poll::Ready(Err(Error::Cancelled { .. }))));
}

#[test]
fn x26_a_future_keeps_a_set_or_a_provider_to_itself() {
    let (arbiter, _still) = still_arbiter(2);
    let claim = ProviderClaim::new(ProviderKey(5), ClaimKind::Exclusive);
    for request in [Request::exclusive(CpuSet::from_iter([1])), one().with_provider(claim)] {
        let holder = arbiter.acquire(&request).unwrap();
        let calls = Calls::new();
        let mut future = arbiter.acquire_async(&request, &Patience::unlimited());
        assert!(poll_once(&mut future, &calls).is_pending());
        drop(holder);
        assert_eq!(calls.count(), 1);
        // Already before it is polled.
        assert!(matches!(arbiter.try_acquire(&request), Err(Error::WouldBlock { .. })));
        let Poll::Ready(permit) = poll_once(&mut future, &calls) else { panic!("granted") };
        let permit = permit.unwrap();
        permit.lend();
        assert!(matches!(arbiter.try_acquire(&request), Err(Error::WouldBlock { .. })));
        assert_eq!(permit.resume(), 1);
        drop(permit);
        drop(arbiter.try_acquire(&request).unwrap());
    }
    assert_all_returned(&arbiter);
}

#[test]
fn x26_thousands_of_tasks_on_two_workers_park_no_worker() {
    const TASKS: usize = 4000;
    with_watchdog(|| {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_time()
            .build()
            .unwrap();
        let arbiter = Arc::new(arbiter(2));
        let (running, done) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let holder = arbiter.acquire(&Request::new(2..=2)).unwrap();
        let tasks: Vec<_> = (0..TASKS)
            .map(|i| {
                let (arbiter, running, done) =
                    (Arc::clone(&arbiter), Arc::clone(&running), Arc::clone(&done));
                runtime.spawn(async move {
                    let request = Request::new(1 + usize::from(i % 7 == 0)..=2);
                    let permit = arbiter.acquire_async(&request, &Patience::unlimited()).await;
                    let width = permit.as_ref().unwrap().width();
                    assert!(running.fetch_add(width, SeqCst) + width <= 2);
                    std::hint::black_box(i);
                    running.fetch_sub(width, SeqCst);
                    drop(permit);
                    done.fetch_add(1, SeqCst);
                })
            })
            .collect();
        await_waiters(&*arbiter, TASKS);
        // Both workers are free: two tasks that block until the other is there meet.
        let both = Arc::new(Barrier::new(2));
        let meeting: Vec<_> = (0..2)
            .map(|_| {
                let both = Arc::clone(&both);
                runtime.spawn(async move { both.wait().is_leader() })
            })
            .collect();
        let leaders = meeting.into_iter().map(|task| runtime.block_on(task).unwrap());
        assert_eq!(leaders.filter(|leads| *leads).count(), 1);
        assert_eq!(arbiter.snapshot().statistics.sleeps, 0);
        // A tenth of them is dropped while it waits.
        let (dropped, kept): (Vec<_>, Vec<_>) =
            tasks.into_iter().enumerate().partition(|(i, _)| i % 10 == 0);
        dropped.iter().for_each(|(_, task)| task.abort());
        for (_, task) in dropped {
            assert!(runtime.block_on(task).unwrap_err().is_cancelled());
        }
        await_waiters(&*arbiter, TASKS - TASKS / 10);
        drop(holder);
        for (_, task) in kept {
            runtime.block_on(task).unwrap();
        }
        assert_eq!(done.load(SeqCst), TASKS - TASKS / 10);
        let statistics = arbiter.snapshot().statistics;
        assert_eq!(statistics.sleeps, 0, "no thread slept for a permit: {statistics:?}");
        drop(runtime);
        assert_all_returned(&*arbiter);
    });
}

#[test]
fn x23_futures_and_threads_are_served_in_order_of_arrival() {
    with_watchdog(|| {
        let arbiter = Arc::new(still_arbiter(1).0);
        let holder = arbiter.acquire(&one()).unwrap();
        let calls = Calls::new();
        let mut first = arbiter.acquire_async(&one(), &Patience::unlimited());
        assert!(poll_once(&mut first, &calls).is_pending());
        let second = thread::spawn({
            let arbiter = Arc::clone(&arbiter);
            move || arbiter.acquire(&one()).unwrap().width()
        });
        await_waiters(&*arbiter, 2);
        let mut third = arbiter.acquire_async(&one(), &Patience::unlimited());
        assert!(poll_once(&mut third, &calls).is_pending());
        drop(holder);
        assert!(!second.is_finished());
        let permit = block_on(&mut first).unwrap();
        assert_eq!(arbiter.snapshot().waiters.len(), 2);
        drop(permit);
        assert_eq!(second.join().unwrap(), 1);
        drop(block_on(&mut third).unwrap());
        assert_all_returned(&*arbiter);
    });
}
