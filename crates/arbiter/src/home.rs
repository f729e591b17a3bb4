//! A thread's own end of a seat, and where a thread keeps its seats between permits.
//!
//! Everything here runs on the seat's thread. The fast transitions are here; whatever needs the
//! lock is asked of the core. Invariant: a home is either in its thread's store, idle and without a
//! permit, or inside one permit; dropping it gives the seat and its CPUs back.

use std::cell::{Cell, OnceCell};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use crate::admission::{Core, Ending};
use crate::owner::{ExecutionOwner, OwnerNumbers};
use crate::request::Label;
use crate::seat::{Seat, Word};
use crate::sync::thread_local;
use crate::trace::SpanKind;

/// Seats of other arbiters, or of nested permits, that a thread keeps beside the last one.
const MOST_KEPT: usize = 3;

/// Of the operations that could do with more CPUs, every how many-th looks for those of idle threads.
const GROWTH_PERIOD: u32 = 16;

/// No count of operations: the thread is in no turn.
const NO_LOOK: u32 = u32::MAX;

/// When an operation that has fewer CPUs than it could use looks at other threads' seats.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Growth {
    /// Every sixteenth time: it may be a small operation.
    Sometimes,
    /// Now: it is known to gain.
    Always,
}

/// What ties a permit to more than a number of CPUs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Bond {
    /// Nothing: it floats.
    None,
    /// A provider.
    Claim,
    /// The permit that it is a share of.
    Share,
    /// A CPU set, and perhaps a provider.
    Set,
}

/// Name and fate of a thread, for diagnostics.
#[derive(Debug)]
pub(super) struct ThreadRecord {
    name: String,
    ended: AtomicBool,
}

impl ThreadRecord {
    fn current() -> Self {
        let thread = std::thread::current();
        let name = thread.name().map_or_else(|| format!("{:?}", thread.id()), str::to_owned);
        Self { name, ended: AtomicBool::new(false) }
    }

    /// What diagnostics show in place of a thread for a request that a future waits for.
    pub(super) const FUTURE: &'static str = "a future";

    /// The record of no thread: a seat that keeps the grant of a future.
    pub(super) fn future() -> Self {
        Self { name: Self::FUTURE.to_owned(), ended: AtomicBool::new(false) }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn has_ended(&self) -> bool {
        self.ended.load(Relaxed)
    }
}

/// A thread's own end of a seat.
pub(super) struct Home {
    core: Arc<Core>,
    seat: Arc<Seat>,
    /// The word as this thread last knew it, without WANTED: the guess of the next exchange.
    word: Cell<Word>,
    width: Cell<u32>,
    max: Cell<u32>,
    bond: Cell<Bond>,
    /// The last operation found no CPU even under the lock.
    starved: Cell<bool>,
    /// The operation count at which the thread's turn is looked at, or [`NO_LOOK`].
    look_at: Cell<u32>,
    /// The seat of the permit that this one is a share of, to which its CPUs go back.
    origin: Cell<Option<Arc<Seat>>>,
    numbers: OwnerNumbers,
    owner: Cell<ExecutionOwner>,
}

impl Home {
    pub(super) fn new(core: Arc<Core>, seat: Arc<Seat>) -> Self {
        let numbers = OwnerNumbers::new();
        Self {
            core,
            seat,
            word: Cell::new(Word::default()),
            width: Cell::new(1),
            max: Cell::new(1),
            bond: Cell::new(Bond::None),
            starved: Cell::new(false),
            look_at: Cell::new(NO_LOOK),
            origin: Cell::new(None),
            owner: Cell::new(numbers.draw()),
            numbers,
        }
    }

    pub(super) fn core(&self) -> &Arc<Core> {
        &self.core
    }

    pub(super) fn seat(&self) -> &Arc<Seat> {
        &self.seat
    }

    pub(super) fn bond(&self) -> Bond {
        self.bond.get()
    }

    /// Whether its CPUs stay between operations.
    pub(super) fn is_fixed(&self) -> bool {
        self.word.get().is_fixed()
    }

    #[inline]
    pub(super) fn width(&self) -> u32 {
        self.width.get()
    }

    #[inline]
    pub(super) fn max(&self) -> u32 {
        self.max.get()
    }

    #[inline]
    pub(super) fn owner(&self) -> ExecutionOwner {
        self.owner.get()
    }

    #[inline]
    pub(super) fn is_idle(&self) -> bool {
        self.word.get().active() == 0
    }

    pub(super) fn is_overcommitted(&self) -> bool {
        self.word.get().is_over()
    }

    pub(super) fn spare(&self) -> u32 {
        self.word.get().spare()
    }

    /// Starts a new permit's identity, so that whoever sees the seat taken sees by whom.
    #[inline]
    pub(super) fn sign(&self, label: Label, max: u32) {
        let owner = self.numbers.draw();
        self.owner.set(owner);
        self.max.set(max);
        self.seat.sign(owner, label);
    }

