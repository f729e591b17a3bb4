//! The ledger: what the lock protects. Who sits where, who waits, what is bound.
//!
//! It decides nothing (see `dispatch`) and never waits (see `waiting`).

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use crate::admission::Core;
use crate::cpu_set::CpuSet;
use crate::error::{Error, Result};
use crate::home::{Bond, ThreadRecord};
use crate::owner::ExecutionOwner;
use crate::request::{ClaimKind, Exclusivity, ProviderClaim, Request};
use crate::seat::{Seat, Word};
use crate::snapshot::{HolderInfo, HolderState, Snapshot, Statistics};
use crate::waiting::Waiting;

/// A request that was checked against an arbiter.
#[derive(Clone, Debug)]
pub(super) struct Demand {
    pub(super) min: u32,
    pub(super) max: u32,
    /// A proper restriction; `None` floats.
    pub(super) cpus: Option<CpuSet>,
    pub(super) exclusivity: Exclusivity,
    pub(super) claim: Option<ProviderClaim>,
}

impl Demand {
    pub(super) fn new(request: &Request, allowed: &CpuSet, capacity: u32) -> Result<Self> {
        let exclusivity = request.exclusivity();
        let (min, max) = match request.cpus() {
            Some(cpus) if exclusivity == Exclusivity::Exclusive => (cpus.len(), cpus.len()),
            _ => (request.min(), request.max()),
        };
        if let Some(cpus) = request.cpus() {
            if cpus.is_empty() {
                return Err(Error::EmptyCpuSet);
            }
            let foreign = cpus.difference(allowed);
            if !foreign.is_empty() {
                return Err(Error::ForeignCpus { foreign, allowed: allowed.clone() });
            }
        }
        if min == 0 || max < min {
            return Err(Error::InvalidWidth { min, max });
        }
        let limit = request.cpus().map_or(usize::MAX, CpuSet::len).min(capacity as usize);
        if min > limit {
            return Err(Error::TooWide { min, limit });
        }
        let counted = exclusivity == Exclusivity::Shared && request.cpus() == Some(allowed);
        Ok(Self {
            min: min as u32,
            max: max.min(limit) as u32,
            cpus: request.cpus().filter(|_| !counted).cloned(),
            exclusivity,
            claim: request.provider(),
        })
    }

    pub(super) fn bond(&self) -> Bond {
        match (&self.cpus, self.claim) {
            (Some(_), _) => Bond::Set,
            (None, Some(_)) => Bond::Claim,
            (None, None) => Bond::None,
        }
    }

    pub(super) fn is_exclusive(&self) -> bool {
        self.exclusivity == Exclusivity::Exclusive
    }

    pub(super) fn is_unbounded(&self) -> bool {
        self.claim.is_some_and(|claim| claim.kind == ClaimKind::Unbounded)
    }

    /// Whether its CPUs stay while the permit is idle.
    pub(super) fn is_fixed(&self) -> bool {
        self.is_exclusive() || self.is_unbounded()
    }

    /// The CPUs without which it cannot run.
    pub(super) fn least(&self, capacity: u32) -> u32 {
        if self.is_unbounded() { capacity } else { self.min }
    }

    /// Whether the two may not hold at once because of a provider.
    pub(super) fn claims_against(&self, other: &Self) -> bool {
        matches!((&self.claim, &other.claim), (Some(a), Some(b)) if a.conflicts_with(b))
    }
}

/// A registered seat.
pub(super) struct Entry {
    pub(super) seat: Arc<Seat>,
    pub(super) thread: Arc<ThreadRecord>,
    /// The demand of the permit on the seat, if it is bound to a set or a provider.
    pub(super) bound: Option<Demand>,
    /// When the last grant under the lock was asked for, to tell it from older waiters.
    pub(super) granted: u64,
    /// The operation count when somebody last looked for idle CPUs.
    pub(super) idle_since: u32,
    /// When the permit was first seen.
    seen: Option<(ExecutionOwner, Instant)>,
    /// When the thread last left or was woken under the lock, and its operation count before.
    pub(super) pace: Option<(Instant, u32)>,
}

impl Entry {
    /// The permit's age: from now, if it was not seen before.
    fn first_seen(&mut self, now: Instant) -> Instant {
        let owner = self.seat.owner();
        match self.seen {
            Some((seen, since)) if seen == owner => since,
            _ => {
                self.seen = Some((owner, now));
                now
            }
        }
    }

    pub(super) fn is_leaked(&self) -> bool {
        self.thread.has_ended() && self.seat.load().is_held()
    }

    fn holder(&mut self, now: Instant) -> HolderInfo {
        let since = self.first_seen(now);
        let word = self.seat.load();
        let running = word.is_busy();
        let state = match (self.is_leaked(), running) {
            (true, _) => HolderState::Leaked,
            (false, true) => HolderState::Running,
            (false, false) => HolderState::Idle,
        };
        HolderInfo {
            label: self.seat.label(),
            owner: self.seat.owner(),
            width: if running { word.active() } else { word.spare() } as usize,
            state,
            overcommitted: word.is_over(),
            cpus: self.bound.as_ref().and_then(|bound| bound.cpus.clone()),
            provider: self.bound.as_ref().and_then(|bound| bound.claim),
            age: now.saturating_duration_since(since),
            thread: self.thread.name().to_owned(),
        }
    }
}

