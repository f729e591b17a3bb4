//! One program that a task runs: printed as a line that a person can paste, then run.
//!
//! A step says what it runs before it runs, and turns a non-zero exit into a [`Failure`]. It does
//! not capture output: what the program prints is what the person sees.

use std::fmt;
use std::path::Path;
use std::process::{Command, Stdio};

/// Why a task ended early.
#[derive(Debug)]
pub(super) enum Failure {
    /// The command line was not understood.
    Usage(String),
    /// A check is red, or a program could not be run.
    Red(String),
}

impl Failure {
    /// What the process exits with: 2 for a wrong command line, 1 for a red check.
    pub(super) fn exit_code(&self) -> u8 {
        match self {
            Self::Usage(_) => 2,
            Self::Red(_) => 1,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usage(text) | Self::Red(text) => f.write_str(text),
        }
    }
}

/// A program, its arguments and the variables that are set for it.
#[derive(Debug, Clone)]
pub(super) struct Step {
    /// The program, if it is not cargo.
    program: Option<String>,
    arguments: Vec<String>,
    variables: Vec<(&'static str, String)>,
    unset: Vec<&'static str>,
}

/// What a program printed.
pub(super) struct Printed {
    pub(super) output: String,
    pub(super) errors: String,
}

impl Step {
    /// The cargo that started this task, with the given words.
    pub(super) fn cargo<W: Into<String>>(words: impl IntoIterator<Item = W>) -> Self {
        let arguments = words.into_iter().map(Into::into).collect();
        Self { program: None, arguments, variables: Vec::new(), unset: Vec::new() }
    }

    /// Another program, with the given words.
    pub(super) fn program<W: Into<String>>(
        name: impl Into<String>,
        words: impl IntoIterator<Item = W>,
    ) -> Self {
        Self { program: Some(name.into()), ..Self::cargo(words) }
    }

    /// Appends words.
    pub(super) fn args<W: Into<String>>(mut self, words: impl IntoIterator<Item = W>) -> Self {
        self.arguments.extend(words.into_iter().map(Into::into));
        self
    }

    /// Sets a variable for this step alone.
    pub(super) fn env(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.variables.push((name, value.into()));
        self
    }

    /// Takes a variable away for this step alone.
    pub(super) fn unset(mut self, name: &'static str) -> Self {
        self.unset.push(name);
        self
    }

    /// Adds compiler flags to those the person has already set in `variable`.
    pub(super) fn more_flags(self, variable: &'static str, flags: &str) -> Self {
        let value = match std::env::var(variable) {
            Ok(set) if !set.trim().is_empty() => format!("{set} {flags}"),
            _ => flags.to_owned(),
        };
        self.env(variable, value)
    }

    /// Prints the line and runs it in `directory`.
    pub(super) fn run(&self, directory: &Path) -> Result<(), Failure> {
        eprintln!("$ {self}");
        let status = self
            .command(directory)
            .status()
            .map_err(|error| Failure::Red(format!("`{self}` could not be started: {error}")))?;
        if status.success() {
            return Ok(());
        }
        Err(Failure::Red(format!("`{self}` failed with {status}")))
    }

    /// Runs silently and returns what it printed.
    pub(super) fn read(&self, directory: &Path) -> Result<Printed, Failure> {
        let output = self
            .command(directory)
            .stdin(Stdio::null())
            .output()
            .map_err(|error| Failure::Red(format!("`{self}` could not be started: {error}")))?;
        let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
        let printed = Printed { output: text(&output.stdout), errors: text(&output.stderr) };
        if output.status.success() {
            return Ok(printed);
        }
        Err(Failure::Red(format!("`{self}` failed with {}:\n{}", output.status, printed.errors)))
    }

    /// Runs silently; whether it succeeded. For questions such as `cargo deny --version`.
    pub(super) fn succeeds(&self, directory: &Path) -> bool {
        let mut command = self.command(directory);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    }

    fn command(&self, directory: &Path) -> Command {
        let cargo = || std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut command =
            Command::new(self.program.as_ref().map_or_else(cargo, |name| name.into()));
        command.args(&self.arguments).current_dir(directory);
        self.unset.iter().for_each(|name| {
            command.env_remove(name);
        });
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, value) in &self.variables {
            write!(f, "{name}={} ", quoted(value))?;
        }
        f.write_str(&quoted(self.program.as_deref().unwrap_or("cargo")))?;
        for word in &self.arguments {
            write!(f, " {}", quoted(word))?;
        }
        Ok(())
    }
}

/// A word as a POSIX shell reads it back.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_printed_line_can_be_pasted_into_a_shell() {
        let step = Step::cargo(["test", "-p", "a", "it's"]).env("RUSTFLAGS", "--cfg loom");
        assert_eq!(step.to_string(), r"RUSTFLAGS='--cfg loom' cargo test -p a 'it'\''s'");
    }

    #[test]
    fn a_failing_program_is_a_failure_that_names_its_line() {
        let failure = Step::cargo(["no-such-subcommand-here"]).run(Path::new(".")).unwrap_err();
        assert_eq!(failure.exit_code(), 1);
        assert!(failure.to_string().contains("cargo no-such-subcommand-here"), "{failure}");
    }
}
