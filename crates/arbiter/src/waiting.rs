//! A waiter: its place in the queue, and the thread that sleeps for it.
//!
//! It decides when to look again and when to give up, never who runs.

use std::time::{Duration, Instant};

use crate::admission::Core;
use crate::clock;
use crate::error::{Error, Result};
use crate::ledger::{Demand, Entry, Ledger};
use crate::request::Label;
use crate::seat::Seat;
use crate::snapshot::{HolderInfo, WaitReason, WaiterInfo};
use crate::sync::MutexGuard;

/// A waiter that is not the oldest leaves the look at the end of its budget to luck for this part.
const BUDGET_PARTS: u32 = 8;

/// How often, within the wait limit, a waiter looks whether the holders run. Seldom: on a busy
/// machine a process may get no CPU for a while.
const LIMIT_PARTS: u32 = 4;

/// The part of one CPU's time below which a process runs no operation.
const IDLE_PART: u32 = 20;

/// What a process may use within any look without running an operation: the looks themselves.
const IDLE_FLOOR: Duration = Duration::from_micros(200);

/// A request in the queue.
pub(super) struct Waiting {
    /// Older requests have smaller numbers.
    pub(super) number: u64,
    pub(super) slot: usize,
    pub(super) demand: Demand,
    pub(super) reason: WaitReason,
    label: Label,
    /// Until when it may be passed; `None` until it sleeps.
    pub(super) budget_end: Option<Instant>,
    since: Option<Instant>,
}

impl Waiting {
    pub(super) fn new(number: u64, seat: &Seat, demand: Demand) -> Self {
        let (slot, label) = (seat.slot(), seat.label());
        let reason = WaitReason::Cpus;
        Self { number, slot, demand, reason, label, budget_end: None, since: None }
    }

    /// Whether the permit on a seat is in its way.
    pub(super) fn is_blocked_by(&self, entry: &Entry) -> bool {
        let word = entry.seat.load();
        if entry.seat.slot() == self.slot || !word.is_held() {
            return false;
        }
        let bound = entry.bound.as_ref();
        match self.reason {
            WaitReason::Provider(_) => bound.is_some_and(|b| b.claims_against(&self.demand)),
            WaitReason::CpuSet => bound.is_some_and(|b| match (&b.cpus, &self.demand.cpus) {
                (Some(a), Some(b)) => !a.is_disjoint(b),
                _ => false,
            }),
            WaitReason::Cpus | WaitReason::OlderWaiters => word.is_busy() || word.tokens() > 0,
        }
    }

    pub(super) fn info(&self, entry: &Entry, now: Instant) -> WaiterInfo {
        WaiterInfo {
            label: self.label,
            min: self.demand.min as usize,
            max: self.demand.max as usize,
            cpus: self.demand.cpus.clone(),
            provider: self.demand.claim,
            reason: self.reason,
            waited: self.since.map_or(Duration::ZERO, |since| now.saturating_duration_since(since)),
            thread: entry.thread.name().to_owned(),
        }
    }
}

/// What a waiter has seen of the holders in its way.
struct Watch {
    looked: Instant,
    operations: u64,
    cpu_time: Option<Duration>,
    idle: Duration,
}

impl Watch {
    fn new(ledger: &Ledger, slot: usize, now: Instant) -> Self {
        let (operations, _) = ledger.activity(slot);
        Self { looked: now, operations, cpu_time: clock::process_cpu_time(), idle: Duration::ZERO }
    }

    /// Adds the time since the last look if no holder ran an operation in it.
    fn look(&mut self, ledger: &Ledger, slot: usize, now: Instant) {
        let elapsed = now.saturating_duration_since(self.looked);
        let (operations, running) = ledger.activity(slot);
        let cpu_time = clock::process_cpu_time();
        // A permit may say that an operation runs while its thread is blocked: a process that
        // uses no CPU time runs none.
        let used = match (self.cpu_time, cpu_time) {
            (Some(before), Some(after)) => {
                after.saturating_sub(before) > (elapsed / IDLE_PART).max(IDLE_FLOOR)
            }
            _ => true,
        };
        if operations == self.operations && !(running && used) {
            self.idle += elapsed;
        }
        (self.looked, self.operations, self.cpu_time) = (now, operations, cpu_time);
    }
}

