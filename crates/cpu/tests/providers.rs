//! Who computes products: by name and preference, in which mode, and who comes next.

#![allow(clippy::unwrap_used, reason = "a test fails by it")]

mod common;

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use common::{CountingArbiter, core_error, ones, watchdog};
use tenferro_arbiter as arbiter;
use tenferro_cpu::{CpuBackend, CpuBackendBuilder, Error, LaneCount};
use tenferro_engine::Mode;
use tenferro_ops::{Engine, Scale, TensorComposite};
use tenferro_provider::{
    self as provider, Capabilities, Chain, Outcome, Preference, Product, Provider, Reason,
    Reentrancy, ThreadOwnership, Workers, counting::Counting,
};
use tenferro_providers::Naive;
use tenferro_scope as scope;
use tenferro_tensor::{AsOperand, Contraction, DType, Tensor, TensorDot};

/// What a provider of these tests answers.
#[derive(Clone, Copy)]
enum Answer {
    Computes,
    DoesNot,
    Fails,
}

/// A provider with a name, capabilities and an answer of the test's choice.
struct Fake {
    name: &'static str,
    capabilities: Capabilities,
    answer: Answer,
}

impl Provider for Fake {
    fn name(&self) -> &str {
        self.name
    }

    fn version(&self) -> &str {
        "1"
    }

    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn product(
        &self,
        request: &mut Product<'_>,
        workers: &dyn Workers,
    ) -> Result<Outcome, provider::Error> {
        match self.answer {
            Answer::Computes => Naive::new().product(request, workers),
            Answer::DoesNot => Ok(Outcome::Unsupported(Reason::Other("not today".into()))),
            Answer::Fails => {
                Err(provider::Error::Failed { provider: self.name.into(), source: "broken".into() })
            }
        }
    }
}

/// A counted provider of f64 products whose threads are `threads`.
fn fake(name: &'static str, answer: Answer, threads: ThreadOwnership) -> Arc<Counting> {
    let mut capabilities = Capabilities::sequential([DType::F64]);
    capabilities.threads = threads;
    Arc::new(Counting::new(Arc::new(Fake { name, capabilities, answer })))
}

/// Counted providers "one" and "two", which compute, registered in this order.
fn two() -> ([Arc<Counting>; 2], CpuBackendBuilder) {
    let providers =
        ["one", "two"].map(|name| fake(name, Answer::Computes, ThreadOwnership::Caller));
    let [one, two] = providers.clone();
    let builder = CpuBackend::builder().arbiter(CountingArbiter::new(2));
    (providers, builder.register_provider(one).register_provider(two))
}

fn multiply(builder: CpuBackendBuilder) -> Result<(), Error> {
    let product = builder.build()?.matmul(&ones(2), &ones(2))?;
    assert_eq!(product.as_slice::<f64>().unwrap(), [2.0; 4]);
    Ok(())
}

#[test]
fn x41_the_last_registered_provider_is_asked_first() {
    let ([one, two], builder) = two();
    multiply(builder).unwrap();
    assert_eq!((one.count(), two.count()), (0, 1));
}

#[test]
fn x41_a_provider_is_chosen_by_name() {
    let ([one, two], builder) = two();
    multiply(builder.provider("one")).unwrap();
    assert_eq!((one.count(), two.count()), (1, 0));
    let ([one, two], builder) = self::two();
    multiply(builder.provider("native")).unwrap();
    assert_eq!((one.count(), two.count()), (0, 0));
}

#[test]
fn x41_a_provider_is_chosen_by_order_of_preference() {
    let ([one, two], builder) = two();
    let order = ["mkl", "one", "two"].map(str::to_owned).to_vec();
    multiply(builder.provider_preference(Preference::Order(order))).unwrap();
    assert_eq!((one.count(), two.count()), (1, 0));
}

