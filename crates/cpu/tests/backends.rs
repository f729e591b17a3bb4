//! How a backend comes to its size, what its clones share, and what it says of itself.

#![allow(clippy::unwrap_used, reason = "a test fails by it")]

mod common;

use std::{sync::mpsc, thread};

use common::{CountingArbiter, LARGE, Probe, backend, core_error, ones, vector, watchdog};
use tenferro_arbiter::{Arbiter, CpuSet, HolderState, WaitReason, process_arbiter};
use tenferro_cpu::{CpuBackend, Diagnostics};
use tenferro_ops::TensorComposite;
use tenferro_scope as scope;
use tenferro_tensor::{Tensor, TensorElementwise};

#[test]
fn x1_a_new_backend_has_the_least_of_affinity_and_quota() {
    let diagnostics = CpuBackend::new().unwrap().diagnostics();
    let sizing = &diagnostics.sizing;
    let quota = sizing.quota().map_or(usize::MAX, |quota| quota.cpus.ceil() as usize);
    assert_eq!(diagnostics.threads, sizing.cpus().len().min(quota));
    assert_eq!(diagnostics.threads, sizing.budget());
    assert_eq!(sizing.cap(), None);
}

#[test]
fn x1_an_explicit_cap_bounds_a_backend() {
    let diagnostics = CpuBackend::builder().cap(1).build().unwrap().diagnostics();
    assert_eq!((diagnostics.threads, diagnostics.sizing.cap()), (1, Some(1)));
    let uncapped = CpuBackend::new().unwrap().threads();
    assert_eq!(CpuBackend::builder().cap(1 << 20).build().unwrap().threads(), uncapped);
}

#[test]
fn x1_more_threads_than_allowed_cpus_are_granted_as_many_as_there_are() {
    for threads in [process_arbiter().capacity() + 3, usize::MAX] {
        let mut backend = CpuBackend::with_threads(threads).unwrap();
        assert_eq!(backend.threads(), threads);
        let width = backend.try_install(|| backend.scope_width()).unwrap().unwrap();
        assert!((1..=process_arbiter().capacity()).contains(&width), "{width}");
        // A wide operation starts the pool, which has no use for more threads than CPUs.
        let x = vector(LARGE);
        let sum = backend.add(&x, &x).unwrap();
        assert_eq!(sum.get::<f64>(&[LARGE - 1]).unwrap(), 2.0 * LARGE as f64);
        assert!(threads_of_this_process().is_none_or(|threads| threads < 300));
    }
}

/// How many threads this process has, where the system says so.
fn threads_of_this_process() -> Option<usize> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    status.lines().find_map(|line| line.strip_prefix("Threads:"))?.trim().parse().ok()
}

#[test]
fn x1_no_threads_is_a_typed_error() {
    for builder in [CpuBackend::builder().threads(0), CpuBackend::builder().cap(0)] {
        let error = core_error(builder.build());
        assert!(matches!(error, scope::Error::NoThreads), "{error:?}");
    }
    insta::assert_snapshot!(
        CpuBackend::with_threads(0).unwrap_err(),
        @"build: a domain needs at least one thread; ask for 1 or more"
    );
}

#[test]
fn x1_an_empty_or_foreign_cpu_set_is_a_typed_error() {
    let arbiter = CountingArbiter::new(2);
    let build = |cpus| CpuBackend::builder().arbiter(arbiter.clone()).cpu_set(cpus).build();
    let empty = core_error(build(CpuSet::default()));
    assert!(matches!(empty, scope::Error::Admission(tenferro_arbiter::Error::EmptyCpuSet)));
    let error = core_error(build(CpuSet::from_iter([1, 7])));
    let scope::Error::Admission(tenferro_arbiter::Error::ForeignCpus { foreign, allowed }) = error
    else {
        panic!("{error:?}")
    };
    assert_eq!((foreign, allowed), (CpuSet::from_iter([7]), CpuSet::first(2)));
    assert_eq!(build(CpuSet::from_iter([1])).unwrap().threads(), 1);
}

