//! A request that waits: what it has been answered, and when it is given up.
//!
//! It decides when to look again and when to give up, never who runs. A thread's sleep is here; a
//! future's turns are in `task`, and who watches its time is in `alarm`.

use std::sync::Arc;
use std::task::Waker;
use std::time::{Duration, Instant};

use crate::admission::Core;
use crate::affinity;
use crate::allowance::Allowance;
use crate::error::{Error, Result};
use crate::ledger::{Entry, Ledger};
use crate::locked::Locked;
use crate::patience::Patience;
use crate::queue::Class;
use crate::record::Waited;
use crate::request::Label;
use crate::seat::Seat;
use crate::snapshot::{HolderInfo, WaitReason, WaiterInfo};
use crate::trace::WaitOutcome;

/// How often, within the wait limit, a waiter looks whether the holders run. Seldom: on a busy
/// machine a process may get no CPU for a while.
const LIMIT_PARTS: u32 = 4;

/// The part of one CPU's time below which a process runs no operation.
const IDLE_PART: u32 = 20;

/// What a process may use within any look without running an operation: the looks themselves.
const IDLE_FLOOR: Duration = Duration::from_micros(200);

/// Who waits.
pub(super) enum Who {
    /// The thread of the seat at this slot.
    Thread(usize),
    /// A future, to be called through this.
    Future(Option<Waker>),
}

/// How far a request has come.
pub(super) enum Stage {
    /// It waits in its class's order.
    Queued,
    /// It has its grant, on the seat at `slot`, and does not know it yet.
    Granted {
        /// The waiting thread's seat, or one that keeps the grant for a future.
        slot: usize,
    },
    /// A future that did not come for its grant: others run until it does.
    Absent,
    /// It was refused, and does not know it yet.
    Refused(Error),
}

/// A request that waits, or has an answer that nobody took yet.
pub(super) struct Waiting {
    pub(super) who: Who,
    /// Its place among the queue's classes.
    pub(super) class: usize,
    /// The most CPUs it would use.
    pub(super) max: u32,
    pub(super) stage: Stage,
    pub(super) label: Label,
    /// For how long it may be passed; `None` until it waits, and if it may not be passed.
    pub(super) allowance: Option<Allowance>,
    /// Since when it waits.
    pub(super) since: Option<Instant>,
}

impl Waiting {
    pub(super) fn new(who: Who, class: usize, max: u32, label: Label) -> Self {
        Self { who, class, max, stage: Stage::Queued, label, allowance: None, since: None }
    }

    /// The seat of the thread that waits.
    pub(super) fn slot(&self) -> Option<usize> {
        match self.who {
            Who::Thread(slot) => Some(slot),
            Who::Future(_) => None,
        }
    }

    /// Whether it has no answer yet, and waits in its class's order.
    pub(super) fn is_queued(&self) -> bool {
        matches!(self.stage, Stage::Queued)
    }

    /// Whether it takes turns with those who pass it.
    pub(super) fn takes_turns(&self) -> bool {
        self.allowance.is_some_and(|allowance| allowance.in_turns())
    }

    /// Whether a thread sleeps for it.
    pub(super) fn sleeps(&self) -> bool {
        self.is_queued() && matches!(self.who, Who::Thread(_))
    }

    fn waited(&self, now: Instant) -> Duration {
        self.since.map_or(Duration::ZERO, |since| now.saturating_duration_since(since))
    }

    /// What diagnostics show, while it waits.
    pub(super) fn info(&self, class: &Class, thread: &str, now: Instant) -> Option<WaiterInfo> {
        let reason = match self.stage {
            Stage::Queued => class.reason,
            Stage::Absent => WaitReason::Poll,
            Stage::Granted { .. } | Stage::Refused(_) => return None,
        };
        Some(WaiterInfo {
            label: self.label,
            min: class.demand.min as usize,
            max: self.max as usize,
            cpus: class.demand.cpus.clone(),
            provider: class.demand.claim,
            reason,
            waited: self.waited(now),
            thread: thread.to_owned(),
        })
    }
}

