//! A thread's own free blocks, one front for each pool that it uses.
//!
//! A thread takes from and returns to its front without a lock. Fronts are found by the pool's number; the one used
//! last is tried first. When the thread ends its blocks go to the pool's shared bins.

use std::{cell::RefCell, sync::Arc};

use tenferro_tensor::Block;

use super::{
    CLOSED, Shared,
    class::{Class, classes_up_to},
    statistics::FrontCounts,
};

/// The largest block that a front keeps.
const LARGEST: usize = 64 << 10;
/// The most bytes that a front keeps.
const MOST_BYTES: usize = 1 << 20;
/// The most blocks of one class that a front keeps.
const MOST_BLOCKS: usize = 64;

const CLASSES: usize = classes_up_to(LARGEST);

/// The free blocks of one pool on one thread.
struct Front {
    /// The pool's number, which is looked at before anything else.
    number: u32,
    epoch: u64,
    shared: Arc<Shared>,
    counts: Arc<FrontCounts>,
    blocks: [Vec<Block>; CLASSES],
}

/// The fronts of a thread, the one used last first.
#[allow(clippy::vec_box, reason = "fronts are a kilobyte, and trade places")]
type Fronts = Vec<Box<Front>>;

thread_local! {
    static FRONTS: RefCell<Fronts> = const { RefCell::new(Vec::new()) };
}

/// A block of the class from this thread's front.
#[inline(always)]
pub(super) fn take(shared: &Arc<Shared>, class: Class) -> Option<Block> {
    if class.number >= CLASSES {
        return None;
    }
    with_fronts(|fronts| {
        if !is_first(fronts, shared.number) && !bring_first(fronts, shared.number) {
            open(fronts, shared);
        }
        let front = fronts.first_mut()?;
        front.refresh();
        let block = front.blocks[class.number].pop()?;
        front.counts.took(class.bytes);
        Some(block)
    })?
}

/// Returns a block to this thread's front of its pool, to the pool, or to the system.
#[inline]
pub(super) fn put(block: Block) {
    let mut block = Some(block);
    let kept = with_fronts(|fronts| {
        let taken = block.take()?;
        let number = taken.tag();
        if is_first(fronts, number) || bring_first(fronts, number) {
            return fronts.first_mut()?.put(taken);
        }
        Some(taken)
    });
    // A thread without a front of the block's pool, or one that is ending, goes to the shared bins.
    if let Some(foreign) = kept.flatten().or(block) {
        super::put_foreign(foreign);
    }
}

/// Lets this thread's front of a pool follow a clearing or closing at once.
pub(super) fn settle(shared: &Shared) {
    let dropped = with_fronts(|fronts| {
        if !bring_first(fronts, shared.number) {
            return None;
        }
        if shared.epoch() == CLOSED {
            return Some(fronts.swap_remove(0));
        }
        fronts[0].refresh();
        None
    });
    drop(dropped);
}

/// The fronts of this thread; `None` while it ends or while they are in use.
#[inline(always)]
fn with_fronts<R>(use_them: impl FnOnce(&mut Fronts) -> R) -> Option<R> {
    FRONTS
        .try_with(|fronts| fronts.try_borrow_mut().ok().map(|mut fronts| use_them(&mut fronts)))
        .ok()?
}

/// Whether the pool's front was used last.
#[inline]
fn is_first(fronts: &[Box<Front>], number: u32) -> bool {
    fronts.first().is_some_and(|front| front.number == number)
}

/// Moves a pool's front to where the next search finds it at once, if there is one.
#[cold]
#[inline(never)]
fn bring_first(fronts: &mut [Box<Front>], number: u32) -> bool {
    let place = fronts.iter().position(|front| front.number == number);
    if let Some(place) = place {
        fronts.swap(0, place);
    }
    place.is_some()
}

/// Makes the front of a pool that this thread has not used before, and lets go of those of closed pools.
#[cold]
#[inline(never)]
fn open(fronts: &mut Fronts, shared: &Arc<Shared>) {
    fronts.retain(|front| front.shared.epoch() != CLOSED);
    let counts = Arc::new(FrontCounts::default());
    shared.fronts.lock().push(counts.clone());
    let front = Front {
        number: shared.number,
        epoch: shared.epoch(),
        shared: shared.clone(),
        counts,
        blocks: [const { Vec::new() }; CLASSES],
    };
    fronts.insert(0, Box::new(front));
}

impl Front {
    /// Lets go of the blocks if the pool was cleared since.
    #[inline]
    fn refresh(&mut self) {
        let epoch = self.shared.epoch();
        if epoch != self.epoch {
            self.empty(epoch);
        }
    }

    #[cold]
    #[inline(never)]
    fn empty(&mut self, epoch: u64) {
        self.epoch = epoch;
        self.blocks.iter_mut().for_each(Vec::clear);
        self.counts.emptied();
    }

    /// Keeps a block; gives it back if it is not for this front.
    #[inline]
    fn put(&mut self, block: Block) -> Option<Block> {
        self.refresh();
        let bytes = block.capacity();
        let class = Class::holding(bytes).number;
        if class >= CLASSES
            || self.blocks[class].len() >= MOST_BLOCKS
            || self.counts.bytes() + bytes > MOST_BYTES
            || self.epoch == CLOSED
        {
            return Some(block);
        }
        self.blocks[class].push(block);
        self.counts.put(bytes);
        None
    }
}

impl Drop for Front {
    /// A thread that ends leaves its blocks to the others.
    fn drop(&mut self) {
        self.refresh();
        for block in self.blocks.iter_mut().flat_map(std::mem::take) {
            self.shared.put(block);
        }
        self.shared.retire(&self.counts);
    }
}
