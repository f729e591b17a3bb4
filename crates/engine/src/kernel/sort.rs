//! Sorting along an axis, line by line: elements become unsigned keys, which are sorted, or their places are.
//!
//! A key does not tell zeros apart, so that the zeros of a sorted line are written again in the order in which they
//! came.

use tenferro_ops::scalar::{Key, Ordered};
use tenferro_tensor::{
    Accepts, Operand, OperandMut, Primitive, Result, SortOrder, Sorting, Validation, dispatch,
};

use super::{
    Grant,
    share::{Elements, Target},
    sort_keys::{sort, sort_shared},
    sort_places::Places,
    walk::{Axis, Walk},
};

/// What sorting costs an element, in bytes moved in the same time.
const COST: usize = 128;

/// Lines of so many elements are sorted by all threads together.
const LONG: usize = 1 << 16;

/// Computes a row of the sorting family.
pub(super) fn sorting(
    grant: &Grant<'_>,
    row: &Sorting,
    input: &Operand<'_>,
    mut out: OperandMut<'_>,
) -> Result<()> {
    let (Sorting::Sort { axis, order }
    | Sorting::Argsort { axis, order }
    | Sorting::ArgTop { axis, order, .. }) = row;
    let lines = Lines::new(*axis, *order, input, &out);
    if out.shape().contains(&0) {
        return Ok(());
    }
    let dtype = input.dtype();
    dispatch!(dtype, ordered T => {
        let from = Elements::<T>::new(input.data());
        match row {
            Sorting::Sort { .. } => lines.sort(grant, from, Target::new(out.data())),
            Sorting::Argsort { .. } | Sorting::ArgTop { .. } => {
                lines.places(grant, from, Target::new(out.data()));
            }
        }
        Ok(())
    }, else {
        let expected = Accepts::Ordered.description();
        let name = Primitive::Sorting(row.clone()).name();
        Err(Validation::MeaninglessDType { dtype, expected }.of(name))
    })
}

/// The keys of a line, and memory to sort them in.
struct Keys<K> {
    keys: Vec<K>,
    scratch: Vec<K>,
}

impl<K> Default for Keys<K> {
    fn default() -> Self {
        Self { keys: Vec::new(), scratch: Vec::new() }
    }
}

/// The lines to be sorted.
struct Lines {
    order: SortOrder,
    /// The axes across the lines: strides of the output and of the input.
    across: Walk<2>,
    /// The axis along which is sorted: strides of the output and of the input.
    along: Axis<2>,
    /// How many places of a line are written.
    count: usize,
}

impl Lines {
    fn new(axis: usize, order: SortOrder, input: &Operand<'_>, out: &OperandMut<'_>) -> Self {
        let (to, from) = (out.strides_or_dense(), input.strides_or_dense());
        let axes =
            |axis: usize| Axis { extent: input.shape()[axis], strides: [to[axis], from[axis]] };
        let across = (0..input.shape().rank()).filter(|&other| other != axis).map(axes);
        let across = Walk::merging(across);
        Self { order, across, along: axes(axis), count: out.shape()[axis] }
    }

    /// Writes the sorted lines.
    fn sort<T: Ordered>(&self, grant: &Grant<'_>, from: Elements<T>, to: Target<T>) {
        let [to_step, from_step] = self.along.strides;
        let flips = self.order == SortOrder::Descending;
        let turned = |key: T::Key| if flips { key.flipped() } else { key };
        self.each(grant, |grant, Keys { keys, scratch }: &mut Keys<T::Key>, out, input| {
            let places = 0..self.along.extent.cast_signed();
            // SAFETY: the walks reach indices of the input only.
            let element = |place: isize| unsafe { from.at(input + place * from_step).read() };
            keys.clear();
            keys.extend(places.clone().map(|place| turned(element(place).key())));
            match grant {
                Some(grant) => sort_shared(grant, keys, scratch),
                None => sort(keys, scratch),
            }
            let place = |at: usize| out + at.cast_signed() * to_step;
            for (at, &key) in keys.iter().enumerate() {
                // SAFETY: the walks reach places of the output only, and each line has its own.
                unsafe { to.at(place(at)).write(T::from_key(turned(key))) };
            }
            if !T::DTYPE.is_inexact() {
                return;
            }
            let zero = turned(T::default().key());
            let first = keys.partition_point(|&key| key < zero);
            if keys.get(first) != Some(&zero) {
                return;
            }
            let zeros = places.map(element).filter(|&element| element == T::default());
            for (at, element) in (first..).zip(zeros) {
                // SAFETY: as above; there are as many zeros in the line as in its keys.
                unsafe { to.at(place(at)).write(element) };
            }
        });
    }

