//! Points at which real libraries went wrong.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;
#[path = "../../arbiter/tests/watchdog/mod.rs"]
mod watchdog;

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use common::{ad, gradient, number, real, scalar, total, values};
use num_complex::Complex64;
use tenferro_ad::{Function, Variable, grad, hvp, jvp, value_and_grads, vjp};
use tenferro_ops::composite;
use tenferro_tensor::{Comparison, DType, GatherMode, KeepAxes, Sweep, Tensor};
use watchdog::with_watchdog;

#[test]
fn f32_powers_at_zero_have_gradients() {
    let zero = number(0.0);
    for (exponent, first, second) in
        [(0.0, 0.0, 0.0), (1.0, 1.0, 0.0), (2.0, 0.0, 2.0), (3.0, 0.0, 0.0)]
    {
        let power = |x: &Variable| x.pow(&number(exponent));
        assert_eq!(values(&grad(power, &zero).unwrap()), [first], "x^{exponent}");
        assert_eq!(values(&grad(|x| grad(power, x), &zero).unwrap()), [second], "x^{exponent}");
    }
    // a^b at a = 0, b = 1
    assert_eq!(values(&grad(|b| zero.pow(b), &number(1.0)).unwrap()), [0.0]);
}

#[test]
fn f33_products_with_zeros_have_exact_gradients() {
    let product = |x: &Variable| x.prod([0], KeepAxes::Drop);
    let gradient = |elements: &[f64]| {
        let x = ad().constant(real(&[elements.len()], elements));
        values(&grad(product, &x).unwrap())
    };
    assert_eq!(gradient(&[2.0, 0.0, 3.0, 4.0]), [0.0, 24.0, 0.0, 0.0]);
    assert_eq!(gradient(&[0.0, 0.0, 3.0]), [0.0, 0.0, 0.0]);
    assert_eq!(gradient(&[2.0, 3.0, 5.0, 7.0, 11.0]), [1155.0, 770.0, 462.0, 330.0, 210.0]);
}

#[test]
fn f33_running_products_with_zeros_have_exact_gradients() {
    let product = |x: &Variable| total(&x.cumprod(0_usize, Sweep::default())?);
    let x = ad().constant(real(&[4], &[2.0, 0.0, 3.0, 4.0]));
    assert_eq!(values(&grad(product, &x).unwrap()), [1.0, 32.0, 0.0, 0.0]);
}

#[test]
fn f39_running_products_of_one_variable_have_second_derivatives() {
    // cumprod [t, t, 3, 4] adds up to t + 16 t^2
    let f = |t: &Variable| {
        let t = t.reshape([1])?;
        let rest = t.autodiff().constant(real(&[2], &[3.0, 4.0]));
        let factors = Variable::concatenate(&[t.clone(), t, rest], 0_usize)?;
        total(&factors.cumprod(0_usize, Sweep::default())?)
    };
    let zero = number(0.0);
    assert_eq!(values(&grad(f, &zero).unwrap()), [1.0]);
    assert_eq!(values(&grad(|t| grad(f, t), &zero).unwrap()), [32.0]);
}

#[test]
fn f39_a_determinant_written_out_has_second_derivative_4() {
    // det [[t + 2, 1], [1, 2 t + 3]] = 2 t^2 + 7 t + 5
    let det = |t: &Variable| {
        let one = t.autodiff().constant(real(&[1], &[1.0]));
        let [first, last] = [(t + 2.0)?, (&(t * 2.0)? + 3.0)?].map(|x| x.reshape([1]));
        let matrix = Variable::concatenate(&[first?, one.clone(), one, last?], 0_usize)?;
        let matrix = matrix.reshape([2, 2])?;
        let diagonal = matrix.extract_diagonal(0_usize, 1_usize)?.prod([0], KeepAxes::Drop)?;
        let other = matrix.reverse([1])?.extract_diagonal(0_usize, 1_usize)?;
        diagonal.sub(&other.prod([0], KeepAxes::Drop)?)
    };
    let t = number(1.0);
    assert_eq!(values(&grad(det, &t).unwrap()), [11.0]);
    assert_eq!(values(&grad(|t| grad(det, t), &t).unwrap()), [4.0]);
    assert_eq!(values(&hvp(det, &t, &number(1.0)).unwrap()), [4.0]);
}

