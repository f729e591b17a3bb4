//! A case with everyone in it, gathered from its rows.

use tenferro_benches::Row;

/// The rows of one case at one number of threads.
#[derive(Debug)]
pub(super) struct Measured<'a> {
    pub(super) rows: Vec<&'a Row>,
}

impl<'a> Measured<'a> {
    /// The rows by case and number of threads, in the order in which they were measured.
    pub(super) fn gather(rows: &'a [Row]) -> Vec<Self> {
        let mut cases: Vec<Self> = Vec::new();
        for row in rows {
            let same = |case: &&mut Self| {
                let first = case.first();
                first.case == row.case && first.threads == row.threads && first.suite == row.suite
            };
            match cases.iter_mut().find(same) {
                Some(case) => case.rows.push(row),
                None => cases.push(Self { rows: vec![row] }),
            }
        }
        cases
    }

    /// A row, for what all rows of the case agree on.
    pub(super) fn first(&self) -> &'a Row {
        self.rows[0]
    }

    /// The rows of other libraries: without the one in which the limit stands for a peer.
    pub(super) fn peers(&self) -> impl Iterator<Item = &'a Row> {
        self.rows.iter().copied().filter(|row| row.has_peer())
    }

    pub(super) fn peer(&self, name: &str) -> Option<&'a Row> {
        self.peers().find(|row| row.peer == name)
    }
}

/// A time in the unit that suits it, to three digits.
pub(super) fn time(ns: f64) -> String {
    let (value, unit) = match ns {
        ns if ns < 1e3 => (ns, "ns"),
        ns if ns < 1e6 => (ns / 1e3, "us"),
        ns if ns < 1e9 => (ns / 1e6, "ms"),
        ns => (ns / 1e9, "s"),
    };
    let digits = if value < 10.0 { 2 } else { usize::from(value < 100.0) };
    format!("{value:.digits$} {unit}")
}

#[cfg(test)]
pub(super) fn row(case: &str, threads: usize, peer: &str, [ours, limit, other]: [f64; 3]) -> Row {
    Row {
        suite: "suite".to_owned(),
        case: case.to_owned(),
        threads,
        ours_ns: ours,
        peer: peer.to_owned(),
        peer_ns: other,
        ratio: ours / other,
        limit_ns: limit,
        aa: 1.0,
        limit_ratio: ours / limit,
        noise: 0.01,
        peer_version: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_a_case_come_together_and_the_limit_is_no_peer() {
        let rows = [
            row("a", 1, "x", [2.0, 1.0, 4.0]),
            row("a", 1, "y", [2.0, 1.0, 8.0]),
            row("a", 2, "loop", [2.0, 1.0, 1.0]),
        ];
        let cases = Measured::gather(&rows);
        assert_eq!(cases.len(), 2);
        assert_eq!(cases[0].peers().count(), 2);
        assert_eq!(cases[0].peer("y").map(|row| row.ratio), Some(0.25));
        assert_eq!(cases[1].peers().count(), 0);
    }

    #[test]
    fn times_have_three_digits() {
        let found = [3.256, 45.67, 789.1, 1234.0, 5.6e7, 2e9].map(time);
        assert_eq!(found, ["3.26 ns", "45.7 ns", "789 ns", "1.23 us", "56.0 ms", "2.00 s"]);
    }
}
