//! Leaves, sweeps, custom functions, and transformations of functions.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering},
};

use common::{Numbers, ad, gradient, real, scalar, total, values};
use tenferro_ad::{
    Autodiff, Function, Variable, checkpoint, grad, hessian, hvp, jacobian, jvp, no_grad,
    value_and_grad, value_and_grads, vjp,
};
use tenferro_ops::{Engine, Input, Region, Results, reference::Reference};
use tenferro_tensor::{DType, Error, KeepAxes, Operand, Primitive, Result, Tensor, Vocabulary};

#[test]
fn gradients_accumulate_until_they_are_cleared() {
    let x = ad().variable(real(&[2], &[1.0, 2.0])).unwrap();
    assert!(x.gradient().is_none());
    for _ in 0..2 {
        total(&x.mul(&x).unwrap()).unwrap().backward().unwrap();
    }
    assert_eq!(gradient(&x), [4.0, 8.0]);
    x.clear_gradient();
    assert!(x.gradient().is_none());
}

#[test]
fn sweeps_of_several_threads_add_up() {
    let x = ad().variable(scalar(3.0)).unwrap();
    std::thread::scope(|threads| {
        for _ in 0..8 {
            threads.spawn(|| {
                for _ in 0..50 {
                    x.mul(&x).unwrap().backward().unwrap();
                }
            });
        }
    });
    assert_eq!(gradient(&x), [8.0 * 50.0 * 6.0]);
}

#[test]
fn operations_that_differ_in_shape_dtype_or_what_moves_have_derivatives_of_their_own() {
    let column = ad().constant(real(&[2], &[3.0, 5.0]));
    let number = ad().constant(real(&[1], &[7.0]));
    let single = ad().constant(Tensor::from_vec_col_major([2], vec![2.0_f32, 4.0]).unwrap());
    let product = |lhs: &Variable, rhs: &Variable| total(&lhs.mul(rhs)?);
    // Twice, so that each meets those of the others.
    for _ in 0..2 {
        assert_eq!(values(&grad(|x| product(x, &number), &column).unwrap()), [7.0, 7.0]);
        assert_eq!(values(&grad(|x| product(&number, x), &column).unwrap()), [7.0, 7.0]);
        assert_eq!(values(&grad(|x| product(&column, x), &number).unwrap()), [8.0]);
        assert_eq!(values(&grad(|x| product(x, x), &column).unwrap()), [6.0, 10.0]);
        assert_eq!(values(&grad(|x| product(x, x), &number).unwrap()), [14.0]);
        let gradient = grad(|x| product(x, x), &single).unwrap();
        assert_eq!(gradient.value().as_slice::<f32>().unwrap(), [4.0, 8.0]);
    }
}

#[test]
fn more_shapes_than_plans_are_kept_for_have_gradients() {
    for extent in (1..1500).chain([1, 2]) {
        let x = ad().constant(real(&[extent], &vec![0.5; extent]));
        let gradient = grad(|x| total(&x.mul(x)?), &x).unwrap();
        assert_eq!(values(&gradient), vec![1.0; extent]);
    }
}

#[test]
fn only_real_scalars_are_losses() {
    let x = ad().variable(real(&[2], &[1.0, 2.0])).unwrap();
    let error = x.clone().backward().unwrap_err();
    assert!(error.to_string().contains("sum the result"), "{error}");
    let z = total(&x).unwrap().convert(DType::C64).unwrap();
    let error = z.backward().unwrap_err();
    assert!(error.to_string().contains("real part"), "{error}");
    let error = ad().constant(scalar(1.0)).backward().unwrap_err();
    assert!(error.to_string().contains("Autodiff::variable"), "{error}");
}

#[test]
fn nothing_is_recorded_where_no_gradient_is_needed() {
    let x = ad().variable(scalar(3.0)).unwrap();
    let y = no_grad(|| x.mul(&x).unwrap());
    assert!(y.backward().is_err());
    let z = x.detach().mul(&x).unwrap();
    z.backward().unwrap();
    assert_eq!(gradient(&x), [3.0]);
    // A transformation within computes its own derivatives.
    let slope = no_grad(|| grad(|x| x.mul(x), &x).unwrap());
    assert_eq!(values(&slope), [6.0]);
    assert!(slope.backward().is_err());
}

