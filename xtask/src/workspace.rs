//! Where the repository is and what its packages are, as `cargo metadata` tells.
//!
//! Nothing is cached: a task asks once, and the answer is the one cargo itself works with.

use std::fs::{self, FileType};
use std::path::{Path, PathBuf};

use cargo_metadata::{DependencyKind, MetadataCommand, Package};

use super::Failure;

/// Hidden folders that are part of the project.
const OWN_HIDDEN: &[&str] = &[".ci", ".cargo"];

/// The repository's top folder.
#[derive(Debug, Clone)]
pub(super) struct Workspace {
    root: PathBuf,
}

/// One package of the workspace, reduced to what the checks ask about.
#[derive(Debug, Clone, Default)]
pub(super) struct Member {
    pub(super) name: String,
    /// The package's folder, relative to the top folder, with `/` between the parts.
    pub(super) folder: String,
    /// Normal and build dependencies, optional and target-specific ones included.
    pub(super) edges: Vec<Edge>,
    /// Declared and implicit features, without `default`.
    pub(super) features: Vec<String>,
    /// Names of the integration tests.
    pub(super) tests: Vec<String>,
}

/// A dependency of a package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Edge {
    pub(super) to: String,
    /// Whether it is a package of this repository and not of a registry.
    pub(super) local: bool,
}

impl Workspace {
    /// The workspace that this program was compiled in.
    pub(super) fn find() -> Self {
        let xtask = Path::new(env!("CARGO_MANIFEST_DIR"));
        let root = xtask.parent().expect("invariant: xtask is a folder of the workspace");
        Self { root: root.to_owned() }
    }

    /// The top folder.
    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// Asks cargo for the packages of the workspace, sorted by name.
    pub(super) fn members(&self) -> Result<Vec<Member>, Failure> {
        let metadata = MetadataCommand::new()
            .manifest_path(self.root.join("Cargo.toml"))
            .no_deps()
            .exec()
            .map_err(|error| Failure::Red(format!("cargo metadata: {error}")))?;
        let mut members: Vec<Member> =
            metadata.workspace_packages().into_iter().map(|package| self.member(package)).collect();
        members.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(members)
    }

    /// The manifests that have a lock file beside them, ours and those that ours leaves out, relative to the top folder.
    pub(super) fn manifests(&self) -> Result<Vec<String>, Failure> {
        let mut found = Vec::new();
        self.walk(&mut |path, _| {
            found.extend(
                path.strip_suffix("Cargo.lock").map(|folder| format!("{folder}Cargo.toml")),
            );
            Ok(())
        })?;
        found.sort();
        Ok(found)
    }

    /// Shows every file and folder, relative to the top folder, to `see`. What is in build output and in the hidden folders
    /// of tools is left out.
    pub(super) fn walk(
        &self,
        see: &mut dyn FnMut(String, FileType) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let mut folders = vec![String::new()];
        while let Some(prefix) = folders.pop() {
            let folder = self.root.join(&prefix);
            let unreadable = |error| Failure::Red(format!("{}: {error}", folder.display()));
            for entry in fs::read_dir(&folder).map_err(unreadable)? {
                let entry = entry.map_err(unreadable)?;
                let name = entry.file_name().to_string_lossy().into_owned();
                let path = format!("{prefix}{name}");
                let is_read = OWN_HIDDEN.contains(&name.as_str())
                    || !(name.starts_with('.') || name == "target");
                let kind = entry.file_type().map_err(unreadable)?;
                if kind.is_dir() && is_read {
                    folders.push(format!("{path}/"));
                }
                see(path, kind)?;
            }
        }
        Ok(())
    }

    fn member(&self, package: &Package) -> Member {
        let folder = package.manifest_path.parent().map(|path| path.as_std_path());
        let folder = folder.and_then(|path| path.strip_prefix(&self.root).ok());
        let edges = package
            .dependencies
            .iter()
            .filter(|dependency| dependency.kind != DependencyKind::Development)
            .map(|dependency| Edge {
                to: dependency.name.clone(),
                local: dependency.path.is_some(),
            });
        Member {
            name: package.name.to_string(),
            folder: folder.unwrap_or(Path::new("")).to_string_lossy().replace('\\', "/"),
            edges: edges.collect(),
            features: package.features.keys().filter(|name| *name != "default").cloned().collect(),
            tests: package
                .targets
                .iter()
                .filter(|target| target.is_test())
                .map(|target| target.name.clone())
                .collect(),
        }
    }
}
