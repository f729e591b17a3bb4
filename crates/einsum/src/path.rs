//! The order in which operands are contracted, two at a time.
//!
//! A path knows neither labels nor extents; it is checked against the number of operands only.

use crate::{Error, Result};

/// In which order operands are contracted, two at a time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Path {
    /// The first with the second, the result with the third, and so on.
    #[default]
    LeftToRight,
    /// Pairs of positions in the list of what is left, as NumPy's `einsum_path` has them: a step takes two entries out of the
    /// list and puts their contraction at its end.
    Pairs(Vec<(usize, usize)>),
}

impl Path {
    /// The pairs for this number of operands, each checked.
    pub(super) fn pairs(&self, operands: usize) -> Result<Vec<(usize, usize)>> {
        let expected = operands.saturating_sub(1);
        let pairs = match self {
            // After the first step the running result is the last of the list, and the next operand its first.
            Path::LeftToRight => (0..expected)
                .map(|step| if step == 0 { (0, 1) } else { (operands - step - 1, 0) })
                .collect(),
            Path::Pairs(pairs) => pairs.clone(),
        };
        if pairs.len() != expected {
            return Err(Error::PathLength { operands, expected, actual: pairs.len() });
        }
        for (step, &(first, second)) in pairs.iter().enumerate() {
            let length = operands - step;
            if first == second || first.max(second) >= length {
                return Err(Error::PathPosition { step, first, second, length });
            }
        }
        Ok(pairs)
    }
}

/// Takes the entries at two positions out of a list.
pub(super) fn take_pair<T>(list: &mut Vec<T>, (first, second): (usize, usize)) -> (T, T) {
    let (low, high) = (first.min(second), first.max(second));
    let upper = list.remove(high);
    let lower = list.remove(low);
    if first < second { (lower, upper) } else { (upper, lower) }
}
