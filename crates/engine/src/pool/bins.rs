//! The shared part of a pool: free blocks by class, bounded by bytes. What was not used for longest makes room.

use tenferro_tensor::Block;

use super::{PoolStatistics, class::Class};

/// Free blocks that any thread may take.
pub(super) struct Bins {
    bins: Vec<Bin>,
    kept: usize,
    limit: usize,
    /// Counts uses, to tell which bin was not used for longest.
    now: u64,
    statistics: PoolStatistics,
}

/// The free blocks of one class.
#[derive(Default)]
struct Bin {
    blocks: Vec<Block>,
    used: u64,
}

impl Bins {
    pub(super) fn new(limit: usize) -> Self {
        Self { bins: Vec::new(), kept: 0, limit, now: 0, statistics: PoolStatistics::default() }
    }

    /// A kept block of the class.
    pub(super) fn take(&mut self, class: Class) -> Option<Block> {
        self.now += 1;
        let bin = self.bins.get_mut(class.number)?;
        bin.used = self.now;
        let block = bin.blocks.pop()?;
        self.kept -= block.capacity();
        self.statistics.reused += 1;
        Some(block)
    }

    /// Keeps a block, and gives back those of the bins that were not used for longest if there is no room for all. A
    /// block that can never be kept is given back itself.
    #[must_use = "blocks are freed after the lock is released"]
    pub(super) fn put(&mut self, class: Class, block: Block) -> Vec<Block> {
        let bytes = block.capacity();
        if bytes > self.limit {
            self.statistics.released += 1;
            return vec![block];
        }
        if self.bins.len() <= class.number {
            self.bins.resize_with(class.number + 1, Bin::default);
        }
        self.now += 1;
        self.bins[class.number].used = self.now;
        let mut released = Vec::new();
        while self.kept > self.limit - bytes {
            released.push(self.evict());
        }
        self.bins[class.number].blocks.push(block);
        self.kept += bytes;
        released
    }

    /// A block of the bin that was not used for longest. Something is kept.
    fn evict(&mut self) -> Block {
        let stalest = self.bins.iter_mut().filter(|bin| !bin.blocks.is_empty());
        let block = stalest.min_by_key(|bin| bin.used).and_then(|bin| bin.blocks.pop());
        let block = block.expect("invariant: bytes are kept, so a bin has a block");
        self.kept -= block.capacity();
        self.statistics.released += 1;
        block
    }

    pub(super) fn count_fresh(&mut self) {
        self.statistics.fresh += 1;
    }

    /// Everything that was kept.
    pub(super) fn clear(&mut self) -> Vec<Vec<Block>> {
        self.kept = 0;
        std::mem::take(&mut self.bins).into_iter().map(|bin| bin.blocks).collect()
    }

    pub(super) fn statistics(&self) -> PoolStatistics {
        let kept_blocks = self.bins.iter().map(|bin| bin.blocks.len() as u64).sum();
        PoolStatistics {
            limit_bytes: self.limit,
            kept_bytes: self.kept,
            kept_blocks,
            ..self.statistics
        }
    }
}
