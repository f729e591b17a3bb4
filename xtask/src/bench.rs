//! `cargo xtask bench`: builds a suite in release mode and runs it.
//!
//! A suite is a program; this file only knows where each one lives. What a suite measures, and
//! what its rows mean, is told in benches/README.md.

use std::path::Path;

use super::step::{Failure, Step};
use super::{Arguments, Command};

/// The workspace of the suites whose peers are too heavy for the main one.
pub(super) const PEERS_MANIFEST: &str = "benches/peers/Cargo.toml";

pub(super) const COMMAND: Command = Command {
    name: "bench",
    arguments: "SUITE [--quick] [--json FILE] [--patterns FILE]",
    about: "measure a suite against its limit and its peers",
    details: || {
        let mut text = String::from("The suites:\n\n");
        for suite in SUITES {
            text.push_str(&format!("  {:<12}{}\n", suite.name, suite.about));
        }
        text.push_str(
            "\n  --quick       shorter samples, still 21 rounds or more\n  \
             --json FILE   write the rows to FILE too, one JSON object a line\n  \
             --patterns FILE   for `permute`: run the patterns of a JSON file instead of its own\n\n\
             Words after `--` go to the suite: parts of case names, to run only those.\n",
        );
        text
    },
    run: |workspace, arguments| {
        let here = std::env::current_dir()
            .map_err(|error| Failure::Red(format!("the current folder: {error}")))?;
        step(&here, arguments)?.run(workspace.root())
    },
};

/// Where a suite's program is.
struct Suite {
    name: &'static str,
    about: &'static str,
    manifest: &'static str,
    package: &'static str,
}

const SUITES: &[Suite] = &[
    Suite {
        name: "small",
        about: "one small operation, in a scope and standalone, against ndarray",
        manifest: "Cargo.toml",
        package: "tenferro-benches",
    },
    Suite {
        name: "elementwise",
        about: "sums, comparisons, functions of 1e7 elements, against ndarray",
        manifest: "Cargo.toml",
        package: "tenferro-benches",
    },
    Suite {
        name: "reduce",
        about: "reductions of 1e7 elements over each axis, against ndarray",
        manifest: "Cargo.toml",
        package: "tenferro-benches",
    },
    Suite {
        name: "permute",
        about: "transposes of up to 24 axes, against ndarray",
        manifest: "Cargo.toml",
        package: "tenferro-benches",
    },
    Suite {
        name: "matmul",
        about: "square products, against ndarray and faer",
        manifest: PEERS_MANIFEST,
        package: "tenferro-bench-peers",
    },
];

/// The line that runs what the arguments ask for; a relative file is seen from `here`.
fn step(here: &Path, mut arguments: Arguments) -> Result<Step, Failure> {
    let quick = arguments.flag("--quick");
    let json = arguments.option("--json")?;
    let patterns = arguments.option("--patterns")?;
    let name = arguments.positional();
    let filters = arguments.finish()?;
    let names: Vec<&str> = SUITES.iter().map(|suite| suite.name).collect();
    let names = names.join(", ");
    let Some(name) = name else {
        return Err(Failure::Usage(format!("which suite? There are {names}")));
    };
    let Some(suite) = SUITES.iter().find(|suite| suite.name == name) else {
        return Err(Failure::Usage(format!("no suite is called `{name}`; there are {names}")));
    };
    let mut step = Step::cargo(["run", "--release", "--manifest-path", suite.manifest])
        .args(["--package", suite.package, "--bin", suite.name, "--"])
        .args(quick.then_some("--quick"));
    for (option, file) in [("--json", json), ("--patterns", patterns)] {
        if let Some(file) = file {
            step = step.args([option.to_owned(), here.join(file).to_string_lossy().into_owned()]);
        }
    }
    Ok(step.args(filters))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(words: &str) -> Result<String, Failure> {
        let words = words.split_whitespace().map(str::to_owned).collect();
        step(Path::new("/here"), Arguments::new(words)).map(|step| step.to_string())
    }

    #[test]
    fn options_and_filters_reach_the_suite() {
        assert_eq!(
            line("small --quick --json out.json -- scope/add").unwrap(),
            "cargo run --release --manifest-path Cargo.toml --package tenferro-benches \
             --bin small -- --quick --json /here/out.json scope/add"
        );
        assert!(line("matmul").unwrap().contains("--manifest-path benches/peers/Cargo.toml"));
        let patterns = line("permute --patterns p.json").unwrap();
        assert!(patterns.ends_with("--bin permute -- --patterns /here/p.json"), "{patterns}");
    }

    #[test]
    fn an_unknown_suite_is_refused_with_the_names_that_exist() {
        for words in ["", "smal", "small --quik"] {
            assert_eq!(line(words).unwrap_err().exit_code(), 2, "{words}");
        }
        assert!(line("smal").unwrap_err().to_string().contains("small, elementwise"));
    }
}