#[test]
fn x1_a_synthetic_arbiter_runs_a_backend_wider_than_the_machine() {
    let arbiter = CountingArbiter::new(64);
    let backend = CpuBackend::builder().arbiter(arbiter).build().unwrap();
    assert_eq!(backend.threads(), 64);
    assert_eq!(backend.try_install(|| backend.scope_width()).unwrap(), Some(64));
    let (mut four, _) = common::backend(4, 4);
    let x = vector(LARGE);
    let sum = four.add(&x, &x).unwrap();
    let expected: Vec<f64> = (1..=LARGE).map(|i| 2.0 * i as f64).collect();
    assert_eq!(sum.as_slice::<f64>().unwrap(), expected);
    assert_eq!(four.diagnostics().fan_outs, 1);
}

#[test]
fn x2_clones_share_identity_and_pool() {
    let (owner, _) = backend(1, 2);
    let (mut clone, x) = (owner.clone(), vector(64));
    assert_eq!(owner.identity(), clone.identity());
    for _ in 0..3 {
        drop(clone.add(&x, &x).unwrap());
    }
    let buffers = owner.diagnostics().buffers;
    assert_eq!((buffers.fresh, buffers.reused), (1, 2));
    assert_eq!(buffers, clone.diagnostics().buffers);
    drop(owner);
    assert_eq!(clone.add(&x, &x).unwrap().elements(), 64);
}

#[test]
fn x2_separately_built_backends_differ_even_with_equal_settings() {
    let ((one, _), (mut other, _)) = (backend(1, 2), backend(1, 2));
    assert_ne!(one.identity(), other.identity());
    drop(other.add(&vector(64), &vector(64)).unwrap());
    assert_eq!(one.diagnostics().buffers.fresh, 0);
}

#[test]
fn x2_backends_and_tensors_are_send_and_sync() {
    fn is_shared_between_threads<T: Send + Sync>() {}
    is_shared_between_threads::<CpuBackend>();
    is_shared_between_threads::<Tensor>();
    is_shared_between_threads::<Diagnostics>();
}

/// A backend whose products last until told otherwise, on one CPU.
struct Busy {
    backend: CpuBackend,
    arbiter: std::sync::Arc<CountingArbiter>,
    started: mpsc::Receiver<()>,
    finish: mpsc::Sender<()>,
}

impl Busy {
    fn new() -> Self {
        let ((start, started), (finish, finished)) = (mpsc::channel(), mpsc::channel());
        let finished = std::sync::Mutex::new(finished);
        let probe = Probe::new(move |_| {
            start.send(()).unwrap();
            finished.lock().unwrap().recv().unwrap();
        });
        let arbiter = CountingArbiter::new(1);
        let backend = CpuBackend::builder()
            .arbiter(arbiter.clone())
            .buffer_limit(1 << 20)
            .register_provider(probe)
            .build()
            .unwrap();
        Self { backend, arbiter, started, finish }
    }
}

fn named<R: Send + 'static>(
    name: &str,
    body: impl FnOnce() -> R + Send + 'static,
) -> thread::JoinHandle<R> {
    thread::Builder::new().name(name.to_owned()).spawn(body).unwrap()
}

