//! The ground-state energy of a chain of spins in a transverse field, by descent over complex amplitudes.
//!
//! The energy of a state `v` is `<v, H v> / <v, v>`; its gradient by the complex amplitudes points uphill in their real
//! and imaginary parts. For three spins in a ring the exact answer is known.
//!
//! `cargo run --release -p tenferro --example quantum_chain`

use num_complex::Complex64;
use tenferro::ad::{Autodiff, Variable, value_and_grad};
use tenferro::prelude::*;
use tenferro::tensor::Distribution;

const SPINS: usize = 3;
const STATES: usize = 1 << SPINS;
const FIELD: f64 = 1.0;

fn main() -> tenferro::Result<()> {
    let backend = CpuBackend::with_threads(1)?;
    let ad = Autodiff::new(backend.clone());
    let hamiltonian = ad.constant(Tensor::from_vec_col_major([STATES, STATES], ising_ring())?);
    let energy = |v: &Variable| -> tenferro::Result<Variable> {
        let image = hamiltonian.matmul(v)?;
        let total = v.conj()?.mul(&image)?.sum([0], KeepAxes::Drop)?.real()?;
        total.div(&v.sum_of_squares([0], KeepAxes::Drop)?)
    };

    let found = backend.with_execution_scope(|| -> tenferro::Result<f64> {
        let mut v = ad.constant(start()?);
        let mut lowest = f64::INFINITY;
        for step in 0..300 {
            let (value, uphill) = value_and_grad(energy, &v)?;
            lowest = value.value().get::<f64>(&[])?;
            if step % 50 == 0 {
                println!("step {step:3}: energy {lowest:.9}");
            }
            let down = (&v - &(0.1 * &uphill)?)?;
            let length = down.sum_of_squares([0], KeepAxes::Drop)?.sqrt()?.convert(DType::C64)?;
            v = down.div(&length)?;
        }
        Ok(lowest)
    })??;

    // Free fermions on the ring (Pfeuty, 1970).
    let exact = exact_energy();
    println!("found {found:.9}, exact {exact:.9}");
    assert!((found - exact).abs() < 1e-6, "{found} is not {exact}");
    Ok(())
}

/// `-sum Z Z - FIELD sum X` over neighbours and spins of a ring, as a matrix.
fn ising_ring() -> Vec<Complex64> {
    let mut matrix = vec![Complex64::ZERO; STATES * STATES];
    for state in 0..STATES {
        let up = |spin: usize| state >> (spin % SPINS) & 1 == 1;
        for spin in 0..SPINS {
            let aligned = if up(spin) == up(spin + 1) { 1.0 } else { -1.0 };
            matrix[state + STATES * state] -= aligned;
            matrix[(state ^ (1 << spin)) + STATES * state] -= FIELD;
        }
    }
    matrix
}

/// Amplitudes without symmetry.
fn start() -> tenferro::Result<Tensor> {
    let parts = Tensor::random(DType::F64, [2, STATES], Distribution::STANDARD_NORMAL, 11)?;
    let amplitudes =
        parts.as_slice::<f64>()?.chunks(2).map(|part| Complex64::new(part[0], part[1])).collect();
    Tensor::from_vec_col_major([STATES], amplitudes)
}

/// Half the sum of `2 sqrt(1 + h^2 - 2 h cos k)` over the momenta of an even number of fermions, below zero.
fn exact_energy() -> f64 {
    let momenta = (0..SPINS).map(|n| (2 * n + 1) as f64 * std::f64::consts::PI / SPINS as f64);
    -momenta.map(|k| (1.0 + FIELD * FIELD - 2.0 * FIELD * k.cos()).sqrt()).sum::<f64>()
}

#[cfg(test)]
#[test]
fn finds_the_ground_state() -> tenferro::Result<()> {
    main()
}
