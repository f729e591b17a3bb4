//! `cargo xtask test`: documentation tests, then every other test.
//!
//! The test runner's own totals are the last thing printed, so that people and machines find
//! them in the same place. Only a Rust toolchain is needed; cargo-nextest is used where it is
//! installed.

use super::providers;
use super::step::{Failure, Step};
use super::{Command, Workspace};

pub(super) const COMMAND: Command = Command {
    name: "test",
    arguments: "[--providers | --sanitizer] [-- RUNNER-ARGUMENTS]",
    about: "run every test of the workspace",
    details: || {
        "Runs the documentation tests, then the rest through cargo-nextest where that is\n\
         installed and through `cargo test` elsewhere. Words after `--` go to that runner, and\n\
         narrow the run to it: the documentation tests are then left out. `-p PACKAGE` among\n\
         them stands in for `--workspace`.\n\n\
         `--providers` runs the tests of the libraries that `cargo xtask providers install` got, loaded\n\
         and linked, and no others; it says which ones are not there.\n\n\
         `--sanitizer` runs the tests of the crates with unsafe code under AddressSanitizer, where there is a\n\
         nightly compiler; it builds them anew in target/sanitizer.\n"
            .to_owned()
    },
    run: |workspace, mut arguments| {
        if arguments.flag("--providers") {
            loaded(workspace, &arguments.finish()?)?;
            return linked(workspace);
        }
        if arguments.flag("--sanitizer") {
            return sanitized(workspace, &arguments.finish()?);
        }
        let passed_on = arguments.finish()?;
        let runner = Runner::installed(workspace);
        if passed_on.is_empty() {
            documentation(workspace)?;
        } else {
            eprintln!("documentation tests left out: the run is narrowed by `--`");
        }
        runner.run(&passed_on).run(workspace.root())
    },
};

/// The programs that can run the tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Runner {
    Nextest,
    Cargo,
}

impl Runner {
    /// The best of those on this machine.
    pub(super) fn installed(workspace: &Workspace) -> Self {
        let nextest = Step::cargo(["nextest", "--version"]);
        if nextest.succeeds(workspace.root()) { Self::Nextest } else { Self::Cargo }
    }

    /// Compiles the tests.
    pub(super) fn build(self) -> Step {
        self.base(&[]).args(["--no-run"])
    }

    /// Runs them; words in `passed_on` are the runner's own.
    pub(super) fn run(self, passed_on: &[String]) -> Step {
        self.base(passed_on).args(passed_on)
    }

    fn base(self, passed_on: &[String]) -> Step {
        let picks_package = |word: &String| {
            word.starts_with("-p") || word == "--package" || word.starts_with("--package=")
        };
        let workspace =
            if passed_on.iter().any(picks_package) { None } else { Some("--workspace") };
        match self {
            Self::Nextest => Step::cargo(["nextest", "run"]).args(workspace),
            // The target kinds are named because the plain form would run the documentation
            // tests again.
            Self::Cargo => Step::cargo(["test"]).args(workspace).args([
                "--lib",
                "--bins",
                "--tests",
                "--examples",
            ]),
        }
    }
}

/// Runs the documentation tests of every library.
pub(super) fn documentation(workspace: &Workspace) -> Result<(), Failure> {
    Step::cargo(["test", "--doc", "--workspace"]).run(workspace.root())
}

/// Runs the tests of loaded libraries on those that are there.
pub(super) fn loaded(workspace: &Workspace, passed_on: &[String]) -> Result<(), Failure> {
    for name in providers::absent(workspace.root()) {
        eprintln!(
            "\n!! SKIPPED: {name} is not there; `cargo xtask providers install {name}` gets it\n"
        );
    }
    let folder = providers::folder(workspace.root());
    if providers::installed(workspace.root()).is_empty() {
        return Ok(());
    }
    // The whole workspace, so that the features are those of the run of all tests and nothing is built twice.
    Step::cargo(["test", "--workspace"])
        .args(LIBRARY_TESTS.iter().flat_map(|test| ["--test", test]))
        .args((!passed_on.is_empty()).then_some("--"))
        .args(passed_on.iter().cloned())
        .env(LIBRARIES, folder.to_string_lossy())
        .run(workspace.root())
}