#[test]
fn x41_diagnostics_shows_the_chosen_order_and_what_is_registered() {
    let (_, builder) = two();
    let diagnostics = builder.provider("one").build().unwrap().diagnostics();
    let names: Vec<_> = diagnostics.providers.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names, ["one", "two", "native", "naive"]);
    assert_eq!(diagnostics.registered, ["two", "one", "native", "naive"]);
    assert_eq!(diagnostics.providers[0].threads, ThreadOwnership::Caller);
}

#[test]
fn x40_an_unknown_or_duplicate_provider_is_a_typed_error() {
    let source = |builder: CpuBackendBuilder| match builder.build().unwrap_err() {
        Error::BackendSource { source, .. } => *source.downcast::<provider::Error>().unwrap(),
        other => panic!("{other:?}"),
    };
    let unknown = source(CpuBackend::builder().provider("atlas"));
    assert!(matches!(&unknown, provider::Error::NotFound { name, .. } if name == "atlas"));
    insta::assert_snapshot!(unknown, @"provider `atlas` was not found: no provider of this name is known; available: native, naive");
    let duplicate = source(CpuBackend::builder().register_provider(Arc::new(Naive::new())));
    assert!(matches!(duplicate, provider::Error::Duplicate { name } if name == "naive"));
}

#[cfg(not(feature = "loaded"))]
#[test]
fn x44_a_library_is_disabled_in_a_build_that_cannot_load_one() {
    let Err(Error::BackendSource { source, .. }) = CpuBackend::builder().provider("mkl").build()
    else {
        panic!("it was built");
    };
    let disabled = source.downcast_ref::<provider::Error>().unwrap();
    assert!(matches!(disabled, provider::Error::Disabled { feature, .. } if feature == "loaded"));
}

#[test]
fn x45_an_unsupported_answer_is_passed_to_the_next_provider() {
    let picky = fake("picky", Answer::DoesNot, ThreadOwnership::Caller);
    let builder = CpuBackend::builder().arbiter(CountingArbiter::new(1));
    // Native and naive follow.
    multiply(builder.register_provider(picky.clone())).unwrap();
    let calls = picky.take();
    assert_eq!(calls.len(), 1);
    assert!(!calls[0].executed);
}

#[test]
fn x45_a_product_that_no_provider_does_is_unsupported() {
    let picky = fake("picky", Answer::DoesNot, ThreadOwnership::Caller);
    let builder = CpuBackend::builder().register_provider(picky);
    let error =
        multiply(builder.provider_preference(Preference::Only("picky".into()))).unwrap_err();
    assert!(matches!(error, Error::Unsupported { op: "dot_general", .. }), "{error:?}");
    insta::assert_snapshot!(error, @"dot_general: no provider does this product: `picky`: not today; add `naive`, which does all of them, to the chain");
}

#[test]
fn x32_x45_an_unsupported_product_leaves_the_output_untouched() {
    let picky = fake("picky", Answer::DoesNot, ThreadOwnership::Caller);
    let builder = CpuBackend::builder().register_provider(picky);
    let only = builder.provider_preference(Preference::Only("picky".into()));
    let mut backend = only.build().unwrap();
    let contraction = Contraction::over([1], [0]);
    let (x, mut out) = (ones(2), Tensor::full(vec![2, 2], 7.0_f64).unwrap());
    let result = backend.contract_into(
        &contraction,
        &x.as_operand(),
        &x.as_operand(),
        Scale::ASSIGN,
        out.as_operand_mut().unwrap(),
    );
    assert!(matches!(result, Err(Error::Unsupported { .. })), "{result:?}");
    assert_eq!(out.as_slice::<f64>().unwrap(), [7.0; 4]);
}

#[test]
fn x45_any_other_failure_is_final() {
    let ([one, _], builder) = two();
    let broken = fake("broken", Answer::Fails, ThreadOwnership::Caller);
    let error = multiply(builder.register_provider(broken)).unwrap_err();
    let Error::BackendSource { op: "dot_general", source } = error else { panic!("{error:?}") };
    assert!(matches!(
        source.downcast_ref::<provider::Error>(),
        Some(provider::Error::Failed { provider, .. }) if provider == "broken"
    ));
    assert_eq!(one.count(), 0);
}

