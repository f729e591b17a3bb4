//! What hooks, and other code that is called from within a sweep, see and may do.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;
#[path = "../../arbiter/tests/watchdog/mod.rs"]
mod watchdog;

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    ptr::NonNull,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use common::{ad, gradient, number, scalar, values};
use tenferro_ad::{Autodiff, Function, Variable, grad, hvp, jvp, vjp};
use tenferro_ops::{Engine, reference::Reference};
use tenferro_tensor::{
    DType, Elementwise, Error, Operand, Primitive, Result, Tensor, Validation, Vocabulary,
};
use watchdog::with_watchdog;

/// A variable for hooks of its own graph. They borrow it from here: a hook that kept it would keep itself.
#[derive(Clone)]
struct Lent(Arc<Mutex<Option<Variable>>>);

impl Lent {
    fn new(x: &Variable) -> Self {
        Self(Arc::new(Mutex::new(Some(x.clone()))))
    }

    fn get(&self) -> Variable {
        self.0.lock().unwrap().clone().unwrap()
    }

    /// The variable, the first time only.
    fn take(&self) -> Option<Variable> {
        self.0.lock().unwrap().take()
    }
}

#[test]
fn hooks_see_and_change_gradients_in_order() {
    let seen = Arc::new(AtomicUsize::new(0));
    let x = ad().variable(scalar(3.0)).unwrap();
    let shifted = (&x + 1.0).unwrap();
    let count = Arc::clone(&seen);
    shifted
        .on_gradient(move |gradient| {
            count.fetch_add(1, Ordering::Relaxed);
            gradient * 10.0
        })
        .unwrap();
    shifted.on_gradient(|gradient| gradient + 1.0).unwrap();
    // The hooks belong to what was shifted, though adding passes gradients on as they are.
    let loss = (&shifted.mul(&shifted).unwrap() + &x).unwrap();
    loss.backward().unwrap();
    assert_eq!(seen.load(Ordering::Relaxed), 1);
    assert_eq!(gradient(&x), [8.0 * 10.0 + 1.0 + 1.0]);
    let error = ad().constant(scalar(1.0)).on_gradient(|g| Ok(g.clone())).unwrap_err();
    assert!(error.to_string().contains("no gradient"), "{error}");
}

#[test]
fn a_hook_that_makes_something_else_of_a_gradient_is_refused() {
    let x = ad().variable(scalar(3.0)).unwrap();
    let y = x.mul(&x).unwrap();
    y.on_gradient(|gradient| gradient.reshape([1])).unwrap();
    let error = y.backward().unwrap_err();
    let Error::Validation { op: "gradient", problem, .. } = error else { panic!("{error}") };
    assert!(matches!(*problem, Validation::ShapeMismatch { .. }), "{problem}");
    assert!(x.gradient().is_none());
}

#[test]
fn a_hook_sees_what_earlier_sweeps_left_and_may_clear_it() {
    with_watchdog(|| {
        let x = ad().variable(scalar(3.0)).unwrap();
        let y = x.mul(&x).unwrap();
        let sweep = || y.clone().backward().unwrap();
        sweep();

        let (seen, lent) = (Arc::new(Mutex::new(Vec::new())), Lent::new(&x));
        let (seeing, own) = (Arc::clone(&seen), lent.clone());
        x.on_gradient(move |gradient| {
            seeing.lock().unwrap().push(own.get().gradient().map(|sum| sum.get::<f64>(&[])));
            Ok(gradient.clone())
        })
        .unwrap();
        sweep();
        assert_eq!(gradient(&x), [12.0]);

        let own = lent.clone();
        x.on_gradient(move |gradient| {
            own.get().clear_gradient();
            Ok(gradient.clone())
        })
        .unwrap();
        sweep();
        // What it cleared were the two sweeps before.
        assert_eq!(gradient(&x), [6.0]);
        let seen = seen.lock().unwrap();
        let seen: Vec<f64> =
            seen.iter().map(|sum| *sum.as_ref().unwrap().as_ref().unwrap()).collect();
        assert_eq!(seen, [6.0, 12.0]);
        lent.take();
    });
}

