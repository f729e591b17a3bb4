//! Several of ours at the same work, against the best of several limits, measured in one run.
//!
//! All take their turns in the same rounds. Which limit is the best is known afterwards: it is the one with the lowest
//! median. Each of ours makes rows as if it had been measured alone, with the A/A ratio of the first.

use super::statistics::ratios;
use super::{Case, Contender, Measurement, Plan, Series, measure};

/// The contenders of a family.
#[derive(Debug)]
pub struct Family<'a> {
    /// Ours: the names of their cases, and what they do. At least one.
    pub members: Vec<(String, Contender<'a>)>,
    /// What could be reached: the same work by others, without anything around it. At least one.
    pub limits: Vec<Contender<'a>>,
}

impl Family<'_> {
    /// Runs the rounds; a measurement for each member. The limits are its peers too.
    ///
    /// # Panics
    /// If there is no member or no limit, or the plan has no rounds.
    pub(super) fn measure(self, threads: usize, plan: &Plan) -> Vec<Measurement> {
        let (names, mut members): (Vec<_>, Vec<_>) = self.members.into_iter().unzip();
        let mut limits = self.limits;
        let (ours, limit) = (members.remove(0), limits.remove(0));
        let count = members.len();
        members.extend(limits);
        let case = Case { name: names[0].clone(), threads, ours, limit, peers: members };
        let Measurement { ours, again, limit, peers, .. } = measure(case, plan);
        let aa = ratios(&again.ns, &ours.ns);
        let mut members = vec![ours];
        members.extend_from_slice(&peers[..count]);
        let mut limits = vec![limit];
        limits.extend_from_slice(&peers[count..]);
        let best = limits.iter().min_by(|a, b| a.median_ns().total_cmp(&b.median_ns()));
        let best = best.expect("invariant: there is a limit").clone();
        let seen = |(case, ours): (String, Series)| {
            let again = ours.ns.iter().zip(&aa).map(|(ns, aa)| ns * aa).collect();
            let again = Series { ns: again, ..ours.clone() };
            Measurement { case, threads, ours, again, limit: best.clone(), peers: limits.clone() }
        };
        names.into_iter().zip(members).map(seen).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn clock<'a>(name: &str, ns: u64) -> Contender<'a> {
        Contender::sampled(name, move |count| Duration::from_nanos(count * ns))
    }

    #[test]
    fn each_member_meets_every_limit_and_the_best_one_is_the_limit() {
        let family = Family {
            members: vec![
                ("a/f64/1".to_owned(), clock("a", 40)),
                ("b/f64/1".to_owned(), clock("b", 60)),
            ],
            limits: vec![clock("slow", 80), clock("fast", 20)],
        };
        let rows: Vec<_> =
            family.measure(1, &Plan::quick()).iter().flat_map(|one| one.rows("suite")).collect();
        let found: Vec<_> = rows
            .iter()
            .map(|row| (row.case.as_str(), row.peer.as_str(), row.ratio, row.limit_ratio))
            .collect();
        assert_eq!(
            found,
            [
                ("a/f64/1", "slow", 0.5, 2.0),
                ("a/f64/1", "fast", 2.0, 2.0),
                ("b/f64/1", "slow", 0.75, 3.0),
                ("b/f64/1", "fast", 3.0, 3.0),
            ]
        );
        assert!(rows.iter().all(|row| row.limit_ns == 20.0 && row.aa == 1.0));
    }
}
