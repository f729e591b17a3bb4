//! A turn: how long a thread that runs short operations in a row goes on although others wait, and who of
//! them is next.
//!
//! A hand-over for every operation would be a thread switch for every operation. So whoever was granted CPUs
//! keeps them for a turn of several operations. And a thread that wakes where another one runs leaves a CPU
//! idle until the system has noticed, which costs more than the switch: so a turn ends in favor of
//! a waiter that slept on the very CPU which comes free, if that is near enough to the order of arrival.
//!
//! A thread that is expected back at once is queued before it wakes the next one.
//!
//! All of this passes older waiters, within their allowances. Invariant: the time in which anybody passes a waiter is
//! counted against its allowance, and where that is spent the order of arrival decides. The clock is read
//! only while somebody waits.

use std::time::{Duration, Instant};

use crate::admission::{Core, Ending};
use crate::affinity;
use crate::allowance::LOOKS_AGAIN;
use crate::ledger::{Entry, Ledger};
use crate::seat::Seat;

/// The most operations that a thread runs in a row without a look at the clock.
const MOST_UNSEEN: u32 = 1 << 20;

/// Of those who need the same, how many of the oldest are looked at for one that slept nearby.
const NEARBY: usize = 16;

/// How far a thread was when it was last under the lock.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    /// When its turn began.
    since: Instant,
    looked: Instant,
    /// The operations that it had ended by then, modulo 2^24.
    ended: u32,
    /// How long each of its last operations took, with what its thread did in between.
    average: Duration,
}

/// What a thread that ends an operation may do although somebody waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Turn {
    /// The CPUs that it keeps at hand.
    pub(super) keeps: u32,
    /// The operations after which it comes back to the lock.
    pub(super) operations: u32,
}

impl Pace {
    pub(super) fn looked(&self) -> Instant {
        self.looked
    }
}

/// A place that comes free: where, and when.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    cpu: usize,
    now: Instant,
}

/// The time in which some thread passed older waiters, so far.
#[derive(Debug, Default)]
pub(super) struct Passing {
    total: Duration,
    /// The last look, if somebody passed from then on.
    since: Option<Instant>,
}

impl Passing {
    pub(super) fn total(&self, now: Instant) -> Duration {
        self.total + self.since.map_or(Duration::ZERO, |since| now.saturating_duration_since(since))
    }
}

impl Ledger {
    /// A thread begins a turn with the operation that it was granted.
    pub(super) fn begin_turn(&mut self, core: &Core, seat: &Seat) {
        if !core.policy().bypass.is_zero() {
            let now = core.clock().now();
            let (ended, level) = (seat.load().generation().wrapping_sub(1), self.level);
            let entry = self.entry_mut(seat.slot());
            let average = entry.pace.map_or(Duration::MAX, |pace| pace.average);
            entry.pace = Some(Pace { since: now, looked: now, ended, average });
            entry.cpu = affinity::current_cpu();
            // Who did not take turns meanwhile has missed none.
            entry.turns = if entry.stopped { entry.turns + 1 } else { entry.turns.max(level) };
            self.level = entry.turns;
        }
    }

    /// Whether the turn of the thread that ends an operation on `seat` goes on.
    ///
    /// It does if another operation like the last ones fits into it, and into the allowances of those who wait.
    /// What the thread holds beyond its share goes to them. None of this is for a permit that is bound.
    /// In a long turn it comes back within the bypass budget all the same, to look for threads that stopped.
    /// Between two operations of a scope the CPUs are kept as long as the allowances last: without them the scope
    /// would go on all the same.
    pub(super) fn turn(&mut self, core: &Core, seat: &Seat, ending: Ending) -> Option<Turn> {
        let oldest = self.oldest_passed().filter(|_| !core.policy().bypass.is_zero())?;
        let (now, word, waiters) = (core.clock().now(), seat.load(), self.queue.len());
        let keeps = word.tokens().min(self.share(core, Some(seat.slot()), waiters + 1));
        let entry = self.entry_mut(seat.slot());
        let pace = entry.pace.filter(|_| entry.bound.is_none());
        let ended = word.generation();
        let operations = pace.map_or(0, |pace| ended.wrapping_sub(pace.ended) & 0xff_ffff);
        let average = pace
            .and_then(|pace| now.saturating_duration_since(pace.looked).checked_div(operations));
        let since = pace.map_or(now, |pace| pace.since);
        let known = average.unwrap_or(Duration::MAX);
        entry.pace = Some(Pace { since, looked: now, ended, average: known });
        let average = average?;
        let budget = self.budget(now).min(self.patience(now));
        if budget < average {
            return None;
        }
        let (long, length) = (self.turns_are_long(), self.length(core, waiters));
        let mut left = match ending {
            Ending::Loan => budget,
            Ending::Release => remaining(since + length, now).min(budget),
        };
        // To the nearest operation. It goes on rather than end where nobody slept, if that is fair.
        if left <= average / 2 {
            if self.nearby(oldest).is_some() || self.leads(seat.slot(), oldest) {
                return None;
            }
            if long {
                let entry = self.entry_mut(seat.slot());
                entry.turns += 1;
                entry.pace = Some(Pace { since: now, looked: now, ended, average });
                left = length.min(budget);
            }
        }
        let next_look = if long { (left / 2).min(core.policy().bypass) } else { left / 2 };
        let unseen = next_look.as_nanos() / average.as_nanos().max(1);
        // Without a clock, as under a model checker, everything is seen.
        let unseen = if average.is_zero() { 1 } else { unseen };
        let operations = u32::try_from(unseen).unwrap_or(MOST_UNSEEN).clamp(1, MOST_UNSEEN);
        self.entry_mut(seat.slot()).passes = true;
        Some(Turn { keeps, operations })
    }

