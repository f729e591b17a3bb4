//! How many instructions an operation of a suite takes, as callgrind counts them.
//!
//! Unlike a time the figure is the same in a noisy minute. A case is run twice with different
//! numbers of repetitions, and the difference of the counts is that of the repetitions alone:
//! starting, making inputs and filling the pool take part in both. Valgrind knows no AVX-512, so the
//! kernels of its next lower instruction set are counted.

use std::fs;
use std::path::Path;

use super::step::{Failure, Step};

/// Repetitions of the two runs.
const RUNS: [u64; 2] = [1000, 3000];

/// Counts every case of a built suite that the filters choose, and prints a table; recorded, the
/// counts of the suite go to docs/performance, over those that were there.
pub(super) fn count(
    root: &Path,
    suite: &str,
    program: &str,
    recorded: bool,
    filters: &[String],
) -> Result<(), Failure> {
    let mut lines = String::new();
    let list = Step::program(program, ["--list"]).args(filters.iter().cloned()).read(root)?;
    println!("{:<34}{:>16}", "case", "instructions");
    for case in list.output.lines() {
        let [few, many] = RUNS.map(|repetitions| {
            Step::program("valgrind", ["--tool=callgrind", "--callgrind-out-file=/dev/null"])
                .args([program, "--repeat"].map(str::to_owned))
                .args([repetitions.to_string(), case.to_owned()])
                .read(root)
                .and_then(|run| collected(&run.errors))
        });
        let each = (many? - few?) / (RUNS[1] - RUNS[0]) as f64;
        println!("{case:<34}{each:>16.1}");
        lines.push_str(&format!("{{\"case\":\"{case}\",\"instructions\":{each:.1}}}\n"));
    }
    if recorded {
        let path = format!("docs/performance/{suite}.instructions.jsonl");
        fs::write(root.join(&path), lines)
            .map_err(|error| Failure::Red(format!("{path}: {error}")))?;
    }
    Ok(())
}

/// The count at the end of callgrind's report.
fn collected(report: &str) -> Result<f64, Failure> {
    let found = report.lines().rev().find_map(|line| {
        let (_, count) = line.split_once("Collected :")?;
        count.trim().parse().ok()
    });
    found.ok_or_else(|| Failure::Red(format!("callgrind reported no count:\n{report}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_count_is_read_from_the_report() {
        let report = "==7== Events    : Ir\n==7== Collected : 1234567\n==7==\n";
        assert_eq!(collected(report).unwrap(), 1_234_567.0);
        assert!(collected("==7== nothing\n").is_err());
    }
}