#[test]
fn x46_a_matrix_times_its_own_transpose_takes_about_half_the_work() {
    let counted = fake("counted", Answer::Computes, ThreadOwnership::Caller);
    let builder = CpuBackend::builder().arbiter(CountingArbiter::new(2));
    let mut backend = builder.register_provider(counted.clone()).build().unwrap();
    let (m, k) = (300, 64);
    let elements: Vec<f64> = (0..m * k).map(|number| f64::from(number % 17)).collect();
    let matrix = || Tensor::from_vec_col_major(vec![300, 64], elements.clone()).unwrap();
    let (own, other) = (matrix(), matrix());
    let mut product = |lhs: &Tensor, rhs: &Tensor| {
        let product = backend.dot_general(lhs, rhs, Contraction::over([1], [1])).unwrap();
        let work = |call: provider::counting::Call| call.extents.iter().product::<usize>();
        (product.to_vec_col_major::<f64>().unwrap(), counted.take().into_iter().map(work).sum())
    };
    let (whole, all): (_, usize) = product(&own, &other);
    let (mirrored, some): (_, usize) = product(&own, &own);
    assert_eq!(mirrored, whole);
    assert_eq!(all, 300 * 300 * 64);
    assert!(some < all * 7 / 10, "{some} of {all}");
}

#[test]
fn x34_at_budget_one_every_product_is_sequential() {
    let counted = fake("counted", Answer::Computes, ThreadOwnership::Caller);
    let builder = CpuBackend::builder().threads(1).arbiter(CountingArbiter::new(2));
    let mut backend = builder.register_provider(counted.clone()).build().unwrap();
    backend.matmul(&ones(128), &ones(128)).unwrap();
    backend.matmul(&ones(2), &ones(2)).unwrap();
    let widths: Vec<_> = counted.take().iter().map(|call| call.width).collect();
    assert_eq!(widths, [1, 1]);
    assert_eq!(backend.diagnostics().fan_outs, 0);
}

#[test]
fn x34_at_budget_two_a_product_gets_both_threads_where_that_pays() {
    let counted = fake("counted", Answer::Computes, ThreadOwnership::Caller);
    let builder = CpuBackend::builder().threads(2).arbiter(CountingArbiter::new(2));
    let mut backend = builder.register_provider(counted.clone()).build().unwrap();
    backend.matmul(&ones(128), &ones(128)).unwrap();
    backend.matmul(&ones(2), &ones(2)).unwrap();
    let widths: Vec<_> = counted.take().iter().map(|call| call.width).collect();
    assert_eq!(widths, [2, 1]);
}

#[test]
fn x34_a_provider_with_threads_of_its_own_is_never_fanned_out_as_well() {
    let inner = fake("inner", Answer::Computes, ThreadOwnership::BoundedPerCall);
    let builder = CpuBackend::builder().threads(2).arbiter(CountingArbiter::new(2));
    let mut backend = builder.register_provider(inner.clone()).build().unwrap();
    backend.matmul(&ones(128), &ones(128)).unwrap();
    assert_eq!(inner.take()[0].width, 2);
    assert_eq!(backend.diagnostics().fan_outs, 0);
}

/// Workers that count what is shared out to them.
struct Width(usize, AtomicUsize);

impl Workers for Width {
    fn width(&self) -> usize {
        self.0
    }

    fn run(&self, jobs: usize, job: &(dyn Fn(usize) + Sync)) {
        self.1.fetch_add(1, Ordering::Relaxed);
        (0..jobs).for_each(job);
    }
}