    /// The thread of `seat` is under the lock, while others wait: counts the time since the last look, if somebody
    /// passed in it. Answers when; [`Ledger::go_from`] follows.
    pub(super) fn come_to(&mut self, core: &Core, seat: &Seat) -> Option<Instant> {
        self.place = None;
        if self.queue.is_empty() || core.policy().bypass.is_zero() {
            return None;
        }
        let (now, cpu) = (core.clock().now(), affinity::current_cpu());
        self.passing.total = self.passing.total(now);
        self.passing.since = self.passing.since.map(|_| now);
        self.place = cpu.map(|cpu| Place { cpu, now });
        let entry = self.entry_mut(seat.slot());
        entry.passes = false;
        entry.cpu = cpu;
        Some(now)
    }

    /// A thread in its turn looks whether others have stopped in theirs, if nobody looked just before; answers whether
    /// their CPUs are for those who wait. It is awake, and a waiter would have to be woken for that.
    pub(super) fn look_around(&mut self, core: &Core, now: Instant) -> bool {
        let pause = core.policy().bypass / LOOKS_AGAIN;
        let due = self.looked.is_none_or(|looked| now >= looked + pause);
        if !due || !self.turns_are_long() {
            return false;
        }
        let free = core.pool().free();
        self.free_idle(core, now);
        core.pool().free() > free
    }

    /// Notes whether somebody passes from then on.
    pub(super) fn go_from(&mut self, come_at: Option<Instant>, passes: bool) {
        self.place = None;
        let Some(now) = come_at else { return };
        let passing = |entry: &Entry| entry.passes && entry.seat.load().tokens() > 0;
        let any = passes || self.entries().any(passing);
        self.passing.since = any.then_some(now);
    }

    /// A thread asks under the lock: notes whether it came back at once after it left.
    ///
    /// One that woke another when it left may have been pushed aside by it: whether it would have come back
    /// at once is to be found out the next time.
    pub(super) fn note_return(&mut self, core: &Core, slot: usize, now: Instant) {
        let policy = core.policy();
        let entry = self.entry_mut(slot);
        let most = if entry.expected { absence(policy.bypass) } else { policy.turn };
        let left = entry.pace.map(|pace| pace.looked);
        entry.returns = left.is_some_and(|left| now.saturating_duration_since(left) <= most);
    }

    /// Whether the CPUs of the thread that leaves `seat` may lie in the pool until it asks again, and is queued
    /// before it wakes the next one. Woken now, that one would push it aside, and it would neither run nor wait.
    ///
    /// They may if it came back at once the last time, and if a waiter looks by itself before the oldest
    /// one's budget is spent.
    pub(super) fn comes_back(&self, seat: &Seat) -> bool {
        let entry = self.entry(seat.slot());
        let Some(Place { now, .. }) = self.place else { return false };
        entry.returns && entry.bound.is_none() && self.is_looked_after(now)
    }

    /// Who of those that need the same as `number` slept where CPUs come free: the oldest.
    fn nearby(&self, number: u64) -> Option<u64> {
        let Some(place) = self.place else { return Some(number) };
        let class = self.queue.class_of(self.queue.get(number)?);
        let slept_here = |number: &u64| {
            let slot = self.queue.get(*number).and_then(|waiting| waiting.slot());
            slot.is_some_and(|slot| self.entry(slot).cpu == Some(place.cpu))
        };
        class.order().take(NEARBY).find(slept_here)
    }

    /// Who takes the turn of `number`, the oldest of those that need the same: it, or a younger one that slept
    /// where the CPUs come free, whose thread ran lately.
    pub(super) fn next_of(&self, number: u64) -> u64 {
        let Some(place) = self.place.filter(|_| self.queue.oldest(|_| true) == Some(number)) else {
            return number;
        };
        let Some(near) = self.nearby(number).filter(|&near| near != number) else {
            return number;
        };
        let waiting =
            self.queue.get(near).and_then(|waiting| waiting.slot().zip(waiting.allowance));
        let Some((slot, allowance)) = waiting else { return number };
        let Some(pace) = self.entry(slot).pace else { return number };
        let left_lately = place.now.saturating_duration_since(pace.looked) < allowance.total();
        let fits = pace.average <= self.budget(place.now);
        if left_lately && fits && !self.leads(slot, number) { near } else { number }
    }

    /// Whether the thread of a seat had more turns than one that waits, so that it is not to have another before it.
    fn leads(&self, slot: usize, number: u64) -> bool {
        let Some(waiting) = self.queue.get(number) else { return false };
        let behind = waiting.slot().filter(|_| waiting.takes_turns()).map(|slot| self.entry(slot));
        behind.is_some_and(|behind| self.entry(slot).turns > behind.turns)
    }
}

/// How long a thread may be away to be one that comes back at once.
fn absence(bypass: Duration) -> Duration {
    bypass / 16
}

fn remaining(end: Instant, now: Instant) -> Duration {
    end.saturating_duration_since(now)
}
