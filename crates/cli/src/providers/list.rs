//! `tenferro providers list`: what is there, what it can do, and why the rest is not there.

use std::fmt;

use serde::Serialize;
use tenferro::{AbsentProvider, ProviderInfo};

use super::Choice;
use crate::{failure::Failure, report::json, words};

/// Print the providers that are there, most preferred first, and why others are not
#[derive(clap::Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    choice: Choice,
    /// Print one line of JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: &Arguments) -> Result<String, Failure> {
    let choice = &arguments.choice;
    let found = choice.builder().build().map_err(Failure::Backend)?.diagnostics();
    let providers = found.providers.iter().filter(|provider| choice.has(&provider.name));
    let absent = found.absent.iter().filter(|absent| choice.has(&absent.name));
    let list = List {
        providers: providers.map(Line::new).collect(),
        absent: absent.map(Absent::new).collect(),
    };
    Ok(if arguments.json { json(&list) } else { list.to_string() })
}

/// The providers. Its fields are those of `--json`.
#[derive(Serialize)]
struct List {
    providers: Vec<Line>,
    absent: Vec<Absent>,
}

/// One that is there.
#[derive(Serialize)]
struct Line {
    name: String,
    version: String,
    threads: &'static str,
    reentrancy: &'static str,
    survives_fork: bool,
    dtypes: Vec<String>,
    lapack: Vec<String>,
    notes: Vec<String>,
}

/// One that is known by name and not there.
#[derive(Serialize)]
struct Absent {
    name: String,
    reason: String,
}

impl Line {
    fn new(provider: &ProviderInfo) -> Self {
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect();
        Self {
            name: provider.name.clone(),
            version: provider.version.clone(),
            threads: words::threads(provider.threads),
            reentrancy: words::reentrancy(provider.reentrancy),
            survives_fork: provider.survives_fork,
            dtypes: words(&provider.dtypes),
            lapack: words(&provider.lapack),
            notes: provider.notes.clone(),
        }
    }
}

impl Absent {
    fn new(absent: &AbsentProvider) -> Self {
        Self { name: absent.name.clone(), reason: absent.reason.clone() }
    }
}

impl fmt::Display for List {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for line in &self.providers {
            writeln!(f, "{} {}", line.name, line.version)?;
            writeln!(f, "  threads    {}; {}", line.threads, line.reentrancy)?;
            writeln!(f, "  products   {}", line.dtypes.join(" "))?;
            let lapack = if line.lapack.is_empty() { "none".into() } else { line.lapack.join(" ") };
            writeln!(f, "  LAPACK     {lapack}")?;
            if !line.survives_fork {
                writeln!(f, "  fork       not usable in the child of a fork")?;
            }
            line.notes.iter().try_for_each(|note| writeln!(f, "  note       {note}"))?;
        }
        for absent in &self.absent {
            writeln!(f, "{} is not there", absent.name)?;
            writeln!(f, "  {}", absent.reason)?;
        }
        Ok(())
    }
}
