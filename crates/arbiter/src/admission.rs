//! Admission: the transitions of seats that need the lock, and the way in for requests.
//!
//! It joins the parts (pool word, seats, ledger) and owns the lock; what runs under it is in
//! `ledger`, `dispatch` and `waiting`. Invariant: no user code runs under the lock, and the lock is
//! never held across a wait.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use crate::clock;
use crate::cpu_set::CpuSet;
use crate::error::{Error, Result};
use crate::fair::Policy;
use crate::home::{self, Growth, Home};
use crate::ledger::{Demand, Ledger};
use crate::permit::ResourcePermit;
use crate::pool::Pool;
use crate::request::Request;
use crate::seat::{Seat, Word};
use crate::snapshot::Snapshot;
use crate::sync::{Mutex, MutexGuard};
use crate::waiting::Waiting;

/// How long a request waits.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Patience {
    /// Up to the policy's wait limit.
    Limited,
    /// Up to the wait limit and this moment.
    Until(Instant),
    /// Not at all: now or not.
    None,
    /// Not at all: now, if need be without a CPU.
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
    pool: Pool,
    ledger: Mutex<Ledger>,
    slow_paths: AtomicU64,
    closed: AtomicBool,
}

impl Core {
    pub(super) fn new(cpus: CpuSet, capacity: u32, policy: Policy) -> Self {
        Self {
            cpus,
            capacity,
            policy,
            pool: Pool::new(capacity),
            ledger: Mutex::new(Ledger::default()),
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

    pub(super) fn lock(&self) -> &Mutex<Ledger> {
        &self.ledger
    }

    /// No new permits will be asked for: threads drop the seats that they keep.
    pub(super) fn close(&self) {
        self.closed.store(true, Relaxed);
    }

    pub(super) fn is_closed(&self) -> bool {
        self.closed.load(Relaxed)
    }

    pub(super) fn snapshot(&self) -> Snapshot {
        let slow_paths = self.slow_paths.load(Relaxed);
        let mut snapshot = self.ledger.lock().snapshot(self, clock::now());
        snapshot.statistics.slow_paths = slow_paths;
        snapshot
    }

    pub(super) fn lock_slowly(&self) -> MutexGuard<'_, Ledger> {
        self.slow_paths.fetch_add(1, Relaxed);
        self.ledger.lock()
    }

    /// Serves a request on the calling thread.
    #[inline]
    pub(super) fn admit(
        self: &Arc<Self>,
        request: &Request,
        patience: Patience,
    ) -> Result<ResourcePermit> {
        let Some(home) = home::take(self) else { return self.admit_newcomer(request, patience) };
        if request.is_floating() {
            let want = request.max().min(self.capacity as usize) as u32;
            home.sign(request.name(), want);
            if home.enter(want) {
                return Ok(ResourcePermit::new(home));
            }
        }
        self.admit_slowly(home, request, patience)
    }

    #[cold]
    fn admit_newcomer(
        self: &Arc<Self>,
        request: &Request,
        patience: Patience,
    ) -> Result<ResourcePermit> {
        self.admit_slowly(home::register(self), request, patience)
    }

    #[cold]
    fn admit_slowly(
        self: &Arc<Self>,
        home: Box<Home>,
        request: &Request,
        patience: Patience,
    ) -> Result<ResourcePermit> {
        match self.admit_home(&home, request, patience) {
            Ok(()) => Ok(ResourcePermit::new(home)),
            Err(error) => {
                home::put_back(home);
                Err(error)
            }
        }
    }

    fn admit_home(&self, home: &Home, request: &Request, patience: Patience) -> Result<()> {
        let demand = Demand::new(request, &self.cpus, self.capacity)?;
        home.sign(request.name(), demand.max);
        if request.is_floating() {
            while home.spare() >= demand.min {
                if home.enter(home.spare().min(demand.max)) {
                    home.grow(demand.max, Growth::Always);
                    return Ok(());
                }
            }
            // All or nothing: a share of what is free is the ledger's business.
            if home.enter_from_pool(demand.max, demand.max) {
                return Ok(());
            }
        }
        let bond = demand.bond();
        let max = demand.max;
        let limit = request.wait_limit_or(self.policy().wait_limit);
        let word = self.admit_locked(home.seat(), demand, patience, limit)?;
        home.settle(word, word.active().min(max), bond);
        Ok(())
    }

    fn admit_locked(
        &self,
        seat: &Seat,
        demand: Demand,
        patience: Patience,
        limit: Option<Duration>,
    ) -> Result<Word> {
        let mut ledger = self.lock_slowly();
        // What the seat still has joins the pool, so that the request is like any other.
        ledger.empty(self, seat);
        let number = ledger.next_number();
        ledger.queue.push_back(Waiting::new(number, seat, demand));
        match patience {
            Patience::None | Patience::Overcommit => ledger.admit_at_once(self, seat, patience)?,
            Patience::Limited | Patience::Until(_) => {
                ledger.dispatch(self, Some(seat.slot()));
                if ledger.position(seat.slot()).is_some() {
                    let deadline = if let Patience::Until(at) = patience { Some(at) } else { None };
                    drop(self.wait(ledger, seat, deadline, limit)?);
                }
            }
        }
        Ok(seat.load())
    }

    /// Ends an operation or a permit that somebody waits for, or that is bound.
    #[cold]
    pub(super) fn leave(&self, seat: &Seat, ending: Ending) -> Word {
        let mut ledger = self.lock_slowly();
        let pass = ledger.may_pass(self, seat);
        let keep = |word: Word| {
            let next = ending.after(word);
            let keeps = pass || (ending == Ending::Loan && word.is_fixed());
            if keeps { next } else { next.emptied() }
        };
        let before = seat.update(|word| Some(keep(word))).unwrap_or_else(|word| word);
        if ending == Ending::Release {
            ledger.entry_mut(seat.slot()).bound = None;
        }
        let after = keep(before);
        self.pool.put(before.tokens() - after.spare());
        if pass {
            ledger.statistics.passes += 1;
        } else {
            ledger.dispatch(self, None);
        }
        after
    }

    /// Starts the next operation of a lent permit that has no CPU at hand.
    #[cold]
    pub(super) fn resume(&self, seat: &Seat, want: u32) -> Word {
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
        let Some(mut ledger) = self.ledger.try_lock() else { return 0 };
        self.slow_paths.fetch_add(1, Relaxed);
        ledger.take_from_idle(self, seat, width, missing)
    }

    /// Gives a seat back, with all it has.
    pub(super) fn retire(&self, seat: &Seat) {
        let mut ledger = self.ledger.lock();
        ledger.empty(self, seat);
        ledger.unregister(seat.slot());
        ledger.dispatch(self, None);
    }

    /// The refusal of a request that was not to wait.
    pub(super) fn would_block(ledger: &mut Ledger, waiting: &Waiting) -> Error {
        let holders = ledger.holders_in_the_way(waiting, clock::now());
        Error::WouldBlock { min: waiting.demand.min as usize, holders }
    }
}