#[test]
fn a_hook_that_is_added_on_the_way_is_called_where_the_sweep_has_still_to_come() {
    with_watchdog(|| {
        let x = ad().variable(scalar(3.0)).unwrap();
        let y = x.mul(&x).unwrap();
        let calls = [(); 2].map(|()| Arc::new(AtomicUsize::new(0)));
        let count = |calls: &Arc<AtomicUsize>| {
            let calls = Arc::clone(calls);
            move |gradient: &Variable| {
                calls.fetch_add(1, Ordering::Relaxed);
                Ok(gradient.clone())
            }
        };
        let counts = || [0, 1].map(|place| calls[place].load(Ordering::Relaxed));
        let (own, below) = (Lent::new(&y), Lent::new(&x));
        let added = [count(&calls[0]), count(&calls[1])];
        y.on_gradient(move |gradient| {
            if let (Some(own), Some(below)) = (own.take(), below.take()) {
                own.on_gradient(added[0].clone())?;
                below.on_gradient(added[1].clone())?;
            }
            Ok(gradient.clone())
        })
        .unwrap();
        y.clone().backward().unwrap();
        assert_eq!(counts(), [0, 1]);
        y.backward().unwrap();
        assert_eq!(counts(), [1, 2]);
    });
}

#[test]
fn a_hook_may_sweep_any_graph_and_its_own_from_this_thread_or_another() {
    for other_thread in [false, true] {
        with_watchdog(move || {
            let x = ad().variable(scalar(3.0)).unwrap();
            let y = x.mul(&x).unwrap();
            let loss = y.mul(&y).unwrap();
            let (own, leaf) = (Lent::new(&loss), x.clone());
            y.on_gradient(move |gradient| {
                // The sweep within passes here, too.
                if let Some(loss) = own.take() {
                    let sweep = || loss.backward().and_then(|()| (&leaf * 5.0)?.backward());
                    match other_thread {
                        true => std::thread::scope(|threads| threads.spawn(sweep).join().unwrap())?,
                        false => sweep()?,
                    }
                    // It has come to its end: 4 x^3, and 5.
                    assert_eq!(common::gradient(&leaf), [113.0]);
                }
                Ok(gradient.clone())
            })
            .unwrap();
            loss.backward().unwrap();
            assert_eq!(gradient(&x), [113.0 + 108.0]);
        });
    }
}

#[test]
fn a_hook_that_panics_or_fails_ends_the_sweep_and_leaves_gradients_as_they_were() {
    with_watchdog(|| {
        let ad = ad();
        // The gradient of the later leaf is known before the other one's hook is called.
        let [early, late] = [3.0, 5.0].map(|x| ad.variable(scalar(x)).unwrap());
        let loss = early.mul(&late).unwrap();
        let sweep = || loss.clone().backward();
        let turns = AtomicUsize::new(0);
        early
            .on_gradient(move |gradient| match turns.fetch_add(1, Ordering::Relaxed) {
                0 => panic!("a hook of a test"),
                2 => Err(Error::OutOfMemory { op: "hook", bytes: 7 }),
                _ => Ok(gradient.clone()),
            })
            .unwrap();
        let gradients = || [gradient(&early)[0], gradient(&late)[0]];
        let panicked = catch_unwind(AssertUnwindSafe(sweep)).unwrap_err();
        assert_eq!(panicked.downcast_ref(), Some(&"a hook of a test"));
        assert!(early.gradient().is_none() && late.gradient().is_none());
        sweep().unwrap();
        assert_eq!(gradients(), [5.0, 3.0]);
        assert!(matches!(sweep(), Err(Error::OutOfMemory { op: "hook", bytes: 7 })));
        assert_eq!(gradients(), [5.0, 3.0]);
        sweep().unwrap();
        assert_eq!(gradients(), [10.0, 6.0]);
    });
}

