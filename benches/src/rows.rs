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
/// Peers that the new run was without keep their old rows, after the new ones: a row holds its
/// own run's time of ours, so its ratio stays one of a single run.
pub(super) fn merge(old: Vec<Row>, new: &[Row]) -> Vec<Row> {
    let same = |a: &Row, b: &Row| (&a.suite, &a.case, a.threads) == (&b.suite, &b.case, b.threads);
    let replaced = |row: &Row| new.iter().any(|by| same(by, row) && (by.counts() || !row.counts()));
    let mut merged: Vec<Row> = Vec::new();
    for row in &old {
        if !replaced(row) {
            merged.push(row.clone());
        } else if !merged.iter().any(|done| same(done, row)) {
            merged.extend(new.iter().filter(|by| same(by, row)).cloned());
            let absent = |peer: &str| !new.iter().any(|by| same(by, row) && by.peer == peer);
            let kept = |known: &&Row| same(known, row) && known.has_peer() && absent(&known.peer);
            merged.extend(old.iter().filter(kept).cloned());
        }
    }
    let fresh = new.iter().filter(|row| !old.iter().any(|known| same(known, row)));
    merged.extend(fresh.cloned());
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
            row("c", "x", 2.0, 1.2),
            row("c", "z", 2.0, 1.2),
        ];
        let merged = merge(old, &new);
        let found: Vec<_> =
            merged.iter().map(|row| format!("{}{}{}", row.case, row.peer, row.ours_ns)).collect();
        assert_eq!(found, ["ax2", "ay1", "bx1", "cx2", "cz2", "dx2"]);
    }
}
