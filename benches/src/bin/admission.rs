//! Suite `admission`: what it costs to be admitted when nobody else is there.
//!
//! A permit is acquired and released, a scope opened and closed, an empty operation run in a scope
//! and by itself, at budgets of one and two threads. The peers are what one would pay elsewhere: an
//! uncontended `parking_lot` mutex, locked and unlocked, and rayon's `install` of an empty closure.
//! An operation in a scope is also set beside two exchanges of a word that nobody else touches: what it takes to
//! say that a CPU is in use, and that it is not, so that another thread may have it. The limit is such a mutex pair for a permit, a permit for a scope, and a call of an empty
//! function for an operation.

#![forbid(unsafe_code)]

use std::convert::Infallible;
use std::hint::black_box;
use std::process::ExitCode;
use std::sync::atomic::AtomicU64;

use parking_lot::Mutex;
use tenferro_arbiter::Request;
use tenferro_bench_limits::{empty_call, exchange_twice};
use tenferro_benches::{Case, Contender, Suite, scoped};
use tenferro_cpu::CpuBackend;
use tenferro_scope::Breadth;

fn main() -> ExitCode {
    Suite::main("admission", |suite| {
        for budget in [1, 2] {
            let mut case = |name: &str, ours: Contender<'static>, limit: Contender<'static>| {
                suite.case(&format!("{name}/budget-{budget}"), budget, |name, threads| {
                    let mut peers = vec![mutex(), install(threads)];
                    if name.starts_with("operation/in-scope") {
                        peers.push(exchanges());
                    }
                    Case { name, threads, ours, limit, peers }
                });
            };
            case("permit/acquire-release", permit(budget), mutex());
            case("scope/open-close", scope(budget), permit(budget));
            case("operation/in-scope", in_scope(budget), function());
            case("operation/standalone", standalone(budget), function());
        }
    })
}

fn backend(budget: usize) -> CpuBackend {
    CpuBackend::with_threads(budget).expect("a backend of so many threads")
}

/// A permit of the arbiter that everything in the process shares.
fn permit(budget: usize) -> Contender<'static> {
    let backend = backend(budget);
    let request = Request::up_to(budget);
    Contender::repeated("permit", move || {
        let permit = backend.domain().arbiter().acquire(black_box(&request));
        drop(permit.expect("nobody else holds a CPU"));
    })
}

fn scope(budget: usize) -> Contender<'static> {
    let backend = backend(budget);
    Contender::repeated("scope", move || {
        backend.with_execution_scope(|| black_box(())).expect("no other scope is open");
    })
}

/// An operation that does nothing; being admitted is all of it.
fn operation(backend: &CpuBackend) -> usize {
    let ran = backend.domain().run(
        Breadth::Wide,
        |guard| Ok::<_, Infallible>(black_box(guard.width())),
        |refusal| panic!("refused: {refusal}"),
    );
    ran.expect("an empty operation succeeds")
}

fn in_scope(budget: usize) -> Contender<'static> {
    scoped(budget, |operations| operation(black_box(operations)))
}

fn standalone(budget: usize) -> Contender<'static> {
    let backend = backend(budget);
    Contender::repeated("standalone", move || operation(black_box(&backend)))
}

fn function() -> Contender<'static> {
    Contender::repeated("function call", || empty_call(black_box(1)))
}

fn mutex() -> Contender<'static> {
    let mutex = Mutex::new(0_u64);
    Contender::repeated("mutex", move || *mutex.lock() += black_box(1))
}

fn exchanges() -> Contender<'static> {
    let word = AtomicU64::new(0);
    Contender::repeated("two exchanges", move || exchange_twice(black_box(&word)))
}

fn install(threads: usize) -> Contender<'static> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    let pool = pool.expect("the peer's pool starts");
    Contender::repeated("install", move || pool.install(|| black_box(())))
}
