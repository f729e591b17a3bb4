//! Admission: the transitions of seats that need the lock, and the way in for requests.
//!
//! It joins the parts (pool word, seats, ledger) and owns the lock; what runs under it is in
//! `ledger`, `dispatch` and `waiting`. Invariant: no user code runs under the lock, and the lock is
//! never held across a wait.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use crate::clock::Clock;
use crate::cpu_set::CpuSet;
use crate::era::ProcessEra;
use crate::error::Result;
use crate::fair::Policy;
use crate::home::{self, Home};
use crate::ledger::{Demand, Ledger};
use crate::locked::Locked;
use crate::patience::Patience;
use crate::permit::ResourcePermit;
use crate::pool::Pool;
use crate::record::Recorder;
use crate::request::Request;
use crate::seat::{Seat, Word};
use crate::snapshot::Snapshot;
use crate::spans;
use crate::sync::{Bell, Mutex};
use crate::waiting::{Stage, Waiting, Who};

/// In which form a thread asks.
#[derive(Clone, Copy)]
pub(super) enum Form<'p> {
    /// It waits, up to the wait limit and so long.
    Wait(&'p Patience),
    /// It does not wait: now or not.
    Try,
    /// It does not wait: now, if need be without a CPU.
    Overcommit,
}

/// What ends when a thread leaves its operation.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    /// The operation; the permit stays.
    Loan,
    /// The permit.
    Release,
}

impl Ending {
    #[inline]
    pub(super) fn after(self, word: Word) -> Word {
        match self {
            Self::Loan => word.left(),
            Self::Release => word.released(),
        }
    }
}

/// One arbiter's state.
pub(super) struct Core {
    cpus: CpuSet,
    capacity: u32,
    policy: Policy,
    clock: Arc<dyn Clock>,
    /// The process whose threads sit on its seats.
    era: ProcessEra,
    pool: Pool,
    ledger: Mutex<Ledger>,
    recorder: Recorder,
    /// Where the alarm's thread sleeps.
    alarm: Bell,
    slow_paths: AtomicU64,
    closed: AtomicBool,
}

impl Core {
    pub(super) fn new(cpus: CpuSet, capacity: u32, policy: Policy, clock: Arc<dyn Clock>) -> Self {
        Self {
            cpus,
            capacity,
            policy,
            clock,
            era: ProcessEra::now(),
            pool: Pool::new(capacity),
            ledger: Mutex::new(Ledger::new()),
            recorder: Recorder::default(),
            alarm: Bell::default(),
            slow_paths: AtomicU64::new(0),
            closed: AtomicBool::new(false),
        }
    }

    pub(super) fn cpus(&self) -> &CpuSet {
        &self.cpus
    }

    pub(super) fn capacity(&self) -> u32 {
        self.capacity
    }

    pub(super) fn policy(&self) -> &Policy {
        &self.policy
    }

    pub(super) fn pool(&self) -> &Pool {
        &self.pool
    }

    pub(super) fn clock(&self) -> &Arc<dyn Clock> {
        &self.clock
    }

    /// Whether a fork has left its other threads behind: its lock may be held by one of them, and is not taken.
    #[inline]
    pub(super) fn is_orphaned(&self) -> bool {
        self.era.is_over()
    }

    #[inline]
    pub(super) fn recorder(&self) -> &Recorder {
        &self.recorder
    }

    pub(super) fn mutex(&self) -> &Mutex<Ledger> {
        &self.ledger
    }

    pub(super) fn alarm_bell(&self) -> &Bell {
        &self.alarm
    }

