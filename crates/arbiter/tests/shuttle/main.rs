//! X28: the production protocol under random schedules of models that are too large to exhaust.
//!
//! `cargo xtask model` runs it; `MODEL_ITERATIONS` multiplies the schedules. Half of them are uniformly
//! random, half have few preemptions at random places (PCT), which finds bugs of small depth in long
//! runs. Shuttle knows one total order of all accesses: what only a weaker order allows is for loom.

#![cfg(shuttle)]
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

mod bodies;
mod books;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use shuttle::rand::{Rng, thread_rng};
use shuttle::thread;
use tenferro_arbiter::{Arbiter, Clock, CpuSet, FairArbiter, Policy};

use books::Books;

/// A budget that does not end within a model.
const FOR_EVER: Duration = Duration::from_secs(1 << 30);

/// Preemptions in a PCT schedule.
const DEPTH: usize = 4;

/// A clock that stands or jumps whenever somebody looks. Of those who sleep until a later moment, some wake at once
/// and others never do.
struct JumpingClock {
    start: Instant,
    seconds: AtomicU64,
}

impl Clock for JumpingClock {
    fn now(&self) -> Instant {
        let jump = thread_rng().gen_range(0..4) * thread_rng().gen_range(0..12);
        self.start + Duration::from_secs(self.seconds.fetch_add(jump, Relaxed) + jump)
    }

    fn cpu_time(&self) -> Option<Duration> {
        None
    }

    fn real(&self, _wake: Instant) -> Instant {
        if thread_rng().gen_ratio(1, 4) { self.start } else { self.start + FOR_EVER }
    }
}

/// An arbiter, and what an outside observer believes of it.
struct Model {
    arbiter: FairArbiter,
    books: Books,
}

impl Model {
    fn new(cpus: usize, bypass: Duration) -> Arc<Self> {
        let policy = Policy { wait_limit: None, bypass, turn: 2 * bypass, capacity: None };
        let arbiter = FairArbiter::with_policy(CpuSet::first(cpus), policy).unwrap();
        Arc::new(Self { arbiter, books: Books::default() })
    }

    /// With a bypass budget that ends at random.
    fn with_jumping_clock(cpus: usize) -> Arc<Self> {
        let bypass = Duration::from_secs(100);
        let policy = Policy { wait_limit: None, bypass, turn: 2 * bypass, capacity: None };
        let clock = JumpingClock { start: Instant::now(), seconds: AtomicU64::new(0) };
        let arbiter = FairArbiter::with_clock(CpuSet::first(cpus), policy, clock).unwrap();
        Arc::new(Self { arbiter, books: Books::default() })
    }

    fn cpus(&self) -> usize {
        self.arbiter.capacity()
    }
}

type Body = fn(&Model);

/// Runs what `bodies` do to an arbiter over `cpus` under many schedules, every body on a thread of its own that ends
/// with it.
fn check(schedules: usize, cpus: usize, bypass: Duration, bodies: &'static [Body]) {
    explore(schedules, move || run_once(&Model::new(cpus, bypass), bodies));
}

fn explore(schedules: usize, model: impl Fn() + Copy + Send + Sync + 'static) {
    let more = std::env::var("MODEL_ITERATIONS").map_or(1, |text| text.parse().unwrap());
    let schedules = schedules * more;
    shuttle::check_random(model, schedules / 2);
    shuttle::check_pct(model, schedules / 2, DEPTH);
}

fn run_once(model: &Arc<Model>, bodies: &'static [Body]) {
    let threads: Vec<_> = bodies
        .iter()
        .map(|body| {
            let model = Arc::clone(model);
            thread::spawn(move || body(&model))
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
    check_conserved(model);
}

/// Every CPU is back once every thread has ended. A thread gives its seat back after it was joined.
fn check_conserved(model: &Model) {
    loop {
        let snapshot = model.arbiter.snapshot();
        assert!(snapshot.holders.is_empty() && snapshot.waiters.is_empty(), "{snapshot:#?}");
        assert_eq!(snapshot.free + snapshot.parked, snapshot.capacity, "{snapshot:#?}");
        let statistics = &snapshot.statistics;
        assert_eq!(statistics.notifications, statistics.hand_offs, "a bell for each grant");
        if snapshot.free == snapshot.capacity {
            return;
        }
        thread::yield_now();
    }
}

const MIXED: &[Body] = &[bodies::mixed, bodies::mixed, bodies::mixed, bodies::mixed];

#[test]
fn x28_mixed_requests_on_two_cpus() {
    check(20_000, 2, Duration::ZERO, MIXED);
}

#[test]
fn x28_mixed_requests_on_five_cpus() {
    check(20_000, 5, Duration::ZERO, MIXED);
}

#[test]
fn x28_mixed_requests_of_six_threads_on_three_cpus() {
    const SIX: &[Body] = &[bodies::mixed as Body; 6];
    check(10_000, 3, Duration::ZERO, SIX);
}

/// Within a budget that never ends a thread passes at will; a waiter is owed its turn when the thread ends.
#[test]
fn x28_a_thread_that_ends_serves_those_it_passed() {
    const NARROW: &[Body] = &[bodies::narrow, bodies::narrow, bodies::narrow];
    check(20_000, 1, FOR_EVER, NARROW);
    check(10_000, 2, FOR_EVER, NARROW);
}

/// Turns, hand-overs by place and threads that are expected back, as a clock that jumps brings them about; with
/// scopes, which lend meanwhile.
#[test]
fn x28_turns_lose_no_wake_up() {
    const BODIES: &[Body] = &[bodies::narrow, bodies::narrow, bodies::scope, bodies::narrow];
    explore(20_000, || run_once(&Model::with_jumping_clock(1), BODIES));
    explore(20_000, || run_once(&Model::with_jumping_clock(2), BODIES));
}

#[test]
fn x28_futures_wait_beside_threads() {
    const BODIES: &[Body] =
        &[bodies::future, bodies::future, bodies::dropped_future, bodies::narrow, bodies::wide];
    check(20_000, 2, Duration::ZERO, BODIES);
    check(10_000, 2, FOR_EVER, BODIES);
}

#[test]
fn x28_a_panic_releases_what_its_thread_holds() {
    const BODIES: &[Body] = &[bodies::panicking, bodies::narrow, bodies::scope, bodies::panicking];
    check(20_000, 2, Duration::ZERO, BODIES);
}

#[test]
fn x28_a_waiter_that_gives_up_lets_those_behind_it_run() {
    const BODIES: &[Body] =
        &[bodies::hold_one_for_the_narrow, bodies::wide_or_not, bodies::narrow_and_tell];
    check(20_000, 2, Duration::ZERO, BODIES);
}

#[test]
fn x28_users_of_providers_and_pinned_sets_follow_each_other() {
    const BODIES: &[Body] =
        &[bodies::claiming, bodies::claiming, bodies::pinned, bodies::pinned, bodies::restricted];
    check(20_000, 3, Duration::ZERO, BODIES);
}

#[test]
fn x28_scopes_lend_and_resume_among_wide_requests() {
    const BODIES: &[Body] = &[bodies::scope, bodies::scope, bodies::wide, bodies::narrow];
    check(20_000, 2, Duration::ZERO, BODIES);
}
