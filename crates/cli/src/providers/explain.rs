//! `tenferro providers explain`: who computes a product here, and why.

use super::{Measured, calibrate::table};
use crate::failure::Failure;

/// Explain which provider computes a matrix product, and why
#[derive(clap::Args)]
pub(super) struct Arguments {
    /// The product: BLAS's name or a dtype, then m, n and k, and a batch if there is one: "dgemm 64 64 64", "f32 8 8 8 1000";
    /// everything that was measured if it is left out
    product: Option<String>,
    #[command(flatten)]
    measured: Measured,
}

/// Runs the command; the text to print.
pub(super) fn run(arguments: &Arguments) -> Result<String, Failure> {
    let backend = arguments.measured.backend()?;
    let Some(product) = &arguments.product else { return Ok(table(&backend.choices())) };
    let explanation = backend.explain_choice(product, backend.threads());
    let unclear = || {
        Failure::Usage(format!("`{product}` is no product; one is written like `dgemm 64 64 64`"))
    };
    Ok(explanation.ok_or_else(unclear)?.to_string())
}
