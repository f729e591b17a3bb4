//! The shared part of a pool: free blocks by class, bounded by bytes.

use tenferro_tensor::Block;

use super::{PoolStatistics, class::Class};

/// Free blocks that any thread may take.
pub(super) struct Bins {
    blocks: Vec<Vec<Block>>,
    kept: usize,
    limit: usize,
    statistics: PoolStatistics,
}

impl Bins {
    pub(super) fn new(limit: usize) -> Self {
        Self { blocks: Vec::new(), kept: 0, limit, statistics: PoolStatistics::default() }
    }

    /// A kept block of the class.
    pub(super) fn take(&mut self, class: Class) -> Option<Block> {
        let block = self.blocks.get_mut(class.number)?.pop()?;
        self.kept -= block.capacity();
        self.statistics.reused += 1;
        Some(block)
    }

    /// Keeps a block; gives it back if there is no room for it.
    pub(super) fn put(&mut self, class: Class, block: Block) -> Option<Block> {
        let bytes = block.capacity();
        if bytes > self.limit - self.kept {
            self.statistics.released += 1;
            return Some(block);
        }
        if self.blocks.len() <= class.number {
            self.blocks.resize_with(class.number + 1, Vec::new);
        }
        self.blocks[class.number].push(block);
        self.kept += bytes;
        None
    }

    pub(super) fn count_fresh(&mut self) {
        self.statistics.fresh += 1;
    }

    /// Everything that was kept.
    pub(super) fn clear(&mut self) -> Vec<Vec<Block>> {
        self.kept = 0;
        std::mem::take(&mut self.blocks)
    }

    pub(super) fn statistics(&self) -> PoolStatistics {
        let kept_blocks = self.blocks.iter().map(|bin| bin.len() as u64).sum();
        PoolStatistics {
            limit_bytes: self.limit,
            kept_bytes: self.kept,
            kept_blocks,
            ..self.statistics
        }
    }
}
