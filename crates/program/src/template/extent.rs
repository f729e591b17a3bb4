//! Extents of templates: polynomials in the sizes of named axes.

use std::{fmt, sync::Arc};

use smallvec::SmallVec;

/// A whole number that depends on the sizes of named axes as a polynomial does: `3`, `batch`, `2*batch + 1`.
///
/// ```
/// use tenferro_program::Extent;
///
/// assert_eq!(Extent::from("batch").to_string(), "batch");
/// assert_eq!(Extent::from(3).to_string(), "3");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Extent {
    /// Each with another product of axes, in order, and no factor zero: equal numbers are equal values.
    terms: SmallVec<[Term; 1]>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Term {
    /// Sorted; one that occurs twice is squared.
    axes: SmallVec<[Arc<str>; 1]>,
    factor: i128,
}

impl From<usize> for Extent {
    fn from(number: usize) -> Self {
        Self::number(number as i128)
    }
}

impl From<&str> for Extent {
    /// The size of the axis of this name.
    fn from(axis: &str) -> Self {
        Self::axis(axis.into())
    }
}

impl Extent {
    pub(super) fn number(factor: i128) -> Self {
        let terms = (factor != 0).then(|| Term { axes: SmallVec::new(), factor });
        Self { terms: terms.into_iter().collect() }
    }

    pub(super) fn axis(axis: Arc<str>) -> Self {
        let term = Term { axes: SmallVec::from_elem(axis, 1), factor: 1 };
        Self { terms: SmallVec::from_elem(term, 1) }
    }

    /// The number, if it depends on no axis.
    pub(super) fn as_number(&self) -> Option<i128> {
        match &self.terms[..] {
            [] => Some(0),
            [term] if term.axes.is_empty() => Some(term.factor),
            _ => None,
        }
    }

    /// The axis whose size this is.
    pub(super) fn as_axis(&self) -> Option<&Arc<str>> {
        match &self.terms[..] {
            [Term { axes, factor: 1 }] if axes.len() == 1 => Some(&axes[0]),
            _ => None,
        }
    }

    /// The names in it.
    pub(super) fn axes(&self) -> impl Iterator<Item = &Arc<str>> {
        self.terms.iter().flat_map(|term| &term.axes)
    }

    pub(super) fn plus(&self, other: &Extent) -> Extent {
        let mut sum = self.clone();
        for term in &other.terms {
            match sum.terms.binary_search_by(|own| order(own, term)) {
                Ok(place) => sum.terms[place].factor += term.factor,
                Err(place) => sum.terms.insert(place, term.clone()),
            }
        }
        sum.terms.retain(|term| term.factor != 0);
        sum
    }

    pub(super) fn times(&self, other: &Extent) -> Extent {
        let mut product = Extent::default();
        for lhs in &self.terms {
            for rhs in &other.terms {
                let mut axes: SmallVec<[Arc<str>; 1]> =
                    lhs.axes.iter().chain(&rhs.axes).cloned().collect();
                axes.sort_unstable();
                let term = Term { axes, factor: lhs.factor * rhs.factor };
                product = product.plus(&Extent { terms: SmallVec::from_elem(term, 1) });
            }
        }
        product
    }

    /// The number at these sizes; `None` if it overflows.
    pub(super) fn at(&self, sizes: &Sizes) -> Option<i128> {
        self.terms.iter().try_fold(0_i128, |sum, term| {
            let product = term.axes.iter().try_fold(term.factor, |product, axis| {
                let size = sizes.get(axis).expect("invariant: the axis is one of the template");
                product.checked_mul(size as i128)
            })?;
            sum.checked_add(product)
        })
    }
}

/// Products of more axes come first, numbers last.
fn order(lhs: &Term, rhs: &Term) -> std::cmp::Ordering {
    rhs.axes.len().cmp(&lhs.axes.len()).then_with(|| lhs.axes.cmp(&rhs.axes))
}

impl fmt::Display for Extent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.terms.is_empty() {
            return f.write_str("0");
        }
        for (place, term) in self.terms.iter().enumerate() {
            let sign = match (place, term.factor < 0) {
                (0, false) => "",
                (0, true) => "-",
                (_, false) => " + ",
                (_, true) => " - ",
            };
            let factor = term.factor.unsigned_abs();
            let axes: Vec<&str> = term.axes.iter().map(AsRef::as_ref).collect();
            f.write_str(sign)?;
            match (factor, &axes[..]) {
                (_, []) => write!(f, "{factor}")?,
                (1, axes) => f.write_str(&axes.join("*"))?,
                (_, axes) => write!(f, "{factor}*{}", axes.join("*"))?,
            }
        }
        Ok(())
    }
}

/// The sizes of named axes, in an order of their own.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Sizes {
    axes: Arc<[Arc<str>]>,
    sizes: SmallVec<[usize; 4]>,
}

impl Sizes {
    pub(super) fn new(axes: &Arc<[Arc<str>]>, sizes: &[usize]) -> Self {
        debug_assert_eq!(axes.len(), sizes.len());
        Self { axes: Arc::clone(axes), sizes: SmallVec::from_slice(sizes) }
    }

    /// No axes at all.
    pub(crate) fn none() -> Self {
        Self { axes: Arc::from([]), sizes: SmallVec::new() }
    }

    pub(crate) fn get(&self, axis: &str) -> Option<usize> {
        let place = self.axes.iter().position(|own| **own == *axis)?;
        Some(self.sizes[place])
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.axes.is_empty()
    }
}

impl fmt::Display for Sizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pairs: Vec<String> = self
            .axes
            .iter()
            .zip(&self.sizes)
            .map(|(axis, size)| format!("{axis} = {size}"))
            .collect();
        f.write_str(&pairs.join(", "))
    }
}
