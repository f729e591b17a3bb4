//! A row of results: one case against one peer.

use serde::{Deserialize, Serialize};

/// A row of results: one case against one peer, a line of JSON in this order of fields.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// The suite.
    pub suite: String,
    /// `place/operation/dtype/size`.
    pub case: String,
    /// Threads that each contender was allowed.
    pub threads: usize,
    /// Our median time for an operation, in nanoseconds.
    pub ours_ns: f64,
    /// The peer's name.
    pub peer: String,
    /// The peer's median time.
    pub peer_ns: f64,
    /// Ours over the peer: the median of the rounds' ratios. Below 1 ours is faster.
    pub ratio: f64,
    /// The limit's median time.
    pub limit_ns: f64,
    /// Ours over ours, the median of the rounds' ratios: 1 in a quiet run.
    pub aa: f64,
    /// Ours over the limit: the median of the rounds' ratios.
    pub limit_ratio: f64,
    /// Half the distance between the quartiles of `aa` over the rounds.
    #[serde(default)]
    pub noise: f64,
    /// The peer's version, where it is not in a lock file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peer_version: Option<String>,
}

impl Row {
    /// Whether the row is of a peer, and not of the limit that stands for one.
    pub fn has_peer(&self) -> bool {
        self.peer_ns != self.limit_ns
    }

    /// Whether the run was quiet enough for this row: ours took as long as ours, within 3 %.
    pub fn counts(&self) -> bool {
        is_quiet(self.aa)
    }
}

/// Whether a run with this median of ours over ours counts.
pub(super) fn is_quiet(aa: f64) -> bool {
    (aa - 1.0).abs() <= 0.03
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_a_line_of_json_with_these_fields_in_this_order() {
        let row = Row {
            suite: "small".to_owned(),
            case: "scope/add/f64/64".to_owned(),
            threads: 1,
            ours_ns: 30.5,
            peer: "ndarray".to_owned(),
            peer_ns: 61.0,
            ratio: 0.5,
            limit_ns: 24.0,
            aa: 1.0,
            limit_ratio: 1.25,
            noise: 0.5,
            peer_version: None,
        };
        assert_eq!(
            serde_json::to_string(&row).unwrap(),
            r#"{"suite":"small","case":"scope/add/f64/64","threads":1,"ours_ns":30.5,"peer":"ndarray","peer_ns":61.0,"ratio":0.5,"limit_ns":24.0,"aa":1.0,"limit_ratio":1.25,"noise":0.5}"#
        );
    }
}
