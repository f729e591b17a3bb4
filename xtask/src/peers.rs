//! `cargo xtask peers`: gets the libraries that the suites are compared with.
//!
//! They live under `target/peers` and in workspaces of their own, so that building the library
//! never builds one of them. A suite runs such a peer as a process, see `benches/worker`.

use std::path::{Path, PathBuf};

use super::step::{Failure, Step};
use super::{Command, Workspace};

pub(super) const COMMAND: Command = Command {
    name: "peers",
    arguments: "install [PEER ...]",
    about: "install or build the libraries to compare with",
    details: || {
        let mut text = String::from("Without a name all are installed:\n\n");
        text.push_str("  python      NumPy, SciPy, PyTorch and JAX in a virtual environment\n");
        for peer in RUST_PEERS {
            text.push_str(&format!("  {:<12}{}\n", peer.name, peer.about));
        }
        text.push_str("\nThey go to target/peers; deleting that folder removes them.\n");
        text
    },
    run: |workspace, mut arguments| {
        match arguments.positional().as_deref() {
            Some("install") => {}
            Some(word) => {
                return Err(Failure::Usage(format!("`peers {word}`? There is `peers install`")));
            }
            None => return Err(Failure::Usage("what about the peers? `peers install`".to_owned())),
        }
        let mut names = Vec::new();
        while let Some(name) = arguments.positional() {
            names.push(name);
        }
        arguments.finish_alone()?;
        for step in steps(workspace, &names)? {
            step.run(workspace.root())?;
        }
        Ok(())
    },
};

/// A library in Rust whose programs run as processes, from a workspace of its own.
pub(super) struct RustPeer {
    /// The workspace's folder in `benches`.
    pub(super) name: &'static str,
    about: &'static str,
    /// What its build is told beyond the usual.
    flags: &'static [&'static str],
    /// A program a release that takes part.
    programs: &'static [&'static str],
    pub(super) built: Built,
}

/// When a peer is built.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Built {
    /// Before a suite that has it as a peer.
    WhenNeeded,
    /// By `peers install` alone.
    OnRequest,
}

pub(super) const RUST_PEERS: &[RustPeer] = &[
    RustPeer {
        name: "candle",
        about: "candle-core, some minutes to build",
        flags: &[],
        programs: &["candle-peer"],
        built: Built::WhenNeeded,
    },
    RustPeer {
        name: "published",
        about: "tenferro 0.7 and 0.9 as published, a quarter of an hour to build",
        // They ask for a newer compiler than they need.
        flags: &["--ignore-rust-version"],
        programs: &["tenferro-0-7-peer", "tenferro-0-9-peer"],
        built: Built::OnRequest,
    },
];

/// The Python libraries, by the names that the worker takes.
pub(super) const PYTHON_PEERS: [&str; 4] = ["numpy", "torch", "torch-compile", "jax"];

impl RustPeer {
    /// The line that builds it.
    pub(super) fn build(&self) -> Step {
        let manifest = format!("benches/{}/Cargo.toml", self.name);
        Step::cargo(["build", "--release", "--manifest-path", &manifest])
            .args(["--target-dir", "target/peers/rust"])
            .args(self.flags.iter().copied())
    }

    /// The commands that start it once it is built, one a program.
    pub(super) fn commands(&self, root: &Path) -> Vec<Vec<String>> {
        let path = |program: &&str| program_path(root, program).to_string_lossy().into_owned();
        self.programs.iter().map(|program| vec![path(program)]).collect()
    }

    /// Whether all its programs were built once.
    pub(super) fn is_installed(&self, root: &Path) -> bool {
        self.programs.iter().all(|program| program_path(root, program).exists())
    }
}

fn program_path(root: &Path, program: &str) -> PathBuf {
    root.join("target/peers/rust/release").join(program)
}

/// The interpreter of the virtual environment.
pub(super) fn python(root: &Path) -> PathBuf {
    root.join("target/peers/python/bin/python")
}

/// The command that starts a Python library as a peer.
pub(super) fn python_command(root: &Path, library: &str) -> Vec<String> {
    let worker = root.join("benches/python/worker.py");
    [python(root), worker, library.into()].map(|part| part.to_string_lossy().into_owned()).into()
}

fn steps(workspace: &Workspace, names: &[String]) -> Result<Vec<Step>, Failure> {
    let every: Vec<&str> =
        std::iter::once("python").chain(RUST_PEERS.iter().map(|peer| peer.name)).collect();
    if let Some(unknown) = names.iter().find(|name| !every.contains(&name.as_str())) {
        let known = every.join(", ");
        return Err(Failure::Usage(format!("no peer is called `{unknown}`; there are {known}")));
    }
    let wanted = |name: &str| names.is_empty() || names.iter().any(|word| word == name);
    let mut steps = Vec::new();
    if wanted("python") {
        steps.extend(environment(&python(workspace.root()).to_string_lossy()));
    }
    steps.extend(RUST_PEERS.iter().filter(|peer| wanted(peer.name)).map(RustPeer::build));
    Ok(steps)
}

/// The lines that make the virtual environment; those that find it there do nothing.
fn environment(python: &str) -> Vec<Step> {
    let install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
    let folder = "benches/python";
    vec![
        Step::program("python3", ["-m", "venv", "target/peers/python"]),
        Step::program(python, install)
            .args(["--requirement".to_owned(), format!("{folder}/requirements.txt")]),
        Step::program(python, install)
            .args(["--no-deps".to_owned(), "--requirement".to_owned()])
            .args([format!("{folder}/requirements-torch.txt")]),
        Step::program(python, [format!("{folder}/stand_ins.py")]),
        Step::program(python, [format!("{folder}/test_worker.py")]),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(names: &[&str]) -> Result<String, Failure> {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let steps = steps(&Workspace::find(), &names)?;
        Ok(steps.iter().map(Step::to_string).collect::<Vec<_>>().join("\n"))
    }

    #[test]
    fn without_a_name_every_peer_is_installed_and_with_one_that_alone() {
        let all = lines(&[]).unwrap();
        assert!(all.contains("-m venv target/peers/python") && all.contains("benches/candle"));
        assert!(all.contains("benches/published/Cargo.toml"), "{all}");
        let candle = lines(&["candle"]).unwrap();
        assert!(!candle.contains("venv") && candle.contains("benches/candle/Cargo.toml"));
    }

    #[test]
    fn pytorch_is_installed_without_the_libraries_that_it_asks_for() {
        let python = lines(&["python"]).unwrap();
        let line = python.lines().find(|line| line.contains("requirements-torch")).unwrap();
        assert!(line.contains("--no-deps"), "{line}");
    }

    #[test]
    fn an_unknown_peer_is_refused_with_the_names_that_exist() {
        let text = lines(&["matlab"]).unwrap_err().to_string();
        assert!(text.contains("python, candle"), "{text}");
    }
}
