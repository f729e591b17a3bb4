//! The buffer pool: memory of dropped tensors, kept for the next results.
//!
//! Small blocks lie in a *front* of the thread that dropped them, which only that thread touches: taking and returning
//! them needs no lock. Large blocks, and what a front has no room for, lie in the pool's shared bins behind a lock that
//! is never held while anything runs. Both are bounded by bytes and by count.
//!
//! A block names the pool that made it by number. The last drop of a tensor may come on any thread and after the pool
//! is gone; then the block goes back to the system.

mod bins;
mod class;
mod front;
mod statistics;

use std::sync::{
    Arc, Weak,
    atomic::{AtomicU32, AtomicU64, Ordering},
};

use parking_lot::Mutex;
use tenferro_tensor::{Block, Recycle};

use bins::Bins;
use class::Class;
use statistics::FrontCounts;
pub use statistics::PoolStatistics;

/// The buffers of one engine.
///
/// Dropping the pool frees what it keeps; tensors made from it live on.
pub struct BufferPool {
    shared: Arc<Shared>,
}

/// What the fronts of all threads share.
struct Shared {
    number: u32,
    /// Counts clearings; a front that is behind lets go of its blocks. Closed pools are at [`CLOSED`].
    epoch: AtomicU64,
    bins: Mutex<Bins>,
    /// The counts of the fronts of living threads.
    fronts: Mutex<Vec<Arc<FrontCounts>>>,
}

/// The epoch of a pool that is gone.
const CLOSED: u64 = u64::MAX;

impl BufferPool {
    /// A pool that keeps at most `limit` bytes of free blocks.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(1);
        let shared = Arc::new(Shared {
            number: NEXT.fetch_add(1, Ordering::Relaxed),
            epoch: AtomicU64::new(0),
            bins: Mutex::new(Bins::new(limit)),
            fronts: Mutex::default(),
        });
        POOLS.lock().push((shared.number, Arc::downgrade(&shared)));
        Self { shared }
    }

    /// A block for at least `bytes` bytes: a kept one, or a new one; `None` if the system has no memory for it.
    #[inline(always)]
    #[must_use]
    pub fn take(&self, bytes: usize) -> Option<Block> {
        let class = Class::holding(bytes);
        if let Some(block) = front::take(&self.shared, class) {
            return Some(block);
        }
        self.take_shared(class)
    }

    #[cold]
    fn take_shared(&self, class: Class) -> Option<Block> {
        let kept = self.shared.bins.lock().take(class);
        if kept.is_some() {
            return kept;
        }
        let block = Block::allocate(class.bytes)?.homed(&RECYCLER, self.shared.number);
        self.shared.bins.lock().count_fresh();
        Some(block)
    }

    /// Gives every kept block back to the system. A front of another thread does so when that thread next uses it.
    pub fn clear(&self) {
        self.shared.epoch.fetch_add(1, Ordering::Relaxed);
        front::settle(&self.shared);
        // Taken out first: the system may take its time, and nobody should wait for the lock meanwhile.
        let blocks = self.shared.bins.lock().clear();
        drop(blocks);
    }

    /// What the pool keeps and has done.
    #[must_use]
    pub fn statistics(&self) -> PoolStatistics {
        let bins = self.shared.bins.lock();
        let mut statistics = bins.statistics();
        for counts in self.shared.fronts.lock().iter() {
            counts.add_to(&mut statistics);
        }
        statistics
    }
}

impl Drop for BufferPool {
    fn drop(&mut self) {
        POOLS.lock().retain(|(number, _)| *number != self.shared.number);
        self.shared.epoch.store(CLOSED, Ordering::Relaxed);
        front::settle(&self.shared);
        drop(self.shared.bins.lock().clear());
    }
}

impl Shared {
    #[inline]
    fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::Relaxed)
    }

    /// Forgets a front whose thread has ended; what it had done stays in the statistics.
    fn retire(&self, counts: &Arc<FrontCounts>) {
        // Both at once, as they are read: nothing is counted twice or not at all.
        let mut bins = self.bins.lock();
        self.fronts.lock().retain(|other| !Arc::ptr_eq(other, counts));
        bins.count_reused(counts.reused());
    }

    /// Keeps a block that no front has room for.
    fn put(&self, block: Block) {
        let class = Class::holding(block.capacity());
        // What the bins have no room for is freed after the lock is released.
        let released = {
            let mut bins = self.bins.lock();
            if self.epoch() == CLOSED { vec![block] } else { bins.put(class, block) }
        };
        drop(released);
    }
}

/// The open pools by number, for blocks that come home on a thread which never used their pool.
static POOLS: Mutex<Vec<(u32, Weak<Shared>)>> = Mutex::new(Vec::new());

/// Returns a block to the shared bins of its pool, or to the system if the pool is gone.
fn put_foreign(block: Block) {
    let number = block.tag();
    let home = POOLS
        .lock()
        .iter()
        .find(|(other, _)| *other == number)
        .and_then(|(_, pool)| pool.upgrade());
    match home {
        Some(pool) => pool.put(block),
        None => drop(block),
    }
}

/// Takes the blocks of all pools; which one a block belongs to is its tag.
struct Recycler;

static RECYCLER: Recycler = Recycler;

impl Recycle for Recycler {
    #[inline]
    fn recycle(&self, block: Block) {
        front::put(block);
    }
}

#[cfg(test)]
mod tests {
    use super::{BufferPool, front};

    #[test]
    fn x52_the_counts_of_ended_threads_do_not_pile_up() {
        let pool = BufferPool::new(1 << 20);
        std::thread::scope(|scope| {
            for _ in 0..20 {
                let cycle = || front::put(pool.take(10).unwrap());
                scope.spawn(cycle).join().unwrap();
            }
        });
        assert_eq!(pool.shared.fronts.lock().len(), 0);
        let statistics = pool.statistics();
        assert_eq!((statistics.fresh, statistics.reused, statistics.kept_blocks), (1, 19, 1));
    }
}
