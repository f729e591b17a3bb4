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

/// Hidden folders that are part of the project.
const READ_HIDDEN: &[&str] = &[".ci", ".cargo"];

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
        read.walk(workspace.root(), "")?;
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

    fn walk(&mut self, folder: &Path, prefix: &str) -> Result<(), Failure> {
        let unreadable = |error| Failure::Red(format!("{}: {error}", folder.display()));
        for entry in fs::read_dir(folder).map_err(unreadable)? {
            let entry = entry.map_err(unreadable)?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = format!("{prefix}{name}");
            self.paths.insert(path.clone());
            if entry.file_type().map_err(unreadable)?.is_dir() {
                if READ_HIDDEN.contains(&name.as_str())
                    || !(name.starts_with('.') || name == "target")
                {
                    self.walk(&entry.path(), &format!("{path}/"))?;
                }
            } else if name.ends_with(".rs") {
                self.sources.push(Source::new(path, text(&entry.path())?));
            } else if name.ends_with(".md") {
                self.documents.push(Document { path, text: text(&entry.path())? });
            }
        }
        Ok(())
    }
}

fn text(path: &Path) -> Result<String, Failure> {
    fs::read_to_string(path).map_err(|error| Failure::Red(format!("{}: {error}", path.display())))
}
