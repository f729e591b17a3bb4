//! A future that waits for CPUs: its turns, and what becomes of its grant if it does not come.
//!
//! It parks no thread. Its grant waits on a seat of the ledger's until a poll, and becomes a permit in
//! that poll, on the polling thread. Invariant: a request whose future is gone is unknown to the ledger.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use crate::admission::Core;
use crate::alarm;
use crate::error::{Error, Result};
use crate::home::{self, Home};
use crate::ledger::{Demand, Ledger};
use crate::patience::Patience;
use crate::permit::ResourcePermit;
use crate::request::Request;
use crate::waiting::{Stage, Waiting, Who};

/// The future of one permit.
///
/// It does nothing until polled, and parks no thread: its waker is in the arbiter's queue. Dropped, it
/// leaves no trace, and passes on a grant that was made already. The permit belongs to the thread
/// that polls last.
///
/// A grant is kept for a future that was called for as long as the bypass budget, at least 1 ms. If it
/// is not polled until then, others run; it keeps its place in the order of arrival for its next poll.
pub type PermitFuture<'a> = Pin<Box<dyn Future<Output = Result<ResourcePermit>> + Send + 'a>>;

/// How far the future has come.
enum Turn {
    New,
    Waiting(u64),
    Done,
}

/// A request that waits for its polls.
pub(super) struct Acquire {
    core: Arc<Core>,
    request: Request,
    patience: Patience,
    turn: Turn,
}

impl Acquire {
    pub(super) fn new(core: Arc<Core>, request: Request, patience: Patience) -> Self {
        Self { core, request, patience, turn: Turn::New }
    }

    fn limit(&self) -> Option<Duration> {
        self.request.wait_limit_or(self.core.policy().wait_limit)
    }

    /// The first turn: now, or into the queue.
    fn begin(&mut self, waker: &Waker) -> Poll<Result<ResourcePermit>> {
        if self.patience.is_cancelled() {
            return Poll::Ready(Err(Error::Cancelled { waited: Duration::ZERO }));
        }
        let core = &self.core;
        let home = home::take(core).unwrap_or_else(|| core.newcomer());
        let demand = match Demand::new(&self.request, core.cpus(), core.capacity()) {
            Ok(demand) => demand,
            Err(error) => {
                home::put_back(home);
                return Poll::Ready(Err(error));
            }
        };
        home.sign(self.request.name(), demand.max);
        if self.request.is_floating() && home.enter_at_hand(demand.min, demand.max) {
            return Poll::Ready(Ok(ResourcePermit::new(home)));
        }
        let (waker, label) = (waker.clone(), self.request.name());
        let mut ledger = core.lock_slowly();
        // As for a thread: what the seat still has joins the pool.
        ledger.empty(core, home.seat());
        let new = |class| Waiting::new(Who::Future(Some(waker)), class, demand.max, label);
        let number = ledger.queue.push(&demand, new);
        self.turn = Turn::Waiting(number);
        ledger.join(core, number);
        ledger.dispatch(core, Some(number));
        if let Some(slot) = ledger.kept_on(number) {
            let gone = ledger.come_for(core, number, slot, &home);
            drop((ledger, gone));
            self.turn = Turn::Done;
            return Poll::Ready(Ok(ResourcePermit::new(home)));
        }
        let now = core.clock().now();
        ledger.arm(core, number, now);
        ledger.set_times(core, number, now, self.patience.deadline(), self.limit());
        let allowed = self.patience.token().is_none_or(|token| token.watch(core, number));
        let start = ledger.alarm.must_start();
        drop(ledger);
        home::put_back(home);
        if start {
            alarm::start(core);
        }
        if !allowed {
            core.cancel(number);
        }
        Poll::Pending
    }

