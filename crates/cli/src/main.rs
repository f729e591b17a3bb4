//! The tenferro program: contract NumPy files, run programs on them, and explain this machine.
//!
//! Results go to standard output, everything else to standard error. A failure is one line there and exit code 2. The
//! program computes nothing itself: it reads, calls the library and writes.

#![forbid(unsafe_code)]

mod contract;
mod doctor;
mod failure;
mod machine;
mod npy;
mod output;
mod progress;
mod providers;
mod report;
mod run;
mod words;

use std::{
    io::{self, Write},
    process::ExitCode,
};

use clap::{Parser, Subcommand, error::ErrorKind};

use failure::Failure;

/// Contract NumPy files, run programs on them, and explain this machine.
#[derive(Parser)]
#[command(name = "tenferro", version, max_term_width = 100)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Contract(contract::Arguments),
    Run(run::Arguments),
    Doctor(doctor::Arguments),
    Providers(providers::Arguments),
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            // There is nowhere left to say that standard error is gone.
            let _ = writeln!(io::stderr(), "error: {}", failure.line());
            ExitCode::from(2)
        }
    }
}

fn run() -> Result<(), Failure> {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error)
            if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) =>
        {
            return print(&error.render().to_string());
        }
        Err(error) => return Err(usage(&error)),
    };
    let text = match &arguments.command {
        Command::Contract(arguments) => contract::run(arguments)?,
        Command::Run(arguments) => run::run(arguments)?,
        Command::Doctor(arguments) => doctor::run(arguments)?,
        Command::Providers(arguments) => providers::run(arguments)?,
    };
    print(&text)
}

/// The first paragraph of what the parser says, as one line.
fn usage(error: &clap::Error) -> Failure {
    let text = error.render().to_string();
    if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        return Failure::Usage(format!("a command is needed: {}", commands(&text).join(", ")));
    }
    let paragraph = text.split("\n\n").next().unwrap_or_default();
    let words: Vec<&str> = paragraph.split_whitespace().collect();
    let line = words.join(" ");
    Failure::Usage(line.strip_prefix("error: ").unwrap_or(&line).to_owned())
}

/// The commands that a help text lists.
fn commands(help: &str) -> Vec<&str> {
    let list = help.split("Commands:\n").nth(1).unwrap_or_default();
    let lines = list.lines().take_while(|line| !line.trim().is_empty());
    lines.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help").collect()
}

/// Prints a result. Whoever stops reading has read enough: a closed pipe is no failure.
fn print(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Failure::Printing(error)),
        _ => Ok(()),
    }
}