    /// Writes where the elements of the sorted lines were.
    fn places<T: Ordered>(&self, grant: &Grant<'_>, from: Elements<T>, to: Target<i64>) {
        let [to_step, from_step] = self.along.strides;
        let flips = self.order == SortOrder::Descending;
        let write = |out: isize, at: usize, place: usize| {
            // SAFETY: the walks reach places of the output only, and each line has its own.
            unsafe { to.at(out + at.cast_signed() * to_step).write(place as i64) };
        };
        let key = |input: isize, place: isize| {
            // SAFETY: the walks reach indices of the input only.
            let key = unsafe { from.at(input + place * from_step).read() }.key();
            if flips { key.flipped() } else { key }
        };
        if u32::try_from(self.along.extent).is_err() {
            return self.places_of_huge_lines(key, write);
        }
        let (count, extent) = (self.count, self.along.extent);
        // Few of many are chosen first, and only they are sorted.
        if count < extent / 8 {
            self.each(grant, |_, items: &mut Vec<_>, out, input| {
                items.clear();
                let all = (0..extent as u32)
                    .map(|place| Placed { key: key(input, place as isize), place });
                choose(count, all, items);
                if items.len() > count {
                    items.select_nth_unstable(count);
                    items.truncate(count);
                }
                items.sort_unstable();
                for (at, item) in items.iter().enumerate() {
                    write(out, at, item.place as usize);
                }
            });
            return;
        }
        self.each(grant, |grant, places: &mut Places<T::Key>, out, input| {
            places.keys.clear();
            places.keys.extend((0..extent.cast_signed()).map(|place| key(input, place)));
            for (at, place) in places.sorted(grant).take(count).enumerate() {
                write(out, at, place);
            }
        });
    }

    /// As [`Lines::places`], where a place does not fit 32 bits.
    fn places_of_huge_lines<K: Key>(
        &self,
        key: impl Fn(isize, isize) -> K,
        write: impl Fn(isize, usize, usize),
    ) {
        let [next_to, next_from] = self.across.strides();
        for ([out, input], length) in self.across.runs(0..self.across.elements()) {
            for line in 0..length.cast_signed() {
                let (out, input) = (out + line * next_to, input + line * next_from);
                let mut items: Vec<(K, usize)> = (0..self.along.extent)
                    .map(|place| (key(input, place.cast_signed()), place))
                    .collect();
                items.sort_unstable();
                for (at, item) in items[..self.count].iter().enumerate() {
                    write(out, at, item.1);
                }
            }
        }
    }

    /// Does `work(grant, memory, line of the output, line of the input)` for each line: long ones one after the other with
    /// all threads of the grant, others on this one or another.
    fn each<M: Default>(
        &self,
        grant: &Grant<'_>,
        work: impl Fn(Option<&Grant<'_>>, &mut M, isize, isize) + Sync,
    ) {
        let extent = self.along.extent;
        let [next_to, next_from] = self.across.strides();
        let all = |grant: Option<&Grant<'_>>, range| {
            let mut memory = M::default();
            for ([out, input], length) in self.across.runs(range) {
                for line in 0..length.cast_signed() {
                    work(grant, &mut memory, out + line * next_to, input + line * next_from);
                }
            }
        };
        if extent >= LONG {
            all(Some(grant), 0..self.across.elements());
        } else {
            let cost = COST.saturating_mul(extent);
            grant.share(self.across.elements(), cost, |range| all(None, range));
        }
    }
}

/// A key and where it was. No two of a line are equal.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Placed<K> {
    key: K,
    place: u32,
}

/// Adds the `count` least of all items, which come in the order of their places, to `chosen`, in no order and with some
/// others.
fn choose<K: Key>(count: usize, all: impl Iterator<Item = Placed<K>>, chosen: &mut Vec<Placed<K>>) {
    /// How many more may wait to be chosen from.
    const WAITING: usize = 16;
    let most = 2 * count + WAITING;
    chosen.reserve(most);
    let mut bound = None;
    for item in all {
        // An equal key that comes later is larger.
        if bound.is_some_and(|bound| item.key >= bound) {
            continue;
        }
        chosen.push(item);
        if chosen.len() == most {
            let (_, last, _) = chosen.select_nth_unstable(count - 1);
            bound = Some(last.key);
            chosen.truncate(count);
        }
    }
}
