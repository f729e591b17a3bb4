//! An allowance: for how long a waiter may be passed, and when its thread looks by itself.
//!
//! A request that comes from somewhere is *fresh*: somebody may need its answer soon, so that it is passed for
//! the bypass budget at most. A thread whose last turn ended because its time was up *takes turns*: it runs operations
//! in a row, like those who pass it, and what all of them want is their share for as few switches as possible.
//! While nobody else waits, turns are long. One fresh request makes them short until it is served.
//!
//! Invariant: what counts is the smallest of the allowances of those who wait, and a thread that takes turns
//! stays a waiter like any other: it is served in the order of arrival.

use std::time::{Duration, Instant};

use crate::admission::Core;
use crate::ledger::Ledger;
use crate::snapshot::WaitReason;
use crate::waiting::Waiting;

/// In how many of the longest turns everybody who takes turns has one.
const ROUND: u32 = 4;

/// How often in a turn somebody of those who wait looks whether the holders go on.
const LOOKS_IN_A_TURN: u32 = 2;

/// The part of the bypass budget after which a thread that was between two operations should have started one.
pub(super) const LOOKS_AGAIN: u32 = 4;

/// How many sleepers are looked at for the next that wakes by itself.
const SLEEPERS: usize = 64;

/// For how long a waiter may be passed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Allowance {
    /// In all.
    total: Duration,
    /// Whether it takes turns with the others.
    in_turns: bool,
    /// The time in which waiters were passed before it was one.
    before: Duration,
    /// When it began to wait.
    since: Instant,
    /// When its thread looks by itself, if it does again.
    look: Option<Instant>,
    /// Whether that is to see if a thread that was between two operations has started one.
    again: bool,
}

impl Allowance {
    pub(super) fn in_turns(&self) -> bool {
        self.in_turns
    }

    pub(super) fn total(&self) -> Duration {
        self.total
    }

    /// Until when those who pass it may keep CPUs at hand.
    pub(super) fn end(&self) -> Instant {
        self.since + in_use(self.total)
    }
}

impl Ledger {
    /// A request joins others that wait: from then on it counts whether it is fresh.
    pub(super) fn join(&mut self, core: &Core, number: u64) {
        if self.queue.len() > 1 {
            let allowance = self.allowance(core, number, core.clock().now());
            if let Some(waiting) = self.queue.get_mut(number) {
                waiting.allowance = allowance;
            }
        }
    }

    /// The allowance of a request that begins to wait; none if nobody passes anybody.
    pub(super) fn allowance(&self, core: &Core, number: u64, now: Instant) -> Option<Allowance> {
        let policy = core.policy();
        let in_turns = self.takes_turns(core, number, now) && policy.bypass < policy.turn;
        let total = if in_turns { ROUND * policy.turn } else { policy.bypass };
        let before = self.passing.total(now);
        let allowance = Allowance { total, in_turns, before, since: now, look: None, again: false };
        (!policy.bypass.is_zero()).then_some(allowance)
    }

    /// Whether a request is for one CPU, by a thread that was stopped at the end of a turn and is back within another.
    fn takes_turns(&self, core: &Core, number: u64, now: Instant) -> bool {
        let Some(waiting) = self.queue.get(number) else { return false };
        let demand = &self.queue.class_of(waiting).demand;
        let plain = demand.min == 1 && demand.cpus.is_none() && demand.claim.is_none();
        let entry = waiting.slot().map(|slot| self.entry(slot)).filter(|entry| entry.stopped);
        let left = entry.and_then(|entry| entry.pace).map(|pace| pace.looked());
        let away = left.map(|left| now.saturating_duration_since(left));
        plain && away.is_some_and(|away| away <= core.policy().turn)
    }

    /// The waiters whose allowances count: the oldest, and the oldest of those that are fresh.
    ///
    /// Whoever waits for a provider does not wait for CPUs.
    fn pressing(&self) -> impl Iterator<Item = &Waiting> {
        let oldest = self.oldest_passed().and_then(|number| self.queue.get(number));
        let fresh = |waiting: &&Waiting| {
            let passed = waiting.allowance.is_some_and(|allowance| !allowance.in_turns);
            passed && waiting.is_queued() && is_for_cpus(self.queue.class_of(waiting).reason)
        };
        let in_turns = oldest.is_some_and(Waiting::takes_turns);
        // An oldest one that is fresh has no more left than the others.
        let waiters = self.queue.iter().map(|(_, waiting)| waiting).filter(move |_| in_turns);
        oldest.into_iter().chain(waiters.filter(fresh).take(1))
    }

