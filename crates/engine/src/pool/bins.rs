//! The shared part of a pool: free blocks by class, bounded by bytes and by count. What was not used for longest makes room.

use tenferro_tensor::Block;

use super::{PoolStatistics, class::Class};

/// The most blocks that are kept. Bytes alone would allow so many small ones that their heads outweigh them.
const MOST_BLOCKS: usize = 1 << 16;

/// Free blocks that any thread may take.
pub(super) struct Bins {
    bins: Vec<Bin>,
    count: usize,
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
        Self {
            bins: Vec::new(),
            count: 0,
            kept: 0,
            limit,
            now: 0,
            statistics: PoolStatistics::default(),
        }
    }

    /// A kept block of the class.
    pub(super) fn take(&mut self, class: Class) -> Option<Block> {
        self.now += 1;
        let bin = self.bins.get_mut(class.number)?;
        bin.used = self.now;
        let block = bin.blocks.pop()?;
        self.count -= 1;
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
        while self.kept > self.limit - bytes || self.count == MOST_BLOCKS {
            released.push(self.evict());
        }
        self.bins[class.number].blocks.push(block);
        self.count += 1;
        self.kept += bytes;
        released
    }

    /// A block of the bin that was not used for longest. Something is kept.
    fn evict(&mut self) -> Block {
        let stalest = self.bins.iter_mut().filter(|bin| !bin.blocks.is_empty());
        let block = stalest.min_by_key(|bin| bin.used).and_then(|bin| bin.blocks.pop());
        let block = block.expect("invariant: bytes are kept, so a bin has a block");
        self.count -= 1;
        self.kept -= block.capacity();
        self.statistics.released += 1;
        block
    }

    /// What a front that is gone had taken from its own blocks.
    pub(super) fn count_reused(&mut self, blocks: u64) {
        self.statistics.reused += blocks;
    }

    pub(super) fn count_fresh(&mut self) {
        self.statistics.fresh += 1;
    }

    /// Everything that was kept.
    pub(super) fn clear(&mut self) -> Vec<Vec<Block>> {
        self.count = 0;
        self.kept = 0;
        std::mem::take(&mut self.bins).into_iter().map(|bin| bin.blocks).collect()
    }

    pub(super) fn statistics(&self) -> PoolStatistics {
        PoolStatistics {
            limit_bytes: self.limit,
            kept_bytes: self.kept,
            kept_blocks: self.count as u64,
            ..self.statistics
        }
    }
}

#[cfg(test)]
mod tests {
    use tenferro_tensor::Block;

    use super::{Bins, Class, MOST_BLOCKS};

    fn block(bytes: usize) -> (Class, Block) {
        let class = Class::holding(bytes);
        (class, Block::allocate(class.bytes).unwrap())
    }

    fn put(bins: &mut Bins, bytes: usize) -> Vec<usize> {
        let (class, block) = block(bytes);
        bins.put(class, block).iter().map(Block::capacity).collect()
    }

    #[test]
    fn x52_the_bins_are_bounded_by_count_however_small_the_blocks() {
        let mut bins = Bins::new(usize::MAX);
        for _ in 0..MOST_BLOCKS {
            assert!(put(&mut bins, 1).is_empty());
        }
        assert_eq!(put(&mut bins, 100), [64]);
        assert_eq!(bins.statistics().kept_blocks, MOST_BLOCKS as u64);
        assert!(bins.take(Class::holding(1)).is_some());
        assert!(put(&mut bins, 1).is_empty());
    }

    #[test]
    fn x52_the_bins_are_bounded_by_bytes_and_give_back_what_was_not_used_for_longest() {
        let mut bins = Bins::new(64 + 1024);
        assert!(put(&mut bins, 64).is_empty() && put(&mut bins, 1024).is_empty());
        assert!(bins.take(Class::holding(64)).is_some());
        assert!(put(&mut bins, 64).is_empty());
        assert_eq!(put(&mut bins, 512), [1024]);
        assert_eq!(put(&mut bins, 2048), [2048]);
        let statistics = bins.statistics();
        assert_eq!(
            (statistics.kept_bytes, statistics.kept_blocks, statistics.released),
            (576, 2, 2)
        );
        drop(bins.clear());
        assert_eq!((bins.statistics().kept_bytes, bins.statistics().kept_blocks), (0, 0));
        assert_eq!(put(&mut bins, 1024), [0; 0]);
    }
}
