//! Minimises the Rosenbrock function by Newton's method, whose linear systems conjugate gradients solve from products
//! with the Hessian alone.
//!
//! `cargo run --release -p tenferro --example newton`

use tenferro::ad::{Autodiff, Variable, grad, hvp};
use tenferro::prelude::*;

/// The sum of `100 (x[i+1] - x[i]^2)^2 + (1 - x[i])^2`: a valley whose only minimum, from near, is ones.
fn rosenbrock(x: &Variable) -> tenferro::Result<Variable> {
    let n = x.shape()[0];
    let here = x.slice([0], [n - 1], [1])?;
    let next = x.slice([1], [n], [1])?;
    let across = (&next - &here.mul(&here)?)?;
    let along = (1.0 - &here)?;
    let terms = (&(100.0 * &across.mul(&across)?)? + &along.mul(&along)?)?;
    terms.sum([0], KeepAxes::Drop)
}

fn main() -> tenferro::Result<()> {
    let backend = CpuBackend::with_threads(1)?;
    let ad = Autodiff::new(backend.clone());
    let mut x = ad.constant(Tensor::from_vec_col_major([4], vec![0.8_f64, 0.7, 0.6, 0.3])?);
    let steps = backend.with_execution_scope(|| -> tenferro::Result<usize> {
        for step in 0..50 {
            let slope = grad(rosenbrock, &x)?;
            let size = dot(&slope, &slope)?.sqrt();
            println!("step {step}: |gradient| {size:.3e} at {}", x.value());
            if size < 1e-10 {
                return Ok(step);
            }
            let down = solve(|v| hvp(rosenbrock, &x, v), &slope)?;
            x = (&x - &down)?;
        }
        Ok(50)
    })??;
    println!("{steps} steps");
    for &x in x.value().as_slice::<f64>()? {
        assert!((x - 1.0).abs() < 1e-8, "not at the minimum: {x}");
    }
    Ok(())
}

/// The solution of `product(x) = rhs` by conjugate gradients.
fn solve(
    product: impl Fn(&Variable) -> tenferro::Result<Variable>,
    rhs: &Variable,
) -> tenferro::Result<Variable> {
    let mut x = (rhs * 0.0)?;
    let mut residual = rhs.clone();
    let mut direction = residual.clone();
    let mut size = dot(&residual, &residual)?;
    let enough = 1e-24 * size;
    for _ in 0..4 * rhs.shape()[0] {
        if size <= enough {
            break;
        }
        let image = product(&direction)?;
        let length = size / dot(&direction, &image)?;
        x = (&x + &(length * &direction)?)?;
        residual = (&residual - &(length * &image)?)?;
        let before = std::mem::replace(&mut size, dot(&residual, &residual)?);
        direction = (&residual + &((size / before) * &direction)?)?;
    }
    Ok(x)
}

fn dot(x: &Variable, y: &Variable) -> tenferro::Result<f64> {
    x.matmul(y)?.value().get::<f64>(&[])
}

#[cfg(test)]
#[test]
fn finds_the_minimum() -> tenferro::Result<()> {
    main()
}