/// Runs the tests of the library that is linked, if it is there.
pub(super) fn linked(workspace: &Workspace) -> Result<(), Failure> {
    let Some(folder) = providers::to_link(workspace.root())? else {
        eprintln!("\n!! SKIPPED: there is no OpenBLAS to link with\n");
        return Ok(());
    };
    let folder = folder.to_string_lossy();
    Step::cargo(["test", "-p", "tenferro-providers-linked", "--features", "openblas"])
        .env("LIBRARY_PATH", folder.clone())
        .env("LD_LIBRARY_PATH", folder)
        .run(workspace.root())
}

/// Runs the tests of the crates that hold unsafe code under AddressSanitizer, which only a nightly compiler has.
fn sanitized(workspace: &Workspace, passed_on: &[String]) -> Result<(), Failure> {
    if !nightly(["--version"]).succeeds(workspace.root()) {
        eprintln!(
            "\n!! SKIPPED: AddressSanitizer needs a nightly compiler; `rustup toolchain install nightly` gets one\n"
        );
        return Ok(());
    }
    under_sanitizer(passed_on).run(workspace.root())
}

fn nightly<const N: usize>(words: [&str; N]) -> Step {
    Step::program("rustup", ["run", "nightly", "cargo"]).args(words)
}

/// The line that does it. The target is named so that build scripts and macros stay as they are.
fn under_sanitizer(passed_on: &[String]) -> Step {
    nightly(["test", "--lib", "--tests", "--target", "host-tuple"])
        .args(["--target-dir", "target/sanitizer"])
        .args(WITH_UNSAFE_CODE.iter().flat_map(|package| ["-p", package]))
        .args((!passed_on.is_empty()).then_some("--"))
        .args(passed_on.iter().cloned())
        .more_flags("RUSTFLAGS", "-Zsanitizer=address")
        // Memory that there is not is asked for and refused, and a test looks at how much stays resident. Leaks are
        // not looked for: in tests of calls from inside of a callback, an executor and its backend hold each other.
        .env("ASAN_OPTIONS", "allocator_may_return_null=1:quarantine_size_mb=4:detect_leaks=0")
}

/// The crates that hold unsafe code and tests of it, without the arbiter, whose atomics the models check.
const WITH_UNSAFE_CODE: &[&str] = &[
    "tenferro-tensor",
    "tenferro-engine",
    "tenferro-cpu",
    "tenferro-provider",
    "tenferro-providers",
];

/// The tests that load libraries.
const LIBRARY_TESTS: &[&str] =
    &["interposed", "libraries", "library_threads", "loaded_backends", "loaded_settings"];

/// Names the folder of the libraries for tests that need real ones.
const LIBRARIES: &str = "TENFERRO_TEST_LIBRARIES";

#[cfg(test)]
mod tests {
    use super::*;

    fn line(runner: Runner, words: &[&str]) -> String {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        runner.run(&words).to_string()
    }

    #[test]
    fn the_sanitizer_sees_the_kernels_and_their_users() {
        let line = under_sanitizer(&["x50".to_owned()]).to_string();
        for part in ["-Zsanitizer=address", "-p tenferro-engine", "-p tenferro-cpu", "-- x50"] {
            assert!(line.contains(part), "{line}");
        }
    }

    #[test]
    fn words_after_the_dashes_reach_the_runner() {
        assert_eq!(line(Runner::Nextest, &["x24"]), "cargo nextest run --workspace x24");
        assert_eq!(
            line(Runner::Cargo, &["--no-fail-fast"]),
            "cargo test --workspace --lib --bins --tests --examples --no-fail-fast"
        );
    }

    #[test]
    fn a_picked_package_stands_in_for_the_workspace() {
        assert_eq!(line(Runner::Nextest, &["-p", "a"]), "cargo nextest run -p a");
        assert_eq!(line(Runner::Nextest, &["--package=a"]), "cargo nextest run --package=a");
    }
}
