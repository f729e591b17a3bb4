//! `cargo xtask tidy`: house rules and stale documentation, as failures.
//!
//! A rule is a row of the table: a name, an explanation that says the way out, and a function
//! from the repository's text to the places that break it. Rules read [`Repository`] and nothing
//! else, so that a test can hand them a repository of three lines.

mod documents;
mod manifests;
mod repository;
mod sources;

use super::step::Failure;
use super::{Command, Workspace};
use repository::Repository;

pub(super) const COMMAND: Command = Command {
    name: "tidy",
    arguments: "",
    about: "check the house rules and look for stale documentation",
    details: || {
        let mut text = String::from("The rules:\n\n");
        for rule in RULES {
            text.push_str(&format!("  {:<18}{}\n", rule.name, rule.why));
        }
        text
    },
    run: |workspace, arguments| {
        arguments.finish_alone()?;
        check(workspace)
    },
};

/// One house rule.
struct Rule {
    name: &'static str,
    /// What the rule asks for and why; printed once below its breaches.
    why: &'static str,
    check: fn(&Repository, &mut Vec<String>),
}

const RULES: &[Rule] = &[
    Rule {
        name: "module-doc",
        why: "a file begins with `//!`: what it is, what it is not, and its invariant",
        check: sources::module_doc,
    },
    Rule {
        name: "file-length",
        why: "a file has at most 700 lines: past 500, look for its second noun and split",
        check: sources::file_length,
    },
    Rule {
        name: "unfinished",
        why: "no stub, marker, ignored test or debugging print is landed: finish it or file it",
        check: sources::unfinished,
    },
    Rule {
        name: "doc-hidden",
        why: "an item hidden from the docs marks a border in the wrong place: make it private",
        check: sources::doc_hidden,
    },
    Rule {
        name: "allow-reason",
        why: "`allow` and `expect` attributes say `reason = \"...\"`",
        check: sources::allow_reason,
    },
    Rule {
        name: "forbid-unsafe",
        why: "a crate that needs no unsafe code says `#![forbid(unsafe_code)]` in its root",
        check: sources::forbid_unsafe,
    },
    Rule {
        name: "workspace-version",
        why: "versions stand once in the top Cargo.toml; crates say `name.workspace = true`",
        check: manifests::workspace_version,
    },
    Rule {
        name: "workspace-lints",
        why: "every package takes the lints of the workspace: `[lints] workspace = true`",
        check: manifests::workspace_lints,
    },
    Rule {
        name: "top-level",
        why: "a reader finds these files at the top of the repository",
        check: documents::top_level,
    },
    Rule {
        name: "crates-described",
        why: "docs/architecture.md has a paragraph on every crate",
        check: documents::crates_described,
    },
    Rule {
        name: "task-names",
        why: "a document names only `cargo xtask` commands that exist",
        check: documents::task_names,
    },
    Rule {
        name: "operations-page",
        why: "docs/operations.md is what `cargo xtask operations` writes: run it after changing a table",
        check: documents::operations_page,
    },
    Rule {
        name: "links",
        why: "a relative link in a document leads to a file of the repository",
        check: documents::links,
    },
    Rule {
        name: "test-names",
        why: "a test in backticks, such as `x10_...`, is a function of some source file",
        check: documents::test_names,
    },
    Rule {
        name: "paths",
        why: "a path in backticks names something that is still there",
        check: documents::paths,
    },
];

/// Runs every rule, and says everything that is wrong before it fails.
pub(super) fn check(workspace: &Workspace) -> Result<(), Failure> {
    let repository = Repository::read(workspace)?;
    let mut total = 0;
    for rule in RULES {
        let mut breaches = Vec::new();
        (rule.check)(&repository, &mut breaches);
        if breaches.is_empty() {
            continue;
        }
        total += breaches.len();
        for breach in &breaches {
            eprintln!("tidy: {breach}");
        }
        eprintln!("  {}: {}\n", rule.name, rule.why);
    }
    if total == 0 {
        let (files, rules) = (repository.files(), RULES.len());
        eprintln!("tidy: {files} files keep to {rules} rules");
        return Ok(());
    }
    Err(Failure::Red(format!("{total} breach(es) of the house rules")))
}