impl Ledger {
    /// The operations started so far by the holders in the way of a waiter, and whether one runs.
    fn activity(&self, slot: usize) -> (u64, bool) {
        let Some(place) = self.position(slot) else { return (0, false) };
        let waiting = &self.queue[place];
        let blocking = self.entries().filter(|entry| waiting.is_blocked_by(entry));
        blocking.fold((0, false), |(operations, running), entry| {
            let word = entry.seat.load();
            // A sum in which a change of holders shows as well.
            let count = (u64::from(word.generation()) + 1) << 24 | entry.seat.slot() as u64;
            let runs = word.is_busy() && !entry.is_leaked();
            (operations.wrapping_add(count), running || runs)
        })
    }
}

impl Core {
    /// Sleeps until the seat is granted, the deadline passes, or no holder ran an operation for `limit`.
    pub(super) fn wait<'a>(
        &'a self,
        mut ledger: MutexGuard<'a, Ledger>,
        seat: &Seat,
        deadline: Option<Instant>,
        limit: Option<Duration>,
    ) -> Result<MutexGuard<'a, Ledger>> {
        let slot = seat.slot();
        let start = clock::now();
        ledger.statistics.waits += 1;
        ledger.observe(start);
        let mut look = self.arm(&mut ledger, slot, start);
        let mut watch = Watch::new(&ledger, slot, start);
        loop {
            let poll = limit.map(|limit| watch.looked + poll_period(limit));
            let wake = [look, poll, deadline].into_iter().flatten().min();
            ledger = seat.bell.wait(self.lock(), ledger, wake);
            let Some(place) = ledger.position(slot) else {
                ledger.set_pace(self, seat);
                return Ok(ledger);
            };
            let Some(wake) = wake else { continue };
            let now = clock::now();
            if deadline.is_some_and(|at| at <= now) {
                let holders = ledger.give_up(self, place, now);
                return Err(Error::TimedOut { waited: now - start, holders });
            }
            if now < wake {
                continue;
            }
            if look.is_some_and(|at| at <= now) {
                look = None;
                ledger.dispatch(self, Some(slot));
                let Some(_) = ledger.position(slot) else { return Ok(ledger) };
            }
            if poll.is_some_and(|at| at <= now) {
                watch.look(&ledger, slot, now);
            }
            if limit.is_some_and(|limit| limit <= watch.idle) {
                let place = ledger.position(slot).expect("invariant: it was found waiting");
                let holders = ledger.give_up(self, place, now);
                return Err(Error::WaitLimit { waited: watch.idle, holders });
            }
        }
    }

    /// Opens the waiter's bypass budget; answers when it must look whether it was passed.
    fn arm(&self, ledger: &mut Ledger, slot: usize, now: Instant) -> Option<Instant> {
        let place = ledger.position(slot).expect("invariant: a waiter is in the queue");
        let waiting = &mut ledger.queue[place];
        waiting.since = Some(now);
        let bypass = self.policy().bypass;
        if bypass.is_zero() {
            return None;
        }
        // The oldest looks first; if the others are served in time, they need not wake for it.
        let slack = bypass / BUDGET_PARTS;
        waiting.budget_end = Some(now + (bypass - slack));
        Some(if place == 0 { now + (bypass - slack) } else { now + bypass })
    }
}

impl Ledger {
    fn give_up(&mut self, core: &Core, place: usize, now: Instant) -> Vec<HolderInfo> {
        let waiting = self.queue.remove(place).expect("invariant: the place is in the queue");
        self.statistics.refusals += 1;
        let holders = self.holders_in_the_way(&waiting, now);
        self.dispatch(core, None);
        holders
    }
}

fn poll_period(limit: Duration) -> Duration {
    (limit / LIMIT_PARTS).max(Duration::from_millis(2))
}
