//! `tenferro providers`: who computes matrix products and decompositions here, and whether they do it right.

mod calibrate;
mod explain;
mod list;
mod test;

use std::path::PathBuf;

use clap::Subcommand;
use tenferro::{CpuBackend, CpuBackendBuilder, provider::Preference};

use crate::failure::Failure;

/// List, test and compare the providers of matrix products and LAPACK routines
#[derive(clap::Args)]
pub(super) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    List(list::Arguments),
    Test(test::Arguments),
    Calibrate(calibrate::Arguments),
    Explain(explain::Arguments),
}

/// Runs the command; the text to print.
pub(super) fn run(arguments: &Arguments) -> Result<String, Failure> {
    match &arguments.command {
        Command::List(arguments) => list::run(arguments),
        Command::Test(arguments) => test::run(arguments),
        Command::Calibrate(arguments) => calibrate::run(arguments),
        Command::Explain(arguments) => explain::run(arguments),
    }
}

/// Which providers a command is about.
#[derive(clap::Args)]
struct Choice {
    /// Providers by name, such as native, mkl, openblas or blis; those that are there if none is named
    ///
    /// A library that is named is looked for in the search path, then where the system looks.
    #[arg(value_name = "PROVIDER")]
    names: Vec<String>,
    /// A file, or a folder of libraries or of folders of them, to search before those of TENFERRO_PROVIDER_PATH
    #[arg(long, value_name = "PATH")]
    path: Vec<PathBuf>,
}

impl Choice {
    /// A backend with what was named and what lies in the path.
    fn builder(&self) -> CpuBackendBuilder {
        let builder = CpuBackend::builder().threads(1).provider_path(&self.path);
        if self.names.is_empty() {
            return builder;
        }
        // A name that is not there is no error yet: the command says which one it is about.
        let names = self.names.iter().map(String::as_str).chain(["native"]);
        builder.provider_preference(Preference::Order(names.map(str::to_owned).collect()))
    }

    /// Whether it is about a provider.
    fn has(&self, name: &str) -> bool {
        self.names.is_empty() || self.names.iter().any(|named| named == name)
    }
}

/// The backend that measures and chooses.
#[derive(clap::Args)]
struct Measured {
    /// Threads of the backend; those of the machine unless said
    #[arg(long)]
    threads: Option<usize>,
    /// A file, or a folder of libraries or of folders of them, to search before those of TENFERRO_PROVIDER_PATH
    #[arg(long, value_name = "PATH")]
    path: Vec<PathBuf>,
}

impl Measured {
    fn backend(&self) -> Result<CpuBackend, Failure> {
        let builder = CpuBackend::builder().provider_preference(Preference::Auto);
        let builder = builder.provider_path(&self.path);
        let builder = match self.threads {
            Some(threads) => builder.threads(threads),
            None => builder,
        };
        builder.build().map_err(Failure::Backend)
    }
}