#[test]
fn f37_gathered_twice_gets_both_gradients() {
    let x = ad().constant(real(&[1], &[0.1]));
    let places = ad().constant(Tensor::from_vec_col_major([2], vec![0_i64, 0]).unwrap());
    let (_, pullback) =
        vjp(|xs| Ok(vec![xs[0].take(&places, 0_usize, GatherMode::Refuse)?]), &[&x]).unwrap();
    let cotangent = ad().constant(real(&[2], &[0.2, 0.3]));
    let pulled = pullback.pull(&[&cotangent]).unwrap().remove(0).unwrap();
    assert_eq!(values(&pulled), [0.5]);
}

#[test]
fn p8_the_root_at_zero_is_infinitely_steep() {
    assert_eq!(values(&grad(Variable::sqrt, &number(0.0)).unwrap()), [f64::INFINITY]);
}

#[test]
fn p8_a_magnitude_at_zero_is_flat() {
    assert_eq!(values(&grad(Variable::abs, &number(0.0)).unwrap()), [0.0]);
    let zero = ad().constant(Tensor::scalar(Complex64::new(0.0, 0.0)).unwrap());
    let gradient = grad(Variable::abs, &zero).unwrap();
    assert_eq!(gradient.value().as_slice::<Complex64>().unwrap(), [Complex64::new(0.0, 0.0)]);
}

#[test]
fn p8_a_norm_at_zero_is_flat() {
    for dtype in [DType::F32, DType::F64, DType::C64] {
        let zero = ad().constant(Tensor::zeros(dtype, [3]).unwrap());
        let one = ad().constant(Tensor::ones(dtype, [3]).unwrap());
        let norm = |x: &Variable| x.norm([0], KeepAxes::Drop);
        let all_zero = |x: &Variable| {
            x.convert(DType::C64).unwrap().value().to_vec_col_major::<Complex64>().unwrap()
        };
        assert_eq!(all_zero(&grad(norm, &zero).unwrap()), [Complex64::ZERO; 3], "{dtype}");
        let pushed = jvp(|xs| Ok(vec![norm(&xs[0])?]), &[&zero], &[&one]).unwrap();
        assert_eq!(all_zero(pushed[0].1.as_ref().unwrap()), [Complex64::ZERO], "{dtype}");
        assert_eq!(all_zero(&hvp(norm, &zero, &one).unwrap()), [Complex64::ZERO; 3], "{dtype}");
    }
    // One of several, and at the ends of the range, where elements are scaled first.
    let x = real(&[2, 4], &[0.0, 0.0, 3.0, 4.0, 3e-310, 4e-310, 3e300, -4e300]);
    let norms = |x: &Variable| total(&x.norm([0], KeepAxes::Drop)?);
    let gradient = values(&grad(norms, &ad().constant(x)).unwrap());
    let expected = [0.0, 0.0, 0.6, 0.8, 0.6, 0.8, 0.6, -0.8];
    for (actual, expected) in gradient.iter().zip(expected) {
        assert!((actual - expected).abs() < 1e-13, "{gradient:?}");
    }
}

#[test]
fn f34_ties_share_a_gradient_of_one() {
    let x = ad().constant(real(&[4], &[1.0, 3.0, 3.0, 2.0]));
    let gradient = grad(|x| x.max([0], KeepAxes::Drop), &x).unwrap();
    assert_eq!(values(&gradient), [0.0, 0.5, 0.5, 0.0]);
    let own = grad(|x| x.maximum(x), &number(2.0)).unwrap();
    assert_eq!(values(&own), [1.0]);
    let smallest = grad(|x| x.min([0], KeepAxes::Drop), &ad().constant(real(&[4], &[2.0; 4])));
    assert_eq!(values(&smallest.unwrap()), [0.25; 4]);
}

#[test]
fn f34_a_variable_beside_itself_gets_both_gradients() {
    let x = ad().constant(real(&[2], &[5.0, -3.0]));
    let twice = |x: &Variable| [x.clone(), x.clone()];
    let stack = |x: &Variable| composite::stack(&mut x.autodiff(), &twice(x), 0);
    let of_ties = grad(|x| total(&stack(x)?.max([0], KeepAxes::Drop)?), &x).unwrap();
    assert_eq!(values(&of_ties), [1.0, 1.0]);

    let weights = [1.0, 2.0, 4.0, 8.0];
    let weigh = |x: &Variable, extents: &[usize]| {
        total(&x.mul(&x.autodiff().constant(real(extents, &weights)))?)
    };
    let of_stack = grad(|x| weigh(&stack(x)?, &[2, 2]), &x).unwrap();
    assert_eq!(values(&of_stack), [3.0, 12.0]);
    let chain = |x: &Variable| Variable::concatenate(&twice(x), 0_usize);
    let of_chain = grad(|x| weigh(&chain(x)?, &[4]), &x).unwrap();
    assert_eq!(values(&of_chain), [5.0, 10.0]);
}