/// What the lock protects.
#[derive(Default)]
pub(super) struct Ledger {
    seats: Vec<Option<Entry>>,
    /// Oldest first. Every seat waits at most once.
    pub(super) queue: VecDeque<Waiting>,
    pub(super) statistics: Statistics,
    numbers: u64,
    /// Whether the pool is closed to the fast path.
    pub(super) closed: bool,
    /// Overcommitted operations of seats that are gone.
    overcommits: u64,
}

impl Ledger {
    pub(super) fn register(&mut self, thread: Arc<ThreadRecord>) -> Arc<Seat> {
        self.statistics.registrations += 1;
        let slot = self.seats.iter().position(Option::is_none).unwrap_or(self.seats.len());
        let seat = Arc::new(Seat::new(slot));
        let entry = Entry {
            seat: Arc::clone(&seat),
            thread,
            bound: None,
            granted: 0,
            idle_since: 0,
            seen: None,
            pace: None,
        };
        match self.seats.get_mut(slot) {
            Some(place) => *place = Some(entry),
            None => self.seats.push(Some(entry)),
        }
        seat
    }

    pub(super) fn unregister(&mut self, slot: usize) {
        if let Some(entry) = self.seats[slot].take() {
            self.overcommits += entry.seat.overcommits();
        }
    }

    pub(super) fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.seats.iter().flatten()
    }

    pub(super) fn entries_mut(&mut self) -> impl Iterator<Item = &mut Entry> {
        self.seats.iter_mut().flatten()
    }

    pub(super) fn entry_mut(&mut self, slot: usize) -> &mut Entry {
        self.seats[slot].as_mut().expect("invariant: a seat in use is registered")
    }

    pub(super) fn entry(&self, slot: usize) -> &Entry {
        self.seats[slot].as_ref().expect("invariant: a seat in use is registered")
    }

    /// Numbers requests by age.
    pub(super) fn next_number(&mut self) -> u64 {
        self.numbers += 1;
        self.numbers
    }

    /// The queue position of the waiter on `slot`; `None` once it was granted.
    pub(super) fn position(&self, slot: usize) -> Option<usize> {
        self.queue.iter().position(|waiting| waiting.slot == slot)
    }

    /// Returns all CPUs of an idle seat to the pool.
    pub(super) fn empty(&mut self, core: &Core, seat: &Seat) {
        let emptied = |word: Word| word.left().emptied();
        let moved = seat.update(|word| Some(emptied(word)).filter(|next| *next != word));
        core.pool().put(moved.map_or(0, Word::tokens));
    }

    /// CPUs that could be had now: those of the pool and those at hand of idle threads.
    pub(super) fn available(&self, core: &Core) -> u32 {
        let spare: u32 = self.entries().map(|entry| entry.seat.load().reclaimable()).sum();
        core.pool().free() + spare
    }

    /// Takes up to `max` CPUs, from the pool first.
    pub(super) fn gather(&self, core: &Core, max: u32) -> u32 {
        let mut cpus = core.pool().take(max);
        for entry in self.entries() {
            if cpus == max {
                break;
            }
            cpus += take_spare(&entry.seat, max - cpus);
        }
        cpus
    }

    /// The permits in the way of a waiter, as far as one can name them.
    pub(super) fn holders_in_the_way(
        &mut self,
        waiting: &Waiting,
        now: Instant,
    ) -> Vec<HolderInfo> {
        let blocks: Vec<bool> = self
            .seats
            .iter()
            .map(|e| e.as_ref().is_some_and(|e| waiting.is_blocked_by(e)))
            .collect();
        let all = !blocks.contains(&true);
        let seats = self.seats.iter_mut().zip(blocks);
        seats
            .filter(|(_, blocks)| all || *blocks)
            .filter_map(|(entry, _)| entry.as_mut())
            .filter(|entry| entry.seat.load().is_held())
            .map(|entry| entry.holder(now))
            .collect()
    }

    /// Starts the clock of every permit's age.
    pub(super) fn observe(&mut self, now: Instant) {
        for entry in self.entries_mut().filter(|entry| entry.seat.load().is_held()) {
            entry.first_seen(now);
        }
    }

    pub(super) fn snapshot(&mut self, core: &Core, now: Instant) -> Snapshot {
        let mut statistics = self.statistics;
        statistics.overcommits =
            self.overcommits + self.entries().map(|entry| entry.seat.overcommits()).sum::<u64>();
        let held = |entry: &&mut Entry| entry.seat.load().is_held();
        let holders: Vec<_> = self.entries_mut().filter(held).map(|e| e.holder(now)).collect();
        let waiters = self.queue.iter().map(|w| w.info(self.entry(w.slot), now)).collect();
        let parked = self.entries().map(|entry| entry.seat.load().reclaimable() as usize).sum();
        Snapshot {
            cpus: core.cpus().clone(),
            capacity: core.capacity() as usize,
            free: core.pool().free() as usize,
            parked,
            overcommitted: holders.iter().filter(|holder| holder.overcommitted).count(),
            holders,
            waiters,
            statistics,
        }
    }
}

/// Takes up to `max` CPUs at hand of `seat`.
pub(super) fn take_spare(seat: &Seat, max: u32) -> u32 {
    let taken = |word: Word| word.reclaimable().min(max);
    let moved = seat.update(|word| match taken(word) {
        0 => None,
        cpus => Some(word.with_less_spare(cpus)),
    });
    moved.map_or(0, taken)
}
