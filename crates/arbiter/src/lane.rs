//! Lanes: the width of one permit, divided among several threads for a while.
//!
//! A share carries no CPU, only the right to some of the permit's width: the thread that takes it up has a seat of its
//! own, under the permit's owner, and its operations move CPUs by the transitions that every lent permit uses. So
//! lanes lend and shrink like scopes, and the protocol has no word for them.
//!
//! Invariant: the widths of the shares of one permit sum to the width that it was last granted.

use std::sync::Arc;

use crate::admission::Core;
use crate::home::{self, Bond};
use crate::ledger::Demand;
use crate::owner::ExecutionOwner;
use crate::permit::ResourcePermit;
use crate::request::Label;

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
            Bond::Set => core.lock().lock().entry(home.seat().slot()).bound.clone(),
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
            PermitShare { core: Arc::clone(core), owner: home.owner(), width, demand }
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
        let home = home::take(&self.core).unwrap_or_else(|| home::register(&self.core));
        let bond = if self.demand.is_some() { Bond::Set } else { Bond::Share };
        if let Some(demand) = &self.demand {
            let mut ledger = self.core.lock().lock();
            // What the seat has at hand may be other CPUs than those of the set.
            ledger.empty(&self.core, home.seat());
            ledger.entry_mut(home.seat().slot()).bound = Some(demand.clone());
            ledger.dispatch(&self.core, None);
        }
        home.hold(self.owner, LANE, self.width, bond);
        ResourcePermit::new(home)
    }
}