#[test]
fn p7_f34_logsumexp_of_negative_infinities_is_flat() {
    const LOW: f64 = f64::NEG_INFINITY;
    let sum = |x: &Variable| x.logsumexp([0], KeepAxes::Drop);
    let x = ad().constant(real(&[2], &[LOW, LOW]));
    let one = ad().constant(real(&[2], &[1.0, 1.0]));
    assert_eq!(values(&sum(&x).unwrap()), [LOW]);
    assert_eq!(values(&grad(sum, &x).unwrap()), [0.0, 0.0]);
    let pushed = jvp(|xs| Ok(vec![sum(&xs[0])?]), &[&x], &[&one]).unwrap();
    assert_eq!(values(pushed[0].1.as_ref().unwrap()), [0.0]);
    assert_eq!(values(&hvp(sum, &x, &one).unwrap()), [0.0, 0.0]);
}

/// Also where exponentials and their sums are made at once.
#[test]
fn p7_f34_only_the_row_of_negative_infinities_is_flat() {
    for columns in [2, 1 << 15] {
        let low = vec![f64::NEG_INFINITY; columns];
        let rows = real(&[columns, 2], &[low, vec![-3.0; columns]].concat());
        let x = ad().constant(rows);
        let gradient = grad(|x| total(&x.logsumexp([0], KeepAxes::Drop)?), &x).unwrap();
        let share = 1.0 / columns as f64;
        assert_eq!(values(&gradient), [vec![0.0; columns], vec![share; columns]].concat());
    }
}

#[test]
fn f38_gradients_of_paths_add_up() {
    let x = ad().variable(Tensor::scalar(2.0_f64).unwrap()).unwrap();
    let y = (3.0 * &x).unwrap();
    let c = (&(2.0 * &y).unwrap() + &(5.0 * &y).unwrap()).unwrap();
    c.backward().unwrap();
    assert_eq!(x.gradient().unwrap().as_slice::<f64>().unwrap(), [21.0]);
}

#[test]
fn f40_a_chain_of_100_000_nodes_is_built_swept_and_dropped() {
    let ad = ad();
    let c = ad.variable(Tensor::scalar(1e-6_f64).unwrap()).unwrap();
    let mut y = ad.constant(Tensor::scalar(1.0_f64).unwrap());
    let steps = 100_000;
    for _ in 0..steps {
        y = (&y + &(&y * &c).unwrap()).unwrap();
    }
    let unused = y.clone();
    y.backward().unwrap();
    // y = (1 + c)^n
    let expected = steps as f64 * (1.0 + 1e-6_f64).powi(steps - 1);
    let actual = c.gradient().unwrap().as_slice::<f64>().unwrap()[0];
    assert!((actual / expected - 1.0).abs() < 1e-9, "{actual} is not {expected}");
    drop(unused);
}

#[test]
fn f40_graphs_that_are_linked_by_what_hooks_and_rules_capture_are_dropped_without_recursion() {
    let ad = ad();
    let x = ad.variable(Tensor::scalar(1.0_f64).unwrap()).unwrap();
    let mut y = x.clone();
    for step in 0..100_000 {
        let before = y.clone();
        if step % 2 == 0 {
            y = x.mul(&x).unwrap();
            y.on_gradient(move |gradient| gradient.mul(&before)).unwrap();
        } else {
            let double = Function::new("double", |inputs| Ok(vec![inputs[0].add(&inputs[0])?]))
                .with_pullback(move |_, cotangents| {
                    let of = |cotangent: &Variable| cotangent.mul(&before);
                    Ok(vec![cotangents[0].as_ref().map(of).transpose()?])
                });
            y = double.apply(&[&x]).unwrap().remove(0);
        }
    }
    drop(y);

    // One that panics when it is dropped leaves nothing behind that waits for ever.
    struct Bomb(Arc<AtomicUsize>);
    impl Drop for Bomb {
        fn drop(&mut self) {
            assert!(self.0.fetch_add(1, Ordering::Relaxed) > 0, "on purpose");
        }
    }
    let drops = Arc::new(AtomicUsize::new(0));
    let mut y = x.clone();
    for _ in 0..3 {
        let (before, bomb) = (y, Bomb(Arc::clone(&drops)));
        y = x.mul(&x).unwrap();
        y.on_gradient(move |gradient| {
            let _ = &bomb;
            gradient.mul(&before)
        })
        .unwrap();
    }
    assert!(catch_unwind(AssertUnwindSafe(|| drop(y))).is_err());
    assert_eq!(drops.load(Ordering::Relaxed), 3);
}

