//! Every place from which one can call back into a backend, every kind of call, and what comes of it: it returns.
//!
//! A place is a function that brings a call there; the table below is the promise. Each cell runs under a watchdog, and
//! so does a panic in each place, after which everything must be free again. What a single refusal says and costs is
//! tested in `reentry.rs`, `ownership.rs`, `lanes.rs` and `pinned.rs`.

#![allow(clippy::unwrap_used, reason = "a test fails by it")]

mod common;

use std::{
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::{Arc, Barrier, Mutex, mpsc},
    thread,
};

use common::{CountingArbiter, LARGE, OwnPool, Probe, calling_back, ones, vector, watchdog};
use tenferro_cpu::{CpuBackend, Error, LaneCount, Result};
use tenferro_ops::TensorComposite;
use tenferro_scope::{self as scope, DomainOwnership, has_active_execution};
use tenferro_tensor::{Tensor, TensorElementwise};

/// What runs at a place, with a clone of the backend that is busy there.
type Call = Arc<dyn Fn(&CpuBackend) + Send + Sync>;

/// Brings a call to a place of a new backend, and waits for it. A panic of the call propagates.
type Place = fn(Call) -> (CpuBackend, Arc<CountingArbiter>);

/// The places, in the order of the table.
const PLACES: &[(&str, Place)] = &[
    ("outside", outside),
    ("scope", in_a_scope),
    ("session", in_a_session),
    ("installation", in_an_installation),
    ("lane", in_a_lane),
    ("lane of a session", in_a_lane_of_a_session),
    ("provider", in_a_provider),
    ("provider in a scope", in_a_provider_in_a_scope),
    ("share of a fan-out", in_a_share),
    ("task of the pool", in_a_task_of_the_pool),
    ("stolen sibling", in_a_stolen_sibling),
    ("worker of an executor", on_an_external_worker),
    ("foreign worker", on_a_foreign_worker),
    ("foreign worker, scope", on_a_foreign_worker_joined_by_a_scope),
    ("foreign worker, session", on_a_foreign_worker_joined_by_a_session),
    ("thread, scope", on_a_thread_joined_by_a_scope),
    ("thread, session", on_a_thread_joined_by_a_session),
    ("thread, lane", on_a_thread_joined_by_a_lane),
    ("drop in a scope", in_a_drop_in_a_scope),
    ("drop in a session", in_a_drop_in_a_session),
];

/// A kind of call.
type Kind = fn(&CpuBackend) -> Result<()>;

/// The calls, in the order of the table's columns.
const CALLS: &[(&str, Kind)] = &[
    ("small", |backend| add(backend, 2)),
    ("large", |backend| add(backend, LARGE)),
    ("scope", |backend| backend.with_execution_scope(|| add(backend, 2))?),
    ("session", |backend| {
        let x = vector(2);
        backend.try_with_backend_session(|session| session.add(&x, &x).map(drop))?
    }),
    ("install", |backend| backend.try_install(|| add(backend, 2))?),
    ("lanes", |backend| {
        let lanes = backend.with_lanes(LaneCount::UpTo(2), |backend, _| add(backend, 2))?;
        lanes.into_iter().collect()
    }),
];

fn add(backend: &CpuBackend, n: usize) -> Result<()> {
    let sum = backend.clone().add(&vector(n), &vector(n))?;
    assert_eq!(sum.get::<f64>(&[n - 1])?, 2.0 * n as f64);
    Ok(())
}

fn new() -> (CpuBackend, Arc<CountingArbiter>) {
    let arbiter = CountingArbiter::impatient(2);
    (CpuBackend::builder().threads(2).arbiter(arbiter.clone()).build().unwrap(), arbiter)
}

fn outside(call: Call) -> (CpuBackend, Arc<CountingArbiter>) {
    let (backend, arbiter) = new();
    call(&backend);
    (backend, arbiter)
}

fn in_a_scope(call: Call) -> (CpuBackend, Arc<CountingArbiter>) {
    let (backend, arbiter) = new();
    backend.with_execution_scope(|| call(&backend)).unwrap();
    (backend, arbiter)
}

fn in_a_session(call: Call) -> (CpuBackend, Arc<CountingArbiter>) {
    let (backend, arbiter) = new();
    backend.with_backend_session(|_| call(&backend));
    (backend, arbiter)
}

