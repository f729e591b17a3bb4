//! Sorting a slice of unsigned keys, alone or with places.
//!
//! Where equal items cannot be told apart, or none are equal, every way of sorting gives the same; so how a slice is cut
//! among threads has no influence on the result.

use std::ops::Range;

use tenferro_ops::scalar::Key;
use tenferro_provider::Workers;

use super::{Grant, share::Target};

/// The fewest items for which another thread pays.
const SHARED_FROM: usize = 1 << 15;

/// What is sorted: a key, with or without a place.
pub(super) trait Item: Copy + Ord + Send + Sync + 'static {
    /// The number of bytes of the key.
    const BYTES: usize;
    /// Below so many items comparisons are faster than counting bytes.
    const COUNTED_FROM: usize = 512;

    /// Byte `place` of the key.
    fn byte(self, place: usize) -> u8;
}

impl<K: Key> Item for K {
    const BYTES: usize = K::BYTES;
    // Comparisons of plain numbers need no branch, and long ones have many bytes to count.
    const COUNTED_FROM: usize = if K::BYTES < 8 { 512 } else { 8192 };

    #[inline]
    fn byte(self, place: usize) -> u8 {
        Key::byte(self, place)
    }
}

/// Sorts items, which are in the order of their places if they have some. `scratch` is memory to work in.
pub(super) fn sort<I: Item>(items: &mut [I], scratch: &mut Vec<I>) {
    if items.len() < I::COUNTED_FROM {
        items.sort_unstable();
        return;
    }
    scratch.clear();
    scratch.extend_from_slice(items);
    if sort_by_bytes(items, scratch) {
        items.copy_from_slice(scratch);
    }
}

/// Sorts `items` byte after byte, the lowest first, going back and forth between it and `scratch`, which is as long.
/// Says whether the result is in `scratch`.
fn sort_by_bytes<I: Item>(items: &mut [I], scratch: &mut [I]) -> bool {
    let mut counts = [[0_usize; 256]; 8];
    for &item in &*items {
        for (place, counts) in counts[..I::BYTES].iter_mut().enumerate() {
            counts[usize::from(item.byte(place))] += 1;
        }
    }
    let mut there = false;
    for (place, counts) in counts[..I::BYTES].iter_mut().enumerate() {
        let (from, to) = if there { (&*scratch, &mut *items) } else { (&*items, &mut *scratch) };
        let Some(&first) = from.first() else { return there };
        // A byte that is the same everywhere orders nothing.
        if counts[usize::from(first.byte(place))] == from.len() {
            continue;
        }
        let mut next = 0;
        for count in counts.iter_mut() {
            next += std::mem::replace(count, next);
        }
        for &item in from {
            let slot = &mut counts[usize::from(item.byte(place))];
            to[*slot] = item;
            *slot += 1;
        }
        there = !there;
    }
    there
}

/// Sorts one long slice on the granted threads: runs first, then merges of neighbours, each cut among the threads.
pub(super) fn sort_shared<I: Item>(grant: &Grant<'_>, items: &mut Vec<I>, scratch: &mut Vec<I>) {
    let threads = grant.width().min(items.len() / SHARED_FROM);
    if threads < 2 {
        return sort(items, scratch);
    }
    let runs = threads.next_power_of_two();
    let length = items.len();
    let bound = |run: usize| length * run / runs;
    let places = Target::<I>::new(std::ptr::NonNull::from(&mut items[..]).cast());
    grant.workers().run(runs, &|run| {
        // SAFETY: runs do not meet.
        let run = unsafe { slice_mut(places, bound(run)..bound(run + 1)) };
        sort(run, &mut Vec::new());
    });
    scratch.clear();
    scratch.extend_from_slice(items);
    let mut width = 1;
    while width < runs {
        let pairs = runs / (2 * width);
        let parts = (threads / pairs).max(1);
        let to = Target::<I>::new(std::ptr::NonNull::from(&mut scratch[..]).cast());
        let from = &items[..];
        grant.workers().run(pairs * parts, &|job| {
            let first = job / parts * 2 * width;
            let [start, middle, end] = [first, first + width, first + 2 * width].map(bound);
            let [lhs, rhs] = [&from[start..middle], &from[middle..end]];
            let cut = |part: usize| (end - start) * part / parts;
            let range = cut(job % parts)..cut(job % parts + 1);
            // SAFETY: pairs do not meet, nor do the parts of one.
            let to = unsafe { slice_mut(to, start + range.start..start + range.end) };
            merge(lhs, rhs, range, to);
        });
        std::mem::swap(items, scratch);
        width *= 2;
    }
}

/// The items of a range, for writing.
///
/// # Safety
/// The range must be inside of the items, and no other part may use it meanwhile.
unsafe fn slice_mut<'a, I>(items: Target<I>, range: Range<usize>) -> &'a mut [I] {
    // SAFETY: the caller says that the range is inside and its own.
    unsafe {
        let first = items.at(range.start.cast_signed());
        std::slice::from_raw_parts_mut(first.as_ptr(), range.len())
    }
}

/// Writes the items `range` of what two sorted slices merge to.
fn merge<I: Item>(lhs: &[I], rhs: &[I], range: Range<usize>, out: &mut [I]) {
    let mut at = rank(lhs, rhs, range.start);
    let mut other = range.start - at;
    for place in out {
        let takes_left = other == rhs.len() || (at < lhs.len() && lhs[at] <= rhs[other]);
        *place = if takes_left { lhs[at] } else { rhs[other] };
        at += usize::from(takes_left);
        other += usize::from(!takes_left);
    }
}

/// How many of the first `count` merged items come from `lhs`, which goes first where items are equal.
fn rank<I: Item>(lhs: &[I], rhs: &[I], count: usize) -> usize {
    let (mut low, mut high) = (count.saturating_sub(rhs.len()), count.min(lhs.len()));
    while low < high {
        let middle = low + (high - low) / 2;
        // Too few from the left, as long as its next item goes before the last one from the right.
        if lhs[middle] <= rhs[count - middle - 1] {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::{merge, rank, sort};

    #[test]
    fn parts_of_a_merge_make_up_the_whole() {
        let (lhs, rhs) = ([1_u32, 3, 3, 7, 9], [0_u32, 3, 4, 9, 9, 10]);
        let mut whole = [lhs.as_slice(), &rhs].concat();
        whole.sort_unstable();
        for start in 0..=whole.len() {
            for end in start..=whole.len() {
                let mut part = vec![0; end - start];
                merge(&lhs, &rhs, start..end, &mut part);
                assert_eq!(
                    part,
                    whole[start..end],
                    "{start}..{end}, rank {}",
                    rank(&lhs, &rhs, start)
                );
            }
        }
    }

    #[test]
    fn counting_bytes_sorts_as_comparing_does() {
        let mut state = 1_u64;
        for mask in [u64::MAX, 0xff, 0xff00_0000_00ff, 0] {
            let next = || {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (state ^ (state >> 29)) & mask
            };
            let mut items: Vec<u64> = std::iter::repeat_with(next).take(10_000).collect();
            let mut expected = items.clone();
            expected.sort_unstable();
            sort(&mut items, &mut Vec::new());
            assert_eq!(items, expected);
        }
    }
}
