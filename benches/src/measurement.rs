//! The rounds of one case, and what they say.

use std::time::Duration;

use super::row::{Row, is_quiet};
use super::statistics::{median, ratios, spread};
use super::{Case, Contender, Plan};

/// What the rounds of one case say.
#[derive(Debug, Clone, PartialEq)]
pub struct Measurement {
    /// The case's name.
    pub case: String,
    /// Threads that each contender was allowed.
    pub threads: usize,
    /// Ours, as sampled first in each round.
    pub ours: Series,
    /// Ours, as sampled a second time in each round.
    pub again: Series,
    /// The limit.
    pub limit: Series,
    /// The peers.
    pub peers: Vec<Series>,
}

/// One contender's time for an operation, round by round.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// The contender's name.
    pub name: String,
    /// The version of the library that it is, where it says so.
    pub version: Option<String>,
    /// Nanoseconds for one operation, a value a round.
    pub ns: Vec<f64>,
}

impl Series {
    /// The median time of an operation in nanoseconds.
    ///
    /// # Panics
    /// If there was no round.
    pub fn median_ns(&self) -> f64 {
        median(&self.ns)
    }
}

impl Measurement {
    /// A row for each peer; without peers one row, in which the limit stands for the peer.
    ///
    /// # Panics
    /// If there was no round.
    pub fn rows(&self, suite: &str) -> Vec<Row> {
        let row = |peer: &Series| Row {
            suite: suite.to_owned(),
            case: self.case.clone(),
            threads: self.threads,
            ours_ns: self.ours.median_ns(),
            peer: peer.name.clone(),
            peer_ns: peer.median_ns(),
            ratio: median(&ratios(&self.ours.ns, &peer.ns)),
            limit_ns: self.limit.median_ns(),
            aa: median(&self.aa()),
            limit_ratio: median(&ratios(&self.ours.ns, &self.limit.ns)),
            noise: self.noise(),
            peer_version: peer.version.clone(),
        };
        let peers =
            if self.peers.is_empty() { std::slice::from_ref(&self.limit) } else { &self.peers };
        peers.iter().map(row).collect()
    }

    /// How far ours is from ours in a typical round: the noise of this case.
    ///
    /// # Panics
    /// If there was no round.
    pub fn noise(&self) -> f64 {
        spread(&self.aa())
    }

    /// How far ours is from ours in the median round.
    fn distance(&self) -> f64 {
        (median(&self.aa()) - 1.0).abs()
    }

    fn aa(&self) -> Vec<f64> {
        ratios(&self.again.ns, &self.ours.ns)
    }
}

/// How often a case is measured until it is quiet enough to count.
const ATTEMPTS: usize = 3;

/// Warms up, calibrates and runs the rounds: again if they were too noisy to count, a few times at most. The quietest stand.
///
/// Whether they are is decided by ours against ours alone, whatever ours was against the others.
///
/// # Panics
/// If the plan has no rounds.
pub fn measure(case: Case<'_>, plan: &Plan) -> Measurement {
    assert!(plan.rounds > 0, "a plan has rounds");
    let Case { name, threads, ours, limit, peers } = case;
    let mut contenders = vec![ours, limit];
    contenders.extend(peers);
    let counts: Vec<u64> =
        contenders.iter_mut().map(|contender| calibrate(contender, plan)).collect();
    let mut attempt = || run_rounds(&name, threads, &mut contenders, &counts, plan);
    let mut quietest = attempt();
    for _ in 1..ATTEMPTS {
        if is_quiet(median(&quietest.aa())) {
            break;
        }
        let again = attempt();
        if again.distance() < quietest.distance() {
            quietest = again;
        }
    }
    quietest
}