#[test]
fn a_hook_that_uses_what_is_differentiated_by_is_differentiated_itself() {
    with_watchdog(|| {
        // Without the hook the gradient would be 2 x; it multiplies by x on the way.
        let steeper = |x: &Variable| {
            let (square, factor) = (x.mul(x)?, x.clone());
            square.on_gradient(move |gradient| gradient.mul(&factor))?;
            Ok(square)
        };
        let x = number(3.0);
        assert_eq!(values(&grad(steeper, &x).unwrap()), [18.0]);
        assert_eq!(values(&grad(|x| grad(steeper, x), &x).unwrap()), [12.0]);
        assert_eq!(values(&hvp(steeper, &x, &number(1.0)).unwrap()), [12.0]);
        // A hook may run a transformation: x / 2 times the slope of x^2.
        let inner = |x: &Variable| {
            let (square, at) = (x.mul(x)?, x.clone());
            square
                .on_gradient(move |gradient| gradient.mul(&(&grad(|x| x.mul(x), &at)? * 0.5)?))?;
            Ok(square)
        };
        assert_eq!(values(&grad(|x| grad(inner, x), &x).unwrap()), [12.0]);
    });
}

#[test]
fn derivatives_made_of_what_is_differentiated_by_may_be_swept_from() {
    with_watchdog(|| {
        let x = ad().variable(scalar(3.0)).unwrap();
        let swept = |derivative: Variable| {
            derivative.backward().unwrap();
            let swept = gradient(&x);
            x.clear_gradient();
            swept[0]
        };
        // By a hook: x times 2 x.
        let hooked = |x: &Variable| {
            let (square, factor) = (x.mul(x)?, x.clone());
            square.on_gradient(move |gradient| gradient.mul(&factor))?;
            Ok(square)
        };
        assert_eq!(swept(grad(hooked, &x).unwrap()), 12.0);
        // By the rules of a function: the change times x.
        let ruled = |x: &Variable| {
            let [back, forth] = [x.clone(), x.clone()];
            let times = |change: &Option<Variable>, x: &Variable| {
                Ok(vec![change.as_ref().map(|change| change.mul(x)).transpose()?])
            };
            let square = Function::new("square", |xs| Ok(vec![xs[0].mul(&xs[0])?]))
                .with_pullback(move |_, cotangents| times(&cotangents[0], &back))
                .with_pushforward(move |_, tangents| times(&tangents[0], &forth));
            Ok(square.apply(&[x])?.remove(0))
        };
        assert_eq!(swept(grad(ruled, &x).unwrap()), 1.0);
        let pushed = jvp(|xs| Ok(vec![ruled(&xs[0])?]), &[&x], &[&number(1.0)]).unwrap();
        assert_eq!(swept(pushed[0].1.clone().unwrap()), 1.0);
        // By the cotangent: x times 2 x.
        let mut within = None;
        let square = |xs: &[Variable]| Ok(vec![within.insert(xs[0].clone()).mul(&xs[0])?]);
        let (_, pullback) = vjp(square, &[&x]).unwrap();
        let pulled = pullback.pull(&[&within.unwrap()]).unwrap().remove(0).unwrap();
        assert_eq!(swept(pulled), 12.0);
    });
}

/// What is called when [`CallingBack`] adds.
type Call = dyn Fn() -> Result<()> + Send + Sync;

/// An engine that calls back before it adds.
#[derive(Clone)]
struct CallingBack(Arc<Mutex<Option<Arc<Call>>>>);

impl CallingBack {
    fn set(&self, call: impl Fn() -> Result<()> + Send + Sync + 'static) {
        *self.0.lock().unwrap() = Some(Arc::new(call));
    }

    fn unset(&self) {
        *self.0.lock().unwrap() = None;
    }
}

