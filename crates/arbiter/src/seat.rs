//! A seat: the cache line on which one permit, or one thread between permits, keeps its CPUs.
//!
//! A seat never waits and never looks at another; the ledger and the seat's own thread move it.
//!
//! The state word, changed by read-modify-write only:
//!
//! ```text
//! bits  0..16  active   CPUs that a running operation uses
//! bits 16..32  spare    CPUs at hand that nobody uses; anybody under the lock may take them
//! bits 32..56  gen      operations started, modulo 2^24
//! bit  56      HELD     a permit exists
//! bit  57      WANTED   a waiter needs this seat's CPUs: the operation's end takes the lock
//! bit  58      OVER     `active` is 1 and not covered by a CPU (overcommitted)
//! bit  59      FIXED    `spare` stays: a pinned set, or an unbounded provider
//! bit  60      ENTERING the thread is taking CPUs from the pool word
//! ```
//!
//! Invariant: only the seat's thread starts operations; others only set WANTED while it is busy, lower `spare`, or give
//! it back to the idle seat that it came from; a seat is granted to a waiter only while its thread waits.

use std::sync::atomic::{AtomicPtr, AtomicU64 as Cell64, Ordering::Relaxed};

use crate::owner::ExecutionOwner;
use crate::request::Label;
use crate::sync::{AtomicU64, Bell, Ordering};

/// The most CPUs that a seat, and so an arbiter, can count.
pub(super) const MAX_CPUS: usize = u16::MAX as usize;

const SPARE_SHIFT: u32 = 16;
const GEN_SHIFT: u32 = 32;
const CPUS: u64 = 0xffff;
const GEN: u64 = 0xff_ffff << GEN_SHIFT;
const HELD: u64 = 1 << 56;
const WANTED: u64 = 1 << 57;
const OVER: u64 = 1 << 58;
const FIXED: u64 = 1 << 59;
const ENTERING: u64 = 1 << 60;

/// One value of a seat's state word.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Word(u64);

impl Word {
    #[inline]
    pub(super) const fn active(self) -> u32 {
        (self.0 & CPUS) as u32
    }

    #[inline]
    pub(super) const fn spare(self) -> u32 {
        ((self.0 >> SPARE_SHIFT) & CPUS) as u32
    }

    /// Operations started, modulo 2^24.
    #[inline]
    pub(super) const fn generation(self) -> u32 {
        ((self.0 & GEN) >> GEN_SHIFT) as u32
    }

    /// The generation after so many more operations.
    pub(super) const fn later(self, operations: u32) -> u32 {
        self.generation().wrapping_add(operations) & (GEN >> GEN_SHIFT) as u32
    }

    #[inline]
    pub(super) const fn is_held(self) -> bool {
        self.0 & HELD != 0
    }

    #[inline]
    pub(super) const fn is_wanted(self) -> bool {
        self.0 & WANTED != 0
    }

    #[inline]
    pub(super) const fn is_over(self) -> bool {
        self.0 & OVER != 0
    }

    #[inline]
    pub(super) const fn is_fixed(self) -> bool {
        self.0 & FIXED != 0
    }

    /// An operation runs, or its CPUs are on their way from the pool.
    #[inline]
    pub(super) const fn is_busy(self) -> bool {
        self.0 & (CPUS | ENTERING) != 0
    }

    /// CPUs of the running operation that are taken from the arbiter's count.
    #[inline]
    pub(super) const fn backed(self) -> u32 {
        if self.is_over() { 0 } else { self.active() }
    }

    /// CPUs that would come free with the permit.
    #[inline]
    pub(super) const fn tokens(self) -> u32 {
        self.backed() + self.spare()
    }

    /// CPUs that somebody else may take right now.
    #[inline]
    pub(super) const fn reclaimable(self) -> u32 {
        if self.is_fixed() { 0 } else { self.spare() }
    }

    /// An operation of `width` CPUs starts; the other CPUs at hand stay spare.
    #[inline]
    pub(super) const fn entered(self, width: u32) -> Self {
        let rest = self.spare() - width;
        let gen_next = self.0.wrapping_add(1 << GEN_SHIFT) & GEN;
        Self((self.0 & FIXED) | gen_next | HELD | (rest as u64) << SPARE_SHIFT | width as u64)
    }

    /// An operation starts on `width` CPUs that came from elsewhere, beside those at hand.
    #[inline]
    pub(super) const fn granted(self, width: u32) -> Self {
        Self(self.0 + ((width as u64) << SPARE_SHIFT)).entered(width)
    }

    /// An operation starts on a CPU that is not there.
    #[inline]
    pub(super) const fn overcommitted(self) -> Self {
        Self(self.granted(1).0 | OVER)
    }

    /// The operation ends; its CPUs stay at hand.
    #[inline]
    pub(super) const fn left(self) -> Self {
        let spare = self.tokens() as u64;
        Self((self.0 & (GEN | HELD | FIXED)) | spare << SPARE_SHIFT)
    }

    /// The permit ends; its CPUs stay at hand, for anybody to take.
    #[inline]
    pub(super) const fn released(self) -> Self {
        Self(self.left().0 & !(HELD | FIXED))
    }

    /// The same, with no CPU at hand.
    #[inline]
    pub(super) const fn emptied(self) -> Self {
        Self(self.0 & !(CPUS << SPARE_SHIFT))
    }