/// All rounds of ours, the limit and the peers.
fn run_rounds(
    case: &str,
    threads: usize,
    contenders: &mut [Contender<'_>],
    counts: &[u64],
    plan: &Plan,
) -> Measurement {
    // Ours has two places in a round: its own, and one before the last peer, so that neither follows
    // the other into caches that it has just filled.
    let mut places: Vec<usize> = (0..contenders.len()).collect();
    let second = if contenders.len() > 2 { places.len() - 1 } else { places.len() };
    places.insert(second, 0);
    let mut samples = vec![Vec::with_capacity(plan.rounds); places.len()];
    for round in 0..plan.rounds {
        for place in rotation(places.len(), round) {
            let at = places[place];
            let took = contenders[at].sample(counts[at]);
            samples[place].push(took.as_nanos() as f64 / counts[at] as f64);
        }
    }

    let series =
        |of: &Contender<'_>, ns| Series { name: of.name.clone(), version: of.version.clone(), ns };
    let again = series(&contenders[0], samples.remove(second));
    let mut all = contenders.iter().zip(samples).map(|(one, ns)| series(one, ns));
    let mut next = || all.next().expect("invariant: ours and the limit have places");
    let (ours, limit) = (next(), next());
    Measurement { case: case.to_owned(), threads, ours, again, limit, peers: all.collect() }
}

/// The order of a round: each round begins one place later, so that no one always follows the
/// same neighbour into a cold or warm cache first.
fn rotation(places: usize, round: usize) -> impl Iterator<Item = usize> {
    (0..places).map(move |at| (at + round) % places)
}

/// Warms up, and returns how many operations make a sample of the planned length.
fn calibrate(contender: &mut Contender<'_>, plan: &Plan) -> u64 {
    let mut count = 1_u64;
    let mut spent = Duration::ZERO;
    loop {
        let took = contender.sample(count).max(Duration::from_nanos(1));
        spent += took;
        let scale = plan.sample.as_secs_f64() / took.as_secs_f64();
        if spent >= plan.warm_up && scale < 2.0 {
            return ((count as f64 * scale).round() as u64).max(1);
        }
        // At most tenfold at once: the first, cold operation says little about the next.
        count = (count as f64 * scale.clamp(0.1, 10.0)).round().max(1.0) as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A contender whose operation takes a given time, which may change from sample to sample.
    fn clock<'a>(name: &str, mut ns: impl FnMut() -> u64 + 'a) -> Contender<'a> {
        Contender::sampled(name, move |count| Duration::from_nanos(count * ns()))
    }

    fn case<'a>(ours: Contender<'a>, limit: Contender<'a>, peers: Vec<Contender<'a>>) -> Case<'a> {
        Case { name: "place/op/f64/1".to_owned(), threads: 2, ours, limit, peers }
    }

    #[test]
    fn a_peer_makes_a_row_with_the_ratios_of_the_rounds() {
        let peers = vec![clock("a", || 80), clock("b", || 20)];
        let measurement =
            measure(case(clock("ours", || 40), clock("loop", || 25), peers), &Plan::quick());
        assert_eq!(measurement.ours.ns.len(), 21);
        assert_eq!(measurement.again.ns.len(), 21);
        let rows = measurement.rows("suite");
        let found: Vec<_> = rows.iter().map(|row| (row.peer.as_str(), row.ratio)).collect();
        assert_eq!(found, [("a", 0.5), ("b", 2.0)]);
        assert_eq!((rows[0].ours_ns, rows[0].peer_ns, rows[0].limit_ns), (40.0, 80.0, 25.0));
        assert_eq!((rows[0].limit_ratio, rows[0].aa, measurement.noise()), (1.6, 1.0, 0.0));
        assert_eq!((rows[0].threads, rows[0].case.as_str()), (2, "place/op/f64/1"));
    }

    #[test]
    fn without_peers_the_limit_is_the_peer_of_the_only_row() {
        let case = case(clock("ours", || 30), clock("loop", || 20), Vec::new());
        let rows = measure(case, &Plan::quick()).rows("suite");
        assert_eq!(rows.len(), 1);
        assert_eq!((rows[0].peer.as_str(), rows[0].peer_ns, rows[0].ratio), ("loop", 20.0, 1.5));
    }

    #[test]
    fn every_round_begins_one_place_later() {
        let orders: Vec<Vec<usize>> = (0..4).map(|round| rotation(3, round).collect()).collect();
        assert_eq!(orders, [[0, 1, 2], [1, 2, 0], [2, 0, 1], [0, 1, 2]]);
    }

    #[test]
    fn rounds_sample_everyone_in_turn_and_ours_twice() {
        let plan = Plan { rounds: 4, sample: Duration::from_nanos(10), warm_up: Duration::ZERO };
        let log = std::cell::RefCell::new(String::new());
        let noting = |name: &'static str| {
            let log = &log;
            clock(name, move || {
                log.borrow_mut().push_str(name);
                10
            })
        };
        measure(case(noting("o"), noting("l"), vec![noting("p")]), &plan);
        let log = log.into_inner();
        let rounds = log.strip_prefix("olp").expect("one calibration each");
        assert_eq!(rounds, "olop".to_owned() + "lopo" + "opol" + "polo");
    }

    #[test]
    fn rounds_that_are_too_noisy_are_run_again_and_the_quietest_stand() {
        // Its second sample of a round is slower by as many percent as the attempt says.
        let noisy = |percents: [u64; 3]| {
            let plan =
                Plan { rounds: 1, sample: Duration::from_nanos(100), warm_up: Duration::ZERO };
            let mut samples = 0;
            let ours = clock("ours", move || {
                samples += 1;
                // After one to calibrate.
                let second = samples > 1 && samples % 2 == 1;
                100 + if second { percents[samples / 2 - 1] } else { 0 }
            });
            let measurement = measure(case(ours, clock("loop", || 100), Vec::new()), &plan);
            measurement.again.ns[0] as u64 - 100
        };
        assert_eq!(noisy([2, 9, 9]), 2);
        assert_eq!(noisy([9, 2, 9]), 2);
        assert_eq!(noisy([9, 7, 8]), 7);
    }

    #[test]
    fn calibration_reaches_the_length_of_a_sample_from_either_side() {
        let plan = Plan::quick();
        assert_eq!(calibrate(&mut clock("short", || 20), &plan), 50_000);
        assert_eq!(calibrate(&mut clock("long", || 60_000_000), &plan), 1);
        // A first operation a thousand times as slow as the rest.
        let mut first = true;
        let cold = || if std::mem::take(&mut first) { 1_000_000 } else { 1_000 };
        assert_eq!(calibrate(&mut clock("cold", cold), &plan), 1_000);
    }
}