#[test]
fn x34_the_mode_follows_from_width_work_and_who_owns_the_threads() {
    let chain = |threads| -> Chain {
        let provider: Arc<dyn Provider> = fake("it", Answer::Computes, threads);
        Chain::new([provider])
    };
    let (small, large) = (1 << 10, 1 << 24);
    for (width, work, threads, mode) in [
        (1, large, ThreadOwnership::Caller, Mode::Sequential),
        (1, large, ThreadOwnership::BoundedPerCall, Mode::Sequential),
        (2, small, ThreadOwnership::Caller, Mode::Sequential),
        (2, small, ThreadOwnership::ProcessWide, Mode::Sequential),
        (2, large, ThreadOwnership::Caller, Mode::Outer),
        (2, large, ThreadOwnership::BoundedPerCall, Mode::Inner),
        (2, large, ThreadOwnership::PerThread, Mode::Inner),
        (2, large, ThreadOwnership::ProcessWide, Mode::Inner),
    ] {
        let workers = Width(width, AtomicUsize::new(0));
        assert_eq!(Mode::of(&workers, &chain(threads), work), mode, "{width} {work} {threads:?}");
        assert_eq!(workers.1.into_inner(), 0);
    }
    assert_eq!(Mode::of(&Width(2, AtomicUsize::new(0)), &Chain::new([]), large), Mode::Outer);
}

/// A counted provider that one caller at a time may enter with more than one thread.
fn exclusive(name: &'static str, threads: ThreadOwnership) -> Arc<Counting> {
    let mut capabilities = Capabilities::sequential([DType::F64]);
    capabilities.threads = threads;
    capabilities.reentrancy = Reentrancy::Exclusive;
    Arc::new(Counting::new(Arc::new(Fake { name, capabilities, answer: Answer::Computes })))
}

#[test]
fn x13_a_named_exclusive_provider_is_held_until_the_scope_returns_or_unwinds() {
    watchdog(|| {
        let arbiter = CountingArbiter::impatient(4);
        let lone = exclusive("lone", ThreadOwnership::BoundedPerCall);
        let build = |provider: &Arc<Counting>| {
            let builder = CpuBackend::builder().threads(2).arbiter(arbiter.clone());
            let builder = builder.register_provider(provider.clone());
            builder.provider(provider.name()).build().unwrap()
        };
        let other = exclusive("other", ThreadOwnership::BoundedPerCall);
        let (owner, second, beside) = (build(&lone), build(&lone), build(&other));
        let elsewhere = |backend: &CpuBackend| {
            thread::scope(|threads| {
                threads.spawn(|| backend.with_execution_scope(|| ())).join().unwrap()
            })
        };
        owner
            .with_execution_scope(|| {
                owner.clone().matmul(&ones(128), &ones(128)).unwrap();
                // CPUs there are, the provider there is not.
                let error = core_error(elsewhere(&second));
                let scope::Error::Admission(arbiter::Error::WaitLimit { holders, .. }) = error
                else {
                    panic!("{error:?}")
                };
                assert!(holders[0].provider.is_some(), "{holders:?}");
                elsewhere(&beside).unwrap();
                // One thread excludes nobody.
                let mut small = second.clone();
                let small = thread::spawn(move || small.matmul(&ones(2), &ones(2)).unwrap());
                assert_eq!(small.join().unwrap().as_slice::<f64>().unwrap(), [2.0; 4]);
            })
            .unwrap();
        elsewhere(&second).unwrap();
        let unwound = common::panic_message(|| {
            owner.with_execution_scope(|| panic!("inside")).unwrap();
        });
        assert_eq!(unwound, "inside");
        elsewhere(&second).unwrap();
        let widths: Vec<_> = lone.take().iter().map(|call| call.width).collect();
        assert_eq!(widths, [2, 1]);
    });
}

/// A backend of 2 threads that names `provider`, and the reference that it falls back on, counted.
fn naming(provider: &Arc<Counting>, arbiter: &Arc<CountingArbiter>) -> (CpuBackend, Arc<Counting>) {
    let reserve = Arc::new(Counting::new(Arc::new(Fake {
        name: "reserve",
        capabilities: Capabilities::sequential([DType::F64]),
        answer: Answer::Computes,
    })));
    let builder = CpuBackend::builder().threads(2).arbiter(arbiter.clone());
    let builder = builder.register_provider(reserve.clone()).register_provider(provider.clone());
    (builder.provider(provider.name()).build().unwrap(), reserve)
}

