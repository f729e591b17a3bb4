//! The mutation check: a copy of the arbiter below `target`, one bug at a time.
//!
//! The copy is a workspace of one package, with the same manifest and lock file. A model passes on the copy as
//! it is, and must fail on each mutated one: a failed build is not a catch.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::super::step::{Failure, Step};
use super::super::workspace::Workspace;
use super::mutation::{MUTATIONS, Mutation};
use super::{ARBITER, step};

/// What the copy keeps of the repository.
const FILES: [&str; 3] = ["Cargo.toml", "Cargo.lock", "rust-toolchain.toml"];
const CRATE: &str = "crates/arbiter";

/// Seeds the bugs whose names contain a word of the filter, or all; red if one is not caught.
pub(super) fn check(workspace: &Workspace, filter: &[String]) -> Result<(), Failure> {
    let chosen: Vec<&Mutation> = MUTATIONS
        .iter()
        .filter(|m| filter.is_empty() || filter.iter().any(|word| m.name.contains(word)))
        .collect();
    let copy = workspace.root().join("target/model/mutations");
    let copied = copy_workspace(workspace.root(), &copy);
    copied.map_err(|error| Failure::Red(format!("copying to {}: {error}", copy.display())))?;
    let mut missed = Vec::new();
    for mutation in &chosen {
        eprintln!("\n== {}: {}", mutation.name, mutation.about);
        if is_caught(&copy, mutation)? {
            eprintln!("caught by {}", mutation.model);
        } else {
            missed.push(mutation.name);
        }
    }
    if missed.is_empty() {
        eprintln!("\n{} seeded bugs, each caught by its model", chosen.len());
        return Ok(());
    }
    Err(Failure::Red(format!("not caught by their models: {}", missed.join(", "))))
}

/// Mutates the copy, runs the model, and mends the copy again.
fn is_caught(copy: &Path, mutation: &Mutation) -> Result<bool, Failure> {
    let file = copy.join(CRATE).join(mutation.file);
    let failed = |error: io::Error| Failure::Red(format!("{}: {error}", file.display()));
    let text = fs::read_to_string(&file).map_err(failed)?;
    fs::write(&file, mutation.apply(&text)?).map_err(failed)?;
    let checker = mutation.checker;
    let outcome =
        fails(copy, &step(copy, checker, ARBITER, &["--test", checker.name()]), mutation.model);
    fs::write(&file, text).map_err(failed)?;
    outcome
}

/// Whether the model runs and fails.
fn fails(copy: &Path, step: &Step, model: &str) -> Result<bool, Failure> {
    step.clone().args(["--no-run", "--quiet"]).run(copy)?;
    Ok(!step.clone().args(["--quiet", "--", model]).succeeds(copy))
}

fn copy_workspace(root: &Path, copy: &Path) -> io::Result<()> {
    let folder = copy.join(CRATE);
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    copy_folder(&root.join(CRATE), &folder)?;
    for name in FILES {
        fs::copy(root.join(name), copy.join(name))?;
    }
    let manifest = copy.join("Cargo.toml");
    let text = fs::read_to_string(&manifest)?;
    fs::write(manifest, alone(&text))
}

/// The workspace's manifest with no member but the arbiter.
fn alone(manifest: &str) -> String {
    let line = |line: &str| match line.split_once(" = ") {
        Some((key @ ("members" | "default-members"), _)) => format!("{key} = [\"{CRATE}\"]\n"),
        _ => format!("{line}\n"),
    };
    manifest.lines().map(line).collect()
}

fn copy_folder(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let path: PathBuf = entry?.path();
        let target = to.join(path.file_name().unwrap_or_default());
        if path.is_dir() {
            copy_folder(&path, &target)?;
        } else {
            fs::copy(&path, &target)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_copy_has_one_member() {
        let text = alone("[workspace]\nmembers = [\"crates/*\"]\nresolver = \"3\"\n");
        assert_eq!(text, "[workspace]\nmembers = [\"crates/arbiter\"]\nresolver = \"3\"\n");
    }
}
