//! Contracts a chain of three matrices in one execution scope, along two paths, and shows what the better one saves.
//!
//! `cargo run --release -p tenferro --example contract`

use tenferro::einsum::{Path, Plan, Subscripts};
use tenferro::prelude::*;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let backend = CpuBackend::new()?;
    let mut operations = backend.clone();

    let a = Tensor::full([400, 20], 0.5_f64)?;
    let b = Tensor::full([20, 400], 2.0_f64)?;
    let c = Tensor::full([400, 30], 1.0_f64)?;
    let operands = [a.as_operand(), b.as_operand(), c.as_operand()];
    let shapes = [a.shape(), b.shape(), c.shape()];
    let chain: Subscripts = "ij,jk,kl->il".parse()?;

    for path in [Path::LeftToRight, Path::Pairs(vec![(1, 2), (0, 1)])] {
        let plan = Plan::new(&chain, &shapes, &path)?;
        let cost = plan.cost(DType::F64);
        // One admission for all steps of the plan.
        let result = backend.with_execution_scope(|| plan.run(&mut operations, &operands))??;
        assert_eq!(result.get::<f64>(&[7, 7])?, 20.0 * 400.0);
        let (flops, largest) = (cost.flops, cost.largest_intermediate);
        println!("{path:?}: {flops:.2e} flops, largest intermediate {largest} elements");
    }
    Ok(())
}

#[cfg(test)]
#[test]
fn both_paths_agree() -> Result<(), Box<dyn std::error::Error>> {
    main()
}
