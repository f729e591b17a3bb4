//! X20, X21, X23: the policy on synthetic traces, against two others, in virtual time.
//!
//! One thread plays all callers. The arbiter is the production one and makes every decision; what is simulated is the
//! machine: operations that take as long as their work over their width, and that share the CPUs evenly where
//! there are more threads than CPUs. So the runs are exact and the same everywhere.
//!
//! The others are *exclusive*, first come first served with the whole machine for each operation, and *free*, where each operation
//! uses as many threads as it can, as libraries do that know nothing of each other. Free callers are given a perfect
//! scheduler: threads beyond the CPUs cost nothing but their share. No real machine is that kind.

#![cfg(not(any(loom, shuttle)))]
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

mod machine;
mod policy;

use machine::{Caller, Machine, Operation, Outcome};
use policy::{Arbitrated, Exclusive, Free, Policy};

struct Xorshift(u64);

impl Xorshift {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % n
    }
}

/// `callers` of `operations` one-thread operations each, without a pause.
fn narrow(callers: usize, operations: usize) -> Vec<Caller> {
    let operation = Operation { work: 100.0, breadth: 1, pause: 0.0 };
    vec![vec![operation; operations]; callers]
}

/// The same with operations that every CPU can share.
fn wide(callers: usize, operations: usize, cpus: usize) -> Vec<Caller> {
    let operation = Operation { work: 1000.0, breadth: cpus, pause: 0.0 };
    vec![vec![operation; operations]; callers]
}

/// Callers of every kind: long and short, narrow and wide, with and without pauses.
fn mixed(seed: u64, callers: usize, cpus: usize) -> Vec<Caller> {
    let mut random = Xorshift(seed);
    let mut caller = || {
        let pauses = random.below(2) == 0;
        let mut operation = || Operation {
            work: 10.0 + random.below(1000) as f64,
            breadth: 1 + random.below(cpus as u64) as usize,
            pause: if pauses { random.below(200) as f64 } else { 0.0 },
        };
        (0..60).map(|_| operation()).collect()
    };
    (0..callers).map(|_| caller()).collect()
}

fn run(cpus: usize, callers: &[Caller], policy: &mut dyn Policy) -> Outcome {
    Machine::new(cpus, callers).run(policy)
}

fn arbitrated(cpus: usize, callers: &[Caller]) -> Outcome {
    run(cpus, callers, &mut Arbitrated::new(cpus))
}

fn exclusive(cpus: usize, callers: &[Caller]) -> Outcome {
    run(cpus, callers, &mut Exclusive::default())
}

fn free(cpus: usize, callers: &[Caller]) -> Outcome {
    run(cpus, callers, &mut Free::default())
}

#[test]
fn x21_narrow_callers_keep_every_cpu_busy() {
    for (cpus, callers) in [(2, 2), (2, 8), (4, 8), (8, 8)] {
        let trace = narrow(callers, 50);
        let total = 100.0 * 50.0 * callers as f64;
        let best = total / cpus as f64;
        assert_eq!(arbitrated(cpus, &trace).completed, best, "{callers} callers, {cpus} CPUs");
        assert_eq!(exclusive(cpus, &trace).completed, total, "which shares nothing");
    }
}

#[test]
fn x21_alone_a_wide_caller_has_the_machine() {
    let trace = wide(1, 20, 8);
    assert_eq!(arbitrated(8, &trace).completed, exclusive(8, &trace).completed);
}

#[test]
fn x21_wide_callers_together_lose_nothing_against_taking_turns() {
    for callers in [2, 3, 8] {
        let trace = wide(callers, 20, 4);
        let (ours, turns) = (arbitrated(4, &trace), exclusive(4, &trace));
        assert!(ours.completed <= 1.05 * turns.completed, "{ours:?} against {turns:?}");
        assert_eq!(ours.most_threads, 4, "nothing is oversubscribed");
    }
}

#[test]
fn x21_mixed_callers_are_done_sooner_than_by_turns_and_nearly_as_soon_as_with_a_perfect_scheduler()
{
    let mut ratios = (0.0_f64, 0.0_f64);
    for seed in 1..=40 {
        let (cpus, callers) = (2 + (seed % 7) as usize, 2 + (seed % 9) as usize);
        let trace = mixed(0x9e37_79b9 * seed, callers, cpus);
        let (ours, turns) = (arbitrated(cpus, &trace), exclusive(cpus, &trace));
        let perfect = free(cpus, &trace);
        assert_eq!(ours.work, turns.work);
        assert!(ours.most_threads <= cpus, "{} threads on {cpus} CPUs", ours.most_threads);
        ratios.0 = ratios.0.max(ours.completed / turns.completed);
        ratios.1 = ratios.1.max(ours.completed / perfect.completed);
    }
    println!("at worst {:.3} of turns, {:.3} of perfect", ratios.0, ratios.1);
    assert!(ratios.0 <= 0.95, "{ratios:?}");
    assert!(ratios.1 <= 1.25, "{ratios:?}");
}

#[test]
fn x23_nobody_waits_for_longer_than_those_before_it_hold() {
    for seed in 1..=40 {
        let (cpus, callers) = (2 + (seed % 5) as usize, 4 + (seed % 13) as usize);
        let trace = mixed(0x2545_f491 * seed, callers, cpus);
        let outcome = arbitrated(cpus, &trace);
        assert!(!outcome.waits.is_empty(), "seed {seed}: nobody waits");
        for wait in &outcome.waits {
            assert!(wait.waited <= wait.bound + 1e-6, "seed {seed}: {wait:?}");
        }
    }
}

#[test]
fn x23_equal_callers_get_equal_shares() {
    for cpus in [2, 4] {
        let outcome = arbitrated(cpus, &narrow(8, 100));
        let (least, most) = outcome.shares_at_half();
        assert!(most <= 1.1 * least, "{least} to {most} of CPU time, {cpus} CPUs");
        let outcome = arbitrated(cpus, &wide(8, 100, cpus));
        let (least, most) = outcome.shares_at_half();
        assert!(most <= 1.1 * least, "{least} to {most} of CPU time, wide, {cpus} CPUs");
    }
}

#[test]
fn x23_a_wide_minimum_is_served_among_narrow_callers() {
    let mut trace = narrow(6, 200);
    // More breadth than CPUs: asked for as a minimum.
    trace.push(vec![Operation { work: 400.0, breadth: policy::ALL, pause: 50.0 }; 20]);
    let outcome = arbitrated(4, &trace);
    let longest = outcome.waits.iter().filter(|wait| wait.caller == 6).map(|wait| wait.waited);
    let longest = longest.fold(0.0, f64::max);
    assert!(0.0 < longest && longest <= 200.0, "{longest}");
}
