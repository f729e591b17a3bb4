//! `tenferro doctor`: what this machine offers and what the library makes of it.

mod hazards;
mod report;
mod sizing;

use tenferro::CpuBackend;

use crate::{failure::Failure, report::json};
use hazards::mapped_libraries;
use report::DoctorReport;

/// Print what this machine offers and what Tenferro makes of it
///
/// Shows the CPUs that this process may use and why, the threads of a backend with default settings, its providers of
/// matrix products, the memory it keeps, who holds CPUs now, and what is known to go wrong on such a machine.
#[derive(clap::Args)]
pub(super) struct Arguments {
    /// Print one line of JSON
    #[arg(long)]
    json: bool,
}

/// Runs the command; the text to print.
pub(super) fn run(arguments: &Arguments) -> Result<String, Failure> {
    let backend = CpuBackend::new().map_err(Failure::Backend)?;
    let report = DoctorReport::new(&backend.diagnostics(), &mapped_libraries());
    Ok(if arguments.json { json(&report) } else { report.to_string() })
}
