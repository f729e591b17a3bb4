//! The cache of prepared programs: bounded, single flight, and never locked while a program is prepared.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
};

use tenferro_ops::{CustomOp, Engine, Meta, reference::Reference};
use tenferro_program::{Cache, Pass, Passes, Pattern, Program, Spec, Template, Traced, trace};
use tenferro_tensor::{DType, Operand, Result, Shape, Tensor, Validation};

fn program(extent: usize) -> Program {
    trace(&[Spec::new(DType::F64, [extent]).unwrap()], |xs| xs[0].exp()).unwrap()
}

/// The identity, which does what a test says when its shapes are inferred: as a template becomes a program.
struct Probe(Mutex<Arc<dyn Fn() -> Result<()> + Send + Sync>>);

impl std::fmt::Debug for Probe {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Probe")
    }
}

impl CustomOp for Probe {
    fn name(&self) -> &'static str {
        "probe"
    }

    fn infer(&self, inputs: &[Meta]) -> Result<Meta> {
        let inferred = Arc::clone(&*self.0.lock().unwrap());
        inferred()?;
        Ok(inputs[0].clone())
    }

    fn evaluate(&self, _: &mut dyn Engine, inputs: &[Operand<'_>]) -> Result<Tensor> {
        inputs[0].view().to_tensor()
    }
}

impl Probe {
    /// A template with such a step, and the step.
    fn template() -> (Template, Arc<Probe>) {
        let probe = Arc::new(Probe(Mutex::new(Arc::new(|| Ok(())))));
        let template = Template::trace(&[Pattern::new(DType::F64, ["n".into()])], |xs| {
            Traced::custom(Arc::clone(&probe) as Arc<dyn CustomOp>, &[&xs[0]])
        });
        (template.unwrap(), probe)
    }

    fn set(&self, inferred: impl Fn() -> Result<()> + Send + Sync + 'static) {
        *self.0.lock().unwrap() = Arc::new(inferred);
    }
}

fn sized(n: usize) -> [Meta; 1] {
    [Meta { dtype: DType::F64, shape: Shape::new(&[n]).unwrap() }]
}

/// Returns when `done` says so.
fn wait_until(done: impl Fn() -> bool) {
    while !done() {
        thread::yield_now();
    }
}

#[test]
fn equal_programs_are_prepared_once_and_others_each() {
    let cache = Cache::new(8);
    let first = cache.prepare(&program(3)).unwrap();
    // Traced again: equal, though not the same object.
    assert!(Arc::ptr_eq(&first, &cache.prepare(&program(3)).unwrap()));
    assert!(!Arc::ptr_eq(&first, &cache.prepare(&program(4)).unwrap()));
    let counters = cache.counters();
    assert_eq!((counters.preparations, counters.hits, counters.waits), (2, 1, 0));
    assert_eq!(cache.len(), 2);
}

#[test]
fn a_template_is_prepared_once_for_each_size() {
    let (template, _) = Probe::template();
    let cache = Cache::new(8);
    for n in [3, 4, 3, 4, 3] {
        let x = Tensor::ones(DType::F64, [n]).unwrap();
        let results = cache.run(&mut Reference, &template, vec![(&x).into()]).unwrap();
        assert_eq!(results[0].shape()[..], [n]);
    }
    let counters = cache.counters();
    assert_eq!((counters.preparations, counters.hits), (2, 3));
}

#[test]
fn what_was_used_longest_ago_is_forgotten_first() {
    let cache = Cache::new(2);
    let kept = cache.prepare(&program(1)).unwrap();
    cache.prepare(&program(2)).unwrap();
    cache.prepare(&program(1)).unwrap();
    cache.prepare(&program(3)).unwrap();
    assert_eq!((cache.len(), cache.counters().evictions), (2, 1));
    assert!(Arc::ptr_eq(&kept, &cache.prepare(&program(1)).unwrap()));
    let before = cache.counters().preparations;
    cache.prepare(&program(2)).unwrap();
    assert_eq!(cache.counters().preparations, before + 1);
}

