//! The page itself: machine, targets, a table and a plot a suite, build time.

use std::error::Error;
use std::fs;
use std::path::Path;

use tenferro_benches::{Row, read_rows};

use super::case::{Measured, time};
use super::count;
use super::machine::{self, Machine};
use super::plot;
use super::target::TARGETS;

/// The suites, and what the page says of each.
pub(super) const SUITES: &[(&str, &str)] = &[
    (
        "admission",
        "Limit: a mutex pair for a permit, a permit for a scope, a call for an operation.",
    ),
    (
        "contention",
        "All callers together do the same work. Limit: raw kernels on plain threads, one job after the other. The \
         peer `shared pool` is faer, and parallel sums, on one rayon pool without arbitration; the number after the \
         callers is each one's budget of threads.",
    ),
    ("small", "Limit: the same plain loops into fresh vectors. A chain is a hundred additions."),
    (
        "elementwise",
        "1e7 elements. Limit: the same plain loop into warm memory; for functions, a copy of as many bytes.",
    ),
    ("reduce", "1e7 elements. Limit: a plain sum over the input and a plain write of the output."),
    ("permute", "Limit: a copy of as many bytes into warm memory."),
    ("index", "Limit: a plain loop over the same positions into warm memory."),
    ("sort", "Limit: the standard library's sort of a copy."),
    (
        "ad",
        "Limit: our own forward in the same mode; for a forward, a plain loop with the C library's tanh. Gradients are by \
         the weights of a network with one column, or with as many as the size says.",
    ),
    (
        "program",
        "Limit: a plain loop, in place for the chain and into warm memory for the others. The peer `eager` is ours, one \
         operation after the other.",
    ),
    ("matmul", "Limit: a raw matrix kernel on plain threads that do not meet."),
];

/// Writes the page and its plots.
pub(super) fn write(docs: &Path) -> Result<(), Box<dyn Error>> {
    let folder = docs.join("performance");
    let mut suites = Vec::new();
    for &(name, about) in SUITES {
        let path = folder.join(format!("{name}.jsonl"));
        if path.exists() {
            suites.push((name, about, read_rows(&path)?));
        }
    }
    let mut page = head(&machine::read(docs)?);
    let rows: Vec<Row> = suites.iter().flat_map(|suite| suite.2.clone()).collect();
    page += &versions(&rows);
    page += &targets(&Measured::gather(&rows));
    for (name, about, rows) in &suites {
        let cases = Measured::gather(rows);
        let peers = peers(rows);
        plot::draw(&folder.join(format!("{name}.svg")), &cases.iter().collect::<Vec<_>>(), &peers)?;
        page += &section(name, about, &cases, &peers);
        page += &count::instructions(&folder, name)?;
    }
    page += &count::builds(&folder)?;
    fs::write(docs.join("performance.md"), page)?;
    Ok(())
}

fn head(machine: &Machine) -> String {
    let Machine { processor, cpus, vectors, caches, memory, .. } = machine;
    let Machine { huge_pages, system, compiler, day, .. } = machine;
    format!(
        "<!-- Made by `cargo xtask bench --report` from the rows in docs/performance. Do not edit. -->\n\
         # Performance\n\n\
         Measured on {day}: {cpus} CPUs, {processor} ({vectors}; {caches}), {memory} of memory, huge pages by \
         {huge_pages}; {system}; {compiler}.\n\n\
         Each suite was run by `cargo xtask bench SUITE --record`, those with Python libraries with `--python`, and \
         this page was made by `cargo xtask bench --report`. How a case is measured is told in \
         [benches/README.md](../benches/README.md): everyone takes turns in every round, at least 21 of them, and \
         figures are medians. A/A is ours against ours in the same rounds, with half the quartile distance: a case \
         counts when it is within 3 % of 1, and `(noisy)` marks the others. T is the number of threads. Times of \
         peers are followed by ours over theirs: below 1 ours is faster; `*` marks a ratio of another run than the \
         row's.\n"
    )
}

/// The libraries that told their version.
fn versions(rows: &[Row]) -> String {
    let mut known: Vec<String> = Vec::new();
    for row in rows {
        if let Some(version) = &row.peer_version {
            let text = format!("{} {version}", row.peer);
            if !known.contains(&text) {
                known.push(text);
            }
        }
    }
    if known.is_empty() {
        return String::new();
    }
    let locked = "versions of the others are in the lock files";
    format!("\nPeers in processes of their own: {}; {locked}.\n", known.join(", "))
}

