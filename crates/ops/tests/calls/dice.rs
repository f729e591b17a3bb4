//! Numbers that look random and come from a seed (splitmix64).

/// The state, which is the seed at first.
pub struct Dice(pub u64);

impl Dice {
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `sides`; 0 if there is none.
    pub fn roll(&mut self, sides: usize) -> usize {
        (self.bits() % sides.max(1) as u64) as usize
    }

    pub fn one_in(&mut self, sides: usize) -> bool {
        self.roll(sides) == 0
    }

    pub fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.roll(items.len())]
    }

    pub fn permutation(&mut self, rank: usize) -> Vec<usize> {
        let mut left: Vec<usize> = (0..rank).collect();
        (0..rank).map(|_| left.remove(self.roll(left.len()))).collect()
    }

    /// An index that is mostly below `below`.
    pub fn index(&mut self, below: usize) -> i64 {
        match self.roll(60) {
            0 => -1,
            1 => below as i64 + self.roll(3) as i64,
            _ => self.roll(below) as i64,
        }
    }
}
