//! `cargo xtask bench`: builds a suite in release mode and runs it.
//!
//! A suite is a program; this file only knows where each one lives. What a suite measures, and
//! what its rows mean, is told in benches/README.md.

use std::path::Path;

use super::peers::{self, Built, PYTHON_PEERS, RUST_PEERS, RustPeer};
use super::step::{Failure, Step};
use super::{Arguments, Command, build_time, callgrind};

/// The workspace of the suites whose peers are too heavy for the main one.
pub(super) const PEERS_MANIFEST: &str = "benches/peers/Cargo.toml";

pub(super) const COMMAND: Command = Command {
    name: "bench",
    arguments: "SUITE [--quick] [--python] [--light] [--record]",
    about: "measure a suite against its limit and its peers",
    details: || {
        let mut text = String::from("The suites:\n\n");
        for suite in SUITES {
            text.push_str(&format!("  {:<12}{}\n", suite.name, suite.about));
        }
        text.push_str(OPTIONS);
        text
    },
    run: |workspace, mut arguments| {
        if arguments.flag("--report") {
            arguments.finish_alone()?;
            return report("page").run(workspace.root());
        }
        if arguments.word("build") {
            let recorded = arguments.flag("--record");
            return build_time::measure(workspace.root(), recorded, &arguments.finish()?);
        }
        let here = std::env::current_dir()
            .map_err(|error| Failure::Red(format!("the current folder: {error}")))?;
        let plan = plan(&here, workspace.root(), arguments)?;
        for peer in plan.skipped {
            let way_out = format!("`cargo xtask peers install {}` builds it", peer.name);
            eprintln!("skipped: the peer `{}` is not installed; {way_out}", peer.name);
        }
        for peer in plan.built {
            peer.build().run(workspace.root())?;
        }
        if let Some(filters) = plan.instructions {
            plan.suite.run(workspace.root())?;
            let program = workspace.root().join("target/release").join(plan.name);
            let program = program.to_string_lossy();
            return callgrind::count(
                workspace.root(),
                plan.name,
                &program,
                plan.recorded,
                &filters,
            );
        }
        if plan.recorded {
            report("machine").run(workspace.root())?;
        }
        plan.suite.run(workspace.root())
    },
};

/// The line that makes a part of the report.
fn report(part: &str) -> Step {
    Step::cargo(["run", "--release", "--package", "tenferro-bench-report", "--", part, "docs"])
}

const OPTIONS: &str = "
  --quick         shorter samples, still 21 rounds or more
  --python        with NumPy, PyTorch and JAX, which `peers install python` gets, and with published
                  tenferro, where `peers install published` has built it
  --light         without the peers that take minutes to build
  --callgrind     count instructions of ours with valgrind instead of measuring
  --record        bring the suite's rows in docs/performance up to date
  --json FILE     write the rows to FILE too, one JSON object a line
  --threads N     the cases on N threads alone
  --patterns FILE for `permute`: run the patterns of a JSON file instead of its own
  --library FILE  for `matmul` and `contention`: with a C library as it is, and its provider; may be
                  repeated

`bench build [--record]` times release builds of the library and of candle-core, and rebuilds after a
kernel was touched. `bench --report` makes docs/performance.md from what was recorded.

Words after `--` go to the suite: parts of case names, to run only those.
";

/// Where a suite's program is.
struct Suite {
    name: &'static str,
    about: &'static str,
    manifest: &'static str,
    package: &'static str,
    /// Peers of `peers::RUST_PEERS` that have cases of it.
    peers: &'static [&'static str],
}

const SUITES: &[Suite] = &[
    Suite {
        name: "small",
        about: "one small operation, in a scope and standalone, against ndarray",
        manifest: "Cargo.toml",
        package: "tenferro-benches",
        peers: &["candle", "published"],
    },
    Suite {
        name: "elementwise",
        about: "sums, comparisons, functions of 1e7 elements, against ndarray",
        manifest: "Cargo.toml",
        package: "tenferro-benches",
        peers: &["candle", "published"],
    },
    Suite {
        name: "reduce",
        about: "reductions of 1e7 elements over each axis, against ndarray",
        manifest: "Cargo.toml",
        package: "tenferro-benches",
        peers: &["candle", "published"],
    },
    Suite {
        name: "permute",
        about: "transposes of up to 24 axes, against ndarray",
        manifest: "Cargo.toml",
        package: "tenferro-benches",
        peers: &["candle", "published"],
    },
    Suite {
        name: "index",
        about: "elements picked and placed by position, and slices",
        manifest: "Cargo.toml",
        package: "tenferro-benches",
        peers: &[],
    },
    Suite {
        name: "sort",
        about: "sorts of a vector and along both axes",
        manifest: "Cargo.toml",
        package: "tenferro-benches",
        peers: &[],
    },
    Suite {
        name: "ad",
        about: "gradients of a small network and of logsumexp, eager and prepared",
        manifest: "Cargo.toml",
        package: "tenferro-benches",
        peers: &["candle", "published"],
    },
    Suite {
        name: "program",
        about: "prepared programs: chains, fused loops, cross-entropy",
        manifest: "Cargo.toml",
        package: "tenferro-benches",
        peers: &["candle"],
    },
    Suite {
        name: "admission",
        about: "permits, scopes and empty operations, against a mutex and rayon's install",
        manifest: "Cargo.toml",
        package: "tenferro-benches",
        peers: &[],
    },
    Suite {
        name: "contention",
        about: "the same work by 1 to 8 callers, against a shared pool without arbitration",
        manifest: PEERS_MANIFEST,
        package: "tenferro-bench-peers",
        peers: &[],
    },
    Suite {
        name: "matmul",
        about: "products by each provider, against the best raw call of any library",
        manifest: PEERS_MANIFEST,
        package: "tenferro-bench-peers",
        peers: &[],
    },
];

