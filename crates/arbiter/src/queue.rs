//! The queue: who waits, by what they ask for and by age.
//!
//! Requests that need the same form a class, oldest first: whatever keeps the oldest of a class from
//! running keeps the others too, so that a decision looks at one request a class, however many
//! wait. It decides nothing. Invariant: a request is in its class's order exactly while it is queued.

use std::collections::{BTreeMap, VecDeque};

use crate::error::Error;
use crate::ledger::Demand;
use crate::snapshot::WaitReason;
use crate::waiting::{Stage, Waiting};

/// Requests that need the same, apart from the most they would use.
pub(super) struct Class {
    /// Its maximum is that of no request in particular.
    pub(super) demand: Demand,
    /// Numbers of the requests, oldest first.
    order: VecDeque<u64>,
    /// What keeps the oldest from running, as of the last attempt.
    pub(super) reason: WaitReason,
    /// The round of attempts in which it failed last.
    failed_in: u64,
    /// Requests that name it, queued or not.
    members: u32,
}

impl Class {
    fn oldest(&self) -> Option<u64> {
        self.order.front().copied()
    }

    /// How many of its requests are older than `number`.
    pub(super) fn older_than(&self, number: u64) -> u32 {
        self.order.partition_point(|&other| other < number) as u32
    }

    /// Its requests, oldest first.
    pub(super) fn order(&self) -> impl Iterator<Item = u64> {
        self.order.iter().copied()
    }

    /// How many of its requests wait.
    pub(super) fn len(&self) -> u32 {
        self.order.len() as u32
    }
}

/// Everybody who waits.
#[derive(Default)]
pub(super) struct Queue {
    classes: Vec<Class>,
    /// By number, which is by age.
    waiting: BTreeMap<u64, Waiting>,
    numbers: u64,
    queued: u32,
    rounds: u64,
}

impl Queue {
    /// Adds the youngest request; answers its number.
    pub(super) fn push(&mut self, demand: &Demand, new: impl FnOnce(usize) -> Waiting) -> u64 {
        self.numbers += 1;
        let class = self.class_for(demand);
        self.waiting.insert(self.numbers, new(class));
        self.enter(self.numbers, class);
        self.numbers
    }

    fn class_for(&mut self, demand: &Demand) -> usize {
        let same = |class: &Class| class.demand.needs_the_same_as(demand);
        let place = self.classes.iter().position(same).unwrap_or_else(|| self.add_class(demand));
        self.classes[place].members += 1;
        place
    }

    fn add_class(&mut self, demand: &Demand) -> usize {
        let class = Class {
            demand: demand.clone(),
            order: VecDeque::new(),
            reason: WaitReason::Cpus,
            failed_in: 0,
            members: 0,
        };
        match self.classes.iter().position(|class| class.members == 0) {
            Some(place) => {
                self.classes[place] = class;
                place
            }
            None => {
                self.classes.push(class);
                self.classes.len() - 1
            }
        }
    }

    fn enter(&mut self, number: u64, class: usize) {
        let class = &mut self.classes[class];
        let place = class.older_than(number) as usize;
        if class.order.is_empty() {
            class.reason = WaitReason::Cpus;
        }
        class.order.insert(place, number);
        self.queued += 1;
    }

    /// Takes a request out of its order; it stays known until [`Queue::forget`].
    fn leave(&mut self, number: u64) {
        let class = &mut self.classes[self.waiting[&number].class];
        let place = class.order.binary_search(&number);
        class.order.remove(place.expect("invariant: a queued request is in its class's order"));
        self.queued -= 1;
    }

    pub(super) fn get(&self, number: u64) -> Option<&Waiting> {
        self.waiting.get(&number)
    }

    pub(super) fn get_mut(&mut self, number: u64) -> Option<&mut Waiting> {
        self.waiting.get_mut(&number)
    }

    /// Every request, oldest first, those included that have their answer and do not know it yet.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, &Waiting)> {
        self.waiting.iter().map(|(&number, waiting)| (number, waiting))
    }

    /// How many requests wait for a grant.
    pub(super) fn len(&self) -> u32 {
        self.queued
    }

    pub(super) fn is_empty(&self) -> bool {
        self.queued == 0
    }

    /// The classes of those who wait.
    pub(super) fn classes(&self) -> impl Iterator<Item = &Class> {
        self.classes.iter().filter(|class| !class.order.is_empty())
    }

    pub(super) fn class_of(&self, waiting: &Waiting) -> &Class {
        &self.classes[waiting.class]
    }

    /// The oldest request that waits for something that `counts`.
    pub(super) fn oldest(&self, counts: impl Fn(WaitReason) -> bool) -> Option<u64> {
        self.classes().filter(|class| counts(class.reason)).filter_map(Class::oldest).min()
    }

    /// Whether anybody waits for `reason`.
    pub(super) fn lacks(&self, reason: WaitReason) -> bool {
        self.classes().any(|class| class.reason == reason)
    }

    /// What all who wait need at least, by `least`.
    pub(super) fn reserved(&self, least: impl Fn(&Demand) -> u32) -> u32 {
        let needs = self.classes().map(|class| class.len().saturating_mul(least(&class.demand)));
        needs.fold(0, u32::saturating_add)
    }

    /// Begins a round in which each class may fail once.
    pub(super) fn begin_round(&mut self) {
        self.rounds += 1;
    }

    /// The oldest request whose class has not failed in this round.
    pub(super) fn next_candidate(&self) -> Option<u64> {
        let open = self.classes().filter(|class| class.failed_in != self.rounds);
        open.filter_map(Class::oldest).min()
    }

    /// Notes why a candidate cannot run.
    pub(super) fn fail(&mut self, number: u64, reason: WaitReason) {
        let class = self.waiting[&number].class;
        self.classes[class].reason = reason;
        self.classes[class].failed_in = self.rounds;
    }

    /// A queued request has its grant, on the seat at `slot`.
    pub(super) fn grant(&mut self, number: u64, slot: usize) {
        self.leave(number);
        self.stage(number, Stage::Granted { slot });
    }

    /// A request that was granted did not come for it: it keeps its age, and waits for itself.
    pub(super) fn suspend(&mut self, number: u64) {
        self.stage(number, Stage::Absent);
    }

    /// A suspended request is back.
    pub(super) fn resume(&mut self, number: u64) {
        let class = self.waiting[&number].class;
        self.enter(number, class);
        self.stage(number, Stage::Queued);
    }

    /// A request ends without a grant; whoever waits for it finds out why.
    pub(super) fn refuse(&mut self, number: u64, error: Error) {
        if matches!(self.waiting[&number].stage, Stage::Queued) {
            self.leave(number);
        }
        self.stage(number, Stage::Refused(error));
    }

    /// Forgets a request, wherever it is.
    pub(super) fn forget(&mut self, number: u64) -> Option<Waiting> {
        if matches!(self.waiting.get(&number)?.stage, Stage::Queued) {
            self.leave(number);
        }
        let waiting = self.waiting.remove(&number)?;
        self.classes[waiting.class].members -= 1;
        Some(waiting)
    }

    fn stage(&mut self, number: u64, stage: Stage) {
        self.waiting.get_mut(&number).expect("invariant: the request is known").stage = stage;
    }
}
