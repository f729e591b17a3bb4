//! `cargo xtask model`: the protocols of arbiter and scopes under model checkers.
//!
//! Loom explores every interleaving of small models, shuttle many random ones of larger models. Both
//! run the production sources; the mutation check asks whether they would notice a bug in them. It works
//! on a copy below `target`, so that the tree stays as it is.

mod mutation;
mod scratch;

use std::path::Path;

use super::step::{Failure, Step};
use super::{Command, Workspace};
use mutation::MUTATIONS;

pub(super) const COMMAND: Command = Command {
    name: "model",
    arguments: "[--deep] [--mutations] [-- FILTER]",
    about: "model-check the protocols of arbiter and scopes",
    details: || {
        let mut text = String::from(
            "Runs the models, loom and shuttle, of crates/arbiter/tests and crates/scope/tests.\n\n  \
             --deep        three preemptions wherever they are bounded, and forty times the random schedules\n  \
             --mutations   instead of that, seed bugs into a copy of the arbiter, one at a time,\n                \
             and see that a model catches each\n\n\
             Words after `--` narrow the run to models, or mutations, of such names. The mutations:\n\n",
        );
        for mutation in MUTATIONS {
            text.push_str(&format!("  {:<20}{}\n", mutation.name, mutation.about));
        }
        text
    },
    run: |workspace, mut arguments| {
        let depth = if arguments.flag("--deep") { Depth::Deep } else { Depth::Quick };
        let mutations = arguments.flag("--mutations");
        let filter = arguments.finish()?;
        if mutations { check_mutations(workspace, &filter) } else { run(workspace, depth, &filter) }
    },
};

/// How much is explored.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Depth {
    /// What a change has to pass, within minutes.
    Quick,
    /// What one runs over lunch.
    Deep,
}

/// A model checker, and the test target that it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Checker {
    Loom,
    Shuttle,
}

impl Checker {
    const ALL: [Self; 2] = [Self::Loom, Self::Shuttle];

    /// The name of the `cfg` and of the test target.
    fn name(self) -> &'static str {
        match self {
            Self::Loom => "loom",
            Self::Shuttle => "shuttle",
        }
    }

    /// The line that runs the models of `package` in the workspace at `root`. Each checker has a target folder,
    /// because its flag changes every crate, and must not evict the others. So has each workspace: cargo
    /// takes the same package of two of them for one.
    fn step(self, root: &Path, package: &str) -> Step {
        let folder = root.join("target/model").join(self.name());
        Step::cargo(["test", "--release", "-p", package])
            .args(["--target-dir", &folder.to_string_lossy()])
            .more_flags("RUSTFLAGS", &format!("--cfg {}", self.name()))
    }
}

const ARBITER: &str = "tenferro-arbiter";

/// Runs every model whose name contains a word of the filter, or all.
pub(super) fn run(workspace: &Workspace, depth: Depth, filter: &[String]) -> Result<(), Failure> {
    for checker in Checker::ALL {
        for member in workspace.members()? {
            let models = member.tests.iter().filter(|test| test.starts_with(checker.name()));
            let targets: Vec<&str> = models.flat_map(|test| ["--test", test]).collect();
            if !targets.is_empty() {
                let step = step(workspace.root(), checker, &member.name, &targets);
                deepened(step, depth, filter).run(workspace.root())?;
            }
        }
    }
    Ok(())
}

/// Seeds bugs whose names contain a word of the filter, or all; red if a model does not catch one.
pub(super) fn check_mutations(workspace: &Workspace, filter: &[String]) -> Result<(), Failure> {
    scratch::check(workspace, filter)
}

/// The line that runs these test targets of `package`.
fn step(root: &Path, checker: Checker, package: &str, targets: &[&str]) -> Step {
    checker.step(root, package).args(targets.iter().copied())
}

fn deepened(step: Step, depth: Depth, filter: &[String]) -> Step {
    let step = step.args(["--"]).args(filter.iter().cloned());
    match depth {
        Depth::Quick => step,
        Depth::Deep => step.env("MODEL_ITERATIONS", "40").env("LOOM_MAX_PREEMPTIONS", "3"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_checker_has_its_flag_and_its_folder() {
        let root = Path::new("/");
        let quick = step(root, Checker::Loom, ARBITER, &["--test", "loom"]);
        let line = deepened(quick, Depth::Quick, &["wide".to_owned()]).to_string();
        assert!(line.contains("--cfg loom"), "{line}");
        assert!(line.ends_with("/target/model/loom --test loom -- wide"), "{line}");
        let deep = step(root, Checker::Shuttle, ARBITER, &["--test", "shuttle"]);
        let line = deepened(deep, Depth::Deep, &[]).to_string();
        assert!(line.contains("MODEL_ITERATIONS=40"), "{line}");
    }
}
