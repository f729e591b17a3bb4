//! The task runner, started as `cargo xtask COMMAND`.
//!
//! Each command is a file; the table below is all that this file knows, and the help text is
//! derived from it. Nothing here is needed to build or use the library: the crate is compiled
//! before every task, so it keeps its dependencies few.

#![forbid(unsafe_code)]

mod arguments;
mod bench;
mod build_time;
mod callgrind;
mod ci;
mod layers;
mod model;
mod operations;
mod peers;
mod providers;
mod source;
mod step;
mod test;
mod tidy;
mod workspace;

use std::process::ExitCode;

use arguments::Arguments;
use step::Failure;
use workspace::Workspace;

/// One command of the task runner.
struct Command {
    name: &'static str,
    /// The arguments as the usage line shows them.
    arguments: &'static str,
    /// One line for the list of commands.
    about: &'static str,
    /// What `cargo xtask NAME --help` says beyond that line.
    details: fn() -> String,
    run: fn(&Workspace, Arguments) -> Result<(), Failure>,
}

/// All commands, in the order in which the help lists them.
const COMMANDS: &[Command] = &[
    test::COMMAND,
    ci::COMMAND,
    layers::COMMAND,
    tidy::COMMAND,
    model::COMMAND,
    operations::COMMAND,
    bench::COMMAND,
    peers::COMMAND,
    providers::COMMAND,
];

/// The list of commands, as `cargo xtask --help` prints it.
fn help() -> String {
    let mut text = String::from("Usage: cargo xtask COMMAND [ARGUMENTS]\n\nCommands:\n");
    for command in COMMANDS {
        let usage = format!("{} {}", command.name, command.arguments);
        text.push_str(&format!("  {usage:<44}{}\n", command.about));
    }
    text.push_str("\n`cargo xtask COMMAND --help` says more about one of them.\n");
    text
}

/// The page of one command.
fn command_help(command: &Command) -> String {
    let usage = format!("cargo xtask {} {}", command.name, command.arguments);
    format!("{}\n\nUsage: {}\n\n{}", command.about, usage.trim_end(), (command.details)())
}

fn dispatch(mut words: Vec<String>) -> Result<(), Failure> {
    if words.is_empty() {
        return Err(Failure::Usage(format!("no command given\n\n{}", help())));
    }
    let name = words.remove(0);
    if matches!(name.as_str(), "help" | "--help" | "-h") {
        print!("{}", help());
        return Ok(());
    }
    let Some(command) = COMMANDS.iter().find(|command| command.name == name) else {
        return Err(Failure::Usage(format!("no command is called `{name}`\n\n{}", help())));
    };
    let arguments = Arguments::new(words);
    if arguments.asks_for_help() {
        print!("{}", command_help(command));
        return Ok(());
    }
    (command.run)(&Workspace::find(), arguments)
}

fn main() -> ExitCode {
    match dispatch(std::env::args().skip(1).collect()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("xtask: {failure}");
            ExitCode::from(failure.exit_code())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn help_lists_every_command_once_under_its_name() {
        let text = help();
        for command in COMMANDS {
            let rows = text
                .lines()
                .filter(|line| line.split_whitespace().next() == Some(command.name))
                .count();
            assert_eq!(rows, 1, "rows of `{}` in:\n{text}", command.name);
            assert!(command_help(command).contains(command.about));
        }
    }

    #[test]
    fn an_unknown_or_missing_command_is_a_usage_error() {
        for words in [vec![], vec!["frobnicate".to_owned()]] {
            let failure = dispatch(words).unwrap_err();
            assert_eq!(failure.exit_code(), 2);
            assert!(failure.to_string().contains("Usage: cargo xtask"));
        }
    }
}