fn in_an_installation(call: Call) -> (CpuBackend, Arc<CountingArbiter>) {
    let (backend, arbiter) = new();
    backend.install(|| call(&backend));
    (backend, arbiter)
}

/// In the lane that is not on the calling thread.
fn in_a_lane(call: Call) -> (CpuBackend, Arc<CountingArbiter>) {
    let (backend, arbiter) = new();
    let lanes = backend.with_lanes(LaneCount::Exactly(2), |backend, lane| {
        if lane.index() == 1 {
            call(backend);
        }
    });
    lanes.unwrap();
    (backend, arbiter)
}

fn in_a_lane_of_a_session(call: Call) -> (CpuBackend, Arc<CountingArbiter>) {
    let (backend, arbiter) = new();
    let both = Barrier::new(2);
    let session = backend.with_backend_session(|session| {
        let here = thread::current().id();
        session.run_lanes(2, &|_, _| {
            both.wait();
            if thread::current().id() != here {
                call(&backend);
            }
            Ok(())
        })
    });
    session.unwrap();
    (backend, arbiter)
}

/// A backend whose products of two threads run `hook`.
fn product(
    hook: impl Fn(&CpuBackend, &dyn tenferro_provider::Workers) + Send + Sync + 'static,
    in_a_scope: bool,
) -> (CpuBackend, Arc<CountingArbiter>) {
    let arbiter = CountingArbiter::impatient(2);
    let backend = calling_back(2, &arbiter, move |backend, workers| hook(&backend, workers));
    let mut operations = backend.clone();
    let multiply = || operations.matmul(&ones(128), &ones(128)).map(drop);
    if in_a_scope {
        backend.with_execution_scope(multiply).unwrap().unwrap();
    } else {
        let mut multiply = multiply;
        multiply().unwrap();
    }
    (backend, arbiter)
}

fn in_a_provider(call: Call) -> (CpuBackend, Arc<CountingArbiter>) {
    product(move |backend, _| call(backend), false)
}

fn in_a_provider_in_a_scope(call: Call) -> (CpuBackend, Arc<CountingArbiter>) {
    product(move |backend, _| call(backend), true)
}

/// Runs `job` on the worker that takes part in a fan-out.
fn on_the_worker(workers: &dyn tenferro_provider::Workers, job: impl Fn() + Sync) {
    let both = Barrier::new(2);
    workers.run(2, &|_| {
        both.wait();
        if rayon::current_thread_index().is_some() {
            job();
        }
    });
}

fn in_a_share(call: Call) -> (CpuBackend, Arc<CountingArbiter>) {
    product(move |backend, workers| on_the_worker(workers, || call(backend)), false)
}

/// In a task that an operation leaves on the pool, and that runs when it has ended. It keeps its panic for the test.
fn in_a_task_of_the_pool(call: Call) -> (CpuBackend, Arc<CountingArbiter>) {
    let (end, ended) = mpsc::channel();
    let made = product(
        move |backend, workers| {
            on_the_worker(workers, || {
                let (backend, call, end) = (backend.clone(), call.clone(), end.clone());
                rayon::spawn(move || {
                    let outcome = catch_unwind(AssertUnwindSafe(|| call(&backend)));
                    drop((backend, call));
                    end.send(outcome).unwrap();
                });
            });
        },
        false,
    );
    ended.recv().unwrap().unwrap_or_else(|payload| resume_unwind(payload));
    made
}

/// In one of two tasks that a share of an operation waits for.
fn in_a_stolen_sibling(call: Call) -> (CpuBackend, Arc<CountingArbiter>) {
    product(
        move |backend, workers| {
            on_the_worker(workers, || _ = rayon::join(|| call(backend), || ()));
        },
        false,
    )
}

/// In a provider's call that an executor of the caller's runs on a thread of its own.
fn on_an_external_worker(call: Call) -> (CpuBackend, Arc<CountingArbiter>) {
    let arbiter = CountingArbiter::impatient(2);
    let itself: Arc<Mutex<Option<CpuBackend>>> = Arc::default();
    let known = itself.clone();
    let probe = Probe::new(move |_| {
        let backend = known.lock().unwrap().clone();
        call(&backend.unwrap());
    });
    let backend = CpuBackend::builder()
        .arbiter(arbiter.clone())
        .executor(DomainOwnership::External, Arc::new(OwnPool::new(2)))
        .register_provider(probe)
        .build()
        .unwrap();
    *itself.lock().unwrap() = Some(backend.clone());
    backend.clone().matmul(&ones(2), &ones(2)).unwrap();
    *itself.lock().unwrap() = None;
    (backend, arbiter)
}

