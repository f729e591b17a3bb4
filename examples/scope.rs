//! Runs the same thousand small operations one by one and inside one execution scope, and prints both times.
//!
//! `cargo run --release -p tenferro --example scope`

use std::time::Instant;

use tenferro::prelude::*;

const OPERATIONS: u32 = 1000;

fn main() -> tenferro::Result<()> {
    let backend = CpuBackend::with_threads(1)?;
    let mut operations = backend.clone();
    let x = Tensor::ones(DType::F64, [64])?;
    let mut run = || -> tenferro::Result<Tensor> {
        let mut y = operations.add(&x, &x)?;
        for _ in 1..OPERATIONS {
            y = operations.add(&y, &x)?;
        }
        Ok(y)
    };

    run()?; // buffers are warm from here on
    let start = Instant::now();
    let alone = run()?;
    let each = start.elapsed() / OPERATIONS;
    println!("each operation admitted on its own: {each:?} an operation");

    let (inside, each) = backend.with_execution_scope(|| {
        let start = Instant::now();
        run().map(|y| (y, start.elapsed() / OPERATIONS))
    })??;
    println!("all in one execution scope:         {each:?} an operation");

    assert_eq!(alone.as_slice::<f64>()?, [f64::from(OPERATIONS + 1); 64]);
    assert_eq!(alone.as_slice::<f64>()?, inside.as_slice::<f64>()?);
    Ok(())
}

#[cfg(test)]
#[test]
fn both_runs_agree() -> tenferro::Result<()> {
    main()
}