    /// A later turn.
    fn go_on(&mut self, number: u64, waker: &Waker) -> Poll<Result<ResourcePermit>> {
        let core = &self.core;
        let (mut waker, home) = (Some(waker.clone()), home::take(core));
        let mut ledger = core.lock_slowly();
        ledger.come_back(core, number);
        let outcome = if let Some(slot) = ledger.kept_on(number) {
            let home = home.unwrap_or_else(|| ledger.newcomer(core));
            let gone = ledger.come_for(core, number, slot, &home);
            drop((ledger, gone));
            Ok(ResourcePermit::new(home))
        } else {
            let waiting = ledger.queue.get_mut(number);
            let waiting = waiting.expect("invariant: nobody else forgets a request");
            if let Stage::Queued = waiting.stage {
                if let Who::Future(place) = &mut waiting.who {
                    std::mem::swap(place, &mut waker);
                }
                drop(ledger);
                home.into_iter().for_each(home::put_back);
                return Poll::Pending;
            }
            let gone = ledger.queue.forget(number);
            ledger.alarm.forget(number);
            drop(ledger);
            home.into_iter().for_each(home::put_back);
            match gone.map(|waiting| waiting.stage) {
                Some(Stage::Refused(error)) => Err(error),
                _ => unreachable!("a request is queued, granted, absent or refused"),
            }
        };
        self.turn = Turn::Done;
        if let Some(token) = self.patience.token() {
            token.forget(core, number);
        }
        Poll::Ready(outcome)
    }
}

impl Future for Acquire {
    type Output = Result<ResourcePermit>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        if self.core.is_orphaned() {
            self.turn = Turn::Done;
            return Poll::Ready(Err(Error::Forked));
        }
        match self.turn {
            Turn::New => {
                let outcome = self.begin(context.waker());
                if outcome.is_ready() {
                    self.turn = Turn::Done;
                }
                outcome
            }
            Turn::Waiting(number) => self.go_on(number, context.waker()),
            Turn::Done => panic!("a future was polled after it had returned"),
        }
    }
}

impl Drop for Acquire {
    fn drop(&mut self) {
        let Turn::Waiting(number) = self.turn else { return };
        let core = &self.core;
        if core.is_orphaned() {
            return;
        }
        let mut ledger = core.lock_slowly();
        if let Some(slot) = ledger.kept_on(number) {
            let (cpus, _) = ledger.empty_keeper(slot);
            core.pool().put(cpus);
        }
        // Its waker is dropped after the lock.
        let gone = ledger.queue.forget(number);
        ledger.alarm.forget(number);
        ledger.dispatch(core, None);
        drop((ledger, gone));
        if let Some(token) = self.patience.token() {
            token.forget(core, number);
        }
    }
}

impl Ledger {
    /// The seat that keeps a future's grant.
    fn kept_on(&self, number: u64) -> Option<usize> {
        match self.queue.get(number)?.stage {
            Stage::Granted { slot } => Some(slot),
            _ => None,
        }
    }

    /// A home for a thread that has none.
    pub(super) fn newcomer(&mut self, core: &Arc<Core>) -> Box<Home> {
        let seat = self.register(home::thread_record());
        Box::new(Home::new(Arc::clone(core), seat))
    }

    /// Puts a future that missed its grant back in the order. It is here now: grants that younger
    /// ones have not come for go to it.
    fn come_back(&mut self, core: &Core, number: u64) {
        let stage = self.queue.get(number).map(|waiting| &waiting.stage);
        if !matches!(stage, Some(Stage::Absent)) {
            return;
        }
        self.queue.resume(number);
        self.take_back(core, |other, _| number < other);
        self.dispatch(core, Some(number));
    }

    /// Moves the grant to the seat of the polling thread. The request is to be dropped after the lock.
    fn come_for(&mut self, core: &Core, number: u64, slot: usize, home: &Home) -> Option<Waiting> {
        let seat = home.seat();
        self.empty(core, seat);
        let (cpus, bound) = self.empty_keeper(slot);
        let gone = self.queue.forget(number);
        self.alarm.forget(number);
        if let Some(waiting) = &gone {
            home.sign(waiting.label, waiting.max);
        }
        let fixed = bound.as_ref().is_some_and(Demand::is_fixed);
        let taken = seat.update(|word| {
            let next = word.granted(cpus);
            Some(if fixed { next.with_fixed() } else { next })
        });
        debug_assert!(taken.is_ok(), "a granted word always exists");
        let bond = bound.as_ref().map_or(home::Bond::None, Demand::bond);
        let max = home.max();
        let entry = self.entry_mut(seat.slot());
        (entry.bound, entry.granted) = (bound, number);
        self.begin_turn(core, seat);
        let word = seat.load();
        home.settle(word, word.active().min(max), bond);
        // What the seat had of its own may be what others wait for.
        self.dispatch(core, None);
        gone
    }
}