/// What is to be run, and what has to be built for it.
struct Plan {
    name: &'static str,
    /// The cases whose instructions are counted; `None` if they are measured.
    instructions: Option<Vec<String>>,
    /// Whether the rows go to docs/performance.
    recorded: bool,
    built: Vec<&'static RustPeer>,
    /// Peers that were asked for and are not there.
    skipped: Vec<&'static RustPeer>,
    suite: Step,
}

/// What the arguments ask for; a relative file is seen from `here`.
fn plan(here: &Path, root: &Path, mut arguments: Arguments) -> Result<Plan, Failure> {
    let quick = arguments.flag("--quick");
    let python = arguments.flag("--python");
    let light = arguments.flag("--light");
    let callgrind = arguments.flag("--callgrind");
    let recorded = arguments.flag("--record");
    let json = arguments.option("--json")?;
    let threads = arguments.option("--threads")?;
    let patterns = arguments.option("--patterns")?;
    let mut libraries = Vec::new();
    while let Some(library) = arguments.option("--library")? {
        libraries.push(library);
    }
    let name = arguments.positional();
    let filters = arguments.finish()?;
    let suite = suite(name.as_deref())?;
    if callgrind {
        if suite.manifest != "Cargo.toml" {
            let why = "its program is built in another workspace";
            return Err(Failure::Usage(format!(
                "`--callgrind` does not run `{}`: {why}",
                suite.name
            )));
        }
        let build = Step::cargo(["build", "--release", "--package", suite.package])
            .args(["--bin", suite.name]);
        return Ok(Plan {
            name: suite.name,
            instructions: Some(filters),
            recorded,
            built: Vec::new(),
            skipped: Vec::new(),
            suite: build,
        });
    }
    let heavy = RUST_PEERS.iter().filter(|peer| !light && suite.peers.contains(&peer.name));
    let (built, requested): (Vec<_>, Vec<_>) =
        heavy.partition(|peer| peer.built == Built::WhenNeeded);
    let (installed, skipped): (Vec<_>, Vec<_>) =
        requested.into_iter().filter(|_| python).partition(|peer| peer.is_installed(root));
    let mut commands: Vec<Vec<String>> =
        built.iter().chain(&installed).flat_map(|peer| peer.commands(root)).collect();
    if python {
        if !peers::python(root).exists() {
            let way_out = "install them with `cargo xtask peers install python`";
            return Err(Failure::Red(format!("the Python libraries are not there; {way_out}")));
        }
        commands.extend(PYTHON_PEERS.map(|library| peers::python_command(root, library)));
    }
    let mut step = Step::cargo(["run", "--release", "--manifest-path", suite.manifest])
        .args(["--package", suite.package, "--bin", suite.name, "--"])
        .args(quick.then_some("--quick"));
    for (option, file) in [("--json", json), ("--patterns", patterns)] {
        if let Some(file) = file {
            step = step.args([option.to_owned(), here.join(file).to_string_lossy().into_owned()]);
        }
    }
    if let Some(threads) = threads {
        step = step.args(["--threads".to_owned(), threads]);
    }
    for library in libraries {
        let library = here.join(library).to_string_lossy().into_owned();
        step = step.args(["--library".to_owned(), library]);
    }
    if recorded {
        step = step.args(["--record".to_owned(), format!("docs/performance/{}.jsonl", suite.name)]);
    }
    for command in &commands {
        step = step.args(["--peer".to_owned(), json_list(command)]);
    }
    if !commands.is_empty() {
        // Old builds of OpenBLAS may be told here to use slow kernels; a peer is not.
        step = step.unset("OPENBLAS_CORETYPE").unset("OPENBLAS_L2_SIZE");
    }
    Ok(Plan {
        name: suite.name,
        instructions: None,
        recorded,
        built,
        skipped,
        suite: step.args(filters),
    })
}

