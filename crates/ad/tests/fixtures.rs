//! Gradients at hard points against what PyTorch and JAX have there, first and second order.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::collections::BTreeMap;

use common::{ad, parts};
use num_complex::Complex64 as C64;
use tenferro_ad::{Variable, grad};
use tenferro_tensor::{GatherMode, KeepAxes, Result, SortOrder, Sweep, Tensor};

const DROP: KeepAxes = KeepAxes::Drop;

fn numbers(text: &str) -> Vec<f64> {
    text.split(' ').map(|number| number.parse().unwrap()).collect()
}

fn all(x: &Variable) -> Result<Variable> {
    x.sum([0], DROP)
}

fn constant(elements: &[f64]) -> Variable {
    ad().constant(common::real(&[elements.len()], elements))
}

/// The functions of `gradients.py`, by name; `None` for a name that it does not have.
fn function(name: &str, x: &Variable) -> Option<Result<Variable>> {
    let weights = |n: i32| constant(&(0..n).map(|place| f64::from(1 << place)).collect::<Vec<_>>());
    let row =
        |place: usize, y: &Variable| y.slice([place], [place + 1], [1])?.reshape([0_usize; 0]);
    let f: &dyn Fn() -> Result<Variable> = match name {
        "cube" => &|| all(&x.mul(x)?.mul(x)?),
        "square_by_pow" => &|| all(&x.pow(&constant(&[2.0; 3]))?),
        "power_zero" => &|| all(&x.pow(&constant(&[0.0; 3]))?),
        "exponent_at_zero" => &|| all(&constant(&[0.0; 3]).pow(x)?),
        "abs" => &|| all(&x.abs()?),
        "sqrt" => &|| all(&x.sqrt()?),
        "norm" => &|| x.norm([0], DROP),
        "prod" => &|| x.prod([0], DROP),
        "cumprod" => &|| all(&x.cumprod(0_usize, Sweep::default())?),
        "max" => &|| x.max([0], DROP),
        "min" => &|| x.min([0], DROP),
        "maximum_with_two" => &|| all(&x.maximum(&constant(&[2.0; 3]))?),
        "cummax" => &|| all(&x.cummax(0_usize, Sweep::default())?.mul(&weights(4))?),
        "sort" => &|| all(&x.sort(0_usize, SortOrder::Ascending)?.mul(&weights(4))?),
        "gather" => &|| {
            let indices = Tensor::from_vec_col_major([5], vec![0_i64, 2, 0, 0, 1])?;
            let taken = x.take_along_axis(&ad().constant(indices), 0_usize, GatherMode::Refuse)?;
            all(&taken.mul(&taken)?.mul(&constant(&[1.0, 2.0, 3.0, 4.0, 5.0]))?)
        },
        "logsumexp" => &|| x.logsumexp([0], DROP),
        "softmax_first" => &|| row(0, &x.softmax([0])?),
        "log_softmax_last" => &|| row(2, &x.log_softmax([0])?),
        "sigmoid" => &|| all(&x.sigmoid()?),
        "tanh" => &|| all(&x.tanh()?),
        "log1p" => &|| all(&x.log1p()?),
        "expm1" => &|| all(&x.expm1()?),
        "erf" => &|| all(&x.erf()?),
        "erf_inv" => &|| all(&x.erf_inv()?),
        "lgamma" => &|| all(&x.lgamma()?),
        "angle_to_one" => &|| all(&x.atan2(&constant(&[1.0; 3]))?),
        "variance" => &|| x.var([0], DROP, 0_usize),
        "real_exp" => &|| all(&x.exp()?.real()?),
        "magnitude" => &|| all(&x.abs()?),
        "magnitude_squared" => &|| all(&x.mul(&x.conj()?)?.real()?),
        "imaginary_log" => &|| all(&x.log()?.imag()?),
        "real_sqrt" => &|| all(&x.sqrt()?.real()?),
        "real_inverse" => &|| all(&(1.0 / x)?.real()?),
        _ => return None,
    };
    Some(f())
}

fn operand(name: &str, parts: &[f64]) -> Tensor {
    let is_complex = [
        "real_exp",
        "magnitude",
        "magnitude_squared",
        "imaginary_log",
        "real_sqrt",
        "real_inverse",
    ]
    .contains(&name);
    if is_complex {
        let elements: Vec<C64> = parts.chunks(2).map(|z| C64::new(z[0], z[1])).collect();
        Tensor::from_vec_col_major([elements.len()], elements).unwrap()
    } else {
        common::real(&[parts.len()], parts)
    }
}

fn gradient(name: &str, order: &str, x: &Variable) -> Result<Variable> {
    let f = |x: &Variable| function(name, x).unwrap_or_else(|| panic!("no function `{name}`"));
    match order {
        "1" => grad(f, x),
        _ => grad(
            |x| {
                let weights: Vec<f64> = (1..=x.shape()[0]).map(|place| place as f64).collect();
                all(&grad(f, x)?.mul(&constant(&weights))?)
            },
            x,
        ),
    }
}

#[test]
fn gradients_at_hard_points_are_those_of_pytorch_and_jax() {
    let mut compared: BTreeMap<&str, usize> = BTreeMap::new();
    for line in include_str!("fixtures/gradients.txt").lines() {
        let fields: Vec<&str> = line.split(';').collect();
        let [name, order, library, x, expected] = fields[..] else { panic!("{line}") };
        let x = ad().constant(operand(name, &numbers(x)));
        let actual = gradient(name, order, &x).unwrap_or_else(|error| panic!("{line}: {error}"));
        let expected = numbers(expected);
        let finite = expected.iter().filter(|x| x.is_finite());
        let largest = finite.fold(1.0_f64, |largest, x| largest.max(x.abs()));
        for (actual, expected) in parts(actual.value()).into_iter().zip(expected) {
            let close = (actual - expected).abs() <= 1e-11 * largest;
            assert!(close || actual == expected, "{line}: {actual} is not {expected}");
        }
        *compared.entry(library).or_default() += 1;
    }
    assert!(compared["torch"] >= 50 && compared["jax"] >= 40, "{compared:?}");
}