    /// Starts a permit under the identity of another one, idle, on the CPUs at hand.
    pub(super) fn hold(&self, owner: ExecutionOwner, label: Label, width: u32, bond: Bond) {
        self.owner.set(owner);
        self.seat.sign(owner, label);
        self.max.set(width);
        self.width.set(width);
        self.bond.set(bond);
        self.starved.set(false);
        let mut word = self.word.get();
        while let Err(found) = self.seat.shift(word, word.held()) {
            word = found;
        }
        self.word.set(word.held());
    }

    /// Says to which seat the CPUs of the permit go back.
    pub(super) fn set_origin(&self, origin: Arc<Seat>) {
        self.origin.set(Some(origin));
    }

    /// Takes note of what the core did to the seat.
    pub(super) fn settle(&self, word: Word, width: u32, bond: Bond) {
        self.word.set(word.without_wanted());
        self.width.set(width);
        self.bond.set(bond);
        self.starved.set(word.is_over());
    }

    /// Starts an operation on `width` of the CPUs at hand, if there are as many.
    #[inline]
    pub(super) fn enter(&self, width: u32) -> bool {
        let mut word = self.word.get();
        while word.spare() >= width {
            let next = word.entered(width);
            match self.seat.shift(word, next) {
                Ok(()) => {
                    self.word.set(next);
                    self.width.set(width);
                    return true;
                }
                Err(found) => word = found,
            }
        }
        self.word.set(word);
        false
    }

    /// Starts an operation without the lock, on what is at hand or on all of `max` from the pool.
    pub(super) fn enter_at_hand(&self, min: u32, max: u32) -> bool {
        while self.spare() >= min {
            if self.enter(self.spare().min(max)) {
                self.grow(max, Growth::Always);
                return true;
            }
        }
        // All or nothing: a share of what is free is the ledger's business.
        self.enter_from_pool(max, max)
    }

    /// Starts an operation on `min..=max` CPUs of the pool; there are none at hand.
    pub(super) fn enter_from_pool(&self, min: u32, max: u32) -> bool {
        let word = self.word.get();
        if self.core.pool().open() < min || word.spare() > 0 {
            return false;
        }
        // Busy first, then take: whoever closes the pool after this sees the seat busy.
        if let Err(found) = self.seat.shift(word, word.entering()) {
            self.word.set(found);
            return false;
        }
        let cpus = self.core.pool().take_open(min, max);
        let next = |word: Word| {
            if cpus > 0 { word.left().granted(cpus).or_wanted(word) } else { word.left() }
        };
        let before = self.seat.update_from(word.entering(), |word| Some(next(word)));
        let now = next(before.unwrap_or_else(|word| word)).without_wanted();
        self.word.set(now);
        if cpus > 0 {
            self.width.set(cpus);
            self.starved.set(false);
        }
        cpus > 0
    }

    /// Widens the operation just started towards `want`.
    pub(super) fn grow(&self, want: u32, growth: Growth) {
        let word = self.word.get();
        let missing = want.saturating_sub(word.active());
        if missing == 0 || self.bond.get() == Bond::Set {
            return;
        }
        let mut cpus = 0;
        if self.core.pool().open() > 0 {
            cpus = self.core.pool().take_open(1, missing);
        }
        if cpus == 0
            && (growth == Growth::Always || word.generation().is_multiple_of(GROWTH_PERIOD))
        {
            cpus = self.core.take_from_idle(&self.seat, word.active(), missing);
        }
        if cpus > 0 {
            self.seat.widen(cpus);
            self.word.set(word.wider(cpus));
            self.width.set(word.active() + cpus);
        }
    }

    /// Starts the next operation of a lent permit on up to `want` CPUs.
    #[inline]
    pub(super) fn resume(&self, want: u32, growth: Growth) {
        let word = self.word.get();
        let want = if word.is_fixed() { word.spare() } else { want };
        if !self.enter(want) {
            self.resume_with_less(want, growth);
        } else if word.is_fixed() {
            self.width.set(want.min(self.max.get()));
        }
    }

    #[cold]
    fn resume_with_less(&self, want: u32, growth: Growth) {
        while self.spare() > 0 {
            if self.enter(self.spare().min(want)) {
                self.grow(want, growth);
                return;
            }
        }
        if self.bond.get() != Bond::Set && self.enter_from_pool(1, want) {
            return;
        }
        let word = self.word.get();
        if self.starved.get()
            && !word.generation().is_multiple_of(GROWTH_PERIOD)
            && self.seat.shift(word, word.overcommitted()).is_ok()
        {
            self.seat.count_overcommit();
            self.word.set(word.overcommitted());
            self.width.set(1);
            return;
        }
        let word = self.core.resume(&self.seat, want);
        self.settle(word, word.active(), self.bond.get());
    }

