//! `cargo xtask operations`: the reference page of the vocabulary, written from its tables.
//!
//! Reads the rows of `crates/tensor/src/table.rs` and `crates/ops/src/composite/mod.rs` as text, so that the task runner
//! need not compile the library. It knows the grammar of a row and no operation. `cargo xtask tidy` compares the page
//! with what this would write.

mod page;
mod row;

use std::fs;

use super::Command;
use super::step::Failure;

pub(super) const COMMAND: Command = Command {
    name: "operations",
    arguments: "",
    about: "write docs/operations.md from the tables of operations",
    details: || format!("Reads {TABLE} and {COMPOSITES}, and writes {PAGE}.\n"),
    run: |workspace, arguments| {
        arguments.finish_alone()?;
        let read = |path: &str| {
            let path = workspace.root().join(path);
            fs::read_to_string(&path)
                .map_err(|error| Failure::Red(format!("{}: {error}", path.display())))
        };
        let text = written(&read(TABLE)?, &read(COMPOSITES)?).map_err(Failure::Red)?;
        let path = workspace.root().join(PAGE);
        fs::write(&path, text).map_err(|error| Failure::Red(format!("{}: {error}", path.display())))
    },
};

/// The vocabulary table.
pub(super) const TABLE: &str = "crates/tensor/src/table.rs";
/// The table of composites.
pub(super) const COMPOSITES: &str = "crates/ops/src/composite/mod.rs";
/// The page.
pub(super) const PAGE: &str = "docs/operations.md";

/// The page for these tables, given as the text of the files that hold them.
///
/// # Errors
/// A sentence about a row that is not understood.
pub(super) fn written(table: &str, composites: &str) -> Result<String, String> {
    let families = row::families(table)?;
    let composites = row::composites(composites)?;
    page::page(&families, &composites)
}
