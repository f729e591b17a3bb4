//! `cargo xtask bench build`: what a release build of the library costs, next to candle-core's.
//!
//! A clean build goes to a folder of its own that is emptied first, with cargo's own release
//! profile: what a program pays that depends on the library or on candle-core. A rebuild is one of
//! this workspace, with its profile, after a file of a kernel got a line more; nothing that was
//! compiled from the file stays valid then, because its lines are in the line tables.
//!
//! Wall time is what a person waits, and is worth quoting from an idle machine only; CPU time is
//! that of cargo and all compilers together, and stays nearly the same when the machine has other
//! work.

use std::fs;
use std::path::Path;
use std::time::Instant;

use super::step::{Failure, Step};

/// Where the figures are kept for the report, a JSON object a line.
const RECORD: &str = "docs/performance/build.jsonl";

/// The folders of clean builds, and of the workspace's, which rebuilds use again.
const OURS: &str = "target/build-time/tenferro-cpu";
const PEERS: &str = "target/build-time/candle-core";
const WORKSPACE: &str = "target/build-time/workspace";

/// What makes the release profile of this workspace and that of candle-core's cargo's own.
const CARGOS_PROFILE: [&str; 2] = ["--config", "profile.release.debug=false"];

/// The line that a file gets, and loses again after the build.
const LINE: &str = "// A line that `cargo xtask bench build` has added.\n";

/// Files whose change is followed by a rebuild: an elementwise kernel, a reduction, a copy, a
/// function, and the product.
const KERNELS: [&str; 5] = [
    "crates/engine/src/kernel/elementwise.rs",
    "crates/engine/src/kernel/reduce.rs",
    "crates/engine/src/kernel/copy/tile.rs",
    "crates/engine/src/kernel/math/tanh.rs",
    "crates/providers/src/native/direct/tile.rs",
];

/// A build that is timed.
struct Build {
    name: String,
    /// What is done before the clock starts.
    before: Before,
    step: Step,
}

enum Before {
    /// This folder is removed.
    Clean(&'static str),
    /// This file gets one line more.
    Touch(&'static str),
}

/// What a build took, in seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Cost {
    wall: f64,
    cpu: f64,
}

/// Times the builds whose names have one of the parts, or all.
pub(super) fn measure(root: &Path, recorded: bool, parts: &[String]) -> Result<(), Failure> {
    let wanted: Vec<Build> = builds()
        .into_iter()
        .filter(|build| parts.is_empty() || parts.iter().any(|part| build.name.contains(part)))
        .collect();
    if wanted.is_empty() {
        let names: Vec<String> = builds().into_iter().map(|build| build.name).collect();
        return Err(Failure::Usage(format!(
            "no build is asked for; there are {}",
            names.join(", ")
        )));
    }
    let mut lines = Vec::new();
    for build in wanted {
        let cost = build.run(root)?;
        println!("{:<52}{:>8.1} s{:>8.1} s of CPU", build.name, cost.wall, cost.cpu);
        lines.push((build.name.clone(), line(&build.name, cost)));
    }
    if recorded {
        let path = root.join(RECORD);
        let old = fs::read_to_string(&path).unwrap_or_default();
        fs::write(&path, merged(&old, &lines))
            .map_err(|error| Failure::Red(format!("{RECORD}: {error}")))?;
    }
    Ok(())
}

fn builds() -> Vec<Build> {
    let build = |package, folder| {
        Step::cargo(["build", "--release", "--package", package, "--target-dir", folder])
    };
    let candle = build("candle-core", PEERS).args(["--manifest-path", "benches/candle/Cargo.toml"]);
    let clean = |name: &str, folder, step: Step| Build {
        name: format!("clean/{name}"),
        before: Before::Clean(folder),
        step: step.args(CARGOS_PROFILE),
    };
    let mut builds = vec![
        clean("tenferro-cpu", OURS, build("tenferro-cpu", OURS)),
        clean("candle-core", PEERS, candle),
        Build {
            name: "workspace/tenferro-cpu".to_owned(),
            before: Before::Clean(WORKSPACE),
            step: build("tenferro-cpu", WORKSPACE),
        },
    ];
    builds.extend(KERNELS.map(|file| Build {
        name: format!("touched/{file}"),
        before: Before::Touch(file),
        step: build("tenferro-cpu", WORKSPACE),
    }));
    builds
}

impl Build {
    fn run(&self, root: &Path) -> Result<Cost, Failure> {
        let red = |what: &str, error| Failure::Red(format!("{what}: {error}"));
        match self.before {
            Before::Clean(folder) => match fs::remove_dir_all(root.join(folder)) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    Err(red(folder, error))
                }
                _ => self.timed(root),
            },
            Before::Touch(file) => {
                // What else has changed is built outside the clock.
                self.step.run(root)?;
                let path = root.join(file);
                let text = fs::read_to_string(&path).map_err(|error| red(file, error))?;
                let write = |text: &str| fs::write(&path, text).map_err(|error| red(file, error));
                write(&format!("{LINE}{text}"))?;
                let cost = self.timed(root);
                write(&text)?;
                cost
            }
        }
    }

    fn timed(&self, root: &Path) -> Result<Cost, Failure> {
        let (start, spent) = (Instant::now(), cpu_of_children()?);
        self.step.run(root)?;
        Ok(Cost { wall: start.elapsed().as_secs_f64(), cpu: cpu_of_children()? - spent })
    }
}