    /// A permit exists.
    #[inline]
    pub(super) const fn held(self) -> Self {
        Self(self.0 | HELD)
    }

    #[inline]
    pub(super) const fn with_wanted(self) -> Self {
        Self(self.0 | WANTED)
    }

    #[inline]
    pub(super) const fn without_wanted(self) -> Self {
        Self(self.0 & !WANTED)
    }

    /// Also wanted if `other` is.
    #[inline]
    pub(super) const fn or_wanted(self, other: Self) -> Self {
        Self(self.0 | (other.0 & WANTED))
    }

    /// The running operation has `cpus` more.
    #[inline]
    pub(super) const fn wider(self, cpus: u32) -> Self {
        Self(self.0 + cpus as u64)
    }

    #[inline]
    pub(super) const fn with_fixed(self) -> Self {
        Self(self.0 | FIXED)
    }

    #[inline]
    pub(super) const fn entering(self) -> Self {
        Self(self.0 | ENTERING)
    }

    #[inline]
    pub(super) const fn with_more_spare(self, cpus: u32) -> Self {
        Self(self.0 + ((cpus as u64) << SPARE_SHIFT))
    }

    #[inline]
    pub(super) const fn with_less_spare(self, cpus: u32) -> Self {
        Self(self.0 - ((cpus as u64) << SPARE_SHIFT))
    }
}

/// The cache line of one permit or idle thread.
#[derive(Debug)]
#[repr(align(128))]
pub(super) struct Seat {
    word: AtomicU64,
    /// Diagnostics only: the permit's identity and name, the overcommitted operations so far.
    owner: Cell64,
    label: AtomicPtr<&'static str>,
    overcommits: Cell64,
    /// While recorded: when the running operation started, as the recorder counts; 0 if that is not known.
    started: Cell64,
    slot: usize,
    pub(super) bell: Bell,
}

impl Seat {
    pub(super) fn new(slot: usize) -> Self {
        Self {
            word: AtomicU64::new(0),
            owner: Cell64::new(0),
            label: AtomicPtr::new(Label::default().as_ptr()),
            overcommits: Cell64::new(0),
            started: Cell64::new(0),
            slot,
            bell: Bell::default(),
        }
    }

    /// Its place in the ledger.
    pub(super) fn slot(&self) -> usize {
        self.slot
    }

    /// A recent value: for estimates and diagnostics.
    pub(super) fn load(&self) -> Word {
        Word(self.word.load(Ordering::Acquire))
    }

    /// The newest value: a read-modify-write is never served an older one. For decisions.
    pub(super) fn latest(&self) -> Word {
        Word(self.word.fetch_or(0, Ordering::AcqRel))
    }

    /// Moves the seat from `expected` to `next`, or tells where it is.
    #[inline]
    pub(super) fn shift(&self, expected: Word, next: Word) -> Result<(), Word> {
        self.word
            .compare_exchange(expected.0, next.0, Ordering::AcqRel, Ordering::Acquire)
            .map(|_| ())
            .map_err(Word)
    }

    /// Moves the seat by `next` from wherever it is; `None` leaves it. Answers the value left.
    pub(super) fn update(&self, next: impl Fn(Word) -> Option<Word>) -> Result<Word, Word> {
        self.update_from(self.latest(), next)
    }

    /// The same, by a thread that believes the seat to be at `guess`.
    pub(super) fn update_from(
        &self,
        guess: Word,
        next: impl Fn(Word) -> Option<Word>,
    ) -> Result<Word, Word> {
        let mut word = guess;
        while let Some(new) = next(word) {
            match self.shift(word, new) {
                Ok(()) => return Ok(word),
                Err(found) => word = found,
            }
        }
        Err(word)
    }

    /// Moves the seat by `next` from wherever it is; answers where it is then.
    pub(super) fn set(&self, next: impl Fn(Word) -> Word) -> Word {
        let before = self.update(|word| Some(next(word)));
        next(before.unwrap_or_else(|word| word))
    }

    /// Adds CPUs from the pool to the running operation; a WANTED mark stays.
    pub(super) fn widen(&self, cpus: u32) {
        self.word.fetch_add(u64::from(cpus), Ordering::AcqRel);
    }

    /// Says who is here, before the permit is taken.
    #[inline]
    pub(super) fn sign(&self, owner: ExecutionOwner, label: Label) {
        self.owner.store(owner.get(), Relaxed);
        self.label.store(label.as_ptr(), Relaxed);
    }

    pub(super) fn owner(&self) -> ExecutionOwner {
        ExecutionOwner::from_raw(self.owner.load(Relaxed))
    }

    pub(super) fn label(&self) -> Label {
        let name = self.label.load(Relaxed);
        // SAFETY: only `Label::as_ptr` values are stored, which are `&'static &'static str`.
        Label::new(unsafe { &*name })
    }

    pub(super) fn started(&self) -> u64 {
        self.started.load(Relaxed)
    }

    pub(super) fn set_started(&self, mark: u64) {
        self.started.store(mark, Relaxed);
    }

    pub(super) fn count_overcommit(&self) {
        self.overcommits.fetch_add(1, Relaxed);
    }

    pub(super) fn overcommits(&self) -> u64 {
        self.overcommits.load(Relaxed)
    }
}
