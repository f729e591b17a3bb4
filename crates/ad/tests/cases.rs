//! Points at which real libraries went wrong.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::{ad, real, values};
use num_complex::{Complex32, Complex64};
use tenferro_ad::{Function, Variable, grad, jvp, value_and_grads, vjp};
use tenferro_tensor::{Comparison, DType, GatherMode, KeepAxes, Result, Sweep, Tensor};

fn number(x: f64) -> Variable {
    ad().constant(Tensor::scalar(x).unwrap())
}

fn total(x: &Variable) -> Result<Variable> {
    x.sum((0..x.shape().rank()).collect::<Vec<_>>(), KeepAxes::Drop)
}

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
fn f34_ties_share_a_gradient_of_one() {
    let x = ad().constant(real(&[4], &[1.0, 3.0, 3.0, 2.0]));
    let gradient = grad(|x| x.max([0], KeepAxes::Drop), &x).unwrap();
    assert_eq!(values(&gradient), [0.0, 0.5, 0.5, 0.0]);
    let own = grad(|x| x.maximum(x), &number(2.0)).unwrap();
    assert_eq!(values(&own), [1.0]);
}

#[test]
fn f35_magnitudes_of_tiny_complex_numbers_have_a_direction() {
    let at = |z: Complex32| {
        let z = ad().constant(Tensor::scalar(z).unwrap());
        grad(Variable::abs, &z).unwrap().value().as_slice::<Complex32>().unwrap()[0]
    };
    assert_eq!(at(Complex32::new(-1.0568e-23, 0.0)), Complex32::new(-1.0, 0.0));
    assert_eq!(at(Complex32::new(0.0, 0.0)), Complex32::new(0.0, 0.0));
}

#[test]
fn f36_the_gradient_of_a_real_part_points_uphill() {
    let z = Complex64::new(1.0, 2.0);
    let point = ad().constant(Tensor::scalar(z).unwrap());
    let gradient = grad(|z| z.exp()?.convert(DType::F64), &point).unwrap();
    // d Re(e^z) = Re(e^z dz), so that steepest ascent is along conj(e^z).
    let expected = z.exp().conj();
    let actual = gradient.value().as_slice::<Complex64>().unwrap()[0];
    assert!((actual - expected).norm() < 1e-13, "{actual} is not {expected}");
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
fn f41_a_rule_may_differentiate_within_a_sweep() {
    let square = Function::new("square", |inputs| Ok(vec![inputs[0].mul(&inputs[0])?]))
        .with_pullback(|call, cotangents| {
            let slope = grad(|x| x.mul(x), &call.inputs[0])?;
            let leaf = slope.autodiff().variable(slope.value().clone())?;
            leaf.mul(&leaf)?.backward()?;
            assert!(leaf.gradient().is_some());
            Ok(vec![cotangents[0].as_ref().map(|ct| ct.mul(&slope)).transpose()?])
        });
    let x = ad().variable(Tensor::scalar(3.0_f64).unwrap()).unwrap();
    square.apply(&[&x]).unwrap().remove(0).backward().unwrap();
    assert_eq!(x.gradient().unwrap().as_slice::<f64>().unwrap(), [6.0]);
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
fn inputs_that_are_no_floats_have_no_tangent() {
    let k = ad().constant(Tensor::scalar(3_i64).unwrap());
    let error = grad(|k| k.convert(DType::F64), &k).unwrap_err();
    assert!(error.to_string().contains("i64"), "{error}");
    let results = jvp(|xs| Ok(vec![xs[0].convert(DType::I64)?]), &[&number(2.5)], &[&number(1.0)]);
    assert!(results.unwrap()[0].1.is_none());
}

#[test]
fn a_selected_branch_hides_what_is_not_a_number() {
    // The double-where idiom: the branch not taken must be finite too.
    let x = ad().constant(real(&[2], &[0.0, 4.0]));
    let safe_root = |x: &Variable| {
        let positive = x.compare(&(x * 0.0)?, Comparison::Gt)?;
        let safe = positive.select(x, &(&(x * 0.0)? + 1.0)?)?;
        total(&positive.select(&safe.sqrt()?, &(x * 0.0)?)?)
    };
    assert_eq!(values(&grad(safe_root, &x).unwrap()), [0.0, 0.25]);
}