fn foreign<R: Send>(task: impl FnOnce() -> R + Send) -> R {
    rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap().install(task)
}

fn on_a_foreign_worker(call: Call) -> (CpuBackend, Arc<CountingArbiter>) {
    let (backend, arbiter) = new();
    foreign(|| call(&backend));
    (backend, arbiter)
}

fn on_a_foreign_worker_joined_by_a_scope(call: Call) -> (CpuBackend, Arc<CountingArbiter>) {
    let (backend, arbiter) = new();
    backend.with_execution_scope(|| foreign(|| call(&backend))).unwrap();
    (backend, arbiter)
}

fn on_a_foreign_worker_joined_by_a_session(call: Call) -> (CpuBackend, Arc<CountingArbiter>) {
    let (backend, arbiter) = new();
    backend.with_backend_session(|_| foreign(|| call(&backend)));
    (backend, arbiter)
}

fn join(backend: &CpuBackend, call: &Call) {
    let outcome = thread::scope(|threads| threads.spawn(|| call(backend)).join());
    outcome.unwrap_or_else(|payload| resume_unwind(payload));
}

fn on_a_thread_joined_by_a_scope(call: Call) -> (CpuBackend, Arc<CountingArbiter>) {
    let (backend, arbiter) = new();
    backend.with_execution_scope(|| join(&backend, &call)).unwrap();
    (backend, arbiter)
}

fn on_a_thread_joined_by_a_session(call: Call) -> (CpuBackend, Arc<CountingArbiter>) {
    let (backend, arbiter) = new();
    backend.with_backend_session(|_| join(&backend, &call));
    (backend, arbiter)
}

fn on_a_thread_joined_by_a_lane(call: Call) -> (CpuBackend, Arc<CountingArbiter>) {
    let (backend, arbiter) = new();
    let lanes = backend.with_lanes(LaneCount::Exactly(2), |backend, lane| {
        if lane.index() == 1 {
            join(backend, &call);
        }
    });
    lanes.unwrap();
    (backend, arbiter)
}

/// Calls when it is dropped.
struct CallsInDrop<'b>(&'b CpuBackend, Call);

impl Drop for CallsInDrop<'_> {
    fn drop(&mut self) {
        (self.1)(self.0);
    }
}

fn in_a_drop_in_a_scope(call: Call) -> (CpuBackend, Arc<CountingArbiter>) {
    let (backend, arbiter) = new();
    backend.with_execution_scope(|| drop(CallsInDrop(&backend, call))).unwrap();
    (backend, arbiter)
}

fn in_a_drop_in_a_session(call: Call) -> (CpuBackend, Arc<CountingArbiter>) {
    let (backend, arbiter) = new();
    backend.with_backend_session(|_| drop(CallsInDrop(&backend, call)));
    (backend, arbiter)
}

/// Brings `call` to `place` on a watched thread; afterwards everything is free, and the backend goes on.
fn visit(place: Place, call: impl Fn(&CpuBackend) + Send + Sync + 'static) {
    watchdog(move || {
        let (backend, arbiter) = place(Arc::new(call));
        assert!(!has_active_execution());
        arbiter.await_snapshot(|now| now.holders.is_empty() && now.waiters.is_empty());
        add_outside_of_its_provider(&backend);
    });
}

/// An addition asks no provider, so that no call is brought along.
fn add_outside_of_its_provider(backend: &CpuBackend) {
    add(backend, 2).unwrap();
    add(backend, LARGE).unwrap();
}