    pub(super) fn lock(&self) -> Locked<'_> {
        Locked::new(self, self.ledger.lock())
    }

    /// No new permits will be asked for: threads drop the seats that they keep.
    pub(super) fn close(&self) {
        self.closed.store(true, Relaxed);
    }

    pub(super) fn is_closed(&self) -> bool {
        self.closed.load(Relaxed) || self.is_orphaned()
    }

    pub(super) fn snapshot(&self) -> Snapshot {
        let slow_paths = self.slow_paths.load(Relaxed);
        let mut snapshot = self.lock().snapshot(self, self.clock.now());
        snapshot.statistics.slow_paths = slow_paths;
        snapshot
    }

    pub(super) fn lock_slowly(&self) -> Locked<'_> {
        self.slow_paths.fetch_add(1, Relaxed);
        self.lock()
    }

    /// Serves a request on the calling thread.
    #[inline]
    pub(super) fn admit(
        self: &Arc<Self>,
        request: &Request,
        form: Form<'_>,
    ) -> Result<ResourcePermit> {
        let Some(home) = home::take(self) else {
            return self.admit_slowly(self.newcomer(), request, form);
        };
        if request.is_floating() {
            let want = request.max().min(self.capacity as usize) as u32;
            home.sign(request.name(), want);
            if home.enter(want) {
                return Ok(ResourcePermit::new(home));
            }
        }
        self.admit_slowly(home, request, form)
    }

    /// A home for a thread that has none.
    #[cold]
    pub(super) fn newcomer(self: &Arc<Self>) -> Box<Home> {
        self.lock().newcomer(self)
    }

    #[cold]
    fn admit_slowly(
        self: &Arc<Self>,
        home: Box<Home>,
        request: &Request,
        form: Form<'_>,
    ) -> Result<ResourcePermit> {
        match self.admit_home(&home, request, form) {
            Ok(()) => Ok(ResourcePermit::new(home)),
            Err(error) => {
                home::put_back(home);
                Err(error)
            }
        }
    }

    fn admit_home(self: &Arc<Self>, home: &Home, request: &Request, form: Form<'_>) -> Result<()> {
        let demand = Demand::new(request, &self.cpus, self.capacity)?;
        home.sign(request.name(), demand.max);
        if request.is_floating() && home.enter_at_hand(demand.min, demand.max) {
            return Ok(());
        }
        let limit = request.wait_limit_or(self.policy().wait_limit);
        let _told = spans::admission(request);
        let word = self.admit_locked(home.seat(), &demand, form, limit)?;
        home.settle(word, word.active().min(demand.max), demand.bond());
        Ok(())
    }

    fn admit_locked(
        self: &Arc<Self>,
        seat: &Seat,
        demand: &Demand,
        form: Form<'_>,
        limit: Option<Duration>,
    ) -> Result<Word> {
        let mut ledger = self.lock_slowly();
        // What the seat still has joins the pool, so that the request is like any other.
        ledger.empty(self, seat);
        // Before the queue is longer by this request: alone it passes nobody.
        let came_at = match form {
            Form::Wait(_) => ledger.come_to(self, seat),
            Form::Try | Form::Overcommit => None,
        };
        let (who, label) = (Who::Thread(seat.slot()), seat.label());
        let number = ledger.queue.push(demand, |class| Waiting::new(who, class, demand.max, label));
        match form {
            Form::Try | Form::Overcommit => ledger.admit_at_once(self, seat, number, form)?,
            Form::Wait(patience) => {
                ledger.join(self, number);
                ledger.dispatch(self, Some(number));
                ledger.go_from(came_at, false);
                let granted = ledger.queue.get(number).map(|waiting| &waiting.stage);
                if let Some(Stage::Queued) = granted {
                    ledger.unlist(seat.slot());
                    self.wait(ledger, number, seat, patience, limit)?;
                } else {
                    ledger.queue.forget(number);
                    if came_at.is_some() {
                        ledger.begin_turn(self, seat);
                    }
                }
            }
        }
        Ok(seat.load())
    }

    /// Ends an operation or a permit that somebody waits for, or that is bound. Answers after how many more
    /// operations the thread looks here again, if its turn goes on.
    #[cold]
    pub(super) fn leave(&self, seat: &Seat, ending: Ending) -> (Word, Option<u32>) {
        if self.is_orphaned() {
            return (seat.set(|word| ending.after(word)), None);
        }
        let mut ledger = self.lock_slowly();
        let came_at = ledger.come_to(self, seat);
        let turn = ledger.turn(self, seat, ending);
        let found = came_at.is_some_and(|now| ledger.look_around(self, now));
        let comes_back = turn.is_none() && ending == Ending::Release && ledger.comes_back(seat);
        if came_at.is_some() && turn.is_none() {
            let entry = ledger.entry_mut(seat.slot());
            (entry.stopped, entry.expected) = (true, comes_back);
        }
        let keeps = turn.map_or(0, |turn| turn.keeps);
        let keep = |word: Word| {
            let next = ending.after(word);
            let stays = ending == Ending::Loan && word.is_fixed();
            if stays { next } else { next.with_less_spare(next.spare().saturating_sub(keeps)) }
        };
        let before = seat.update(|word| Some(keep(word))).unwrap_or_else(|word| word);
        if ending == Ending::Release {
            ledger.entry_mut(seat.slot()).bound = None;
        }
        let after = keep(before);
        let freed = before.tokens() - after.spare();
        self.pool.put(freed);
        ledger.statistics.passes += u64::from(turn.is_some());
        if found || (!comes_back && (turn.is_none() || freed > 0)) {
            ledger.in_turn = turn.map(|_| seat.slot());
            ledger.dispatch(self, None);
            ledger.in_turn = None;
        }
        ledger.go_from(came_at, comes_back);
        (after, turn.map(|turn| turn.operations))
    }

    /// Starts the next operation of a lent permit that has no CPU at hand.
    #[cold]
    pub(super) fn resume(&self, seat: &Seat, want: u32) -> Word {
        if self.is_orphaned() {
            return seat.set(Word::overcommitted);
        }
        let mut ledger = self.lock_slowly();
        ledger.empty(self, seat);
        let cpus = ledger.take_for_resume(self, seat, want);
        let start = |word: Word| if cpus > 0 { word.granted(cpus) } else { word.overcommitted() };
        let before = seat.update(|word| Some(start(word))).unwrap_or_else(|word| word);
        if cpus == 0 {
            seat.count_overcommit();
        }
        ledger.dispatch(self, None);
        start(before)
    }

    /// Takes CPUs that idle threads have not used since somebody last looked, for a wider operation.
    #[cold]
    pub(super) fn take_from_idle(&self, seat: &Seat, width: u32, missing: u32) -> u32 {
        if self.is_orphaned() {
            return 0;
        }
        let Some(guard) = self.ledger.try_lock() else { return 0 };
        let mut ledger = Locked::new(self, guard);
        self.slow_paths.fetch_add(1, Relaxed);
        ledger.take_from_idle(self, seat, width, missing)
    }

    /// Gives a seat back, with all it has.
    pub(super) fn retire(&self, seat: &Seat) {
        if self.is_orphaned() {
            return;
        }
        let mut ledger = self.lock();
        let came_at = ledger.come_to(self, seat);
        ledger.empty(self, seat);
        ledger.unregister(seat.slot());
        ledger.dispatch(self, None);
        ledger.go_from(came_at, false);
    }
}
