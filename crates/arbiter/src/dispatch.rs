//! The decisions, all under the lock: who may run, how wide, who is told, who may pass.
//!
//! It never waits and never looks at a clock, except to end a pass. Invariant, whenever the lock is
//! let go: every waiter that could run has its grant; every seat whose CPUs a waiter lacks is
//! marked WANTED, so that the end of its operation comes back here.

use std::collections::HashMap;

use crate::admission::{Core, Patience};
use crate::clock;
use crate::cpu_set::CpuSet;
use crate::error::Result;
use crate::ledger::{Demand, Ledger, take_spare};
use crate::matching::Matching;
use crate::request::{ClaimKind, ProviderKey};
use crate::seat::{Seat, Word};
use crate::snapshot::WaitReason;

/// A thread may pass a waiter if it starts that many operations within the bypass budget.
const PASSING_PACE: u32 = 4;

impl Ledger {
    /// Grants whatever can be granted, oldest first, and marks the seats that the others wait for.
    ///
    /// `caller` is the slot of a waiter that is awake and needs no bell.
    pub(super) fn dispatch(&mut self, core: &Core, caller: Option<usize>) {
        loop {
            let mut place = 0;
            while place < self.queue.len() {
                match self.try_grant(core, place) {
                    Ok(()) => self.announce(place, caller),
                    Err(reason) => {
                        self.queue[place].reason = reason;
                        place += 1;
                        // What could be had is in the pool by now, and everybody needs some.
                        if reason == WaitReason::Cpus && core.pool().free() == 0 {
                            break;
                        }
                    }
                }
            }
            if self.queue.is_empty() {
                if std::mem::take(&mut self.closed) {
                    core.pool().reopen();
                }
                return;
            }
            if !std::mem::replace(&mut self.closed, true) {
                core.pool().close();
            }
            if !self.mark_wanted() {
                return;
            }
        }
    }

    fn announce(&mut self, place: usize, caller: Option<usize>) {
        let granted = self.queue.remove(place).expect("invariant: the place is in the queue");
        if caller != Some(granted.slot) {
            self.statistics.notifications += 1;
            self.statistics.hand_offs += 1;
            self.entry(granted.slot).seat.bell.ring();
        }
    }

    /// Marks what the waiters lack; answers whether CPUs came free meanwhile.
    fn mark_wanted(&self) -> bool {
        let short = |reason| self.queue.iter().any(|waiting| waiting.reason == reason);
        let (any_cpus, of_sets) = (short(WaitReason::Cpus), short(WaitReason::CpuSet));
        if !any_cpus && !of_sets {
            return false;
        }
        let mut freed = false;
        let mut will_return = false;
        for entry in self.entries() {
            let restricted = entry.bound.as_ref().is_some_and(|bound| bound.cpus.is_some());
            if !any_cpus && !restricted {
                continue;
            }
            match entry.seat.update(|word| word.is_busy().then(|| word.with_wanted())) {
                Ok(_) => will_return = true,
                Err(word) if word.is_fixed() => will_return = true,
                Err(word) => freed |= word.reclaimable() > 0,
            }
        }
        // No seat that will come back, yet CPUs are missing: an overcommitted operation or a
        // thread on its way has ended since the attempt.
        freed || (any_cpus && !will_return)
    }

    /// Serves a request that does not wait: the newest one in the queue.
    pub(super) fn admit_at_once(
        &mut self,
        core: &Core,
        seat: &Seat,
        patience: Patience,
    ) -> Result<()> {
        let place = self.queue.len() - 1;
        let outcome = self.try_grant(core, place);
        let mut waiting = self.queue.pop_back().expect("invariant: it was just pushed");
        let result = match outcome {
            Ok(()) => Ok(()),
            Err(reason)
                if patience == Patience::Overcommit
                    && self.may_overcommit(&waiting.demand, reason) =>
            {
                let _ = seat.update(|word| Some(word.overcommitted()));
                seat.count_overcommit();
                self.bind(seat.slot(), &waiting.demand);
                Ok(())
            }
            Err(reason) => {
                waiting.reason = reason;
                Err(Core::would_block(self, &waiting))
            }
        };
        // The attempt may have moved CPUs that others wait for.
        self.dispatch(core, None);
        result
    }

    fn may_overcommit(&self, demand: &Demand, reason: WaitReason) -> bool {
        let claimed = self.holders_against(demand)
            || self.queue.iter().any(|w| w.demand.claims_against(demand));
        !demand.is_fixed()
            && !claimed
            && !matches!(reason, WaitReason::Provider(_) | WaitReason::CpuSet)
    }

