//! Files of rows: a JSON object a line.

use std::io;
use std::path::Path;

use super::Row;

/// Reads a file of rows.
///
/// # Errors
/// What reading it fails with; a line that is no row is [`io::ErrorKind::InvalidData`].
pub fn read_rows(path: &Path) -> io::Result<Vec<Row>> {
    let text = std::fs::read_to_string(path)?;
    let row = |line: &str| serde_json::from_str(line).map_err(io::Error::from);
    text.lines().filter(|line| !line.trim().is_empty()).map(row).collect()
}

/// Writes a file of rows over what was there.
pub(super) fn write_rows(path: &Path, rows: &[Row]) -> io::Result<()> {
    let lines: Vec<String> = rows.iter().map(serde_json::to_string).collect::<Result<_, _>>()?;
    std::fs::write(path, lines.join("\n") + "\n")
}

/// The rows of both measurements: a case in both is taken from the new one, unless only the old
/// one was quiet enough to count. New cases follow the old ones.
///
/// A peer that took part in the other measurement alone keeps that row, after those of the case: a
/// row holds its own run's time of ours, so its ratio stays one of a single run.
pub(super) fn merge(old: &[Row], new: &[Row]) -> Vec<Row> {
    let same = |a: &Row, b: &Row| (&a.suite, &a.case, a.threads) == (&b.suite, &b.case, b.threads);
    let mut merged: Vec<Row> = Vec::new();
    for row in old.iter().chain(new) {
        if merged.iter().any(|done| same(done, row)) {
            continue;
        }
        let [before, now] =
            [old, new].map(|rows| rows.iter().filter(|other| same(other, row)).collect::<Vec<_>>());
        // The first row is of the measurement that the case was taken from.
        let quiet = |rows: &[&Row]| rows.first().is_some_and(|first| first.counts());
        let stays = now.is_empty() || quiet(&before) && !quiet(&now);
        let (own, other) = if stays { (before, now) } else { (now, before) };
        let absent = |row: &&&Row| row.has_peer() && !own.iter().any(|by| by.peer == row.peer);
        merged.extend(own.iter().chain(other.iter().filter(absent)).map(|&row| row.clone()));
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(case: &str, peer: &str, ours_ns: f64, aa: f64) -> Row {
        let line = format!(
            r#"{{"suite":"s","case":"{case}","threads":1,"ours_ns":{ours_ns},"peer":"{peer}","peer_ns":1,
                "ratio":1,"limit_ns":{},"aa":{aa},"limit_ratio":1}}"#,
            if peer == "loop" { 1 } else { 2 }
        );
        serde_json::from_str(&line).unwrap()
    }

    #[test]
    fn a_case_is_replaced_unless_only_the_old_one_counts_and_absent_peers_keep_their_rows() {
        let old = vec![
            row("a", "x", 1.0, 1.0),
            row("a", "y", 1.0, 1.0),
            row("a", "loop", 1.0, 1.0),
            row("b", "x", 1.0, 1.0),
            row("c", "x", 1.0, 1.1),
        ];
        let new = [
            row("d", "x", 2.0, 1.5),
            row("a", "x", 2.0, 1.0),
            row("b", "x", 2.0, 1.2),
            row("b", "y", 2.0, 1.2),
            row("c", "x", 2.0, 1.2),
            row("c", "z", 2.0, 1.2),
        ];
        let merged = merge(&old, &new);
        let found: Vec<_> =
            merged.iter().map(|row| format!("{}{}{}", row.case, row.peer, row.ours_ns)).collect();
        assert_eq!(found, ["ax2", "ay1", "bx1", "by2", "cx2", "cz2", "dx2"]);
    }
}
