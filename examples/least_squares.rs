//! Fits a straight line to noisy points by gradient descent, and compares it with the normal equations.
//!
//! `cargo run --release -p tenferro --example least_squares`

use tenferro::ad::{Autodiff, Variable, value_and_grad};
use tenferro::prelude::*;
use tenferro::tensor::Distribution;

const POINTS: usize = 200;
const STEPS: usize = 400;

fn main() -> tenferro::Result<()> {
    let backend = CpuBackend::with_threads(1)?;
    let ad = Autodiff::new(backend.clone());

    // y = 2 x - 1 and noise, with a column of ones for the constant.
    let x = Tensor::linspace(DType::F64, -1.0, 1.0, POINTS)?;
    let noise = Tensor::random(DType::F64, [POINTS], Distribution::STANDARD_NORMAL, 7)?;
    let mut design = x.to_vec_col_major::<f64>()?;
    design.extend(vec![1.0; POINTS]);
    let y: Vec<f64> = x
        .as_slice::<f64>()?
        .iter()
        .zip(noise.as_slice::<f64>()?)
        .map(|(x, noise)| 2.0 * x - 1.0 + 0.1 * noise)
        .collect();
    let design = ad.constant(Tensor::from_vec_col_major([POINTS, 2], design)?);
    let y = ad.constant(Tensor::from_vec_col_major([POINTS], y)?);

    let loss = |w: &Variable| -> tenferro::Result<Variable> {
        let error = (&design.matmul(w)? - &y)?;
        error.mul(&error)?.mean([0], KeepAxes::Drop)
    };
    // All steps run in one execution scope: the CPUs are acquired once.
    let w = backend.with_execution_scope(|| -> tenferro::Result<Variable> {
        let mut w = ad.constant(Tensor::zeros(DType::F64, [2])?);
        for step in 0..STEPS {
            let (value, slope) = value_and_grad(loss, &w)?;
            if step % 100 == 0 {
                println!("step {step:3}: loss {:.6}", value.value().get::<f64>(&[])?);
            }
            w = (&w - &(0.5 * &slope)?)?.detach();
        }
        Ok(w)
    })??;

    let fitted = w.value().as_slice::<f64>()?;
    let exact = normal_equations(design.value().as_slice()?, y.value().as_slice()?);
    println!("fitted {fitted:?}, by the normal equations {exact:?}");
    for (fitted, exact) in fitted.iter().zip(exact) {
        assert!((fitted - exact).abs() < 1e-9, "{fitted} is not {exact}");
    }
    Ok(())
}

/// The least-squares solution of a matrix of two columns.
fn normal_equations(design: &[f64], y: &[f64]) -> [f64; 2] {
    let (a, b) = design.split_at(y.len());
    let dot = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| x * y).sum::<f64>();
    let (aa, ab, bb, ay, by) = (dot(a, a), dot(a, b), dot(b, b), dot(a, y), dot(b, y));
    let determinant = aa * bb - ab * ab;
    [(ay * bb - by * ab) / determinant, (by * aa - ay * ab) / determinant]
}

#[cfg(test)]
#[test]
fn finds_the_least_squares() -> tenferro::Result<()> {
    main()
}
