//! Trains a small network to tell the inside of a circle from the outside, by `backward` and leaves.
//!
//! `cargo run --release -p tenferro --example neural_network`

use tenferro::ad::{Autodiff, Variable};
use tenferro::prelude::*;
use tenferro::tensor::Distribution;

const POINTS: usize = 256;
const HIDDEN: usize = 16;
const STEPS: usize = 600;
const RATE: f64 = 0.5;

fn main() -> tenferro::Result<()> {
    let backend = CpuBackend::with_threads(1)?;
    let accuracy = backend.with_execution_scope(|| train(&Autodiff::new(backend.clone())))??;
    println!("{:.1} % of the points are told right", 100.0 * accuracy);
    assert!(accuracy > 0.95, "the network has not learned: {accuracy}");
    Ok(())
}

/// Trains, and returns which part of the points is told right.
fn train(ad: &Autodiff) -> tenferro::Result<f64> {
    let points = Tensor::random(DType::F64, [2, POINTS], Distribution::UNIT, 1)?;
    let centred: Vec<f64> = points.as_slice::<f64>()?.iter().map(|x| 2.0 * x - 1.0).collect();
    let inside: Vec<f64> =
        centred.chunks(2).map(|p| f64::from(p[0] * p[0] + p[1] * p[1] < 0.5)).collect();
    let x = ad.constant(Tensor::from_vec_col_major([2, POINTS], centred)?);
    let target = ad.constant(Tensor::from_vec_col_major([1, POINTS], inside.clone())?);

    let mut parameters = vec![
        Tensor::random(DType::F64, [HIDDEN, 2], Distribution::STANDARD_NORMAL, 2)?,
        Tensor::zeros(DType::F64, [HIDDEN, 1])?,
        Tensor::random(DType::F64, [1, HIDDEN], Distribution::STANDARD_NORMAL, 3)?,
        Tensor::zeros(DType::F64, [1, 1])?,
    ];
    let mut guess = Vec::new();
    for step in 0..STEPS {
        let leaves: Vec<Variable> =
            parameters.into_iter().map(|tensor| ad.variable(tensor)).collect::<Result<_, _>>()?;
        let [w1, b1, w2, b2] = &leaves[..] else { unreachable!("four parameters") };
        let hidden = (&w1.matmul(&x)? + b1)?.tanh()?;
        let output = (&w2.matmul(&hidden)? + b2)?.tanh()?;
        // 0 outside and 1 inside.
        let output = (&(&output * 0.5)? + 0.5)?;
        let error = (&output - &target)?;
        let loss = error.mul(&error)?.mean([0, 1], KeepAxes::Drop)?;
        if step % 100 == 0 {
            println!("step {step:3}: loss {:.4}", loss.value().get::<f64>(&[])?);
        }
        guess = output.value().to_vec_col_major::<f64>()?;
        loss.backward()?;
        parameters = leaves
            .iter()
            .map(|leaf| {
                let slope = ad.constant(leaf.gradient().expect("every parameter is used"));
                Ok((&leaf.detach() - &(RATE * &slope)?)?.value().clone())
            })
            .collect::<tenferro::Result<_>>()?;
    }
    let right =
        guess.iter().zip(&inside).filter(|(guess, inside)| (**guess > 0.5) == (**inside > 0.5));
    Ok(right.count() as f64 / POINTS as f64)
}

#[cfg(test)]
#[test]
fn learns_the_circle() -> tenferro::Result<()> {
    main()
}
