//! The ledger: what the lock protects. Who sits where, who waits, what is bound.
//!
//! It decides nothing (see `dispatch`) and never waits (see `waiting`).

use std::sync::Arc;
use std::task::Waker;
use std::time::Instant;

use crate::admission::Core;
use crate::alarm::Alarm;
use crate::cpu_set::CpuSet;
use crate::error::{Error, Result};
use crate::home::{Bond, ThreadRecord};
use crate::owner::ExecutionOwner;
use crate::queue::Queue;
use crate::request::{ClaimKind, Exclusivity, ProviderClaim, Request};
use crate::seat::{Seat, Word};
use crate::snapshot::{HolderInfo, HolderState, Snapshot, Statistics};
use crate::turn::{Pace, Passing, Place};
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

    /// Whether the two can be told apart by their maxima only.
    pub(super) fn needs_the_same_as(&self, other: &Self) -> bool {
        self.min == other.min
            && self.exclusivity == other.exclusivity
            && self.claim == other.claim
            && self.cpus == other.cpus
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
    /// For a seat that keeps a future's grant: for which request, and since when.
    pub(super) kept_for: Option<(u64, Instant)>,
    /// When the permit was first seen.
    seen: Option<(ExecutionOwner, Instant)>,
    /// Its turn, from its first look under the lock on.
    pub(super) pace: Option<Pace>,
    /// The CPU that its thread was on when it was last under the lock, where the system says.
    pub(super) cpu: Option<usize>,
    /// Whether its operation, or the CPUs that it keeps, pass an older waiter.
    pub(super) passes: bool,
    /// Whether it was stopped at the end of a turn, and takes turns with the others since.
    pub(super) stopped: bool,
    /// How many turns its thread had.
    pub(super) turns: u64,
    /// Whether it was expected back at once when it last left CPUs to others.
    pub(super) expected: bool,
    /// Whether it is the next time.
    pub(super) returns: bool,
    /// Its place among the listed seats.
    listed: Option<usize>,
}

impl Entry {
    fn new(seat: Arc<Seat>, thread: Arc<ThreadRecord>) -> Self {
        Self {
            seat,
            thread,
            bound: None,
            granted: 0,
            idle_since: 0,
            kept_for: None,
            seen: None,
            pace: None,
            cpu: None,
            passes: false,
            stopped: false,
            turns: 0,
            expected: false,
            returns: false,
            listed: None,
        }
    }

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

    /// Whether no operation was started on it since this was last asked.
    pub(super) fn was_idle(&mut self) -> bool {
        let generation = self.seat.load().generation();
        std::mem::replace(&mut self.idle_since, generation) == generation
    }

    pub(super) fn is_leaked(&self) -> bool {
        self.thread.has_ended() && self.seat.load().is_held()
    }

    /// Whether an operation computes on it, as far as one can tell.
    pub(super) fn runs(&self) -> bool {
        self.seat.load().is_busy() && !self.is_leaked() && self.kept_for.is_none()
    }