fn suite(name: Option<&str>) -> Result<&'static Suite, Failure> {
    let names: Vec<&str> = SUITES.iter().map(|suite| suite.name).collect();
    let names = names.join(", ");
    let Some(name) = name else {
        return Err(Failure::Usage(format!("which suite? There are {names}")));
    };
    SUITES
        .iter()
        .find(|suite| suite.name == name)
        .ok_or_else(|| Failure::Usage(format!("no suite is called `{name}`; there are {names}")))
}

/// A JSON list of strings.
fn json_list(words: &[String]) -> String {
    let quoted = |word: &String| {
        let mut text = String::from('"');
        for c in word.chars() {
            match c {
                '"' | '\\' => text.extend(['\\', c]),
                c if c.is_control() => text.push_str(&format!("\\u{:04x}", u32::from(c))),
                c => text.push(c),
            }
        }
        text + "\""
    };
    format!("[{}]", words.iter().map(quoted).collect::<Vec<_>>().join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(words: &str) -> Result<String, Failure> {
        let words = words.split_whitespace().map(str::to_owned).collect();
        let plan = plan(Path::new("/here"), Path::new("/root"), Arguments::new(words))?;
        Ok(plan.suite.to_string())
    }

    #[test]
    fn options_and_filters_reach_the_suite() {
        assert_eq!(
            line("small --quick --light --json out.json -- scope/add").unwrap(),
            "cargo run --release --manifest-path Cargo.toml --package tenferro-benches \
             --bin small -- --quick --json /here/out.json scope/add"
        );
        assert!(line("matmul").unwrap().contains("--manifest-path benches/peers/Cargo.toml"));
        let libraries = line("matmul --library a.so --library /b.so").unwrap();
        assert!(libraries.ends_with("-- --library /here/a.so --library /b.so"), "{libraries}");
        let threads = line("index --light --threads 1").unwrap();
        assert!(threads.ends_with("--bin index -- --threads 1"), "{threads}");
        let patterns = line("permute --light --patterns p.json").unwrap();
        assert!(patterns.ends_with("--bin permute -- --patterns /here/p.json"), "{patterns}");
    }

    #[test]
    fn peers_of_a_suite_are_handed_to_it_as_commands() {
        let with = line("small").unwrap();
        assert!(with.contains(r#"'["/root/target/peers/rust/release/candle-peer"]'"#), "{with}");
        assert!(!line("small --light").unwrap().contains("--peer"));
        // There is no virtual environment in that root.
        assert_eq!(line("small --python").unwrap_err().exit_code(), 1);
    }

    #[test]
    fn published_releases_take_part_with_python_where_they_are_installed() {
        let root = std::env::temp_dir().join(format!("tenferro-bench-{}", std::process::id()));
        let install = |file: &str| {
            let file = root.join("target/peers").join(file);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, "").unwrap();
        };
        let planned = |words: &str| {
            let words = words.split_whitespace().map(str::to_owned).collect();
            let plan = plan(Path::new("/here"), &root, Arguments::new(words)).unwrap();
            let skipped: Vec<_> = plan.skipped.iter().map(|peer| peer.name).collect();
            (plan.suite.to_string().matches("release/tenferro-0-").count(), skipped)
        };
        install("python/bin/python");
        install("rust/release/tenferro-0-7-peer");
        let half = planned("small --python");
        install("rust/release/tenferro-0-9-peer");
        let [whole, asked_not, light, no_case] =
            ["small --python", "small", "small --python --light", "sort --python"].map(planned);
        std::fs::remove_dir_all(&root).unwrap();

        assert_eq!(half, (0, vec!["published"]));
        assert_eq!(whole, (2, vec![]));
        assert_eq!([asked_not, light, no_case], [(0, vec![]), (0, vec![]), (0, vec![])]);
    }

    #[test]
    fn counting_instructions_builds_the_suite_and_no_peer() {
        assert_eq!(
            line("small --callgrind -- scope/add").unwrap(),
            "cargo build --release --package tenferro-benches --bin small"
        );
        assert_eq!(line("matmul --callgrind").unwrap_err().exit_code(), 2);
    }

    #[test]
    fn a_command_is_a_list_that_json_reads_back() {
        let words = ["a b", r#"say "hi" \ bye"#, "tab\t"].map(str::to_owned);
        assert_eq!(json_list(&words), r#"["a b","say \"hi\" \\ bye","tab\u0009"]"#);
    }

    #[test]
    fn an_unknown_suite_is_refused_with_the_names_that_exist() {
        for words in ["", "smal", "small --quik"] {
            assert_eq!(line(words).unwrap_err().exit_code(), 2, "{words}");
        }
        assert!(line("smal").unwrap_err().to_string().contains("small, elementwise"));
    }
}
