//! The stages of `cargo xtask ci`, each a row of the table and a function.
//!
//! A stage times its own parts: most have one, the tests have several, and only the tests know
//! that the times must be printed before their last part.

use super::super::model::{self, Depth};
use super::super::step::{Failure, Step};
use super::super::test::{self, Runner};
use super::super::workspace::{Member, Workspace};
use super::super::{bench, layers, providers, tidy};
use super::timetable::Timetable;

/// One stage.
pub(super) struct Stage {
    pub(super) name: &'static str,
    pub(super) about: &'static str,
    pub(super) run: fn(&Workspace, &mut Timetable) -> Result<(), Failure>,
}

/// All stages, the cheapest first and the tests last.
pub(super) const STAGES: &[Stage] = &[
    Stage {
        name: "fmt",
        about: "the code is formatted",
        run: |workspace, times| times.time("fmt", || format(workspace)),
    },
    Stage {
        name: "layers",
        about: "the crates keep to the layering",
        run: |workspace, times| times.time("layers", || layers::check(&workspace.members()?)),
    },
    Stage {
        name: "tidy",
        about: "house rules, and no stale documentation",
        run: |workspace, times| times.time("tidy", || tidy::check(workspace)),
    },
    Stage {
        name: "clippy",
        about: "no warning from the compiler or clippy",
        run: |workspace, times| times.time("clippy", || clippy(workspace)),
    },
    Stage {
        name: "rustdoc",
        about: "no warning from rustdoc",
        run: |workspace, times| times.time("rustdoc", || rustdoc(workspace)),
    },
    Stage {
        name: "deny",
        about: "dependencies: bans, licences, sources",
        run: |workspace, times| times.time("deny", || deny(workspace)),
    },
    Stage {
        name: "features",
        about: "every package with no feature, and with each one alone",
        run: |workspace, times| times.time("features", || features(workspace)),
    },
    Stage {
        name: "model",
        about: "the arbiter's protocol under model checkers",
        run: |workspace, times| {
            times.time("model", || model::run(workspace, Depth::Quick, &[]))?;
            times.time("model: mutations", || model::check_mutations(workspace, &[]))
        },
    },
    Stage {
        name: "providers",
        about: "the libraries that can be got, loaded and linked: their contract and their threads",
        run: |workspace, times| {
            times.time("providers: install", || providers::install(workspace, &[]).map(drop))?;
            times.time("providers: loaded", || test::loaded(workspace, &[]))?;
            times.time("providers: linked", || test::linked(workspace))
        },
    },
    Stage { name: "test", about: "documentation tests, then all others", run: tests },
];

fn format(workspace: &Workspace) -> Result<(), Failure> {
    for manifest in workspace.manifests()? {
        Step::cargo(["fmt", "--check", "--all", "--manifest-path", &manifest])
            .run(workspace.root())?;
    }
    Ok(())
}

/// Ours, and the workspace that keeps the heavy peers apart. The peers that are programs are built by `peers install`.
fn clippy(workspace: &Workspace) -> Result<(), Failure> {
    let peers = bench::PEERS_MANIFEST;
    let present = workspace.root().join(peers).exists();
    for manifest in std::iter::once("Cargo.toml").chain(present.then_some(peers)) {
        Step::cargo(["clippy", "--manifest-path", manifest, "--workspace", "--all-targets"])
            .args(["--", "-D", "warnings"])
            .run(workspace.root())?;
    }
    Ok(())
}

fn rustdoc(workspace: &Workspace) -> Result<(), Failure> {
    // Apart, because a program and a library of the same name share a page; libraries last, so
    // that theirs is the page that stays.
    for targets in ["--bins", "--lib"] {
        Step::cargo(["doc", "--workspace", "--no-deps", targets])
            .more_flags("RUSTDOCFLAGS", "-D warnings")
            .run(workspace.root())?;
    }
    Ok(())
}

/// Every lock file of the repository. Advisories are left out: their database is fetched, and a check must not depend on
/// that.
fn deny(workspace: &Workspace) -> Result<(), Failure> {
    if !Step::cargo(["deny", "--version"]).succeeds(workspace.root()) {
        Step::cargo(["install", "cargo-deny", "--locked"]).run(workspace.root())?;
    }
    for manifest in workspace.manifests()? {
        Step::cargo(["deny", "--manifest-path", &manifest, "--config", "deny.toml"])
            .args(["--workspace", "--all-features", "check", "--hide-inclusion-graph"])
            .args(["bans", "licenses", "sources"])
            .run(workspace.root())?;
    }
    Ok(())
}

fn features(workspace: &Workspace) -> Result<(), Failure> {
    for step in feature_steps(&workspace.members()?) {
        step.run(workspace.root())?;
    }
    // What the run of all tests leaves out, because the feature is off there.
    Step::cargo(["test", "--quiet", "-p", "tenferro-scope", "--features", "tracing"])
        .args(["--test", "tracing"])
        .run(workspace.root())?;
    Step::cargo(["test", "--quiet", "-p", "tenferro-providers", "--features", "linalg"])
        .args(["--test", "conformance", "linalg"])
        .run(workspace.root())
}

/// The package whose features are libraries to link, each of which must be there: stage `providers` has one.
const LINKED: &str = "tenferro-providers-linked";

/// A step for each package without features, and one for each of its features.
fn feature_steps(members: &[Member]) -> Vec<Step> {
    let mut steps = Vec::new();
    for member in members {
        let bare = Step::cargo(["check", "--quiet", "-p", &member.name, "--no-default-features"]);
        steps.push(bare.clone());
        if member.name == LINKED {
            continue;
        }
        for feature in &member.features {
            steps.push(bare.clone().args(["--features", feature]));
        }
    }
    steps
}

fn tests(workspace: &Workspace, times: &mut Timetable) -> Result<(), Failure> {
    let runner = Runner::installed(workspace);
    times.time("test: documentation", || test::documentation(workspace))?;
    times.time("test: compile", || runner.build().run(workspace.root()))?;
    times.print();
    eprintln!("\nThe test runner's totals follow; its own time is in them.");
    runner.run(&[]).run(workspace.root())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_lock_file_is_looked_at() {
        let manifests = Workspace::find().manifests().unwrap();
        for folder in ["", "benches/candle/", "benches/peers/", "benches/published/"] {
            assert!(manifests.contains(&format!("{folder}Cargo.toml")), "{manifests:?}");
        }
    }

    #[test]
    fn every_feature_is_checked_alone_and_so_is_none() {
        let member = |name: &str, features: &[&str]| Member {
            name: name.to_owned(),
            features: features.iter().map(|feature| (*feature).to_owned()).collect(),
            ..Member::default()
        };
        let steps =
            feature_steps(&[member("a", &["x", "y"]), member("b", &[]), member(LINKED, &["z"])]);
        let lines: Vec<String> = steps.iter().map(Step::to_string).collect();
        assert_eq!(
            lines,
            [
                "cargo check --quiet -p a --no-default-features",
                "cargo check --quiet -p a --no-default-features --features x",
                "cargo check --quiet -p a --no-default-features --features y",
                "cargo check --quiet -p b --no-default-features",
                "cargo check --quiet -p tenferro-providers-linked --no-default-features",
            ]
        );
    }
}