#[test]
fn x3_diagnostics_names_holders_and_waiters_while_an_operation_runs() {
    let text = watchdog(|| {
        let Busy { backend, arbiter, started, finish } = Busy::new();
        let (mut long, mut late) = (backend.clone(), backend.clone());
        let long = named("long", move || long.matmul(&ones(2), &ones(2)).unwrap());
        started.recv().unwrap();
        let late = named("late", move || late.add(&vector(3), &vector(3)).unwrap());
        arbiter.await_snapshot(|snapshot| snapshot.waiters.len() == 1);
        let diagnostics = backend.diagnostics();
        finish.send(()).unwrap();
        assert_eq!(long.join().unwrap().as_slice::<f64>().unwrap(), [2.0; 4]);
        assert_eq!(late.join().unwrap().elements(), 3);
        let [holder] = &diagnostics.arbiter.holders[..] else { panic!("{diagnostics}") };
        assert_eq!((holder.thread.as_str(), holder.state), ("long", HolderState::Running));
        let [waiter] = &diagnostics.arbiter.waiters[..] else { panic!("{diagnostics}") };
        assert_eq!((waiter.thread.as_str(), waiter.reason), ("late", WaitReason::Cpus));
        normalised(&diagnostics)
    });
    insta::assert_snapshot!(text, @r#"
    runtime [n]: up to 1 threads, [sizing]
      topology: [topology]
      executor: inline (Managed, affinity Floating), 0 fan-outs
      provider: probe [version], threads owned by Caller, Concurrent, f64 f32 f16 bf16 c32 c64 i8 i16 i32 i64 u8 u16 u32 u64
      provider: native [version], threads owned by Caller, Concurrent, f64 f32 f16 bf16 c32 c64 i8 i16 i32 i64 u8 u16 u32 u64
      provider: naive [version], threads owned by Caller, Concurrent, f64 f32 f16 bf16 c32 c64 i8 i16 i32 i64 u8 u16 u32 u64
      buffers: 0 kept (0 bytes of at most 1048576), 0 reused, 1 from the system
      arbiter: 0 of 1 CPUs free, 0 parked, 0 overcommitted
      holds: "operation" (1 CPU, running, seen for [age], thread long, owner [n])
      waits: "operation" for 1 to 1 CPUs (Cpus), for [age], thread late
    "#);
}

/// The text of diagnostics without what depends on machine and moment.
fn normalised(diagnostics: &Diagnostics) -> String {
    let mut text = diagnostics.to_string();
    let mut hide = |what: String, name: &str| text = text.replace(&what, name);
    hide(diagnostics.sizing.to_string(), "[sizing]");
    hide(diagnostics.topology.to_string(), "[topology]");
    hide(format!("{}:", diagnostics.identity), "runtime [n]:");
    for provider in &diagnostics.providers {
        hide(
            format!("{} {},", provider.name, provider.version),
            &format!("{} [version],", provider.name),
        );
    }
    for holder in &diagnostics.arbiter.holders {
        hide(format!("{:.1?}, thread", holder.age), "[age], thread");
        hide(format!("owner {}", holder.owner), "owner [n]");
    }
    for waiter in &diagnostics.arbiter.waiters {
        hide(format!("{:.1?}, thread", waiter.waited), "[age], thread");
    }
    text
}

#[test]
fn x3_diagnostics_answers_while_another_thread_holds_a_scope() {
    watchdog(|| {
        let (backend, _) = backend(1, 2);
        let ((open, opened), (close, closed)) = (mpsc::channel(), mpsc::channel::<()>());
        let owner = backend.clone();
        let scope = named("scope", move || {
            owner.with_execution_scope(move || {
                open.send(()).unwrap();
                closed.recv().unwrap();
            })
        });
        opened.recv().unwrap();
        let diagnostics = backend.diagnostics();
        close.send(()).unwrap();
        scope.join().unwrap().unwrap();
        let [holder] = &diagnostics.arbiter.holders[..] else { panic!("{diagnostics}") };
        assert_eq!((holder.label.as_str(), holder.state), ("scope", HolderState::Idle));
        assert_eq!(holder.thread, "scope");
        assert!(backend.diagnostics().arbiter.holders.is_empty());
    });
}

#[test]
fn x3_diagnostics_answers_inside_scopes_and_sessions() {
    watchdog(|| {
        let (backend, _) = backend(1, 1);
        let inside = backend.with_execution_scope(|| backend.diagnostics()).unwrap();
        assert_eq!(inside.arbiter.holders.len(), 1);
        let inside = backend.with_backend_session(|_| backend.diagnostics());
        assert_eq!(inside.arbiter.holders.len(), 1);
    });
}
