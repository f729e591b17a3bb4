//! F52 and X27: in the child of a fork what needs the pool is refused, and sequential work goes on.
//!
//! The test runs itself again as a process of its own, which forks.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

mod common;
#[path = "../../arbiter/tests/forking/mod.rs"]
mod forking;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread;

use common::{LARGE, backend, core_error, vector};
use forking::{fork, in_a_process};
use tenferro_cpu::CpuBackend;
use tenferro_scope::{self as scope, ExecutorFault};
use tenferro_tensor::TensorElementwise;

/// After so long a child hangs.
const SECONDS: u32 = 60;

/// The refusal of an operation that needs the pool.
fn assert_refused(backend: &mut CpuBackend) {
    match core_error(backend.add(&vector(LARGE), &vector(LARGE))) {
        scope::Error::Executor { source: source @ ExecutorFault::Forked, .. } => {
            let text = source.to_string();
            assert!(text.contains("build a new backend here"), "{text}");
        }
        other => panic!("another error: {other:?}"),
    }
}

#[test]
fn f52_a_child_refuses_what_needs_the_pool_and_goes_on_sequentially() {
    in_a_process("f52_a_child_refuses_what_needs_the_pool_and_goes_on_sequentially", || {
        let (mut owner, _) = backend(2, 2);
        let mut narrow = CpuBackend::with_threads(1).unwrap();
        owner.add(&vector(LARGE), &vector(LARGE)).unwrap();
        assert!(owner.diagnostics().fan_outs > 0, "the pool is in use");
        // Another thread holds a CPU whenever it can.
        let stop = Arc::new(AtomicBool::new(false));
        let busy = thread::spawn({
            let (mut operations, stop) = (owner.clone(), Arc::clone(&stop));
            move || {
                while !stop.load(SeqCst) {
                    operations.add(&vector(64), &vector(64)).unwrap();
                }
            }
        });
        for _ in 0..10 {
            fork(SECONDS, || {
                assert_refused(&mut owner);
                assert_eq!(owner.add(&vector(3), &vector(3)).unwrap().elements(), 3);
                assert_refused(&mut owner);
                // A scope opens, and refuses the same.
                let mut operations = owner.clone();
                owner
                    .with_execution_scope(|| {
                        operations.add(&vector(3), &vector(3)).unwrap();
                        assert_refused(&mut operations);
                    })
                    .unwrap();
                narrow.add(&vector(LARGE), &vector(LARGE)).unwrap();
                // A backend of the child's own has a pool of its own.
                let (mut own, _) = backend(2, 2);
                own.add(&vector(LARGE), &vector(LARGE)).unwrap();
                assert!(own.diagnostics().fan_outs > 0);
                drop(owner);
            });
            let (again, _) = backend(2, 2);
            owner = again;
            owner.add(&vector(LARGE), &vector(LARGE)).unwrap();
        }
        owner.add(&vector(LARGE), &vector(LARGE)).unwrap();
        stop.store(true, SeqCst);
        busy.join().unwrap();
    });
}
