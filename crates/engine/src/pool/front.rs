//! A thread's own free blocks, one front for each pool that it uses.
//!
//! A thread takes from and returns to its front without a lock. Fronts are found by the pool's number; the one used
//! last is tried first, by a way that calls nothing. When the thread ends its blocks go to the pool's shared bins.

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

/// The fronts of a thread.
struct Fronts {
    /// The one used last.
    first: Option<Box<Front>>,
    #[allow(clippy::vec_box, reason = "fronts are a kilobyte, and trade places")]
    others: Vec<Box<Front>>,
}

thread_local! {
    static FRONTS: RefCell<Fronts> = const { RefCell::new(Fronts { first: None, others: Vec::new() }) };
}

/// A block of the class from this thread's front.
#[inline(always)]
pub(super) fn take(shared: &Arc<Shared>, class: Class) -> Option<Block> {
    let first = |fronts: &mut Fronts| fronts.first_of(shared.number)?.take(class);
    match with_fronts(first) {
        Some(Some(block)) => Some(block),
        _ => take_slowly(shared, class),
    }
}

/// The same where this thread used another pool last, or has no front of this one, or no such block in it.
#[cold]
#[inline(never)]
fn take_slowly(shared: &Arc<Shared>, class: Class) -> Option<Block> {
    with_fronts(|fronts| {
        if !fronts.bring_first(shared.number) {
            fronts.open(shared);
        }
        let front = fronts.first.as_mut()?;
        front.follow();
        front.take(class)
    })?
}

/// Returns a block to this thread's front of its pool, to the pool, or to the system.
#[inline(always)]
pub(super) fn put(block: Block) {
    let mut block = Some(block);
    let kept = with_fronts(|fronts| {
        let front = fronts.first_of(block.as_ref()?.tag())?;
        let (class, bytes) = front.room_for(block.as_ref()?)?;
        front.keep(block.take()?, class, bytes);
        Some(())
    });
    if kept.flatten().is_none()
        && let Some(block) = block
    {
        put_slowly(block);
    }
}

/// The same where this thread used another pool last, or its front has to change before it can keep the block.
#[cold]
#[inline(never)]
fn put_slowly(block: Block) {
    let mut block = Some(block);
    with_fronts(|fronts| {
        if fronts.bring_first(block.as_ref()?.tag()) {
            let front = fronts.first.as_mut()?;
            front.follow();
            front.make_room_for(block.as_ref()?);
            let (class, bytes) = front.room_for(block.as_ref()?)?;
            front.keep(block.take()?, class, bytes);
        }
        Some(())
    });
    // A thread without a front of the block's pool, or one that is ending, goes to the shared bins.
    if let Some(foreign) = block {
        super::put_foreign(foreign);
    }
}

/// Lets this thread's front of a pool follow a clearing or closing at once.
pub(super) fn settle(shared: &Shared) {
    let dropped = with_fronts(|fronts| {
        if !fronts.bring_first(shared.number) {
            return None;
        }
        if shared.epoch() == CLOSED {
            return fronts.first.take();
        }
        fronts.first.as_mut()?.follow();
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

impl Fronts {
    /// The pool's front if it was used last and the pool was not cleared since.
    #[inline(always)]
    fn first_of(&mut self, number: u32) -> Option<&mut Front> {
        let front = self.first.as_deref_mut()?;
        (front.number == number && front.epoch == front.shared.epoch()).then_some(front)
    }

    /// Moves a pool's front to where the next search finds it at once; whether there is one.
    fn bring_first(&mut self, number: u32) -> bool {
        if self.first.as_ref().is_some_and(|front| front.number == number) {
            return true;
        }
        let place = self.others.iter().position(|front| front.number == number);
        if let Some(place) = place {
            let wanted = self.others.swap_remove(place);
            self.others.extend(self.first.replace(wanted));
        }
        place.is_some()
    }

    /// Makes the front of a pool that this thread has not used before, and lets go of those of closed pools.
    fn open(&mut self, shared: &Arc<Shared>) {
        self.others.extend(self.first.take());
        self.others.retain(|front| front.shared.epoch() != CLOSED);
        let counts = Arc::new(FrontCounts::default());
        shared.fronts.lock().push(counts.clone());
        self.first = Some(Box::new(Front {
            number: shared.number,
            epoch: shared.epoch(),
            shared: shared.clone(),
            counts,
            blocks: [const { Vec::new() }; CLASSES],
        }));
    }
}

impl Front {
    /// Lets go of the blocks if the pool was cleared since.
    fn follow(&mut self) {
        let epoch = self.shared.epoch();
        if epoch != self.epoch {
            self.epoch = epoch;
            self.blocks.iter_mut().for_each(Vec::clear);
            self.counts.emptied();
        }
    }

    #[inline(always)]
    fn take(&mut self, class: Class) -> Option<Block> {
        let block = self.blocks.get_mut(class.number)?.pop()?;
        self.counts.took(class.bytes);
        Some(block)
    }

    /// The class and the bytes of a block that this front has a place for.
    #[inline(always)]
    fn room_for(&self, block: &Block) -> Option<(usize, usize)> {
        let bytes = block.capacity();
        let class = Class::holding(bytes).number;
        let blocks = self.blocks.get(class)?;
        let fits = blocks.len() < blocks.capacity()
            && self.counts.bytes() + bytes <= MOST_BYTES
            && self.epoch != CLOSED;
        fits.then_some((class, bytes))
    }

    /// Makes a place for a block, unless there are as many as may be. So none is made where blocks are kept.
    fn make_room_for(&mut self, block: &Block) {
        let class = Class::holding(block.capacity()).number;
        if let Some(blocks) = self.blocks.get_mut(class) {
            let places = (2 * blocks.len()).clamp(4, MOST_BLOCKS);
            blocks.reserve_exact(places - blocks.len().min(places));
        }
    }

    /// Keeps a block for which there is room.
    #[inline(always)]
    fn keep(&mut self, block: Block, class: usize, bytes: usize) {
        self.blocks[class].push(block);
        self.counts.put(bytes);
    }
}

impl Drop for Front {
    /// A thread that ends leaves its blocks to the others.
    fn drop(&mut self) {
        self.follow();
        for block in self.blocks.iter_mut().flat_map(std::mem::take) {
            self.shared.put(block);
        }
        self.shared.retire(&self.counts);
    }
}
