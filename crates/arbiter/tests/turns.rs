//! X23: turns are counted, not timed. One thread plays all callers, as futures, so that every schedule is exact.

#![allow(clippy::unwrap_used, reason = "a test fails by it")]

mod common;

use std::sync::Arc;

use common::{Calls, assert_all_returned, poll_once, still_arbiter};
use proptest::prelude::*;
use std::task::Poll;
use tenferro_arbiter::{Arbiter, Patience, PermitFuture, Request, ResourcePermit};

/// A caller that asks again as soon as it is done.
struct Caller<'a> {
    width: usize,
    turns: usize,
    asked_at: usize,
    holds_since: usize,
    waiting: Option<(PermitFuture<'a>, Arc<Calls>)>,
    holding: Option<ResourcePermit>,
}

impl<'a> Caller<'a> {
    fn new(width: usize) -> Self {
        Self { width, turns: 0, asked_at: 0, holds_since: 0, waiting: None, holding: None }
    }

    fn ask(&mut self, arbiter: &'a dyn Arbiter, now: usize) {
        let request = Request::new(self.width..=self.width);
        let future = arbiter.acquire_async(&request, &Patience::unlimited());
        (self.asked_at, self.waiting) = (now, Some((future, Calls::new())));
        self.look(now);
    }

    /// Polls, and answers whether it has its turn.
    fn look(&mut self, now: usize) -> bool {
        let Some((future, calls)) = &mut self.waiting else { return false };
        let Poll::Ready(permit) = poll_once(future, calls) else { return false };
        self.holding = Some(permit.unwrap());
        (self.waiting, self.holds_since) = (None, now);
        self.turns += 1;
        true
    }

    fn was_called(&self) -> bool {
        self.waiting.as_ref().is_some_and(|(_, calls)| calls.count() > 0)
    }
}

/// Lets the callers take turns: at each step one holder is done and asks again. Answers the turns of each.
fn play(cpus: usize, widths: &[usize], choices: &[usize]) -> Vec<usize> {
    let (arbiter, _still) = still_arbiter(cpus);
    let mut callers: Vec<_> = widths.iter().map(|&width| Caller::new(width)).collect();
    for caller in &mut callers {
        caller.ask(&arbiter, 0);
    }
    for (step, choice) in choices.iter().enumerate() {
        let mut holders: Vec<_> =
            (0..callers.len()).filter(|&i| callers[i].holding.is_some()).collect();
        holders.sort_by_key(|&i| callers[i].holds_since);
        let used: usize = holders.iter().map(|&i| callers[i].width).sum();
        assert!(1 <= used && used <= cpus);
        let done = holders[choice % holders.len()];
        callers[done].holding = None;
        // Exactly those are called who can run now: each finds its permit.
        let called: Vec<_> = (0..callers.len()).filter(|&i| callers[i].was_called()).collect();
        for i in called {
            assert!(callers[i].look(step + 1), "caller {i} was called for nothing");
        }
        callers[done].ask(&arbiter, step + 1);
        for caller in callers.iter().filter(|caller| caller.waiting.is_some()) {
            // Of those who hold, only those can be younger that fit beside it.
            let younger = callers
                .iter()
                .filter(|other| other.holding.is_some() && other.asked_at > caller.asked_at);
            let beside: usize = younger.map(|other| other.width).sum();
            assert!(beside + caller.width <= cpus, "a waiter is delayed by younger ones");
        }
    }
    let statistics = arbiter.snapshot().statistics;
    assert_eq!(statistics.notifications, statistics.hand_offs);
    let turns = callers.iter().map(|caller| caller.turns).collect();
    drop(callers);
    assert_all_returned(&arbiter);
    turns
}

#[test]
fn x23_eight_equal_callers_have_equal_turns() {
    // Operations of one length: who began first is done first.
    let turns = play(2, &[1; 8], &[0; 4000]);
    let (least, most) = (turns.iter().min().unwrap(), turns.iter().max().unwrap());
    assert!(most - least <= 1, "{turns:?}");
}

#[test]
fn x23_a_wide_caller_among_narrow_ones_has_its_turns() {
    let turns = play(2, &[2, 1, 1, 1, 1, 1, 1, 1], &[0; 2000]);
    let (least, most) = (turns.iter().min().unwrap(), turns.iter().max().unwrap());
    assert!(most - least <= 1, "{turns:?}");
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 64,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn x23_x24_no_schedule_delays_a_waiter_or_calls_one_for_nothing(
        cpus in 1_usize..5,
        widths in prop::collection::vec(1_usize..5, 1..9),
        choices in prop::collection::vec(0_usize..64, 1..120),
    ) {
        let widths: Vec<usize> = widths.into_iter().map(|width| width.min(cpus)).collect();
        play(cpus, &widths, &choices);
    }
}