fn targets(cases: &[Measured<'_>]) -> String {
    let mut text = String::from(
        "\n## What was aimed at\n\n\
         | suite | figure | aim | cases that meet it | farthest from it | noisy |\n|---|---|---|---|---|---|\n",
    );
    for target in TARGETS {
        let (met, worst, noisy) = match target.judge(cases) {
            Some(verdict) => {
                let all = if verdict.met == verdict.of { "all " } else { "" };
                let met = format!("{all}{} of {}", verdict.met, verdict.of);
                (met, verdict.worst, verdict.noisy.to_string())
            }
            None => ("not measured".to_owned(), String::new(), String::new()),
        };
        let aim = target.bound.words();
        text += &format!(
            "| {} | {} | {aim} | {met} | {worst} | {noisy} |\n",
            target.suite, target.what
        );
    }
    text
}

/// The names of the peers, in the order in which they appear.
fn peers(rows: &[Row]) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for row in Measured::gather(rows).iter().flat_map(Measured::peers) {
        if !names.contains(&row.peer.as_str()) {
            names.push(&row.peer);
        }
    }
    names
}

fn section(name: &str, about: &str, cases: &[Measured<'_>], peers: &[&str]) -> String {
    let mut text = format!("\n## `{name}`\n\n{about}\n\n![{name}](performance/{name}.svg)\n\n");
    text += "| case | T | ours | limit | over it |";
    peers.iter().for_each(|peer| text += &format!(" {peer} |"));
    text += " A/A |\n|---|---|---|---|---|";
    peers.iter().for_each(|_| text += "---|");
    text += "---|\n";
    for case in cases {
        let row = case.first();
        text += &format!(
            "| {} | {} | {} | {} | {:.2} |",
            row.case,
            row.threads,
            time(row.ours_ns),
            time(row.limit_ns),
            row.limit_ratio
        );
        for peer in peers {
            let cell = case.peer(peer).map(|peer| {
                let other = match (peer.ours_ns == row.ours_ns, peer.counts()) {
                    (true, _) => "",
                    (false, true) => " *",
                    (false, false) => " * (noisy)",
                };
                format!("{} ({:.2}){other}", time(peer.peer_ns), peer.ratio)
            });
            text += &format!(" {} |", cell.unwrap_or_default());
        }
        let noisy = if row.counts() { "" } else { " (noisy)" };
        text += &format!(" {:.3} +- {:.3}{noisy} |\n", row.aa, row.noise);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::case::row;
    use super::*;

    #[test]
    fn a_table_has_a_column_a_peer_and_an_empty_cell_for_an_absent_one() {
        let rows = [
            row("a", 1, "x", [2.0, 1.0, 4.0]),
            row("b", 1, "y", [3e6, 1.5e6, 6e6]),
            row("b", 1, "x", [4e6, 2e6, 4e6]),
        ];
        let cases = Measured::gather(&rows);
        let text = section("suite", "About.", &cases, &peers(&rows));
        let lines: Vec<&str> = text.lines().skip(7).collect();
        assert_eq!(
            lines,
            [
                "| case | T | ours | limit | over it | x | y | A/A |",
                "|---|---|---|---|---|---|---|---|",
                "| a | 1 | 2.00 ns | 1.00 ns | 2.00 | 4.00 ns (0.50) |  | 1.000 +- 0.010 |",
                "| b | 1 | 3.00 ms | 1.50 ms | 2.00 | 4.00 ms (1.00) * | 6.00 ms (0.50) | 1.000 +- 0.010 |",
            ]
        );
    }

    #[test]
    fn a_page_is_made_from_the_rows_of_a_folder() {
        let docs = std::env::temp_dir().join(format!("tenferro-report-{}", std::process::id()));
        machine::write(&docs).unwrap();
        let mut small = row("scope/add/f64/64", 1, "candle", [40.0, 20.0, 200.0]);
        small.suite = "small".to_owned();
        let line = serde_json::to_string(&small).unwrap() + "\n";
        fs::write(docs.join("performance/small.jsonl"), line).unwrap();
        write(&docs).unwrap();
        let page = fs::read_to_string(docs.join("performance.md")).unwrap();
        let plot = fs::read_to_string(docs.join("performance/small.svg")).unwrap();
        fs::remove_dir_all(&docs).unwrap();
        assert!(page.contains("| scope/add/f64/64 | 1 | 40.0 ns | 20.0 ns | 2.00 |"), "{page}");
        assert!(
            page.contains("| small | add of 64 in a scope | at most 1.75 x the limit | 0 of 1 |")
        );
        assert!(plot.starts_with("<svg") && plot.contains("scope/add/f64/64"));
    }
}
