//! What the project sets itself to reach, compared with what was measured.
//!
//! A target speaks of all cases whose names it matches. It is met if every one of them meets it,
//! and the page names the worst.

use super::case::{Measured, time};

/// A figure to be reached.
pub(super) struct Target {
    pub(super) suite: &'static str,
    /// What it speaks of, in words.
    pub(super) what: &'static str,
    /// Beginnings of the cases' names.
    cases: &'static [&'static str],
    /// The end of the cases' names.
    ending: &'static str,
    /// The number of threads; `None` for any.
    threads: Option<usize>,
    pub(super) bound: Bound,
}

/// What is to be reached.
pub(super) enum Bound {
    /// At most so many times the limit.
    Limit(f64),
    /// At most so many nanoseconds more than the limit.
    OverLimit(f64),
    /// At most so many times a peer's time.
    Peer(&'static str, f64),
    /// At most so many nanoseconds more than a peer.
    OverPeer(&'static str, f64),
    /// At most so many times a peer's time, or so many times the limit.
    PeerOrLimit(&'static str, f64, f64),
    /// Less than every peer's time.
    EveryPeer,
    /// At most so many times every peer's time.
    EveryPeerBy(f64),
    /// Less than every peer's time in the geometric mean of the cases.
    EveryPeerInMean,
}

/// How far the measured cases are from a target.
pub(super) struct Verdict {
    pub(super) met: usize,
    pub(super) of: usize,
    /// The case that is farthest from the bound, and its figure.
    pub(super) worst: String,
    /// Cases whose rows were too noisy to count.
    pub(super) noisy: usize,
}

const fn target(
    suite: &'static str,
    what: &'static str,
    cases: &'static [&'static str],
    bound: Bound,
) -> Target {
    Target { suite, what, cases, ending: "", threads: None, bound }
}

const LIGHT: &[&str] = &["add/", "mul/", "convert/", "compare/"];
const SIMPLE: &[&str] = &["sum/", "prod/", "max/", "argmax/", "any/"];

pub(super) const TARGETS: &[Target] = &[
    target("admission", "a permit, over two mutex pairs", &["permit/"], Bound::Peer("mutex", 2.0)),
    target("admission", "a scope, over a permit", &["scope/"], Bound::Limit(4.0)),
    target(
        "admission",
        "an empty operation in a scope, on top of a call",
        &["operation/in-scope/"],
        Bound::OverLimit(15.0),
    ),
    Target {
        ending: "2",
        ..target(
            "contention",
            "2, 4 and 8 callers at budget 2, over the best schedule",
            &CALLERS,
            Bound::Limit(1.03),
        )
    },
    Target {
        ending: "1",
        ..target(
            "contention",
            "2, 4 and 8 callers at budget 1, over the best schedule",
            &CALLERS,
            Bound::Limit(1.03),
        )
    },
    target(
        "contention",
        "eight one-thread callers, over two",
        &EIGHT,
        Bound::Peer("two callers", 1.03),
    ),
    target("small", "add of 2 in a scope", &["scope/add/f64/2"], Bound::Limit(2.5)),
    Target {
        ending: "/64",
        ..target("small", "add of 64 in a scope", &["scope/add/"], Bound::Limit(1.75))
    },
    target("small", "add of 1024 in a scope", &["scope/add/f64/1024"], Bound::Limit(1.1)),
    Target {
        ending: "/64",
        ..target("small", "a step of a chain of 64", &["scope/chain/"], Bound::Limit(1.75))
    },
    target("small", "a step of a chain of 2", &["scope/chain/f64/2"], Bound::Limit(2.5)),
    target("small", "a step of a chain of 1024", &["scope/chain/f64/1024"], Bound::Limit(1.1)),
    target(
        "small",
        "add of 2 and 64 in a scope, over candle",
        &["scope/add/f64/2", "scope/add/f64/64"],
        Bound::Peer("candle", 0.25),
    ),
    target(
        "small",
        "standalone, on top of the same in a scope",
        &["standalone/"],
        Bound::OverPeer("in scope", 10.0),
    ),
    target("elementwise", "add, mul, convert, compare of 1e7", LIGHT, Bound::Limit(1.1)),
    Target {
        threads: Some(1),
        ..target(
            "elementwise",
            "exp, over PyTorch, or over the traffic",
            &["exp/"],
            Bound::PeerOrLimit("PyTorch", 1.0 / 1.5, 1.5),
        )
    },
    Target {
        threads: Some(1),
        ..target(
            "elementwise",
            "tanh, sin, log, erf, over PyTorch, or over the traffic",
            &["tanh/", "sin/", "log/", "erf/"],
            Bound::PeerOrLimit("PyTorch", 0.5, 1.5),
        )
    },
    target("reduce", "sum, prod, max, argmax, any, every axis", SIMPLE, Bound::Limit(1.25)),
    target(
        "reduce",
        "logsumexp and softmax, every axis",
        &["logsumexp/", "softmax/"],
        Bound::EveryPeer,
    ),
    target(
        "permute",
        "transpose and slow to fast",
        &["transpose/", "slow-to-fast/"],
        Bound::Limit(1.6),
    ),
    target(
        "permute",
        "reverse and fast to slow",
        &["reverse/", "fast-to-slow/"],
        Bound::Limit(2.5),
    ),
    target(
        "permute",
        "all four, against the peers",
        &["transpose/", "slow-to-fast/", "reverse/", "fast-to-slow/"],
        Bound::EveryPeer,
    ),
    target("permute", "the given patterns", &["pattern/"], Bound::EveryPeerInMean),
    target(
        "ad",
        "an eager gradient at 8, over candle",
        &["eager/mlp/f64/8"],
        Bound::Peer("candle", 1.0),
    ),
    Target {
        ending: "/64",
        ..target(
            "ad",
            "an eager gradient at 64, over candle",
            &["eager/mlp/"],
            Bound::Peer("candle", 1.0),
        )
    },
    target(
        "ad",
        "an eager gradient at 8, over PyTorch",
        &["eager/mlp/f64/8"],
        Bound::Peer("PyTorch", 0.1),
    ),
    Target {
        ending: "/64",
        ..target(
            "ad",
            "an eager gradient at 64, over PyTorch",
            &["eager/mlp/"],
            Bound::Peer("PyTorch", 0.1),
        )
    },
    target("ad", "a prepared gradient at 8", &["prepared/mlp/f64/8"], Bound::EveryPeerBy(0.5)),
    Target {
        ending: "/64",
        ..target("ad", "a prepared gradient at 64", &["prepared/mlp/"], Bound::EveryPeerBy(0.5))
    },
    target(
        "ad",
        "a prepared gradient at 64x64",
        &["prepared/mlp/f64/64x64"],
        Bound::EveryPeerBy(1.0 / 1.5),
    ),
    target(
        "ad",
        "a prepared gradient at 512x512, over JAX",
        &["prepared/mlp/f64/512x512"],
        Bound::Peer("JAX", 1.0),
    ),
    target(
        "ad",
        "a gradient, over its forward",
        &["eager/mlp/", "prepared/mlp/"],
        Bound::Limit(4.0),
    ),
    target(
        "ad",
        "a forward at 8 and 64, over candle",
        &["eager/mlp-forward/f64/8", "eager/mlp-forward/f64/64"],
        Bound::Peer("candle", 1.0),
    ),
    target(
        "ad",
        "value and gradient of logsumexp, over JAX",
        &["eager/logsumexp/", "prepared/logsumexp/"],
        Bound::Peer("JAX", 1.0),
    ),
    target("program", "a chain of 100 additions", &["chain100/"], Bound::Limit(1.0)),
    target("program", "the chain, over JAX", &["chain100/"], Bound::Peer("JAX", 0.2)),
    target(
        "program",
        "the chain, over torch.compile",
        &["chain100/"],
        Bound::Peer("torch.compile", 0.2),
    ),
    target("program", "a * b + c * d", &["fused-muladd/"], Bound::Limit(1.1)),
    target("program", "a * b + c * d, over JAX", &["fused-muladd/"], Bound::Peer("JAX", 0.33)),
    target(
        "program",
        "a * b + c * d, over torch.compile",
        &["fused-muladd/"],
        Bound::Peer("torch.compile", 0.33),
    ),
    target("program", "softmax and cross-entropy", &["cross-entropy"], Bound::EveryPeer),
];

const CALLERS: [&str; 15] = [
    "gemm64/2",
    "gemm64/4",
    "gemm64/8",
    "gemm256/2",
    "gemm256/4",
    "gemm256/8",
    "chain/2",
    "chain/4",
    "chain/8",
    "sum/2",
    "sum/4",
    "sum/8",
    "mixed/2",
    "mixed/4",
    "mixed/8",
];
const EIGHT: [&str; 5] = [
    "gemm64/8-callers/1",
    "gemm256/8-callers/1",
    "chain/8-callers/1",
    "sum/8-callers/1",
    "mixed/8-callers/1",
];

impl Target {
    fn speaks_of(&self, case: &Measured<'_>) -> bool {
        let row = case.first();
        row.suite == self.suite
            && self.cases.iter().any(|start| row.case.starts_with(start))
            && row.case.ends_with(self.ending)
            && self.threads.is_none_or(|threads| threads == row.threads)
    }

    /// The verdict over measured cases; `None` if none is spoken of.
    pub(super) fn judge(&self, cases: &[Measured<'_>]) -> Option<Verdict> {
        let chosen: Vec<&Measured<'_>> = cases.iter().filter(|case| self.speaks_of(case)).collect();
        let noisy = chosen.iter().filter(|case| case.rows.iter().any(|row| !row.counts())).count();
        // How far each is from its bound (1 is at the bound), what it is called, and its figure.
        let mut figures: Vec<(f64, String, String)> = match self.bound {
            Bound::EveryPeerInMean => means(&chosen),
            _ => chosen
                .iter()
                .filter_map(|case| {
                    let (excess, figure) = self.bound.excess(case)?;
                    let row = case.first();
                    Some((excess, format!("{} T{}", row.case, row.threads), figure))
                })
                .collect(),
        };
        figures.sort_by(|a, b| b.0.total_cmp(&a.0));
        let (_, name, figure) = figures.first()?;
        Some(Verdict {
            met: figures.iter().filter(|figure| figure.0 <= 1.0).count(),
            of: figures.len(),
            worst: format!("{figure} ({name})"),
            noisy,
        })
    }
}

/// Each peer's geometric mean of the ratios over all cases that it has.
fn means(cases: &[&Measured<'_>]) -> Vec<(f64, String, String)> {
    let mut peers: Vec<(&str, usize, Vec<f64>)> = Vec::new();
    for row in cases.iter().flat_map(|case| case.peers()) {
        let same =
            |peer: &&mut (&str, usize, Vec<f64>)| peer.0 == row.peer && peer.1 == row.threads;
        match peers.iter_mut().find(same) {
            Some(peer) => peer.2.push(row.ratio.ln()),
            None => peers.push((&row.peer, row.threads, vec![row.ratio.ln()])),
        }
    }
    let mean = |(peer, threads, logs): (&str, usize, Vec<f64>)| {
        let mean = (logs.iter().sum::<f64>() / logs.len() as f64).exp();
        (mean, format!("{peer} T{threads}"), format!("{mean:.2} x"))
    };
    peers.into_iter().map(mean).collect()
}

impl Bound {
    /// How far a case is from the bound: the quotient, and the figure in words.
    fn excess(&self, case: &Measured<'_>) -> Option<(f64, String)> {
        let first = case.first();
        let times = |ratio: f64| format!("{ratio:.2} x");
        match *self {
            Bound::Limit(most) => Some((first.limit_ratio / most, times(first.limit_ratio))),
            Bound::OverLimit(ns) => {
                let over = first.ours_ns - first.limit_ns;
                Some((over / ns, time(over.max(0.0))))
            }
            Bound::Peer(name, most) => {
                let ratio = case.peer(name)?.ratio;
                Some((ratio / most, times(ratio)))
            }
            Bound::OverPeer(name, ns) => {
                let row = case.peer(name)?;
                let over = row.ours_ns - row.peer_ns;
                Some((over / ns, time(over.max(0.0))))
            }
            Bound::PeerOrLimit(name, peer, limit) => {
                let ratio = case.peer(name)?.ratio;
                let excess = (ratio / peer).min(first.limit_ratio / limit);
                let figure = format!("{:.2} x {name}, {:.2} x limit", ratio, first.limit_ratio);
                Some((excess, figure))
            }
            Bound::EveryPeer => Bound::EveryPeerBy(1.0).excess(case),
            Bound::EveryPeerBy(most) => {
                let closest = case.peers().max_by(|a, b| a.ratio.total_cmp(&b.ratio))?;
                Some((closest.ratio / most, format!("{:.2} x {}", closest.ratio, closest.peer)))
            }
            Bound::EveryPeerInMean => None,
        }
    }

    /// The bound in words.
    pub(super) fn words(&self) -> String {
        match *self {
            Bound::Limit(most) => format!("at most {most} x the limit"),
            Bound::OverLimit(ns) => format!("at most {ns} ns"),
            Bound::Peer(name, most) => format!("at most {most:.2} x {name}"),
            Bound::OverPeer(_, ns) => format!("at most {ns} ns"),
            Bound::PeerOrLimit(name, peer, limit) => {
                format!("at most {peer:.2} x {name}, or {limit} x the limit")
            }
            Bound::EveryPeer => "ahead of every peer".to_owned(),
            Bound::EveryPeerBy(most) => format!("at most {most:.2} x every peer"),
            Bound::EveryPeerInMean => "ahead of every peer in geometric mean".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use tenferro_benches::Row;

    use super::super::case::row;
    use super::*;

    fn judged(bound: Bound, rows: &[Row]) -> Option<(usize, usize, String)> {
        let target = target("suite", "it", &["add/"], bound);
        let verdict = target.judge(&Measured::gather(rows))?;
        Some((verdict.met, verdict.of, verdict.worst))
    }

    #[test]
    fn the_worst_case_is_named_and_the_met_ones_are_counted() {
        let rows = [
            row("add/a", 1, "x", [11.0, 10.0, 22.0]),
            row("add/b", 2, "x", [30.0, 10.0, 20.0]),
            row("mul/c", 1, "x", [90.0, 10.0, 20.0]),
        ];
        let found = judged(Bound::Limit(1.2), &rows).unwrap();
        assert_eq!(found, (1, 2, "3.00 x (add/b T2)".to_owned()));
        let found = judged(Bound::EveryPeer, &rows).unwrap();
        assert_eq!(found, (1, 2, "1.50 x x (add/b T2)".to_owned()));
        assert_eq!(judged(Bound::OverLimit(25.0), &rows).unwrap().0, 2);
        assert_eq!(judged(Bound::Peer("y", 1.0), &rows), None);
        // Slower than half the peer, but close enough to the limit.
        assert_eq!(judged(Bound::PeerOrLimit("x", 0.25, 1.2), &rows).unwrap().0, 1);
    }

    #[test]
    fn the_geometric_mean_is_taken_for_each_peer() {
        let rows = [
            row("add/a", 1, "x", [1.0, 1.0, 4.0]),
            row("add/b", 1, "x", [2.0, 1.0, 2.0]),
            row("add/b", 1, "y", [2.0, 1.0, 1.9]),
        ];
        let found = judged(Bound::EveryPeerInMean, &rows).unwrap();
        assert_eq!(found, (1, 2, "1.05 x (y T1)".to_owned()));
    }

    #[test]
    fn every_target_is_of_a_suite_that_the_page_has() {
        for target in TARGETS {
            assert!(super::super::page::SUITES.iter().any(|suite| suite.0 == target.suite));
        }
    }
}