    fn holder(&mut self, now: Instant) -> HolderInfo {
        let since = self.first_seen(now);
        let word = self.seat.load();
        let running = word.is_busy();
        let state = match (self.is_leaked(), running) {
            _ if self.kept_for.is_some() => HolderState::Granted,
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
pub(super) struct Ledger {
    seats: Vec<Option<Entry>>,
    /// Slots without a seat.
    vacant: Vec<usize>,
    /// Slots of the seats that may have CPUs: those whose thread does not wait.
    listed: Vec<usize>,
    /// Slots of seats for grants to futures, unlisted while they keep none.
    keepers: Vec<usize>,
    pub(super) queue: Queue,
    pub(super) statistics: Statistics,
    /// Whether the pool is closed to the fast path.
    pub(super) closed: bool,
    /// The slot of a thread that is between two operations of its turn and keeps its share, while others are served.
    pub(super) in_turn: Option<usize>,
    /// Where CPUs come free, while those who wait are served.
    pub(super) place: Option<Place>,
    /// The time in which waiters were passed.
    pub(super) passing: Passing,
    /// When somebody last looked for CPUs of idle threads.
    pub(super) looked: Option<Instant>,
    /// The turns had by the thread that began one last.
    pub(super) level: u64,
    /// Overcommitted operations of seats that are gone.
    overcommits: u64,
    /// Sleepers to be woken once the lock is let go.
    pub(super) rings: Vec<Arc<Seat>>,
    /// Futures to be called once the lock is let go.
    pub(super) wakers: Vec<Waker>,
    pub(super) alarm: Alarm,
}

impl Ledger {
    pub(super) fn new() -> Self {
        Self {
            seats: Vec::new(),
            vacant: Vec::new(),
            listed: Vec::new(),
            keepers: Vec::new(),
            queue: Queue::default(),
            statistics: Statistics::default(),
            closed: false,
            in_turn: None,
            place: None,
            passing: Passing::default(),
            looked: None,
            level: 0,
            overcommits: 0,
            rings: Vec::new(),
            wakers: Vec::new(),
            alarm: Alarm::default(),
        }
    }

    /// A seat for a thread.
    pub(super) fn register(&mut self, thread: Arc<ThreadRecord>) -> Arc<Seat> {
        self.statistics.registrations += 1;
        self.add_seat(thread)
    }

    fn add_seat(&mut self, thread: Arc<ThreadRecord>) -> Arc<Seat> {
        let slot = self.vacant.pop().unwrap_or(self.seats.len());
        let seat = Arc::new(Seat::new(slot));
        let entry = Some(Entry::new(Arc::clone(&seat), thread));
        match self.seats.get_mut(slot) {
            Some(place) => *place = entry,
            None => self.seats.push(entry),
        }
        self.list(slot);
        seat
    }

    pub(super) fn unregister(&mut self, slot: usize) {
        self.unlist(slot);
        if let Some(entry) = self.seats[slot].take() {
            self.overcommits += entry.seat.overcommits();
            self.vacant.push(slot);
        }
    }

    /// The seat may have CPUs again.
    pub(super) fn list(&mut self, slot: usize) {
        let place = self.listed.len();
        let entry = self.entry_mut(slot);
        if entry.listed.is_none() {
            entry.listed = Some(place);
            self.listed.push(slot);
        }
    }

    /// The seat has no CPU and cannot get one but by a grant: nobody need look at it.
    pub(super) fn unlist(&mut self, slot: usize) {
        if let Some(place) = self.entry_mut(slot).listed.take() {
            self.listed.swap_remove(place);
            if let Some(&moved) = self.listed.get(place) {
                self.entry_mut(moved).listed = Some(place);
            }
        }
    }

    /// A seat to keep the grant of a future.
    pub(super) fn keeper(&mut self, number: u64, now: Instant) -> usize {
        let slot = self.keepers.pop().unwrap_or_else(|| {
            let thread = Arc::new(ThreadRecord::future());
            self.add_seat(thread).slot()
        });
        self.list(slot);
        self.entry_mut(slot).kept_for = Some((number, now));
        slot
    }

    /// Takes what a keeper keeps, CPUs and bond, and puts it by.
    pub(super) fn empty_keeper(&mut self, slot: usize) -> (u32, Option<Demand>) {
        let entry = self.entry_mut(slot);
        entry.kept_for = None;
        let bound = entry.bound.take();
        let before = entry.seat.update(|word| Some(word.released().emptied()));
        self.unlist(slot);
        self.keepers.push(slot);
        (before.unwrap_or_else(|word| word).tokens(), bound)
    }

    /// Grants that futures have not come for: the request and the seat, and since when.
    pub(super) fn kept(&self) -> impl Iterator<Item = (u64, usize, Instant)> {
        self.entries().filter_map(|entry| {
            let (number, since) = entry.kept_for?;
            Some((number, entry.seat.slot(), since))
        })
    }

    /// The seats that may have CPUs or run operations.
    pub(super) fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.listed.iter().map(|&slot| self.entry(slot))
    }

    pub(super) fn for_each_entry(&mut self, mut act: impl FnMut(&mut Entry)) {
        for place in 0..self.listed.len() {
            act(self.entry_mut(self.listed[place]));
        }
    }

    pub(super) fn entry_mut(&mut self, slot: usize) -> &mut Entry {
        self.seats[slot].as_mut().expect("invariant: a seat in use is registered")
    }

    pub(super) fn entry(&self, slot: usize) -> &Entry {
        self.seats[slot].as_ref().expect("invariant: a seat in use is registered")
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
        let undisturbed = self.turns_are_long();
        for entry in self.entries().filter(|entry| !(undisturbed && entry.passes)) {
            if cpus == max {
                break;
            }
            cpus += take_spare(&entry.seat, max - cpus);
        }
        cpus
    }

    /// The permits in the way of a waiter, as far as one can name them.
    pub(super) fn holders_in_the_way(&mut self, number: u64, now: Instant) -> Vec<HolderInfo> {
        let Some(waiting) = self.queue.get(number) else { return Vec::new() };
        let class = self.queue.class_of(waiting);
        let mut slots: Vec<usize> =
            self.entries().filter(|e| class.is_blocked_by(e)).map(|e| e.seat.slot()).collect();
        if slots.is_empty() {
            slots.clone_from(&self.listed);
        }
        slots.sort_unstable();
        let own = self.queue.get(number).and_then(Waiting::slot);
        slots
            .into_iter()
            .filter(|&slot| own != Some(slot) && self.entry(slot).seat.load().is_held())
            .collect::<Vec<_>>()
            .into_iter()
            .map(|slot| self.entry_mut(slot).holder(now))
            .collect()
    }

    /// Starts the clock of every permit's age.
    pub(super) fn observe(&mut self, now: Instant) {
        self.for_each_entry(|entry| {
            if entry.seat.load().is_held() {
                entry.first_seen(now);
            }
        });
    }

    pub(super) fn snapshot(&mut self, core: &Core, now: Instant) -> Snapshot {
        let mut statistics = self.statistics;
        let seats = self.seats.iter().flatten();
        statistics.overcommits =
            self.overcommits + seats.map(|entry| entry.seat.overcommits()).sum::<u64>();
        let held = |entry: &&mut Entry| entry.seat.load().is_held();
        let seats = self.seats.iter_mut().flatten();
        let holders: Vec<_> = seats.filter(held).map(|e| e.holder(now)).collect();
        let waiters = self.queue.iter().filter_map(|(_, waiting)| {
            let class = self.queue.class_of(waiting);
            let thread = waiting.slot().map(|slot| self.entry(slot).thread.name());
            waiting.info(class, thread.unwrap_or(ThreadRecord::FUTURE), now)
        });
        Snapshot {
            cpus: core.cpus().clone(),
            capacity: core.capacity() as usize,
            free: core.pool().free() as usize,
            parked: self.entries().map(|entry| entry.seat.load().reclaimable() as usize).sum(),
            overcommitted: holders.iter().filter(|holder| holder.overcommitted).count(),
            waiters: waiters.collect(),
            holders,
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
