//! The simulated machine: callers, running operations, and virtual time.

use super::policy::{Grant, Policy};

/// One operation of a caller.
#[derive(Clone, Copy, Debug)]
pub(super) struct Operation {
    /// CPU time.
    pub(super) work: f64,
    /// The most threads that share it.
    pub(super) breadth: usize,
    /// How long the caller does something else before it.
    pub(super) pause: f64,
}

/// What one caller does, one operation after the other.
pub(super) type Caller = Vec<Operation>;

/// A request that waited.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wait {
    pub(super) caller: usize,
    pub(super) waited: f64,
    /// The holds active at its arrival, plus the holds of older waiters.
    pub(super) bound: f64,
}

/// What came of a run.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    /// When the last operation ended.
    pub(super) completed: f64,
    /// CPU time of all operations.
    pub(super) work: f64,
    /// The most threads that ran at once.
    pub(super) most_threads: usize,
    pub(super) waits: Vec<Wait>,
    /// For each operation: who, when it ended, its CPU time.
    ended: Vec<(usize, f64, f64)>,
    callers: usize,
}

impl Outcome {
    /// The least and the most CPU time that a caller had when half of the time was over.
    pub(super) fn shares_at_half(&self) -> (f64, f64) {
        let mut shares = vec![0.0; self.callers];
        for (caller, _, work) in
            self.ended.iter().filter(|(_, end, _)| *end <= self.completed / 2.0)
        {
            shares[*caller] += work;
        }
        let least = shares.iter().copied().fold(f64::INFINITY, f64::min);
        (least, shares.iter().copied().fold(0.0, f64::max))
    }
}

/// What a caller is doing.
#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    Pausing { until: f64 },
    Waiting,
    Running { width: usize, left: f64 },
    Done,
}

/// One request, from its arrival on, for the bound of its wait.
struct Arrival {
    caller: usize,
    at: f64,
    /// Requests that held or waited at its arrival.
    before: Vec<usize>,
    started: f64,
    ended: f64,
}

pub(super) struct Machine<'a> {
    cpus: usize,
    callers: &'a [Caller],
    states: Vec<State>,
    next: Vec<usize>,
    /// The request of each caller's current operation.
    current: Vec<usize>,
    arrivals: Vec<Arrival>,
    now: f64,
    outcome: Outcome,
}

impl<'a> Machine<'a> {
    pub(super) fn new(cpus: usize, callers: &'a [Caller]) -> Self {
        let states = callers.iter().map(|caller| State::Pausing { until: caller[0].pause });
        Self {
            cpus,
            callers,
            states: states.collect(),
            next: vec![0; callers.len()],
            current: vec![usize::MAX; callers.len()],
            arrivals: Vec::new(),
            now: 0.0,
            outcome: Outcome { callers: callers.len(), ..Outcome::default() },
        }
    }

    pub(super) fn run(mut self, policy: &mut dyn Policy) -> Outcome {
        loop {
            self.start_due(policy);
            let Some(step) = self.next_event() else { break };
            self.advance(step);
            self.end_due(policy);
        }
        assert!(self.states.iter().all(|state| *state == State::Done), "{:?}", self.states);
        self.outcome.completed = self.now;
        self.outcome.waits = (0..self.arrivals.len()).filter_map(|i| self.wait_of(i)).collect();
        self.outcome
    }

    /// Asks for whoever has paused enough, and starts what was granted.
    fn start_due(&mut self, policy: &mut dyn Policy) {
        for caller in 0..self.callers.len() {
            if matches!(self.states[caller], State::Pausing { until } if until <= self.now) {
                self.arrive(caller);
                policy.request(caller, self.callers[caller][self.next[caller]].breadth, self.cpus);
                self.states[caller] = State::Waiting;
                self.start_granted(policy);
            }
        }
        self.start_granted(policy);
        let threads = self.threads();
        self.outcome.most_threads = self.outcome.most_threads.max(threads);
    }

    fn start_granted(&mut self, policy: &mut dyn Policy) {
        for Grant { caller, width } in policy.grants(self.cpus) {
            assert_eq!(self.states[caller], State::Waiting);
            let operation = self.callers[caller][self.next[caller]];
            self.states[caller] = State::Running { width, left: operation.work };
            self.arrivals[self.current[caller]].started = self.now;
        }
    }

    fn arrive(&mut self, caller: usize) {
        let busy = |&other: &usize| {
            other != caller && matches!(self.states[other], State::Running { .. } | State::Waiting)
        };
        let before =
            (0..self.callers.len()).filter(busy).map(|other| self.current[other]).collect();
        self.current[caller] = self.arrivals.len();
        let (started, ended) = (f64::NAN, f64::NAN);
        let arrival = Arrival { caller, at: self.now, before, started, ended };
        self.arrivals.push(arrival);
    }

    fn threads(&self) -> usize {
        let widths = self.states.iter().map(|state| match state {
            State::Running { width, .. } => *width,
            _ => 0,
        });
        widths.sum()
    }

    /// CPU time per time of an operation of a width: threads beyond the CPUs share them evenly.
    fn speed(&self, width: usize) -> f64 {
        width as f64 * (self.cpus as f64 / self.threads() as f64).min(1.0)
    }

    fn next_event(&self) -> Option<f64> {
        let times = self.states.iter().filter_map(|state| match state {
            State::Pausing { until } => Some(until - self.now),
            State::Running { width, left } => Some(left / self.speed(*width)),
            State::Waiting | State::Done => None,
        });
        times.reduce(f64::min)
    }

    fn advance(&mut self, step: f64) {
        let speeds: Vec<f64> =
            self.states
                .iter()
                .map(|state| {
                    if let State::Running { width, .. } = state { self.speed(*width) } else { 0.0 }
                })
                .collect();
        self.now += step;
        for (state, speed) in self.states.iter_mut().zip(speeds) {
            if let State::Running { left, .. } = state {
                *left -= speed * step;
            }
        }
    }

    fn end_due(&mut self, policy: &mut dyn Policy) {
        for caller in 0..self.callers.len() {
            if !matches!(self.states[caller], State::Running { left, .. } if left <= 1e-9) {
                continue;
            }
            let operation = self.callers[caller][self.next[caller]];
            self.outcome.work += operation.work;
            self.outcome.ended.push((caller, self.now, operation.work));
            self.arrivals[self.current[caller]].ended = self.now;
            self.next[caller] += 1;
            self.states[caller] = match self.callers[caller].get(self.next[caller]) {
                Some(next) => State::Pausing { until: self.now + next.pause },
                None => State::Done,
            };
            policy.end(caller);
            self.start_granted(policy);
        }
    }

    /// A request's wait and its bound, if it waited.
    fn wait_of(&self, request: usize) -> Option<Wait> {
        let arrival = &self.arrivals[request];
        let waited = arrival.started - arrival.at;
        if waited <= 0.0 {
            return None;
        }
        let before = arrival.before.iter().map(|&older| &self.arrivals[older]);
        // Holds active at the arrival run beside each other; those of older waiters may follow each other.
        let (mut holds, mut older) = (0.0_f64, 0.0_f64);
        for other in before {
            if other.started <= arrival.at {
                holds = holds.max(other.ended - arrival.at);
            } else {
                older += other.ended - other.started;
            }
        }
        Some(Wait { caller: arrival.caller, waited, bound: holds + older })
    }
}
