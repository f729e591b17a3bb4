//! What the rules read: the Rust files, manifests and documents of the repository.
//!
//! Build output is left out, as are the tools' hidden folders. Paths are relative to the top folder and
//! sorted, so that a report does not depend on the file system's order.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use super::super::source::Source;
use super::super::step::Failure;
use super::super::workspace::{Member, Workspace};

/// The repository's text, read once.
#[derive(Debug, Default)]
pub(super) struct Repository {
    /// Every Rust file.
    pub(super) sources: Vec<Source>,
    /// The manifests of the workspace's packages.
    pub(super) manifests: Vec<Document>,
    /// Every Markdown file.
    pub(super) documents: Vec<Document>,
    /// Every file and folder.
    pub(super) paths: BTreeSet<String>,
    /// The workspace's packages.
    pub(super) packages: Vec<Member>,
    /// The names of the task runner's commands.
    pub(super) tasks: Vec<&'static str>,
}

/// A text file that is not Rust.
#[derive(Debug)]
pub(super) struct Document {
    pub(super) path: String,
    pub(super) text: String,
}

impl Repository {
    /// Reads the checkout.
    pub(super) fn read(workspace: &Workspace) -> Result<Self, Failure> {
        let mut read = Self {
            packages: workspace.members()?,
            tasks: super::super::COMMANDS.iter().map(|command| command.name).collect(),
            ..Self::default()
        };
        workspace.walk(&mut |path, kind| {
            read.paths.insert(path.clone());
            if kind.is_dir() {
                return Ok(());
            }
            let at = workspace.root().join(&path);
            if path.ends_with(".rs") {
                read.sources.push(Source::new(path, text(&at)?));
            } else if path.ends_with(".md") {
                read.documents.push(Document { path, text: text(&at)? });
            }
            Ok(())
        })?;
        read.sources.sort_by(|a, b| a.path.cmp(&b.path));
        read.documents.sort_by(|a, b| a.path.cmp(&b.path));
        for package in &read.packages {
            let path = format!("{}/Cargo.toml", package.folder);
            let text = text(&workspace.root().join(&path))?;
            read.manifests.push(Document { path, text });
        }
        Ok(read)
    }

    /// How many files the rules look into.
    pub(super) fn files(&self) -> usize {
        self.sources.len() + self.manifests.len() + self.documents.len()
    }
}

fn text(path: &Path) -> Result<String, Failure> {
    fs::read_to_string(path).map_err(|error| Failure::Red(format!("{}: {error}", path.display())))
}
