//! The decisions, all under the lock: who may run, how wide, who is told, who may pass.
//!
//! It never waits and never looks at a clock. Invariant, whenever the lock is
//! let go: every waiter that could run has its grant, unless the CPUs are those of a thread in its turn (see `turn`);
//! every seat whose CPUs a waiter lacks is marked WANTED, so that the end of its operation comes back here.

use std::time::Instant;

use crate::admission::{Core, Form};
use crate::cpu_set::CpuSet;
use crate::error::{Error, Result};
use crate::ledger::{Demand, Entry, Ledger, take_spare};
use crate::matching::Matching;
use crate::queue::Class;
use crate::request::{ClaimKind, ProviderKey};
use crate::seat::{Seat, Word};
use crate::snapshot::WaitReason;
use crate::trace::WaitOutcome;
use crate::waiting::Stage;

impl Ledger {
    /// Grants whatever can be granted, oldest first, and marks the seats that the others wait for.
    ///
    /// `caller` is a request whose thread or future is awake and needs no call.
    pub(super) fn dispatch(&mut self, core: &Core, caller: Option<u64>) {
        loop {
            self.grant_all(core, caller);
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

    /// Tries the oldest request of each class in the order of age: the others of a class need the same,
    /// and have more older ones, so that they fail if it does.
    fn grant_all(&mut self, core: &Core, caller: Option<u64>) {
        self.queue.begin_round();
        while let Some(number) = self.queue.next_candidate() {
            match self.try_grant(core, number) {
                Ok((number, slot)) => {
                    self.record_wait(core, number, WaitOutcome::Granted);
                    self.queue.grant(number, slot);
                    if caller != Some(number) {
                        self.statistics.notifications += 1;
                        self.statistics.hand_offs += 1;
                        self.tell(number);
                    }
                }
                Err(reason) => {
                    self.queue.fail(number, reason);
                    // What could be had is in the pool by now, and everybody needs some.
                    if reason == WaitReason::Cpus && core.pool().free() == 0 {
                        return;
                    }
                }
            }
        }
    }

    /// Marks what the waiters lack; answers whether CPUs came free meanwhile.
    fn mark_wanted(&self) -> bool {
        let any_cpus = self.queue.lacks(WaitReason::Cpus);
        let of_sets = self.queue.lacks(WaitReason::CpuSet);
        if !any_cpus && !of_sets {
            return false;
        }
        let mut freed = false;
        let mut will_return = false;
        let undisturbed = self.turns_are_long();
        for entry in self.entries() {
            let restricted = entry.bound.as_ref().is_some_and(|bound| bound.cpus.is_some());
            if !any_cpus && !restricted {
                continue;
            }
            match entry.seat.update(|word| word.is_busy().then(|| word.with_wanted())) {
                Ok(_) => will_return = true,
                Err(word) if word.is_fixed() || (undisturbed && entry.passes) => will_return = true,
                Err(word) => freed |= word.reclaimable() > 0,
            }
        }
        // No seat that will come back, yet CPUs are missing: an overcommitted operation or a
        // thread on its way has ended since the attempt.
        freed || (any_cpus && !will_return)
    }

    /// Serves a request that does not wait: the youngest in the queue, of the thread on `seat`.
    pub(super) fn admit_at_once(
        &mut self,
        core: &Core,
        seat: &Seat,
        number: u64,
        form: Form<'_>,
    ) -> Result<()> {
        // No marks are left: nobody is to come to the lock for a request that is gone by then.
        self.grant_all(core, Some(number));
        let holders = match self.queue.get(number).map(|waiting| &waiting.stage) {
            Some(Stage::Queued) => self.holders_in_the_way(number, core.clock().now()),
            _ => Vec::new(),
        };
        let waiting = self.queue.forget(number).expect("invariant: it was just pushed");
        let class = self.queue.class_of(&waiting);
        let (demand, reason) = (class.demand.clone(), class.reason);
        let result = match waiting.stage {
            Stage::Granted { .. } => Ok(()),
            _ if matches!(form, Form::Overcommit) && self.may_overcommit(&demand, reason) => {
                let _ = seat.update(|word| Some(word.overcommitted()));
                seat.count_overcommit();
                self.bind(seat.slot(), &demand);
                Ok(())
            }
            _ => Err(Error::WouldBlock { min: demand.min as usize, holders }),
        };
        // The attempt may have moved CPUs that others wait for.
        self.dispatch(core, None);
        result
    }

    fn may_overcommit(&self, demand: &Demand, reason: WaitReason) -> bool {
        let claimed = self.holders_against(demand)
            || self.queue.classes().any(|class| class.demand.claims_against(demand));
        !demand.is_fixed()
            && !claimed
            && !matches!(reason, WaitReason::Provider(_) | WaitReason::CpuSet)
    }

    /// Grants a request if it can run now and delays no older one, or in its place a younger one that needs
    /// the same; answers which, and on which seat.
    fn try_grant(
        &mut self,
        core: &Core,
        oldest: u64,
    ) -> std::result::Result<(u64, usize), WaitReason> {
        let number = self.next_of(oldest);
        let waiting = self.queue.get(number).expect("invariant: a candidate is in the queue");
        let slot = waiting.slot();
        let demand = Demand { max: waiting.max, ..self.queue.class_of(waiting).demand.clone() };
        if let Some(claim) = demand.claim.filter(|_| self.holders_against(&demand)) {
            return Err(WaitReason::Provider(claim.key));
        }
        if !self.fits_beside_older(core, oldest, &demand) {
            return Err(WaitReason::OlderWaiters);
        }
        let limit = self.widest(core, slot, &demand);
        let least = demand.least(core.capacity());
        if limit < least {
            return Err(WaitReason::CpuSet);
        }
        let want = self.fair_width(core, slot, &demand).min(limit).max(least);
        let cpus = self.gather(core, want);
        let alone = |ledger: &Self| !ledger.entries().any(|entry| entry.seat.latest().is_over());
        if cpus < least || (demand.is_unbounded() && !alone(self)) {
            core.pool().put(cpus);
            return Err(WaitReason::Cpus);
        }
        let slot = match slot {
            Some(slot) => {
                self.list(slot);
                slot
            }
            None => self.keeper(number, core.clock().now()),
        };
        let fixed = |word: Word| if demand.is_fixed() { word.with_fixed() } else { word };
        let _ = self.entry(slot).seat.update(|word| Some(fixed(word.granted(cpus))));
        self.bind(slot, &demand);
        let entry = self.entry_mut(slot);
        (entry.granted, entry.passes) = (number, number != oldest);
        if number != oldest {
            self.statistics.passes += 1;
        }
        // It is for one of them.
        self.place = None;
        Ok((number, slot))
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

    /// Whether a request could run beside every older one, so that it delays none.
    fn fits_beside_older(&self, core: &Core, number: u64, candidate: &Demand) -> bool {
        let oldest = self.queue.oldest(|_| true);
        let Some(oldest) = oldest.filter(|&oldest| oldest < number) else { return true };
        let mut needed = candidate.least(core.capacity());
        // Users of one provider follow each other, so only the widest of them counts.
        let mut users: Vec<(ProviderKey, u32)> = Vec::new();
        for (class, older) in self.older_classes(number) {
            let demand = &class.demand;
            if demand.claims_against(candidate) || overlap_exclusively(demand, candidate) {
                return false;
            }
            let least = demand.least(core.capacity());
            match demand.claim {
                Some(claim) if claim.kind == ClaimKind::Exclusive => {
                    match users.iter_mut().find(|(key, _)| *key == claim.key) {
                        Some((_, widest)) => *widest = least.max(*widest),
                        None => users.push((claim.key, least)),
                    }
                }
                _ => needed = needed.saturating_add(least.saturating_mul(older)),
            }
        }
        let passed: u32 = self
            .entries()
            .filter(|entry| entry.granted > oldest)
            .map(|entry| entry.seat.load().backed())
            .sum();
        let users: u32 = users.iter().map(|(_, widest)| widest).sum();
        needed.saturating_add(users).saturating_add(passed) <= core.capacity()
            && self.fits_restricted_older(core, number, candidate)
    }

    /// The classes that have older requests than `number`, and how many.
    fn older_classes(&self, number: u64) -> impl Iterator<Item = (&Class, u32)> {
        let counted = self.queue.classes().map(move |class| (class, class.older_than(number)));
        counted.filter(|(_, older)| *older > 0)
    }

    /// The same for the CPUs by name, where both sides are restricted.
    fn fits_restricted_older(&self, core: &Core, number: u64, candidate: &Demand) -> bool {
        let Some(set) = candidate.cpus.as_ref() else { return true };
        let mut matching = Matching::new(core.cpus());
        let mut fits = |set: &CpuSet, width: u32| matching.place(set, width) == width;
        for (class, older) in self.older_classes(number) {
            let Some(set) = &class.demand.cpus else { continue };
            if !(0..older).all(|_| fits(set, class.demand.min)) {
                return false;
            }
        }
        fits(set, candidate.min)
    }

    /// The most CPUs that the demand's set can give beside the sets in use.
    fn widest(&self, core: &Core, slot: Option<usize>, demand: &Demand) -> u32 {
        let Some(set) = demand.cpus.as_ref().filter(|_| !demand.is_unbounded()) else {
            return core.capacity();
        };
        let mut open = core.cpus().clone();
        let mut shared: Vec<(&CpuSet, u32)> = Vec::new();
        for entry in self.entries().filter(|entry| Some(entry.seat.slot()) != slot) {
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

    /// A request's share: the CPUs over those who run or wait, between its minimum and maximum.
    fn fair_width(&self, core: &Core, slot: Option<usize>, demand: &Demand) -> u32 {
        if demand.min == demand.max {
            return demand.min;
        }
        let share = self.share(core, slot, self.queue.len());
        let reserved = self.queue.reserved(|demand| demand.min).saturating_sub(demand.min);
        let left = self.available(core).saturating_sub(reserved);
        share.min(left).clamp(demand.min, demand.max)
    }

    /// An equal share for everyone who runs, or is in a turn, beside the seat on `slot`, and `requesters` more.
    pub(super) fn share(&self, core: &Core, slot: Option<usize>, requesters: u32) -> u32 {
        let others = self.entries().filter(|entry| Some(entry.seat.slot()) != slot);
        let runs =
            |entry: &&Entry| entry.seat.load().is_busy() || self.in_turn == Some(entry.seat.slot());
        let busy = others.filter(runs).count() as u32;
        core.capacity().div_ceil(busy.saturating_add(requesters).max(1))
    }

    /// CPUs for a lent permit's next operation: what older waiters leave, if anything.
    pub(super) fn take_for_resume(&mut self, core: &Core, seat: &Seat, want: u32) -> u32 {
        let (bound, slot) = (self.entry(seat.slot()).bound.as_ref(), Some(seat.slot()));
        let limit = bound.map_or(u32::MAX, |bound| self.widest(core, slot, bound));
        let mut want = want.min(limit);
        if want > 1 {
            want = want.min(self.share(core, slot, self.queue.len().saturating_add(1)));
        }
        if !self.queue.is_empty() {
            let reserved = self.queue.reserved(|demand| demand.least(core.capacity()));
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
        let slot = seat.slot();
        let most = missing.min(self.share(core, Some(slot), 1).saturating_sub(width));
        let mut cpus = core.pool().take(most);
        self.for_each_entry(|entry| {
            if entry.seat.slot() != slot && entry.was_idle() && cpus < most {
                cpus += take_spare(&entry.seat, most - cpus);
            }
        });
        cpus
    }

    /// Puts the CPUs at hand of threads that started no operation since the last look into the pool; answers whether
    /// there are others that are between two operations.
    pub(super) fn free_idle(&mut self, core: &Core, now: Instant) -> bool {
        self.looked = Some(now);
        let mut between = false;
        self.for_each_entry(|entry| {
            if entry.was_idle() {
                core.pool().put(take_spare(&entry.seat, u32::MAX));
            } else {
                let word = entry.seat.load();
                between |= word.reclaimable() > 0 && !word.is_busy();
            }
        });
        between
    }
}

/// Whether the two name a common CPU and one of them wants it alone.
fn overlap_exclusively(a: &Demand, b: &Demand) -> bool {
    match (&a.cpus, &b.cpus) {
        (Some(x), Some(y)) => (a.is_exclusive() || b.is_exclusive()) && !x.is_disjoint(y),
        _ => false,
    }
}
