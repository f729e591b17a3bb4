//! The floating-point state of threads: a caller's own is respected and left alone, a pool's thread works under the
//! default one.

#![cfg(target_arch = "x86_64")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod samples;

use std::{
    arch::asm,
    collections::HashMap,
    sync::Mutex,
    thread::{self, ThreadId},
    time::{Duration, Instant},
};

use samples::{backend, same};
use tenferro_cpu::CpuBackend;
use tenferro_ops::TensorComposite;
use tenferro_provider::Workers;
use tenferro_scope::Breadth;
use tenferro_tensor::{KeepAxes, Result, Tensor, TensorElementwise, TensorReduction};

const DEFAULT: u32 = 0x1f80;
/// Flush to zero and denormals are zero.
const FLUSHING: u32 = DEFAULT | 0x8040;
/// Round towards plus infinity.
const UPWARDS: u32 = DEFAULT | 0x4000;

/// The control bits of MXCSR, without the flags of past exceptions.
fn state() -> u32 {
    let mut mxcsr = 0_u32;
    // SAFETY: stores the register to four bytes of ours.
    unsafe { asm!("stmxcsr [{}]", in(reg) &raw mut mxcsr, options(nostack)) };
    mxcsr & !0x3f
}

fn set_state(mxcsr: u32) {
    // SAFETY: loads a valid value, all exceptions masked, into the register of this thread.
    unsafe { asm!("ldmxcsr [{}]", in(reg) &raw const mxcsr, options(nostack, readonly)) };
}

/// Runs `work` in another state, and gives its value with the state that it left.
fn under<R>(other: u32, work: impl FnOnce() -> R) -> (R, u32) {
    set_state(other);
    let result = work();
    let left = state();
    set_state(DEFAULT);
    (result, left)
}

/// Enough elements for every thread.
fn many(value: f64) -> Tensor {
    Tensor::full([300, 400], value).unwrap()
}

fn all(tensor: &Tensor, value: f64) -> bool {
    tensor.as_slice::<f64>().unwrap().iter().all(|x| x.to_bits() == value.to_bits())
}

#[test]
fn x51_a_caller_that_flushes_gets_its_own_results_alone_and_keeps_its_state() {
    let mut backend = backend(4);
    let (tiny, one) = (many(1e-310), many(1.0));
    let other = backend.clone();
    let (product, left) = under(FLUSHING, || {
        assert!(!other.diagnostics().default_float_state);
        assert!(other.diagnostics().to_string().contains("floating-point state: not the default"));
        backend.mul(&tiny, &one).unwrap()
    });
    assert_eq!(left, FLUSHING);
    assert!(all(&product, 0.0));
    assert_eq!(backend.domain().fan_outs(), 0);
    assert!(backend.diagnostics().default_float_state);
    assert!(all(&backend.mul(&tiny, &one).unwrap(), 1e-310));
    assert!(backend.domain().fan_outs() > 0);
    assert_eq!(state(), DEFAULT);
}

/// Under another state a wide backend computes what a narrow one does, with nobody's help.
fn is_as_alone(other: u32, run: impl Fn(&mut CpuBackend) -> Result<Tensor>) {
    let (mut alone, mut wide) = (backend(1), backend(4));
    let ((expected, result), left) =
        under(other, || (run(&mut alone).unwrap(), run(&mut wide).unwrap()));
    assert!(same(&expected, &result));
    assert_eq!((left, wide.domain().fan_outs()), (other, 0));
    let usual = run(&mut wide).unwrap();
    assert!(!same(&usual, &result), "the state makes no difference here");
    assert!(wide.domain().fan_outs() > 0);
}

#[test]
fn x51_a_caller_that_rounds_otherwise_gets_its_own_quotients_sums_and_products() {
    let (one, three) = (many(1.0), many(3.0));
    is_as_alone(UPWARDS, |b| b.div(&one, &three));
    let tenths = many(0.1);
    is_as_alone(UPWARDS, |b| b.sum(&tenths, [0, 1], KeepAxes::Drop));
    let (x, y) = (Tensor::full([170, 160], 0.1).unwrap(), Tensor::full([160, 170], 0.3).unwrap());
    is_as_alone(UPWARDS, |b| b.matmul(&x, &y));
}

#[test]
fn x51_scopes_and_sessions_keep_the_callers_state() {
    let owner = backend(4);
    let (tiny, one) = (many(1e-310), many(1.0));
    let mut operations = owner.clone();
    let (in_scope, left) = under(FLUSHING, || {
        owner.with_execution_scope(|| operations.mul(&tiny, &one).unwrap()).unwrap()
    });
    assert!(all(&in_scope, 0.0) && left == FLUSHING);
    let (in_session, left) =
        under(FLUSHING, || owner.with_backend_session(|engine| engine.mul(&tiny, &one).unwrap()));
    assert!(all(&in_session, 0.0) && left == FLUSHING);
    assert_eq!(owner.domain().fan_outs(), 0);
}

/// Runs `job` on threads of the backend's domain until some that are not the caller have taken part; gives what each
/// thread said last.
fn on_workers<R: Send>(backend: &CpuBackend, job: impl Fn() -> R + Sync) -> HashMap<ThreadId, R> {
    let caller = thread::current().id();
    let said = Mutex::new(HashMap::new());
    let start = Instant::now();
    loop {
        let entry = backend.domain().admit(Breadth::Wide).unwrap();
        entry
            .run(|guard| {
                guard.workers().run(64, &|_| {
                    let answer = job();
                    said.lock().unwrap().insert(thread::current().id(), answer);
                    thread::yield_now();
                });
            })
            .unwrap();
        if said.lock().unwrap().keys().any(|&id| id != caller) {
            return said.into_inner().unwrap();
        }
        assert!(start.elapsed() < Duration::from_secs(120), "no worker took part");
    }
}

#[test]
fn f48_subnormal_numbers_stay_subnormal_on_workers_that_some_job_left_flushing() {
    let mut backend = backend(4);
    let (tiny, one) = (many(1e-310), many(1.0));
    let caller = thread::current().id();
    let poisoned = on_workers(&backend, || set_state(FLUSHING));
    set_state(DEFAULT);
    let (before, start) = (backend.domain().fan_outs(), Instant::now());
    for _ in 0..20 {
        assert!(all(&backend.mul(&tiny, &one).unwrap(), 1e-310));
        let total = backend.sum(&tiny, [0, 1], KeepAxes::Drop).unwrap();
        assert!(total.get::<f64>(&[]).unwrap() > 1e-306);
        assert!(start.elapsed() < Duration::from_secs(120));
    }
    assert!(backend.domain().fan_outs() > before);
    // A worker's own state is as it was: it is not ours to mend.
    let states = on_workers(&backend, state);
    for (id, state) in states {
        let expected = if id != caller && poisoned.contains_key(&id) { FLUSHING } else { DEFAULT };
        assert_eq!(state, expected);
    }
}

#[test]
fn f48_subnormal_numbers_stay_subnormal_at_every_width() {
    for threads in [1, 2, 4] {
        let mut backend = backend(threads);
        assert!(all(&backend.mul(&many(1e-310), &many(1.0)).unwrap(), 1e-310));
    }
}