    /// Grants the waiter at `place` if it can run now and delays no older one.
    fn try_grant(&mut self, core: &Core, place: usize) -> std::result::Result<(), WaitReason> {
        let demand = self.queue[place].demand.clone();
        let slot = self.queue[place].slot;
        if let Some(claim) = demand.claim.filter(|_| self.holders_against(&demand)) {
            return Err(WaitReason::Provider(claim.key));
        }
        if !self.fits_beside_older(core, place) {
            return Err(WaitReason::OlderWaiters);
        }
        let limit = self.widest(core, slot, &demand);
        let least = demand.least(core.capacity());
        if limit < least {
            return Err(WaitReason::CpuSet);
        }
        let want = self.fair_width(core, place, &demand).min(limit).max(least);
        let cpus = self.gather(core, want);
        let alone = |ledger: &Self| !ledger.entries().any(|entry| entry.seat.latest().is_over());
        if cpus < least || (demand.is_unbounded() && !alone(self)) {
            core.pool().put(cpus);
            return Err(WaitReason::Cpus);
        }
        let fixed = |word: Word| if demand.is_fixed() { word.with_fixed() } else { word };
        let _ = self.entry(slot).seat.update(|word| Some(fixed(word.granted(cpus))));
        self.bind(slot, &demand);
        self.entry_mut(slot).granted = self.queue[place].number;
        Ok(())
    }

    fn bind(&mut self, slot: usize, demand: &Demand) {
        let bound = demand.cpus.is_some() || demand.claim.is_some();
        self.entry_mut(slot).bound = bound.then(|| demand.clone());
    }

    /// Whether a permit holds a provider that the demand may not use beside it.
    fn holders_against(&self, demand: &Demand) -> bool {
        demand.claim.is_some()
            && self.entries().any(|e| e.bound.as_ref().is_some_and(|b| b.claims_against(demand)))
    }

    /// Whether the waiter at `place` could run beside every older one, so that it delays none.
    fn fits_beside_older(&self, core: &Core, place: usize) -> bool {
        let candidate = &self.queue[place].demand;
        let Some(oldest) = self.queue.front().filter(|_| place > 0) else { return true };
        let mut needed = candidate.least(core.capacity());
        // Users of one provider follow each other, so only the widest of them counts.
        let mut users: HashMap<ProviderKey, u32> = HashMap::new();
        for older in self.queue.range(..place).map(|waiting| &waiting.demand) {
            if older.claims_against(candidate) || overlap_exclusively(older, candidate) {
                return false;
            }
            let least = older.least(core.capacity());
            match older.claim {
                Some(claim) if claim.kind == ClaimKind::Exclusive => {
                    let widest = users.entry(claim.key).or_default();
                    *widest = least.max(*widest);
                }
                _ => needed += least,
            }
        }
        let passed: u32 = self
            .entries()
            .filter(|entry| entry.granted > oldest.number)
            .map(|entry| entry.seat.load().backed())
            .sum();
        needed + users.values().sum::<u32>() + passed <= core.capacity()
            && self.fits_restricted_older(core, place)
    }

    /// The same for the CPUs by name, where both sides are restricted.
    fn fits_restricted_older(&self, core: &Core, place: usize) -> bool {
        let Some(set) = self.queue[place].demand.cpus.as_ref() else { return true };
        let mut matching = Matching::new(core.cpus());
        let mut fits = |set: &CpuSet, width: u32| matching.place(set, width) == width;
        self.queue
            .range(..place)
            .filter_map(|older| Some((older.demand.cpus.as_ref()?, older.demand.min)))
            .all(|(set, width)| fits(set, width))
            && fits(set, self.queue[place].demand.min)
    }

    /// The most CPUs that the demand's set can give beside the sets in use.
    fn widest(&self, core: &Core, slot: usize, demand: &Demand) -> u32 {
        let Some(set) = demand.cpus.as_ref().filter(|_| !demand.is_unbounded()) else {
            return core.capacity();
        };
        let mut open = core.cpus().clone();
        let mut shared: Vec<(&CpuSet, u32)> = Vec::new();
        for entry in self.entries().filter(|entry| entry.seat.slot() != slot) {
            let Some(bound) = &entry.bound else { continue };
            let Some(taken) = &bound.cpus else { continue };
            if bound.is_exclusive() {
                open = open.difference(taken);
            } else {
                // CPUs at hand of an idle permit are anybody's: what it runs with is what counts.
                core.pool().put(take_spare(&entry.seat, u32::MAX));
                shared.push((taken, entry.seat.load().backed()));
            }
        }
        if demand.is_exclusive() {
            if !set.is_subset(&open) {
                return 0;
            }
            open = open.difference(set);
        }
        let mut matching = Matching::new(&open);
        let others_fit = shared.iter().all(|(set, width)| matching.place(set, *width) == *width);
        match (others_fit, demand.is_exclusive()) {
            (false, _) => 0,
            (true, true) => set.len() as u32,
            (true, false) => matching.place(set, demand.max),
        }
    }

