//! X27 and F52: the child of a fork has an arbiter of its own, whatever the parent's threads were doing.
//!
//! Each test runs itself again as a process of its own, which forks.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

mod common;
mod forking;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread;

use common::{Calls, arbiter, await_waiters, poll_once};
use forking::{fork, in_a_process};
use std::task::Poll;
use tenferro_arbiter::{Arbiter, CancelToken, Error, Patience, ProcessEra, Request};

/// After so long a child hangs.
const SECONDS: u32 = 30;

#[test]
fn f52_a_child_is_admitted_whatever_the_parents_threads_hold() {
    in_a_process("f52_a_child_is_admitted_whatever_the_parents_threads_hold", || {
        let arbiter = Arc::new(arbiter(2));
        let stop = Arc::new(AtomicBool::new(false));
        let holder = arbiter.acquire(&Request::one_thread()).unwrap();
        // Threads that wait, and threads that take the lock all the time.
        let threads: Vec<_> = (0..4)
            .map(|i| {
                let (arbiter, stop) = (Arc::clone(&arbiter), Arc::clone(&stop));
                thread::spawn(move || {
                    while !stop.load(SeqCst) {
                        if i < 2 {
                            let timeout = std::time::Duration::from_micros(300);
                            let _ = arbiter.acquire_timeout(&Request::new(2..=2), timeout);
                        } else {
                            drop(arbiter.acquire(&Request::one_thread()).unwrap());
                            let _ = arbiter.snapshot();
                        }
                    }
                })
            })
            .collect();
        let era = ProcessEra::now();
        for _ in 0..40 {
            fork(SECONDS, || {
                assert!(era.is_over() && !ProcessEra::now().is_over());
                assert_eq!(arbiter.acquire(&Request::new(2..=2)).unwrap().width(), 2);
                let snapshot = arbiter.snapshot();
                assert!(snapshot.holders.is_empty() && snapshot.waiters.is_empty());
                // Its own permit from before goes on, and is released.
                holder.lend();
                assert!(holder.resume() >= 1);
                // Threads of the child are admitted beside each other.
                thread::scope(|threads| {
                    for _ in 0..3 {
                        threads.spawn(|| drop(arbiter.acquire(&Request::one_thread()).unwrap()));
                    }
                });
                // And so is its own child.
                fork(SECONDS, || drop(arbiter.acquire(&Request::new(2..=2)).unwrap()));
            });
        }
        assert!(!era.is_over(), "the parent goes on as before");
        stop.store(true, SeqCst);
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        drop(holder);
        common::assert_all_returned(&*arbiter);
    });
}

#[test]
fn f52_what_waited_in_the_parent_is_refused_in_the_child() {
    in_a_process("f52_what_waited_in_the_parent_is_refused_in_the_child", || {
        let arbiter = &arbiter(1);
        let holder = arbiter.acquire(&Request::one_thread()).unwrap();
        let (token, calls) = (CancelToken::new(), Calls::new());
        let patience = Patience::unlimited().unless(&token);
        let mut polled = arbiter.acquire_async(&Request::one_thread(), &patience);
        let mut dropped = arbiter.acquire_async(&Request::one_thread(), &patience);
        assert!(poll_once(&mut polled, &calls).is_pending());
        assert!(poll_once(&mut dropped, &calls).is_pending());
        await_waiters(arbiter, 2);
        fork(SECONDS, move || {
            token.cancel();
            drop(dropped);
            let Poll::Ready(Err(error)) = poll_once(&mut polled, &calls) else {
                panic!("nobody answers it")
            };
            assert!(matches!(error, Error::Forked), "{error}");
            drop(holder);
            drop(arbiter.acquire(&Request::one_thread()).unwrap());
        });
    });
}
