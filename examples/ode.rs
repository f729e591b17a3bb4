//! Integrates a differential equation by a loop inside a program, and finds the rate in it from what was observed: by
//! Newton's method, whose slopes are the derivative of the whole integration.
//!
//! `cargo run --release -p tenferro --example ode`

use tenferro::prelude::*;
use tenferro::program::{Error, Passes, Prepared, Program, Scan, Spec, Traced, trace};

const STEPS: usize = 200;
const STEP: f64 = 0.02;

/// Logistic growth: `y' = rate y (1 - y)`.
fn growth(y: &Traced, rate: &Traced) -> Traced {
    rate * y * (1.0 - y)
}

/// Runge and Kutta's method of fourth order, from the starts of three populations: where they end, and all steps.
fn integration() -> Result<Program, Error> {
    let inputs =
        [Spec::new(DType::F64, [3])?.named("start"), Spec::new(DType::F64, [])?.named("rate")];
    trace(&inputs, |xs| {
        let (start, rate) = (&xs[0], &xs[1]);
        Scan::times(STEPS).run(&[start], |state, _| {
            let y = &state[0];
            let k1 = growth(y, rate);
            let k2 = growth(&(y + &k1 * (STEP / 2.0)), rate);
            let k3 = growth(&(y + &k2 * (STEP / 2.0)), rate);
            let k4 = growth(&(y + &k3 * STEP), rate);
            let next = y + (k1 + k2 * 2.0 + k3 * 2.0 + k4) * (STEP / 6.0);
            (vec![next.clone()], vec![next])
        })
    })
}

/// Where the populations are in truth.
fn exact(start: f64, rate: f64, time: f64) -> f64 {
    1.0 / (1.0 + (1.0 / start - 1.0) * (-rate * time).exp())
}

/// The end of the integration, and how it changes with the rate.
fn end_and_slope(
    tangents: &Prepared,
    backend: &mut CpuBackend,
    start: &Tensor,
    rate: f64,
) -> Result<(Vec<f64>, Vec<f64>), Error> {
    let (still, one) = (Tensor::zeros(DType::F64, [3])?, Tensor::scalar(1.0)?);
    let inputs = [start.into(), Tensor::scalar(rate)?.into(), (&still).into(), (&one).into()];
    let results = tangents.run(backend, inputs)?;
    Ok((results[0].to_vec_col_major()?, results[2].to_vec_col_major()?))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let program = integration()?;
    println!("{program}\n{}", program.cost());
    let tangents = program.jvp()?.prepare(&Passes::all())?;
    let starts = [0.1, 0.2, 0.3];
    let start = Tensor::from_vec_col_major([3], starts.to_vec())?;
    let (time, truth) = (STEPS as f64 * STEP, 1.5);
    let observed = starts.map(|start| exact(start, truth, time));

    let backend = CpuBackend::with_threads(1)?;
    let mut operations = backend.clone();
    let rate = backend.with_execution_scope(|| -> Result<f64, Error> {
        let mut rate = 1.0;
        for step in 0..20 {
            let (end, slope) = end_and_slope(&tangents, &mut operations, &start, rate)?;
            for ((&start, &end), &slope) in starts.iter().zip(&end).zip(&slope) {
                let exact = exact(start, rate, time);
                assert!((end - exact).abs() < 1e-8, "{end} is not {exact}");
                let exact = time * exact * (1.0 - exact);
                assert!((slope - exact).abs() < 1e-7, "slope {slope} is not {exact}");
            }
            // Gauss and Newton's step: least squares of the linear change.
            let away: Vec<f64> = observed.iter().zip(&end).map(|(o, y)| o - y).collect();
            let across: f64 = away.iter().zip(&slope).map(|(away, slope)| away * slope).sum();
            let change = across / slope.iter().map(|slope| slope * slope).sum::<f64>();
            rate += change;
            println!("step {step}: rate {rate:.12}");
            if change.abs() < 1e-12 {
                break;
            }
        }
        Ok(rate)
    })??;
    assert!((rate - truth).abs() < 1e-7, "the rate is {truth}, and not {rate}");
    Ok(())
}

#[cfg(test)]
#[test]
fn finds_the_rate() -> Result<(), Box<dyn std::error::Error>> {
    main()
}