    /// The waiter's share: the CPUs over those who run or wait, between its minimum and maximum.
    fn fair_width(&self, core: &Core, place: usize, demand: &Demand) -> u32 {
        if demand.min == demand.max {
            return demand.min;
        }
        let share = self.share(core, self.queue[place].slot, self.queue.len() as u32);
        let others = self.queue.iter().enumerate().filter(|(other, _)| *other != place);
        let reserved = others.map(|(_, waiting)| waiting.demand.min).fold(0, u32::saturating_add);
        let left = self.available(core).saturating_sub(reserved);
        share.min(left).clamp(demand.min, demand.max)
    }

    /// An equal share for everyone who runs, beside the seat on `slot`, and `requesters` more.
    fn share(&self, core: &Core, slot: usize, requesters: u32) -> u32 {
        let others = self.entries().filter(|entry| entry.seat.slot() != slot);
        let busy = others.filter(|entry| entry.seat.load().is_busy()).count() as u32;
        core.capacity().div_ceil((busy + requesters).max(1))
    }

    /// CPUs for a lent permit's next operation: what older waiters leave, if anything.
    pub(super) fn take_for_resume(&mut self, core: &Core, seat: &Seat, want: u32) -> u32 {
        let bound = self.entry(seat.slot()).bound.clone();
        let limit = bound.map_or(u32::MAX, |bound| self.widest(core, seat.slot(), &bound));
        let mut want = want.min(limit);
        if want > 1 {
            want = want.min(self.share(core, seat.slot(), self.queue.len() as u32 + 1));
        }
        if !self.queue.is_empty() {
            let reserved = self.queue.iter().map(|w| w.demand.least(core.capacity()));
            let reserved = reserved.fold(0, u32::saturating_add);
            want = want.min(self.available(core).saturating_sub(reserved));
        }
        self.gather(core, want)
    }

    /// CPUs at hand of threads that started no operation since the last look.
    pub(super) fn take_from_idle(
        &mut self,
        core: &Core,
        seat: &Seat,
        width: u32,
        missing: u32,
    ) -> u32 {
        if !self.queue.is_empty() {
            return 0;
        }
        let share = self.share(core, seat.slot(), 1).saturating_sub(width);
        let most = missing.min(share);
        let mut cpus = core.pool().take(most);
        for entry in self.entries_mut().filter(|entry| entry.seat.slot() != seat.slot()) {
            let generation = entry.seat.load().generation();
            let idle = std::mem::replace(&mut entry.idle_since, generation) == generation;
            if idle && cpus < most {
                cpus += take_spare(&entry.seat, most - cpus);
            }
        }
        cpus
    }

    /// Notes when the operation that a waiter was woken for starts.
    pub(super) fn set_pace(&mut self, core: &Core, seat: &Seat) {
        if !core.policy().bypass.is_zero() {
            let before = seat.load().generation().wrapping_sub(1);
            self.entry_mut(seat.slot()).pace = Some((clock::now(), before));
        }
    }

    /// Whether the thread that ends an operation on `seat` may keep its CPUs for its next one.
    ///
    /// It may if it runs short operations in a row, holds no more than its share, and the oldest
    /// waiter's budget is not spent. That waiter looks again by itself when it is.
    pub(super) fn may_pass(&mut self, core: &Core, seat: &Seat) -> bool {
        let bypass = core.policy().bypass;
        if bypass.is_zero() {
            return false;
        }
        // Whoever waits for a provider does not wait for this seat.
        let passed = |reason| !matches!(reason, WaitReason::Provider(_));
        let oldest = self.queue.iter().find(|waiting| passed(waiting.reason));
        let Some(end) = oldest.and_then(|oldest| oldest.budget_end) else { return false };
        let word = seat.load();
        let share = self.share(core, seat.slot(), self.queue.len() as u32 + 1);
        let now = clock::now();
        let entry = self.entry_mut(seat.slot());
        let before = entry.pace.replace((now, word.generation()));
        let Some((then, generation)) = before else { return false };
        let operations = word.generation().wrapping_sub(generation) & 0xff_ffff;
        let short = operations > 0
            && now.saturating_duration_since(then) / operations * PASSING_PACE < bypass;
        short && now < end && word.tokens() <= share && entry.bound.is_none()
    }
}

/// Whether the two name a common CPU and one of them wants it alone.
fn overlap_exclusively(a: &Demand, b: &Demand) -> bool {
    match (&a.cpus, &b.cpus) {
        (Some(x), Some(y)) => (a.is_exclusive() || b.is_exclusive()) && !x.is_disjoint(y),
        _ => false,
    }
}
