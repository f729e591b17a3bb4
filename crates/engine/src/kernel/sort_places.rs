//! Where the elements of a sorted line were: 32 bits of a key and a place make one number, and numbers are sorted.
//!
//! Half as many bytes are moved and counted as with whole keys of 64 bits. The bits are the highest in which the keys of
//! a line differ; keys that agree in them are put in order by the lower ones afterwards. Equal keys stay in the order of
//! their places.

use tenferro_ops::scalar::Key;

use super::{
    Grant,
    sort_keys::{Item, sort, sort_shared},
};

/// The bits of a key that are sorted at once.
const WINDOW: u32 = 32;

/// Bits of a key, above the place where it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Packed(u64);

impl Packed {
    #[inline]
    fn new(bits: u64, place: u32) -> Self {
        Self(bits << WINDOW | u64::from(place))
    }

    #[inline]
    fn bits(self) -> u64 {
        self.0 >> WINDOW
    }

    #[inline]
    fn place(self) -> usize {
        self.0 as u32 as usize
    }
}

impl Item for Packed {
    // Items come in the order of their places.
    const BYTES: usize = 4;

    #[inline]
    fn byte(self, place: usize) -> u8 {
        (self.bits() >> (8 * place)) as u8
    }
}

/// The keys of a line in the order of their places, and memory to sort them in.
pub(super) struct Places<K> {
    pub(super) keys: Vec<K>,
    items: Vec<Packed>,
    scratch: Vec<Packed>,
}

impl<K> Default for Places<K> {
    fn default() -> Self {
        Self { keys: Vec::new(), items: Vec::new(), scratch: Vec::new() }
    }
}

impl<K: Key> Places<K> {
    /// Where the least key is, the next one, and so on; by all threads of a grant, or by this one. There must be no more
    /// keys than 32 bits can number.
    pub(super) fn sorted(&mut self, grant: Option<&Grant<'_>>) -> impl Iterator<Item = usize> {
        let Self { keys, items, scratch } = self;
        let first = keys.first().map_or(0, |key| key.bits());
        let differing = keys.iter().fold(0, |bits, key| bits | (key.bits() ^ first));
        let below = (u64::BITS - differing.leading_zeros()).saturating_sub(WINDOW);
        items.clear();
        let places = 0..keys.len() as u32;
        items.extend(places.zip(&*keys).map(|(at, key)| Packed::new(key.bits() >> below, at)));
        match grant {
            Some(grant) => sort_shared(grant, items, scratch),
            None => sort(items, scratch),
        }
        if below > 0 {
            let mask = (1 << below) - 1;
            for run in items.chunk_by_mut(|one, next| one.bits() == next.bits()) {
                if run.len() > 1 {
                    let lower = |item: &mut Packed| {
                        *item = Packed::new(keys[item.place()].bits() & mask, item.0 as u32);
                    };
                    run.iter_mut().for_each(lower);
                    sort(run, scratch);
                }
            }
        }
        items.iter().map(|item| item.place())
    }
}

#[cfg(test)]
mod tests {
    use super::Places;

    #[test]
    fn places_are_those_of_a_stable_sort_whatever_bits_the_keys_differ_in() {
        let mut state = 1_u64;
        for mask in [u64::MAX, 0xff, 0xff << 28, 0x8000_0000_0000_00ff, 1 << 63, 0, !0 << 30] {
            for count in [0, 1, 2, 40, 700, 9000] {
                let next = || {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    (state ^ (state >> 29)) & mask
                };
                let keys: Vec<u64> = std::iter::repeat_with(next).take(count).collect();
                let mut expected: Vec<usize> = (0..count).collect();
                expected.sort_by_key(|&place| keys[place]);
                let mut places = Places { keys, ..Places::default() };
                assert!(places.sorted(None).eq(expected), "{count} keys in {mask:#x}");
            }
        }
    }
}