/// One word for what came of a call.
fn word(result: Result<()>) -> &'static str {
    let reason = match result {
        Ok(()) => return "works",
        Err(Error::Unsupported { .. }) => return "unsupported",
        Err(Error::BackendSource { source, .. }) => match source.downcast_ref::<scope::Error>() {
            Some(scope::Error::Admission(tenferro_arbiter::Error::WaitLimit { .. })) => {
                return "limit";
            }
            other => panic!("another error: {other:?}"),
        },
        Err(Error::RuntimeState { reason, .. }) => reason,
        Err(other) => panic!("another error: {other:?}"),
    };
    for (part, word) in [
        ("is running on this thread", "running"),
        ("is already open on this thread", "open"),
        ("is a worker of the pool", "worker"),
    ] {
        if reason.contains(part) {
            return word;
        }
    }
    panic!("another reason: {reason}")
}

#[test]
fn x12_x15_x16_x17_x33_f50_every_call_from_every_place_returns() {
    let mut table = format!("{:<24}", "");
    CALLS.iter().for_each(|(call, _)| table += &format!("{call:<13}"));
    for (name, place) in PLACES {
        table += &format!("\n{name:<24}");
        for &(_, call) in CALLS {
            let (say, said) = mpsc::channel();
            visit(*place, move |backend| say.send(word(call(backend))).unwrap());
            // Not to its end: a backend that calls itself back is never dropped, nor is the sender.
            let words: Vec<_> = said.try_iter().collect();
            assert_eq!(words.len(), 1, "{name}");
            table += &format!("{:<13}", words[0]);
        }
    }
    let table: Vec<_> = table.lines().map(str::trim_end).collect();
    insta::assert_snapshot!(table.join("\n"), @"
                            small        large        scope        session      install      lanes
    outside                 works        works        works        works        works        works
    scope                   works        works        open         works        open         works
    session                 running      running      running      running      running      running
    installation            works        works        open         works        open         works
    lane                    works        works        open         works        open         works
    lane of a session       running      running      running      running      running      running
    provider                running      running      running      running      running      running
    provider in a scope     running      running      running      running      running      running
    share of a fan-out      running      running      running      running      running      running
    task of the pool        worker       worker       worker       worker       worker       worker
    stolen sibling          running      running      running      running      running      running
    worker of an executor   running      running      unsupported  running      unsupported  unsupported
    foreign worker          works        works        works        works        works        works
    foreign worker, scope   works        works        works        works        works        works
    foreign worker, session works        works        works        works        works        works
    thread, scope           works        works        works        works        works        works
    thread, session         limit        limit        limit        limit        limit        limit
    thread, lane            works        works        works        works        works        works
    drop in a scope         works        works        open         works        open         works
    drop in a session       running      running      running      running      running      running
    ");
}

#[test]
fn x15_f50_looking_and_dropping_returns_from_every_place() {
    for (_, place) in PLACES {
        let tensor = Mutex::new(None::<Tensor>);
        let (backend, _) = new();
        *tensor.lock().unwrap() =
            Some(backend.clone().add(&vector(LARGE), &vector(LARGE)).unwrap());
        visit(*place, move |busy| {
            assert!(format!("{busy:?}{:?}", busy.domain().arbiter().snapshot()).len() > 10);
            assert!(busy.diagnostics().to_string().contains("arbiter:"));
            let dropped = tensor.lock().unwrap().take();
            assert!(!format!("{dropped:?}").is_empty());
            drop(dropped);
            drop(vector(LARGE));
            busy.clear_buffers();
            let _ = (busy.scope_width(), busy.identity(), busy.threads(), busy.clone());
        });
    }
}

#[test]
fn x13_x15_f51_a_panic_in_every_place_leaves_everything_free() {
    for (name, place) in PLACES {
        let place = *place;
        let (keep, kept) = mpsc::channel();
        let message = watchdog(move || {
            let call = move |backend: &CpuBackend| {
                keep.send(backend.clone()).unwrap();
                panic!("of the call");
            };
            let outcome = catch_unwind(AssertUnwindSafe(|| place(Arc::new(call))));
            assert!(!has_active_execution());
            *outcome.err().unwrap().downcast::<&str>().unwrap()
        });
        assert_eq!(message, "of the call", "{name}");
        let backend = kept.recv().unwrap();
        watchdog(move || {
            let snapshot = backend.domain().arbiter().snapshot();
            assert!(snapshot.holders.is_empty() && snapshot.waiters.is_empty(), "{snapshot:#?}");
            add_outside_of_its_provider(&backend);
        });
    }
}