    /// The oldest of those that can be passed.
    pub(super) fn oldest_passed(&self) -> Option<u64> {
        self.queue.oldest(is_for_cpus)
    }

    /// Whether all who wait take turns, so that nobody takes CPUs from a thread between two operations of its turn.
    pub(super) fn turns_are_long(&self) -> bool {
        !self.queue.is_empty() && self.pressing().all(Waiting::takes_turns)
    }

    /// How much longer those who wait may be passed by what begins now.
    pub(super) fn budget(&self, now: Instant) -> Duration {
        self.least(|allowance| in_use(allowance.total).saturating_sub(self.passed(allowance, now)))
    }

    /// How much longer CPUs may be kept at hand: a thread that does not come back for them is found out by a
    /// waiter's last look.
    pub(super) fn patience(&self, now: Instant) -> Duration {
        self.least(|allowance| allowance.end().saturating_duration_since(now))
    }

    /// The length of a turn, for each of so many waiters to have one in time.
    pub(super) fn length(&self, core: &Core, waiters: u32) -> Duration {
        self.least(|allowance| {
            let most = if allowance.in_turns { core.policy().turn } else { allowance.total };
            let fair = in_turns(allowance.total).saturating_mul(core.capacity()) / waiters.max(1);
            fair.min(most)
        })
    }

    /// The least of what the pressing waiters answer; nothing if one of them may not be passed.
    fn least(&self, of: impl Fn(&Allowance) -> Duration) -> Duration {
        let answers = self.pressing().map(|waiting| waiting.allowance.as_ref().map(&of));
        answers.min().flatten().unwrap_or_default()
    }

    /// For how long a waiter was passed.
    fn passed(&self, allowance: &Allowance, now: Instant) -> Duration {
        self.passing.total(now).saturating_sub(allowance.before)
    }

    /// Whether a waiter looks by itself before anybody's allowance is spent.
    pub(super) fn is_looked_after(&self, now: Instant) -> bool {
        let threads = self.queue.iter().map(|(_, waiting)| waiting).filter(|w| w.sleeps());
        let looks = threads.take(SLEEPERS).filter_map(|waiting| waiting.allowance?.look);
        let Some(look) = looks.filter(|&look| look > now).min() else { return false };
        let left =
            self.least(|allowance| allowance.total.saturating_sub(self.passed(allowance, now)));
        look.saturating_duration_since(now) <= left
    }

    /// The thread of a waiter looks whether the holders go on; answers when it looks next.
    ///
    /// CPUs of threads that started nothing since somebody looked are for those who wait. At the end of the
    /// allowance those of threads between two operations are too.
    pub(super) fn look(&mut self, core: &Core, number: u64, now: Instant) -> Option<Instant> {
        let suspected = self.free_idle(core, now);
        let look = self.plan_look(core, number, now, suspected);
        if look.is_none() {
            self.for_each_entry(|entry| entry.passes = false);
        }
        if look.is_none() || core.pool().free() > 0 {
            self.dispatch(core, Some(number));
        }
        look
    }

    /// When a waiting thread looks next whether the holders go on; at last when its allowance is over, since those
    /// who passed it should have served it by then, unless they stopped.
    ///
    /// A fresh one looks at that end only. Of those in turns the oldest looks a few times a turn, the others as
    /// seldom as they are far from it; and once more soon after a look that found a thread between operations.
    pub(super) fn plan_look(
        &mut self,
        core: &Core,
        number: u64,
        now: Instant,
        suspected: bool,
    ) -> Option<Instant> {
        let policy = core.policy();
        let waiting = self.queue.get(number)?;
        let (own, older) = (waiting.allowance?, self.queue.class_of(waiting).older_than(number));
        let again = suspected && !own.again;
        let pause = match (own.in_turns, again) {
            (false, _) => own.total,
            (true, true) => policy.bypass / LOOKS_AGAIN,
            (true, false) => policy.turn / LOOKS_IN_A_TURN * (older + 1),
        };
        let last = own.since + own.total;
        let look = Some(last.min(now + pause)).filter(|_| now < last);
        let waiting = self.queue.get_mut(number)?;
        waiting.allowance = Some(Allowance { look, again, ..own });
        look
    }
}

fn is_for_cpus(reason: WaitReason) -> bool {
    !matches!(reason, WaitReason::Provider(_))
}

/// The part of an allowance in which a waiter is passed; then it looks itself.
fn in_use(total: Duration) -> Duration {
    total - total / 8
}

/// The part in which every waiter is to have its turn. The rest is for the choice of the thread that is next.
fn in_turns(total: Duration) -> Duration {
    total - total / 4
}