impl Class {
    /// Whether the permit on a seat is in the way of its requests.
    pub(super) fn is_blocked_by(&self, entry: &Entry) -> bool {
        let word = entry.seat.load();
        if !word.is_held() {
            return false;
        }
        let bound = entry.bound.as_ref();
        match self.reason {
            WaitReason::Provider(_) => bound.is_some_and(|b| b.claims_against(&self.demand)),
            WaitReason::CpuSet => bound.is_some_and(|b| match (&b.cpus, &self.demand.cpus) {
                (Some(a), Some(b)) => !a.is_disjoint(b),
                _ => false,
            }),
            WaitReason::Cpus | WaitReason::OlderWaiters | WaitReason::Poll => {
                word.is_busy() || word.tokens() > 0
            }
        }
    }
}

/// What a request has seen of the holders in its way.
pub(super) struct Watch {
    looked: Instant,
    operations: u64,
    cpu_time: Option<Duration>,
    idle: Duration,
}

impl Watch {
    pub(super) fn new(core: &Core, ledger: &Ledger, number: u64, now: Instant) -> Self {
        let (operations, _) = ledger.activity(number);
        Self { looked: now, operations, cpu_time: core.clock().cpu_time(), idle: Duration::ZERO }
    }

    /// When to look next, within `limit`.
    pub(super) fn next_look(&self, limit: Duration) -> Instant {
        self.looked + (limit / LIMIT_PARTS).max(Duration::from_millis(2))
    }

    /// Adds the time since the last look if no holder ran an operation in it; answers the sum.
    pub(super) fn look(
        &mut self,
        core: &Core,
        ledger: &Ledger,
        number: u64,
        now: Instant,
    ) -> Duration {
        let elapsed = now.saturating_duration_since(self.looked);
        let (operations, running) = ledger.activity(number);
        let cpu_time = core.clock().cpu_time();
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
        self.idle
    }
}

impl Ledger {
    /// The operations started so far by the holders in the way of a request, and whether one runs.
    fn activity(&self, number: u64) -> (u64, bool) {
        let Some(waiting) = self.queue.get(number) else { return (0, false) };
        let class = self.queue.class_of(waiting);
        let blocking = self.entries().filter(|entry| class.is_blocked_by(entry));
        blocking.fold((0, false), |(operations, running), entry| {
            let word = entry.seat.load();
            // A sum in which a change of holders shows as well.
            let count = (u64::from(word.generation()) + 1) << 24 | entry.seat.slot() as u64;
            (operations.wrapping_add(count), running || entry.runs())
        })
    }

    /// A request begins to wait: opens its allowance.
    pub(super) fn arm(&mut self, core: &Core, number: u64, now: Instant) {
        self.statistics.waits += 1;
        self.observe(now);
        let allowance = self.allowance(core, number, now);
        let waiting = self.queue.get_mut(number).expect("invariant: whoever waits is known");
        (waiting.since, waiting.allowance) = (Some(now), allowance);
        if let Some(slot) = waiting.slot().filter(|_| allowance.is_some()) {
            self.note_return(core, slot, now);
            let entry = self.entry_mut(slot);
            entry.cpu = affinity::current_cpu();
            entry.stopped = allowance.is_some_and(|allowance| allowance.in_turns());
        }
    }

    /// A request has waited long enough: answers how long, and for whom.
    pub(super) fn give_up(
        &mut self,
        core: &Core,
        number: u64,
        now: Instant,
        error: impl FnOnce(Duration, Vec<HolderInfo>) -> Error,
    ) {
        let holders = self.holders_in_the_way(number, now);
        let waited = self.queue.get(number).map_or(Duration::ZERO, |waiting| waiting.waited(now));
        self.statistics.refusals += 1;
        self.record_wait(core, number, WaitOutcome::GaveUp);
        self.refuse(number, error(waited, holders));
        self.dispatch(core, None);
    }

    /// Notes the end of a wait, if that is recorded. A request that was granted at once did not wait.
    pub(super) fn record_wait(&self, core: &Core, number: u64, outcome: WaitOutcome) {
        let recorder = core.recorder();
        let Some(waiting) = self.queue.get(number).filter(|_| recorder.is_on()) else { return };
        let Some(since) = waiting.since else { return };
        let entry = waiting.slot().map(|slot| self.entry(slot));
        let owner = entry.map(|entry| entry.seat.owner());
        let thread = entry.map(|entry| Arc::clone(&entry.thread));
        let waited = Waited { label: waiting.label, owner, thread, since, outcome };
        recorder.waited(waited, core.clock().now());
    }

    /// Ends a request without a grant, and tells who waits for it.
    fn refuse(&mut self, number: u64, error: Error) {
        self.queue.refuse(number, error);
        self.tell(number);
    }

