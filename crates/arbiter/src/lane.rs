//! Lanes: the width of one permit, divided among several threads for a while.
//!
//! A share carries no CPU, only the right to some of the permit's width. The thread that takes it up has a seat of its
//! own, under the permit's owner; CPUs move there from the permit's idle seat, if they are still at hand, and back when
//! the lane ends. In between it is like any lent permit: lanes lend and shrink as scopes do, and the protocol has no
//! other word for them. The two moves are made under the lock, from a seat to a seat.
//!
//! Invariant: the widths of the shares of one permit sum to the width that it was last granted.

use std::sync::Arc;

use crate::admission::Core;
use crate::home::{self, Bond};
use crate::ledger::{Demand, take_spare};
use crate::owner::ExecutionOwner;
use crate::permit::ResourcePermit;
use crate::request::Label;
use crate::seat::{Seat, Word};

/// A part of a permit's width, for a thread to take up.
///
/// ```
/// use tenferro_arbiter::{Arbiter, CpuSet, FairArbiter, Request};
///
/// let arbiter = FairArbiter::new(CpuSet::first(4))?;
/// let permit = arbiter.acquire(&Request::up_to(4))?;
/// let shares = permit.split(2).expect("it floats");
/// std::thread::scope(|threads| {
///     for share in shares {
///         threads.spawn(|| {
///             let lane = share.take();
///             assert_eq!(lane.resume(), 2);
///         });
///     }
/// });
/// assert_eq!(permit.resume(), 4);
/// # Ok::<(), tenferro_arbiter::Error>(())
/// ```
#[must_use = "a share is worth something on the thread that takes it"]
pub struct PermitShare {
    core: Arc<Core>,
    origin: Arc<Seat>,
    owner: ExecutionOwner,
    width: u32,
    /// What binds the lane to CPUs by name; `None` if the permit floats.
    demand: Option<Demand>,
}

impl ResourcePermit {
    /// Lends the permit's CPUs and divides the width that it was last granted into `shares` parts, as equal as they can be.
    ///
    /// `None` if the CPUs stay with the permit between operations or it claims a provider: its lanes then compute on
    /// the permit's own running operation. Meant for a permit that resumes only after the lanes have ended; if it
    /// resumes earlier it is one more user of CPUs, and counted as such.
    ///
    /// # Panics
    /// If there are no shares, or more than the permit is wide.
    #[must_use]
    pub fn split(&self, shares: usize) -> Option<Vec<PermitShare>> {
        let home = self.home();
        let width = home.width();
        let count = u32::try_from(shares).unwrap_or(u32::MAX);
        assert!((1..=width).contains(&count), "{shares} shares of a permit {width} wide");
        if home.is_fixed() || home.bond() == Bond::Claim {
            return None;
        }
        let core = home.core();
        let demand = match home.bond() {
            Bond::Set => core.lock().entry(home.seat().slot()).bound.clone(),
            _ => None,
        };
        if demand.as_ref().is_some_and(|demand| demand.claim.is_some()) {
            return None;
        }
        self.lend();
        let share = |place: u32| {
            // The first ones have one more where it does not come out even.
            let width = width / count + u32::from(place < width % count);
            let demand = demand.clone().map(|demand| Demand { min: 1, max: width, ..demand });
            let (core, origin) = (Arc::clone(core), Arc::clone(home.seat()));
            PermitShare { core, origin, owner: home.owner(), width, demand }
        };
        Some((0..count).map(share).collect())
    }
}

impl PermitShare {
    /// The most CPUs that the lane may use.
    #[must_use]
    pub fn width(&self) -> usize {
        self.width as usize
    }

    /// A permit of the calling thread for this share, lent until its first operation resumes it.
    ///
    /// It waits for nobody. Diagnostics show it under the label "lane" and the owner of the permit that was split.
    pub fn take(self) -> ResourcePermit {
        const LANE: Label = Label::new(&"lane");
        let home = home::take(&self.core).unwrap_or_else(|| self.core.newcomer());
        let bond = if self.demand.is_some() { Bond::Set } else { Bond::Share };
        let mut ledger = self.core.lock_slowly();
        if let Some(demand) = &self.demand {
            // What the seat has at hand may be other CPUs than those of the set.
            ledger.empty(&self.core, home.seat());
            ledger.entry_mut(home.seat().slot()).bound = Some(demand.clone());
        }
        let missing = self.width.saturating_sub(home.seat().load().spare());
        let cpus = take_spare(&self.origin, missing);
        let _ = home.seat().update(|word| Some(word.with_more_spare(cpus)));
        ledger.dispatch(&self.core, None);
        drop(ledger);
        home.set_origin(self.origin);
        home.hold(self.owner, LANE, self.width, bond);
        ResourcePermit::new(home)
    }
}

impl Core {
    /// Ends the permit of a lane: what it has goes back to the permit that it is a share of, if nobody waits.
    #[cold]
    pub(super) fn hand_back(&self, seat: &Seat, origin: &Seat) -> Word {
        if self.is_orphaned() {
            return seat.set(Word::released);
        }
        let mut ledger = self.lock_slowly();
        let ended = |word: Word| word.released().emptied();
        let before = seat.update(|word| Some(ended(word))).unwrap_or_else(|word| word);
        ledger.entry_mut(seat.slot()).bound = None;
        let cpus = before.tokens();
        let nobody_waits = ledger.queue.is_empty();
        let given = origin.update(|word| {
            let takes = nobody_waits && word.is_held() && !word.is_busy();
            takes.then(|| word.with_more_spare(cpus))
        });
        if given.is_err() {
            self.pool().put(cpus);
        }
        ledger.dispatch(self, None);
        ended(before)
    }
}
