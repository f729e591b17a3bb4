//! X27 and F52: the child of a fork has an arbiter of its own, whatever the parent's threads were doing.
//!
//! Each test runs itself again as a process of its own, which forks.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

mod common;

use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread;

use common::{Calls, arbiter, await_waiters, poll_once};
use std::task::Poll;
use tenferro_arbiter::{Arbiter, CancelToken, Error, Patience, ProcessEra, Request};

const WITHIN: &str = "TENFERRO_TEST_FORKS";

/// Runs `body` in a process of its own.
fn in_a_process(test: &str, body: impl FnOnce()) {
    if std::env::var_os(WITHIN).is_some() {
        return body();
    }
    let run = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env(WITHIN, "1")
        .output()
        .unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
}

/// Forks; the child runs `child`, and the parent learns whether it came to its end.
fn fork(child: impl FnOnce()) {
    // SAFETY: the child runs code that allocates, which the C libraries that we run on allow, and ends without
    // returning to the test's harness; a child that hangs is ended by its alarm.
    let pid = unsafe { libc::fork() };
    assert!(pid >= 0);
    if pid == 0 {
        // SAFETY: it sets a timer and touches no memory of ours.
        unsafe { libc::alarm(30) };
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(child));
        // SAFETY: it ends the process at once.
        unsafe { libc::_exit(i32::from(outcome.is_err())) };
    }
    let mut status = 0;
    // SAFETY: `status` is a valid place for the result, and `pid` is our child.
    let waited = unsafe { libc::waitpid(pid, &raw mut status, 0) };
    assert_eq!((waited, status), (pid, 0), "the child failed or hung");
}

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
            fork(|| {
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
                fork(|| drop(arbiter.acquire(&Request::new(2..=2)).unwrap()));
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
        fork(move || {
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
