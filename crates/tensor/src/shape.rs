//! Extents of a tensor's axes, kept inline for small ranks.
//!
//! A `Shape` in hand is valid: the product of its extents (zeros counted as one) fits `isize`, so that no later size
//! arithmetic can overflow.

use std::{fmt, ops::Deref};

use smallvec::SmallVec;

use crate::{
    error::Validation,
    list::{INLINE_RANK, List, same},
};

/// The extents of a tensor's axes, first axis fastest in memory.
pub struct Shape {
    /// The product of the extents, which every operation asks for.
    elements: usize,
    extents: List,
}

impl Shape {
    /// The shape with these extents.
    ///
    /// # Errors
    /// [`Validation::SizeOverflow`] if the product of the extents, zeros counted as one, exceeds `isize::MAX`: a shape
    /// like `(2^40, 2^40, 0)` is refused, because a reduction or a broadcast of it could not be represented.
    #[inline]
    pub fn new(extents: &[usize]) -> std::result::Result<Self, Validation> {
        match extents
            .iter()
            .try_fold(1_usize, |product, &extent| product.checked_mul(extent.max(1)))
        {
            Some(product) if isize::try_from(product).is_ok() => Ok(Self::trusted(extents)),
            _ => Err(Validation::SizeOverflow { shape: extents.into() }),
        }
    }

    /// The shape with extents whose product is known to be representable.
    #[inline]
    fn trusted(extents: &[usize]) -> Self {
        Self { elements: extents.iter().product(), extents: List::new(extents) }
    }

    /// Whether the extents are kept without an allocation.
    #[inline]
    pub(crate) fn is_inline(&self) -> bool {
        self.extents.is_inline()
    }

    /// The number of axes.
    #[must_use]
    #[inline]
    pub fn rank(&self) -> usize {
        self.len()
    }

    /// The number of elements: the product of the extents, 1 for rank 0.
    #[must_use]
    #[inline]
    pub fn elements(&self) -> usize {
        self.elements
    }

    /// The shape to which `self` and `other` broadcast: right-aligned, extent 1 or a missing axis stretches.
    ///
    /// # Errors
    /// [`Validation::Broadcast`] if two extents differ and neither is 1; [`Validation::SizeOverflow`] if the result
    /// cannot be represented.
    ///
    /// ```
    /// use tenferro_tensor::Shape;
    /// let both = Shape::new(&[2, 0])?.broadcast(&Shape::new(&[2, 1])?)?;
    /// assert_eq!(&both[..], &[2, 0]);
    /// # Ok::<(), tenferro_tensor::Validation>(())
    /// ```
    pub fn broadcast(&self, other: &[usize]) -> std::result::Result<Self, Validation> {
        let rank = self.rank().max(other.len());
        let at = |extents: &[usize], axis: usize| {
            (axis + extents.len()).checked_sub(rank).map_or(1, |own| extents[own])
        };
        let mut extents = SmallVec::<[usize; INLINE_RANK]>::with_capacity(rank);
        for axis in 0..rank {
            extents.push(match (at(self, axis), at(other, axis)) {
                (a, b) if a == b => a,
                (1, b) => b,
                (a, 1) => a,
                _ => {
                    return Err(Validation::Broadcast { lhs: (&**self).into(), rhs: other.into() });
                }
            });
        }
        Self::new(&extents)
    }

    /// The strides, in elements, of a dense column-major tensor of this shape.
    #[must_use]
    pub fn column_major_strides(&self) -> SmallVec<[isize; INLINE_RANK]> {
        let mut next = 1;
        self.iter()
            .map(|&extent| {
                let stride = next;
                next *= extent.max(1).cast_signed();
                stride
            })
            .collect()
    }
}

impl Clone for Shape {
    #[inline]
    fn clone(&self) -> Self {
        Self { elements: self.elements, extents: self.extents.clone() }
    }

    #[inline]
    fn clone_from(&mut self, source: &Self) {
        self.elements = source.elements;
        self.extents.clone_from(&source.extents);
    }
}

impl Deref for Shape {
    type Target = [usize];

    #[inline]
    fn deref(&self) -> &[usize] {
        &self.extents
    }
}

impl Default for Shape {
    /// The shape of a scalar: no axes, one element.
    fn default() -> Self {
        Self::trusted(&[])
    }
}

impl PartialEq for Shape {
    #[inline(always)]
    fn eq(&self, other: &Self) -> bool {
        match (&self.extents, &other.extents) {
            // Every operation makes this comparison. Up to one axis the number of elements says all.
            (
                List::Inline { length, items },
                List::Inline { length: other_length, items: other_items },
            ) => {
                length == other_length
                    && self.elements == other.elements
                    && (*length as usize <= 1 || same(items, other_items))
            }
            _ => **self == **other,
        }
    }
}

impl Eq for Shape {}

impl std::hash::Hash for Shape {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}

impl PartialEq<[usize]> for Shape {
    fn eq(&self, other: &[usize]) -> bool {
        **self == *other
    }
}

impl fmt::Debug for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_tuple(f, self)
    }
}

/// Writes extents as Python and NumPy do: `()`, `(3,)`, `(2, 3)`.
pub(crate) fn write_tuple<T: fmt::Display>(f: &mut fmt::Formatter<'_>, items: &[T]) -> fmt::Result {
    f.write_str("(")?;
    for (position, item) in items.iter().enumerate() {
        if position > 0 {
            f.write_str(", ")?;
        }
        write!(f, "{item}")?;
    }
    f.write_str(if items.len() == 1 { ",)" } else { ")" })
}
