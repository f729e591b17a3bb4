//! `tenferro providers calibrate`: finds the fastest provider of the usual products now, instead of by the first calls.

use std::{
    fmt::Write,
    time::{Duration, Instant},
};

use tenferro::provider::choice::Entry;

use super::Measured;
use crate::failure::Failure;

/// The time that measuring may take; the call that runs then is ended.
const BUDGET: Duration = Duration::from_secs(15);

/// Find out which provider is the fastest for the usual matrix products, and remember it
///
/// It takes less than 20 seconds and keeps the machine busy meanwhile. What was found out before is kept. Programs that
/// choose the provider `auto` read it; without it they compare providers by their first products.
#[derive(clap::Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    measured: Measured,
    /// Forget what was found out, instead
    #[arg(long)]
    reset: bool,
}

/// Runs the command; the text to print.
pub(super) fn run(arguments: &Arguments) -> Result<String, Failure> {
    let backend = arguments.measured.backend()?;
    let file = backend.choices_file();
    let place = file.map_or_else(|| "nowhere".to_owned(), |file| file.display().to_string());
    if arguments.reset {
        backend.reset_choices().map_err(Failure::Backend)?;
        return Ok(format!("forgotten: {place}\n"));
    }
    let start = Instant::now();
    let settled = backend.calibrate(BUDGET).map_err(Failure::Backend)?;
    let took = start.elapsed().as_secs_f64();
    let mut text = table(&backend.choices());
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{settled} classes are settled after {took:.1} s; kept in {place}");
    Ok(text)
}

/// A line a class: who was chosen, and how fast everybody was.
pub(super) fn table(entries: &[Entry]) -> String {
    let mut text = format!("{:<24} {:<16} GFLOP/s\n", "class", "chosen");
    for Entry { class, chosen, records } in entries {
        let chosen = chosen.as_deref().unwrap_or("(being compared)");
        let rate = |(name, rate): (&str, f64)| format!("{name} {rate:.1}");
        let rates: Vec<_> = records
            .iter()
            .filter(|(_, record)| record.calls > 0)
            .map(|(name, record)| rate((name, record.gflops(class.dtype.0))))
            .collect();
        let _ = writeln!(text, "{:<24} {chosen:<16} {}", class.to_string(), rates.join(", "));
    }
    text
}