impl Vocabulary for CallingBack {
    fn apply(&mut self, primitive: &Primitive, inputs: &[Operand<'_>]) -> Result<Tensor> {
        let call = self.0.lock().unwrap().clone();
        if let Some(call) = call.filter(|_| *primitive == Elementwise::Add.into()) {
            call()?;
        }
        Reference.apply(primitive, inputs)
    }
}

impl Engine for CallingBack {}

#[test]
fn a_sum_that_fails_leaves_the_gradient_that_was_there() {
    with_watchdog(|| {
        let engine = CallingBack(Arc::default());
        let x = Autodiff::new(engine.clone()).variable(scalar(3.0)).unwrap();
        let y = (&x * 2.0).unwrap();
        let sweep = || y.clone().backward();
        sweep().unwrap();
        engine.set(|| Err(Error::OutOfMemory { op: "add", bytes: 8 }));
        assert!(matches!(sweep(), Err(Error::OutOfMemory { .. })));
        assert_eq!(gradient(&x), [2.0]);
        engine.set(|| panic!("an engine of a test"));
        assert!(catch_unwind(AssertUnwindSafe(sweep)).is_err());
        assert_eq!(gradient(&x), [2.0]);
        engine.unset();
        sweep().unwrap();
        assert_eq!(gradient(&x), [4.0]);
    });
}

#[test]
fn a_gradient_that_is_being_added_to_is_there_and_may_be_cleared() {
    with_watchdog(|| {
        let engine = CallingBack(Arc::default());
        let x = Autodiff::new(engine.clone()).variable(scalar(3.0)).unwrap();
        let y = (&x * 2.0).unwrap();
        let sweep = || y.clone().backward().unwrap();
        sweep();
        let leaf = x.clone();
        engine.set(move || {
            assert_eq!(gradient(&leaf), [2.0]);
            leaf.clear_gradient();
            Ok(())
        });
        sweep();
        engine.unset();
        // The first sweep's gradient was cleared before the sum was there.
        assert_eq!(gradient(&x), [2.0]);
    });
}

/// A tensor over memory of somebody who looks at a gradient when the last share of it is gone.
fn watched(x: Lent) -> Tensor {
    static ONE: f64 = 1.0;
    struct Watching(Lent);
    impl Drop for Watching {
        fn drop(&mut self) {
            let x = self.0.take().unwrap();
            assert!(x.gradient().is_none_or(|gradient| gradient.rank() == 0));
        }
    }
    let data = NonNull::slice_from_raw_parts(NonNull::from(&ONE).cast(), size_of::<f64>());
    // SAFETY: a static lives and is unchanged for ever.
    unsafe { Tensor::from_lender(DType::F64, [0_usize; 0], data, Box::new(Watching(x))) }.unwrap()
}

#[test]
fn whoever_lent_the_memory_of_a_gradient_may_look_at_it_when_it_is_gone() {
    with_watchdog(|| {
        let x = ad().variable(scalar(3.0)).unwrap();
        let y = (&x * 1.0).unwrap();
        let next = Arc::new(Mutex::new(None));
        let given = Arc::clone(&next);
        x.on_gradient(move |gradient| {
            let next: Option<Tensor> = given.lock().unwrap().take();
            Ok(next.map_or_else(|| gradient.clone(), |next| gradient.autodiff().constant(next)))
        })
        .unwrap();
        for is_cleared in [true, false] {
            let lent = Lent::new(&x);
            *next.lock().unwrap() = Some(watched(lent.clone()));
            y.clone().backward().unwrap();
            assert_eq!(gradient(&x), [1.0]);
            match is_cleared {
                true => x.clear_gradient(),
                // Another gradient takes its place.
                false => y.clone().backward().unwrap(),
            }
            assert!(lent.take().is_none(), "the lender is gone");
        }
        assert_eq!(gradient(&x), [2.0]);
    });
}