#[test]
fn x33_x45_a_foreign_worker_goes_on_with_the_next_provider_if_its_own_is_held() {
    watchdog(|| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        for threads in [ThreadOwnership::BoundedPerCall, ThreadOwnership::ProcessWide] {
            let arbiter = CountingArbiter::new(2);
            let lone = exclusive("lone", threads);
            let ((owner, _), (second, reserve)) =
                (naming(&lone, &arbiter), naming(&lone, &arbiter));
            let on_worker = || pool.install(|| second.clone().matmul(&ones(128), &ones(128)));
            owner
                .with_execution_scope(|| {
                    // The scope waits for the worker, which does not wait for what the scope holds.
                    assert_eq!(on_worker().unwrap().get::<f64>(&[5, 5]).unwrap(), 128.0);
                    let scope = pool.install(|| {
                        let mut inside = second.clone();
                        second.with_execution_scope(|| inside.matmul(&ones(128), &ones(128)))
                    });
                    scope.unwrap().unwrap();
                })
                .unwrap();
            assert_eq!((lone.count(), reserve.count()), (0, 2), "{threads:?}");
            on_worker().unwrap();
            let widths: Vec<_> = lone.take().iter().map(|call| call.width).collect();
            assert_eq!((widths, reserve.count()), (vec![1], 2), "{threads:?}");
            arbiter.assert_all_returned();
        }
    });
}

#[test]
fn x17_x13_lanes_share_the_provider_that_their_scope_holds_one_thread_each() {
    watchdog(|| {
        let arbiter = CountingArbiter::impatient(4);
        let lone = exclusive("lone", ThreadOwnership::BoundedPerCall);
        let builder = CpuBackend::builder().threads(4).arbiter(arbiter.clone());
        let owner = builder.register_provider(lone.clone()).provider("lone").build().unwrap();
        let (second, _) = naming(&lone, &arbiter);
        let together = std::sync::Barrier::new(2);
        let widths = owner.with_lanes(LaneCount::Exactly(2), |backend, lane| {
            together.wait();
            backend.matmul(&ones(128), &ones(128)).unwrap();
            if lane.index() == 0 {
                // It is still held against others, whose wait is not for an idle scope.
                let held = thread::scope(|threads| {
                    threads.spawn(|| second.with_execution_scope(|| ())).join().unwrap()
                });
                assert!(matches!(core_error(held), scope::Error::Admission(_)));
            }
            together.wait();
            lane.width()
        });
        assert_eq!(widths.unwrap(), [2, 2]);
        let widths: Vec<_> = lone.take().iter().map(|call| call.width).collect();
        assert_eq!(widths, [1, 1]);
        owner.clone().matmul(&ones(128), &ones(128)).unwrap();
        assert_eq!(lone.take()[0].width, 4);
        let of_session = owner.with_backend_session(|session| {
            session.run_lanes(2, &|engine, _| engine.matmul(&ones(128), &ones(128)).map(drop))
        });
        of_session.unwrap();
        let widths: Vec<_> = lone.take().iter().map(|call| call.width).collect();
        assert_eq!(widths, [1, 1]);
        arbiter.assert_all_returned();
    });
}

#[test]
fn x22_an_exclusive_provider_that_nobody_named_computes_on_one_thread() {
    for threads in [ThreadOwnership::BoundedPerCall, ThreadOwnership::ProcessWide] {
        let lone = exclusive("lone", threads);
        let builder = CpuBackend::builder().threads(2).arbiter(CountingArbiter::new(2));
        let mut backend = builder.register_provider(lone.clone()).build().unwrap();
        backend.matmul(&ones(128), &ones(128)).unwrap();
        assert_eq!(lone.take()[0].width, 1);
    }
}