/// The CPU seconds of all processes that this one has waited for, and of theirs.
fn cpu_of_children() -> Result<f64, Failure> {
    let path = "/proc/self/stat";
    let text =
        fs::read_to_string(path).map_err(|error| Failure::Red(format!("{path}: {error}")))?;
    children(&text).ok_or_else(|| Failure::Red(format!("{path} was not understood: {text}")))
}

/// Fields 16 and 17 of the process's line, which count hundredths of a second.
fn children(stat: &str) -> Option<f64> {
    // The second field is a name in parentheses, which may hold spaces.
    let (_, fields) = stat.rsplit_once(')')?;
    let mut ticks = fields.split_whitespace().skip(13).map(str::parse::<f64>);
    Some((ticks.next()?.ok()? + ticks.next()?.ok()?) / 100.0)
}

fn line(name: &str, cost: Cost) -> String {
    format!(r#"{{"build":"{name}","wall_s":{:.1},"cpu_s":{:.1}}}"#, cost.wall, cost.cpu)
}

/// The old lines, with those of new builds in the place of old ones and the others after them.
fn merged(old: &str, new: &[(String, String)]) -> String {
    let own = |line: &str, name: &str| line.starts_with(&format!(r#"{{"build":"{name}","#));
    let mut lines: Vec<String> = old.lines().map(str::to_owned).collect();
    for (name, text) in new {
        match lines.iter_mut().find(|line| own(line, name)) {
            Some(line) => line.clone_from(text),
            None => lines.push(text.clone()),
        }
    }
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_that_are_touched_are_there() {
        let root = super::super::Workspace::find();
        for file in KERNELS {
            assert!(root.root().join(file).is_file(), "{file}");
        }
    }

    #[test]
    fn the_time_of_children_is_read_whatever_the_program_is_called() {
        let stat = "7 (a ) b) R 1 2 3 4 5 6 7 8 9 10 11 12 250 150 20 0 1";
        assert_eq!(children(stat), Some(4.0));
        assert_eq!(children("7 (a) R 1"), None);
        assert!(cpu_of_children().is_ok());
    }

    #[test]
    fn a_build_that_is_timed_again_takes_the_place_of_its_old_line() {
        let row = |name: &str, wall| (name.to_owned(), line(name, Cost { wall, cpu: 2.0 }));
        let old = merged("", &[row("a", 1.0), row("b", 1.0)]);
        let text = merged(&old, &[row("c", 3.0), row("a", 3.0)]);
        assert_eq!(
            text,
            "{\"build\":\"a\",\"wall_s\":3.0,\"cpu_s\":2.0}\n\
             {\"build\":\"b\",\"wall_s\":1.0,\"cpu_s\":2.0}\n\
             {\"build\":\"c\",\"wall_s\":3.0,\"cpu_s\":2.0}\n"
        );
    }
}
