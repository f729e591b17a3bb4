//! Where the repository is and what its packages are, as `cargo metadata` tells.
//!
//! Nothing is cached: a task asks once, and the answer is the one cargo itself works with.

use std::path::{Path, PathBuf};

use cargo_metadata::{DependencyKind, MetadataCommand, Package};

use super::Failure;

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