    /// Calls whoever waits for a request: it has an answer.
    pub(super) fn tell(&mut self, number: u64) {
        let Some(waiting) = self.queue.get_mut(number) else { return };
        match &mut waiting.who {
            Who::Thread(slot) => {
                let slot = *slot;
                self.list(slot);
                let seat = Arc::clone(&self.entry(slot).seat);
                self.rings.push(seat);
            }
            Who::Future(waker) => self.wakers.extend(waker.take()),
        }
    }

    /// The answer to a thread's request, if there is one.
    fn answer(&mut self, core: &Core, number: u64, seat: &Seat) -> Option<Result<()>> {
        let waiting = self.queue.get(number).expect("invariant: nobody else forgets a request");
        if let Stage::Queued = waiting.stage {
            return None;
        }
        match self.queue.forget(number).map(|waiting| waiting.stage) {
            Some(Stage::Refused(error)) => Some(Err(error)),
            _ => {
                self.begin_turn(core, seat);
                Some(Ok(()))
            }
        }
    }
}

impl Core {
    /// Sleeps until the seat is granted, `patience` or the wait limit ends.
    pub(super) fn wait(
        self: &Arc<Self>,
        mut ledger: Locked<'_>,
        number: u64,
        seat: &Seat,
        patience: &Patience,
        limit: Option<Duration>,
    ) -> Result<()> {
        let now = self.clock().now();
        ledger.arm(self, number, now);
        if let Some(token) = patience.token().filter(|token| !token.watch(self, number)) {
            ledger.give_up(self, number, now, |waited, _| Error::Cancelled { waited });
            token.forget(self, number);
        }
        let result = self.sleep(ledger, number, seat, patience, limit);
        if let Some(token) = patience.token() {
            token.forget(self, number);
        }
        result
    }

    fn sleep(
        &self,
        mut ledger: Locked<'_>,
        number: u64,
        seat: &Seat,
        patience: &Patience,
        limit: Option<Duration>,
    ) -> Result<()> {
        let deadline = patience.deadline();
        let now = self.clock().now();
        let mut look = ledger.plan_look(self, number, now, false);
        let mut watch = Watch::new(self, &ledger, number, now);
        loop {
            if let Some(answer) = ledger.answer(self, number, seat) {
                return answer;
            }
            let poll = limit.map(|limit| watch.next_look(limit));
            let wake = [look, poll, deadline].into_iter().flatten().min();
            ledger = ledger.sleep(seat, wake.map(|wake| self.clock().real(wake)));
            let Some(wake) = wake else { continue };
            let queued = ledger.queue.get(number).map(|waiting| &waiting.stage);
            let now = self.clock().now();
            if !matches!(queued, Some(Stage::Queued)) || now < wake {
                continue;
            }
            if look.is_some_and(|at| at <= now) {
                look = ledger.look(self, number, now);
            }
            let idle = match poll.filter(|at| *at <= now) {
                Some(_) => watch.look(self, &ledger, number, now),
                None => Duration::ZERO,
            };
            if !matches!(ledger.queue.get(number).map(|w| &w.stage), Some(Stage::Queued)) {
                continue;
            }
            if deadline.is_some_and(|at| at <= now) {
                ledger.give_up(self, number, now, |waited, holders| Error::TimedOut {
                    waited,
                    holders,
                });
            } else if limit.is_some_and(|limit| limit <= idle) {
                ledger.give_up(self, number, now, |_, holders| Error::WaitLimit {
                    waited: idle,
                    holders,
                });
            }
        }
    }

    /// Ends a wait from any thread.
    pub(super) fn cancel(&self, number: u64) {
        if self.is_orphaned() {
            return;
        }
        let mut ledger = self.lock();
        let Some(waiting) = ledger.queue.get(number) else { return };
        match (&waiting.stage, &waiting.who) {
            (Stage::Refused(_), _) | (Stage::Granted { .. }, Who::Thread(_)) => return,
            (Stage::Granted { slot }, Who::Future(_)) => {
                let slot = *slot;
                let (cpus, _) = ledger.empty_keeper(slot);
                self.pool().put(cpus);
            }
            (Stage::Queued | Stage::Absent, _) => {}
        }
        let now = self.clock().now();
        ledger.give_up(self, number, now, |waited, _| Error::Cancelled { waited });
    }
}
