//! `tenferro providers test`: the conformance suite, run on the providers of this machine.

use std::fmt::Write;

use tenferro::provider::conformance;

use super::Choice;
use crate::failure::Failure;

/// Run the conformance suite on providers, and fail if one computes wrong results
#[derive(clap::Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    choice: Choice,
}

pub(super) fn run(arguments: &Arguments) -> Result<String, Failure> {
    let choice = &arguments.choice;
    let registry = choice.builder().registry().map_err(Failure::Backend)?;
    for name in &choice.names {
        registry.get(name).map_err(Failure::Provider)?;
    }
    let mut text = String::new();
    for provider in registry.iter().filter(|provider| choice.has(provider.name())) {
        let report =
            conformance::run(&**provider).map_err(|failure| Failure::Unsound(failure.into()))?;
        let (name, version) = (provider.name(), provider.version());
        let conformance::Report { executed, solved, .. } = report;
        // A String takes everything.
        let _ = writeln!(
            text,
            "{name} {version}: {executed} products and {solved} LAPACK results are right"
        );
    }
    Ok(text)
}