    /// Notes the start of an operation, if that is recorded: its CPUs are here.
    #[inline]
    pub(super) fn note_start(&self) {
        if self.core.recorder().is_on() {
            self.record_start();
        }
    }

    /// Notes the end of the running operation, if there is one and it is recorded, while its CPUs are still here.
    #[inline]
    pub(super) fn note_end(&self) {
        if self.core.recorder().is_on() {
            self.record_end();
        }
    }

    #[cold]
    fn record_start(&self) {
        if self.is_idle() {
            return;
        }
        self.seat.set_started(self.core.recorder().mark(self.core.clock().now()));
    }

    #[cold]
    fn record_end(&self) {
        if self.is_idle() {
            return;
        }
        let (mark, end, word) = (self.seat.started(), self.core.clock().now(), self.word.get());
        self.seat.set_started(0);
        let kind =
            SpanKind::Operation { width: word.active() as usize, overcommitted: word.is_over() };
        let who = (self.owner.get(), self.seat.label());
        self.core.recorder().operated(mark, end, kind, who, thread_record());
    }

    /// Ends the operation of a permit that stays.
    #[inline]
    pub(super) fn lend(&self) {
        self.leave(Ending::Loan);
    }

    /// Ends the permit.
    #[inline]
    pub(super) fn release(&self) {
        if self.bond.get() == Bond::None {
            self.leave(Ending::Release);
        } else {
            self.word.set(match self.origin.take() {
                Some(origin) => self.core.hand_back(&self.seat, &origin),
                None => self.core.leave(&self.seat, Ending::Release).0,
            });
            self.bond.set(Bond::None);
        }
    }

    #[inline]
    fn leave(&self, ending: Ending) {
        let mut word = self.word.get();
        if word.generation() == self.look_at.get() {
            return self.leave_slowly(ending);
        }
        loop {
            let next = ending.after(word);
            match self.seat.shift(word, next) {
                Ok(()) => return self.word.set(next),
                Err(found) if found.is_wanted() => return self.leave_slowly(ending),
                Err(found) => word = found,
            }
        }
    }

    #[cold]
    fn leave_slowly(&self, ending: Ending) {
        let (word, operations) = self.core.leave(&self.seat, ending);
        self.word.set(word);
        let look = |operations| word.later(operations);
        self.look_at.set(operations.map_or(NO_LOOK, look));
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        self.core.retire(&self.seat);
    }
}

/// A thread's idle homes.
struct Store {
    last: Cell<Option<Box<Home>>>,
    /// Most recently used first.
    others: [Cell<Option<Box<Home>>>; MOST_KEPT],
    record: OnceCell<Arc<ThreadRecord>>,
}

impl Store {
    const fn new() -> Self {
        Self {
            last: Cell::new(None),
            others: [const { Cell::new(None) }; MOST_KEPT],
            record: OnceCell::new(),
        }
    }

    #[cold]
    fn take_other(&self, core: &Arc<Core>) -> Option<Box<Home>> {
        self.others.iter().find_map(|place| match place.take() {
            Some(home) if Arc::ptr_eq(&home.core, core) => Some(home),
            other => {
                place.set(other);
                None
            }
        })
    }

    /// Keeps `home`, and drops those whose arbiter is gone, or else the least recently used.
    #[cold]
    fn keep_other(&self, home: Box<Home>) {
        let mut carried = Some(home).filter(|home| !home.core.is_closed());
        for place in &self.others {
            if carried.is_none() {
                break;
            }
            carried = place.replace(carried).filter(|home| !home.core.is_closed());
        }
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        if let Some(record) = self.record.get() {
            record.ended.store(true, Relaxed);
        }
    }
}

#[cfg(not(loom))]
thread_local! {
    static STORE: Store = const { Store::new() };
}

#[cfg(loom)]
thread_local! {
    static STORE: Store = Store::new();
}

/// This thread's idle home at `core`, if it has one.
#[inline]
pub(super) fn take(core: &Arc<Core>) -> Option<Box<Home>> {
    STORE
        .try_with(|store| match store.last.take() {
            Some(home) if Arc::ptr_eq(&home.core, core) => Some(home),
            Some(home) => {
                store.last.set(Some(home));
                store.take_other(core)
            }
            None => store.take_other(core),
        })
        .ok()
        .flatten()
}

/// Keeps an idle home for the thread's next permit. A thread that is ending gives it back.
#[inline]
pub(super) fn put_back(home: Box<Home>) {
    let _ = STORE.try_with(|store| {
        if let Some(other) = store.last.replace(Some(home)) {
            store.keep_other(other);
        }
    });
}

/// This thread's record.
pub(super) fn thread_record() -> Arc<ThreadRecord> {
    STORE
        .try_with(|store| {
            Arc::clone(store.record.get_or_init(|| Arc::new(ThreadRecord::current())))
        })
        .unwrap_or_else(|_| Arc::new(ThreadRecord::current()))
}