#[test]
fn f41_a_rule_may_differentiate_within_a_sweep() {
    with_watchdog(|| {
        let x = ad().variable(scalar(3.0)).unwrap();
        let other = x.clone();
        let square = Function::new("square", |inputs| Ok(vec![inputs[0].mul(&inputs[0])?]))
            .with_pullback(move |call, cotangents| {
                let slope = grad(|x| x.mul(x), &call.inputs[0])?;
                let leaf = slope.autodiff().variable(slope.value().clone())?;
                leaf.mul(&leaf)?.backward()?;
                assert_eq!(gradient(&leaf), [12.0]);
                // Also by the leaf that the sweep around is on the way to.
                (&other * 5.0)?.backward()?;
                Ok(vec![cotangents[0].as_ref().map(|ct| ct.mul(&slope)).transpose()?])
            });
        square.apply(&[&x]).unwrap().remove(0).backward().unwrap();
        assert_eq!(gradient(&x), [5.0 + 6.0]);
    });
}

#[test]
fn f6_gradients_of_empty_products_are_zeros_of_full_shape() {
    let a = ad().constant(Tensor::zeros(DType::F64, [0, 3]).unwrap());
    let b = ad().constant(real(&[3, 2], &[1.0; 6]));
    let loss = |xs: &[Variable]| total(&xs[0].matmul(&xs[1])?);
    let (value, gradients) = value_and_grads(loss, &[&a, &b]).unwrap();
    assert_eq!(values(&value), [0.0]);
    assert_eq!(gradients[0].shape()[..], [0, 3]);
    assert_eq!(values(&gradients[1]), [0.0; 6]);
}

#[test]
fn p8_inputs_that_are_no_floats_have_no_tangent() {
    let k = ad().constant(Tensor::scalar(3_i64).unwrap());
    let error = grad(|k| k.convert(DType::F64), &k).unwrap_err();
    assert!(error.to_string().contains("i64"), "{error}");
    let results = jvp(|xs| Ok(vec![xs[0].convert(DType::I64)?]), &[&number(2.5)], &[&number(1.0)]);
    assert!(results.unwrap()[0].1.is_none());
    // Absent beside one that is there.
    let product = |xs: &[Variable]| Ok(vec![xs[0].convert(DType::F64)?.mul(&xs[1])?]);
    let (_, pullback) = vjp(product, &[&k, &number(2.0)]).unwrap();
    let pulled = pullback.pull(&[&number(1.0)]).unwrap();
    assert!(pulled[0].is_none());
    assert_eq!(values(pulled[1].as_ref().unwrap()), [3.0]);
}

#[test]
fn p8_the_branch_not_taken_gets_a_cotangent_of_zero() {
    let taken = Tensor::from_vec_col_major([2], vec![true, false]).unwrap();
    let taken = ad().constant(taken);
    let [x, y] = [[1.0, 2.0], [3.0, 4.0]].map(|elements| ad().constant(real(&[2], &elements)));
    let choose = |xs: &[Variable]| Ok(vec![taken.select(&xs[0], &xs[1])?]);
    let (_, pullback) = vjp(choose, &[&x, &y]).unwrap();
    // Zero even of what is not finite: it is chosen, not multiplied.
    for cotangent in [1.0, f64::INFINITY, f64::NAN] {
        let v = ad().constant(real(&[2], &[cotangent; 2]));
        let pulled = pullback.pull(&[&v]).unwrap();
        let [to_x, to_y] = [0, 1].map(|place| values(pulled[place].as_ref().unwrap()));
        assert_eq!((to_x[1], to_y[0]), (0.0, 0.0));
        assert_eq!(
            (to_x[0].to_bits(), to_y[1].to_bits()),
            (cotangent.to_bits(), cotangent.to_bits())
        );
    }
}

#[test]
fn p8_a_selected_branch_hides_what_is_not_a_number() {
    // The double-where idiom: the branch not taken must be finite too.
    let x = ad().constant(real(&[2], &[0.0, 4.0]));
    let safe_root = |x: &Variable| {
        let positive = x.compare(&(x * 0.0)?, Comparison::Gt)?;
        let safe = positive.select(x, &(&(x * 0.0)? + 1.0)?)?;
        total(&positive.select(&safe.sqrt()?, &(x * 0.0)?)?)
    };
    assert_eq!(values(&grad(safe_root, &x).unwrap()), [0.0, 0.25]);
}