#[test]
fn passes_are_those_of_the_cache() {
    let passes = Passes { dead_code: Pass::Off, ..Passes::none() };
    let unused = trace(&[Spec::new(DType::F64, [2]).unwrap()], |xs| {
        drop(xs[0].exp());
        xs[0].sin()
    });
    let unused = unused.unwrap();
    let steps = |cache: &Cache| cache.prepare(&unused).unwrap().program().steps().len();
    assert_eq!(steps(&Cache::with_passes(1, passes)), 2);
    assert_eq!(steps(&Cache::new(1)), 1);
}

#[test]
fn nothing_is_locked_while_a_program_is_prepared_and_others_wait_for_it() {
    let (template, probe) = Probe::template();
    let cache = Cache::new(8);
    cache.prepare(&program(3)).unwrap();
    let (begun, gate) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let inferred = Arc::new(AtomicUsize::new(0));
    {
        let (begun, gate, inferred) =
            (Arc::clone(&begun), Arc::clone(&gate), Arc::clone(&inferred));
        probe.set(move || {
            inferred.fetch_add(1, Ordering::SeqCst);
            begun.store(true, Ordering::SeqCst);
            wait_until(|| gate.load(Ordering::SeqCst));
            Ok(())
        });
    }
    let all = thread::scope(|scope| {
        let get = || cache.prepare_for(&template, &sized(5)).unwrap();
        let pilot = scope.spawn(get);
        wait_until(|| begun.load(Ordering::SeqCst));
        let others: Vec<_> = (0..3).map(|_| scope.spawn(get)).collect();
        wait_until(|| cache.counters().waits == 3);
        // The preparation has not ended, and the table is free: for what is there, and for what is not.
        cache.prepare(&program(3)).unwrap();
        cache.prepare(&program(4)).unwrap();
        assert_eq!(cache.len(), 2);
        gate.store(true, Ordering::SeqCst);
        let mut all = vec![pilot.join().unwrap()];
        all.extend(others.into_iter().map(|other| other.join().unwrap()));
        all
    });
    assert!(all.iter().all(|prepared| Arc::ptr_eq(prepared, &all[0])));
    assert_eq!(inferred.load(Ordering::SeqCst), 1);
    let counters = cache.counters();
    assert_eq!((counters.preparations, counters.hits, counters.waits), (3, 1, 3));
}

#[test]
fn who_waits_for_a_preparation_that_fails_or_panics_tries_for_itself() {
    for panics in [false, true] {
        let (template, probe) = Probe::template();
        let cache = Cache::new(8);
        let (tries, gate) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
        {
            let (tries, gate) = (Arc::clone(&tries), Arc::clone(&gate));
            probe.set(move || {
                if tries.fetch_add(1, Ordering::SeqCst) > 0 {
                    return Ok(());
                }
                wait_until(|| gate.load(Ordering::SeqCst));
                assert!(!panics, "as the test says");
                Err(Validation::Rule { rule: "not this time" }.of("probe"))
            });
        }
        thread::scope(|scope| {
            let (cache, template) = (&cache, &template);
            let get = move || cache.prepare_for(template, &sized(5));
            let pilot = scope.spawn(move || catch_unwind(AssertUnwindSafe(get)));
            wait_until(|| tries.load(Ordering::SeqCst) == 1);
            let other = scope.spawn(get);
            wait_until(|| cache.counters().waits == 1);
            gate.store(true, Ordering::SeqCst);
            let first = pilot.join().unwrap();
            assert!(if panics { first.is_err() } else { first.unwrap().is_err() });
            other.join().unwrap().unwrap();
        });
        let counters = cache.counters();
        assert_eq!((counters.preparations, counters.failures), (2, 1), "panics: {panics}");
        assert_eq!(cache.len(), 1);
    }
}

#[test]
fn a_step_that_asks_for_its_own_program_does_not_wait_for_itself() {
    let (template, probe) = Probe::template();
    let cache = Arc::new(Cache::new(8));
    let asked = Arc::new(AtomicUsize::new(0));
    {
        let (cache, template, asked) = (Arc::clone(&cache), template.clone(), Arc::clone(&asked));
        probe.set(move || {
            if asked.fetch_add(1, Ordering::SeqCst) == 0 {
                cache.prepare_for(&template, &sized(5)).unwrap();
            }
            Ok(())
        });
    }
    cache.prepare_for(&template, &sized(5)).unwrap();
    assert_eq!(asked.load(Ordering::SeqCst), 2);
    assert_eq!(cache.counters().preparations, 1);
}