/// Notes the rows that it carries out on many elements.
#[derive(Clone, Default)]
struct Noting(Arc<Mutex<Vec<&'static str>>>);

impl Vocabulary for Noting {
    fn apply(&mut self, primitive: &Primitive, inputs: &[Operand<'_>]) -> Result<Tensor> {
        if inputs.iter().any(|input| input.shape().elements() > 1000) {
            self.0.lock().unwrap().push(primitive.name());
        }
        Reference.apply(primitive, inputs)
    }
}

impl Engine for Noting {
    fn run_region(&mut self, region: &Region, inputs: &mut [Input<'_>]) -> Result<Results> {
        self.0.lock().unwrap().push("region");
        Reference.run_region(region, inputs)
    }
}

#[test]
fn the_way_of_a_gradient_through_one_operation_is_one_region() {
    let noting = Noting::default();
    let ad = Autodiff::new(noting.clone());
    let noted = || std::mem::take(&mut *noting.0.lock().unwrap());
    let numbers: Vec<f64> = (0..2000).map(|at| f64::from(at) / 1000.0 - 1.0).collect();
    let x = ad.constant(Tensor::from_vec_col_major([40, 50], numbers).unwrap());
    let by_hand = |x: &Variable, gradient: &Variable| {
        let y = x.tanh().unwrap();
        let one = ad.constant(scalar(1.0));
        values(&one.sub(&y.mul(&y).unwrap()).unwrap().mul(gradient).unwrap())
    };
    let one = ad.constant(scalar(1.0));

    // A gradient that is one number, twice; then one a column, and one an element, for the same plan.
    let expected = by_hand(&x, &one);
    noted();
    for _ in 0..2 {
        let slope = grad(|x| total(&x.tanh()?), &x).unwrap();
        assert_eq!(noted(), ["tanh", "sum", "region"]);
        assert_eq!(values(&slope), expected);
    }
    let weights = |extents: [usize; 2]| {
        let count = u32::try_from(extents[0] * extents[1]).unwrap();
        let numbers = (0..count).map(|at| f64::from(at % 7) - 2.5).collect();
        ad.constant(Tensor::from_vec_col_major(extents, numbers).unwrap())
    };
    for extents in [[1, 50], [40, 50]] {
        let weights = weights(extents);
        let weighted = |x: &Variable| {
            let y = x.tanh()?;
            let rows = if extents[0] == 1 { y.sum([0], KeepAxes::Keep)? } else { y };
            total(&rows.mul(&weights)?)
        };
        assert_eq!(values(&grad(weighted, &x).unwrap()), by_hand(&x, &weights));
    }

    // Both gradients of a product come from one region; those of second derivatives from the steps.
    let z = weights([40, 50]);
    noted();
    let (_, slopes) = value_and_grads(|xs| total(&xs[0].mul(&xs[1])?), &[&x, &z]).unwrap();
    assert_eq!(noted(), ["mul", "sum", "region"]);
    assert_eq!(values(&slopes[0]), values(&z));
    assert_eq!(values(&slopes[1]), values(&x));
    noted();
    let bent = grad(|x| total(&grad(|x| total(&x.tanh()?), x)?), &x).unwrap();
    let y = values(&x.tanh().unwrap());
    for (bent, y) in values(&bent).iter().zip(y) {
        assert!((bent + 2.0 * y * (1.0 - y * y)).abs() < 1e-14);
    }
}

#[test]
fn a_graph_that_several_threads_have_built_is_swept_from_its_end() {
    let x = ad().variable(scalar(1.5)).unwrap();
    let times = |y: &Variable| y.mul(&x).unwrap();
    let mut y = x.clone();
    for _ in 0..6 {
        y = times(&y);
        y = std::thread::scope(|threads| {
            threads.spawn(|| (0..3).fold(y, |y, _| times(&y))).join().unwrap()
        });
    }
    y.backward().unwrap();
    assert_eq!(gradient(&x), [25.0 * 1.5_f64.powi(24)]);
}

#[test]
fn exponentials_and_their_sum_are_computed_at_once_and_what_is_flat_is_not_recorded() {
    let noting = Noting::default();
    let ad = Autodiff::new(noting.clone());
    let noted = || std::mem::take(&mut *noting.0.lock().unwrap());
    let numbers = |count: usize| (0..count).map(|at| ((at * 7) % 23) as f64 / 4.0).collect();
    let x = Tensor::from_vec_col_major([200, 100], numbers(20_000)).unwrap();
    let rows = |x: &Variable| total(&x.logsumexp([1], KeepAxes::Drop)?);
    let small = |x: &Variable, k: usize| {
        let part = x.slice([k, 0], [k + 1, 100], [1, 1])?;
        total(&part.logsumexp([1], KeepAxes::Drop)?)
    };

    let at = ad.constant(x.clone());
    let (value, slope) = value_and_grad(rows, &at).unwrap();
    // The largest of each row, the exponentials with their sums, and a product with the sums' inverses.
    assert_eq!(noted(), ["max", "region", "mul"]);
    // Row by row the steps run one by one, to the same bits.
    let mut sum = 0.0;
    for k in 0..200 {
        let (part, parts) = value_and_grad(|x| small(x, k), &at).unwrap();
        sum += part.value().as_slice::<f64>().unwrap()[0];
        let row = |slope: &Variable| {
            let row = slope.slice([k, 0], [k + 1, 100], [1, 1]).unwrap();
            row.value().as_slice::<f64>().unwrap().to_vec()
        };
        assert_eq!(row(&parts), row(&slope));
    }
    assert!((sum - value.value().as_slice::<f64>().unwrap()[0]).abs() < 1e-9);

    // Forward and second derivatives go through the steps.
    noted();
    let ones = ad.constant(Tensor::ones(DType::F64, [200, 100]).unwrap());
    let bent = hvp(rows, &at, &ones).unwrap();
    assert!(!noted().contains(&"region"));
    // The function grows by 1 a row along ones, and so its slope does not change.
    assert!(bent.value().as_slice::<f64>().unwrap().iter().all(|bent| bent.abs() < 1e-12));
    // What is not differentiated goes the engine's own way, here the steps.
    rows(&at).unwrap();
    assert_eq!(noted()[..2], ["max", "region"]);
}

#[test]
fn the_chain_is_freed_while_the_sweep_passes() {
    let ad = ad();
    let x = ad.variable(scalar(1.0)).unwrap();
    let dropped = Arc::new(AtomicUsize::new(0));
    struct Alarm(Arc<AtomicUsize>);
    impl Drop for Alarm {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
    // The second step's residuals are gone when the gradient reaches the first one.
    let late = Arc::clone(&dropped);
    let first = Function::new("first", |xs| Ok(xs.to_vec())).with_pullback(move |_, cts| {
        assert_eq!(late.load(Ordering::Relaxed), 1);
        Ok(cts.to_vec())
    });
    let alarm = Alarm(Arc::clone(&dropped));
    let second = Function::new("second", |xs| Ok(xs.to_vec())).with_pullback(move |_, cts| {
        let _ = &alarm;
        Ok(cts.to_vec())
    });
    let y = first.apply(&[&x]).unwrap().remove(0);
    let z = second.apply(&[&y]).unwrap().remove(0);
    drop((second, y));
    z.backward().unwrap();
    assert_eq!(gradient(&x), [1.0]);
}

#[test]
fn functions_have_several_results_and_derivatives_of_their_own() {
    let swap = Function::new("swap_and_double", |xs| Ok(vec![(&xs[1] * 2.0)?, xs[0].clone()]))
        .with_pullback(|_, cts| {
            let doubled = cts[0].as_ref().map(|ct| ct * 2.0).transpose()?;
            Ok(vec![cts[1].clone(), doubled])
        })
        .with_pushforward(|_, ts| {
            let doubled = ts[1].as_ref().map(|t| t * 2.0).transpose()?;
            Ok(vec![doubled, ts[0].clone()])
        });
    let f = |xs: &[Variable]| -> Result<Variable> {
        let ys = swap.apply(&[&xs[0], &xs[1]])?;
        ys[0].mul(&ys[0])?.mul(&ys[1])
    };
    let inputs = [scalar(2.0), scalar(3.0)];
    common::check("swap", &f, &inputs, 1);
    // Only one result is used.
    let x = ad().variable(scalar(2.0)).unwrap();
    swap.apply(&[&x, &x]).unwrap().remove(1).backward().unwrap();
    assert_eq!(gradient(&x), [1.0]);
}

#[test]
fn a_function_without_a_rule_says_so() {
    let plain = Function::new("mystery", |xs| Ok(xs.to_vec()));
    let x = ad().variable(scalar(2.0)).unwrap();
    assert_eq!(values(&plain.apply(&[&x.detach()]).unwrap()[0]), [2.0]);
    let error = plain.apply(&[&x]).unwrap_err();
    assert!(matches!(error, Error::Unsupported { op: "mystery", .. }), "{error}");
    assert!(error.to_string().contains("with_pullback"), "{error}");
    let constant = x.detach();
    let error = jvp(|xs| plain.apply(&[&xs[0]]), &[&constant], &[&constant]).unwrap_err();
    assert!(error.to_string().contains("with_pushforward"), "{error}");
}

#[test]
fn rules_that_do_not_fit_are_typed_errors() {
    let wrong = Function::new("wrong", |xs| Ok(xs.to_vec()))
        .with_pullback(|call, _| Ok(vec![Some(call.inputs[0].reshape([1])?)]));
    let x = ad().variable(scalar(2.0)).unwrap();
    let error = wrong.apply(&[&x]).unwrap().remove(0).backward().unwrap_err();
    assert!(matches!(error, Error::Validation { op: "wrong", .. }), "{error}");
}

#[test]
fn a_checkpoint_runs_again_and_differentiates_to_any_order() {
    let runs = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&runs);
    let cube = move |xs: &[Variable]| {
        count.fetch_add(1, Ordering::Relaxed);
        Ok(vec![xs[0].mul(&xs[0])?.mul(&xs[0])?])
    };
    let x = ad().variable(scalar(2.0)).unwrap();
    let y = checkpoint(cube.clone(), &[&x]).unwrap().remove(0);
    assert_eq!(runs.load(Ordering::Relaxed), 1);
    y.backward().unwrap();
    assert_eq!(runs.load(Ordering::Relaxed), 2);
    assert_eq!(gradient(&x), [12.0]);
    let f = move |xs: &[Variable]| Ok(checkpoint(cube.clone(), &[&xs[0]])?.remove(0));
    common::check("checkpoint", &f, &[scalar(1.5)], 3);
}

#[test]
fn what_is_differentiated_by_is_an_operand_of_a_function_or_refused() {
    let [x, w] = [2.0, 5.0].map(|x| ad().variable(scalar(x)).unwrap());
    let factor = w.clone();
    let scaled = move |xs: &[Variable]| Ok(vec![xs[0].mul(&factor)?]);
    let error = checkpoint(scaled.clone(), &[&x]).unwrap_err();
    assert!(matches!(error, Error::Validation { op: "checkpoint", .. }), "{error}");
    assert!(error.to_string().contains("operand"), "{error}");
    // Without an operand that is differentiated nothing is left out, and neither by transformations further in.
    checkpoint(scaled.clone(), &[&x.detach()]).unwrap().remove(0).backward().unwrap();
    assert_eq!(gradient(&w), [2.0]);
    let slope = grad(|x| Ok(checkpoint(scaled, &[x])?.remove(0)), &x.detach()).unwrap();
    assert_eq!(values(&slope), [5.0]);
    slope.backward().unwrap();
    assert_eq!(gradient(&w), [3.0]);
}

#[test]
fn jacobians_and_hessians_have_the_axes_of_result_and_operand() {
    let x = ad().constant(real(&[2], &[2.0, 3.0]));
    // (x y, x^2, y)
    let f = |v: &Variable| {
        let part = |k: usize| v.slice([k], [k + 1], [1]);
        let (x, y) = (part(0)?, part(1)?);
        Variable::concatenate(&[x.mul(&y)?, x.mul(&x)?, y], 0_usize)
    };
    let j = jacobian(f, &x).unwrap();
    assert_eq!(j.shape()[..], [3, 2]);
    assert_eq!(values(&j), [3.0, 4.0, 0.0, 2.0, 0.0, 1.0]);
    // x^2 y
    let g = |v: &Variable| {
        let part = |k: usize| v.slice([k], [k + 1], [1])?.reshape([0; 0]);
        let (x, y) = (part(0)?, part(1)?);
        x.mul(&x)?.mul(&y)
    };
    let h = hessian(g, &x).unwrap();
    assert_eq!(values(&h), [6.0, 4.0, 4.0, 0.0]);
    let v = ad().constant(real(&[2], &[1.0, -1.0]));
    assert_eq!(values(&hvp(g, &x, &v).unwrap()), [2.0, 4.0]);
}

#[test]
fn a_jacobian_of_a_holomorphic_function_is_its_derivative() {
    let z = ad().constant(Numbers(3).tensor(DType::C64, &[2], (-1.0, 1.0)));
    let j = jacobian(|z| z.mul(z), &z).unwrap();
    let diagonal = j.extract_diagonal(0_usize, 1_usize).unwrap();
    let expected = z.add(&z).unwrap();
    assert_eq!(common::parts(diagonal.value()), common::parts(expected.value()));
}

#[test]
fn pullbacks_may_be_asked_again() {
    let x = ad().constant(real(&[2], &[2.0, 3.0]));
    let (_, pullback) = vjp(|xs| Ok(vec![xs[0].mul(&xs[0])?]), &[&x]).unwrap();
    for scale in [1.0, 2.0] {
        let v = ad().constant(real(&[2], &[scale, scale]));
        let pulled = pullback.pull(&[&v]).unwrap().remove(0).unwrap();
        assert_eq!(values(&pulled), [4.0 * scale, 6.0 * scale]);
    }
    let error = pullback.pull(&[]).unwrap_err();
    assert!(matches!(error, Error::Validation { op: "vjp", .. }), "{error}");
}

#[test]
fn what_does_not_depend_on_the_operand_has_gradient_zero() {
    let x = ad().constant(real(&[2], &[2.0, 3.0]));
    let (value, slope) = value_and_grad(|x| Ok(x.autodiff().constant(scalar(7.0))), &x).unwrap();
    assert_eq!((values(&value), values(&slope)), (vec![7.0], vec![0.0, 0.0]));
}

#[test]
fn what_a_function_lets_out_is_differentiated_by_the_transformations_around() {
    // x^2 and its slope: 2 x^3.
    let f = |x: &Variable| {
        let mut square = None;
        let slope = grad(|x| square.insert(x.mul(x)?).sum([0; 0], KeepAxes::Drop), x)?;
        slope.mul(&square.unwrap())
    };
    let (x, one) = (common::number(3.0), common::number(1.0));
    assert_eq!(values(&f(&x).unwrap()), [54.0]);
    assert_eq!(values(&grad(f, &x).unwrap()), [54.0]);
    assert_eq!(values(&hvp(f, &x, &one).unwrap()), [36.0]);
    let pushed = jvp(|xs| Ok(vec![f(&xs[0])?]), &[&x], &[&one]).unwrap();
    assert_eq!(values(pushed[0].1.as_ref().unwrap()), [54.0]);
    let (_, pullback) = vjp(|xs| Ok(vec![f(&xs[0])?]), &[&x]).unwrap();
    assert_eq!(values(pullback.pull(&[&one]).unwrap()[0].as_ref().unwrap()), [54.0]);
}

#[test]
fn third_derivatives_come_from_nesting() {
    let quartic = |x: &Variable| x.mul(x)?.mul(x)?.mul(x);
    let x = ad().constant(scalar(2.0));
    let third = grad(|x| grad(|x| grad(quartic, x), x), &x).unwrap();
    assert_eq!(values(&third), [48.0]);
    // The levels are not confused: d/dx [x * d/dy (x + y)] = 1.
    let inner = |x: &Variable| x.mul(&grad(|y| x.add(y), x)?);
    assert_eq!(values(&grad(inner, &x).unwrap()), [1.0]);
}

#[test]
fn a_thread_that_ends_still_differentiates() {
    struct AtTheEnd(std::sync::mpsc::Sender<Vec<f64>>);

    impl Drop for AtTheEnd {
        fn drop(&mut self) {
            let x = ad().constant(scalar(3.0));
            _ = self.0.send(values(&grad(|x| x.mul(x), &x).unwrap()));
        }
    }

    thread_local! {
        static END: std::cell::OnceCell<AtTheEnd> = const { std::cell::OnceCell::new() };
    }

    let (sender, receiver) = std::sync::mpsc::channel();
    let thread = std::thread::spawn(move || {
        // Before anything of the crate is there, so that it is dropped after all of that.
        END.with(|end| _ = end.set(AtTheEnd(sender)));
        let x = ad().constant(scalar(2.0));
        values(&grad(|x| x.mul(x), &x).unwrap())
    });
    assert_eq!(thread.join().unwrap(), [4.0]);
    assert_eq!(receiver.recv().unwrap(), [6.0]);
}
