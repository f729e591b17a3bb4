//! A short list of numbers: extents, axes, positions.
//!
//! Not a `SmallVec`: a clone of the inline form is one copy of fixed size, and so is a comparison, which every operation
//! pays. Places past the length are zero.

use std::{
    fmt,
    hash::{Hash, Hasher},
    ops::Deref,
};

/// How many numbers are kept without an allocation: as many as tensors commonly have axes.
pub(crate) const INLINE_RANK: usize = 6;

/// A list that does not change.
pub(crate) enum List {
    Inline { length: Length, items: [usize; INLINE_RANK] },
    Heap(Box<[usize]>),
}

/// How many numbers are there inline. A whole word, and what tells the forms apart as well, so that a list is copied by
/// words: the bytes beside a shorter one would be copied across words that were written just before, and wait for them.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(usize)]
pub(crate) enum Length {
    Zero,
    One,
    Two,
    Three,
    Four,
    Five,
    Six,
}

const LENGTHS: [Length; INLINE_RANK + 1] = [
    Length::Zero,
    Length::One,
    Length::Two,
    Length::Three,
    Length::Four,
    Length::Five,
    Length::Six,
];

impl List {
    #[inline]
    pub(crate) fn new(items: &[usize]) -> Self {
        let Some(&length) = LENGTHS.get(items.len()) else { return Self::on_heap(items) };
        let mut inline = [0; INLINE_RANK];
        inline[..items.len()].copy_from_slice(items);
        List::Inline { length, items: inline }
    }

    /// Kept out of line, so that the way of the inline form is straight.
    #[cold]
    #[inline(never)]
    fn on_heap(items: &[usize]) -> Self {
        List::Heap(items.into())
    }

    #[inline]
    pub(crate) fn is_inline(&self) -> bool {
        matches!(self, List::Inline { .. })
    }
}

/// Whether two inline lists of one length are equal: of a fixed size, where `==` calls `memcmp`.
#[inline]
pub(crate) fn same(lhs: &[usize; INLINE_RANK], rhs: &[usize; INLINE_RANK]) -> bool {
    lhs.iter().zip(rhs).fold(0, |sum, (lhs, rhs)| sum | (lhs ^ rhs)) == 0
}

impl Clone for List {
    #[inline]
    fn clone(&self) -> Self {
        match self {
            &List::Inline { length, items } => List::Inline { length, items },
            List::Heap(items) => Self::on_heap(items),
        }
    }

    /// Written in place: a clone that is assigned goes over the stack.
    #[inline]
    fn clone_from(&mut self, source: &Self) {
        match (self, source) {
            (
                List::Inline { length, items },
                List::Inline { length: other_length, items: other_items },
            ) => (*length, *items) = (*other_length, *other_items),
            (list, _) => *list = source.clone(),
        }
    }
}

impl Default for List {
    fn default() -> Self {
        List::new(&[])
    }
}

impl Deref for List {
    type Target = [usize];

    #[inline]
    fn deref(&self) -> &[usize] {
        match self {
            List::Inline { length, items } => &items[..*length as usize],
            List::Heap(items) => items,
        }
    }
}

impl PartialEq for List {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (
                List::Inline { length, items },
                List::Inline { length: other_length, items: other_items },
            ) => length == other_length && same(items, other_items),
            _ => **self == **other,
        }
    }
}

impl Eq for List {}

impl Hash for List {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}

impl fmt::Debug for List {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
