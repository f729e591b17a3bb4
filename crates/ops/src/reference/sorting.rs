//! Sorting: the standard library's stable sort, line by line.

use std::cmp::Ordering;

use tenferro_tensor::{Result, SortOrder, Sorting, Tensor, dispatch};

use super::Call;
use crate::scalar::{Ordered, without_order};

pub(super) fn evaluate(row: &Sorting, call: &Call<'_>) -> Result<Tensor> {
    let dtype = call.inputs[0].dtype();
    dispatch!(dtype, ordered T => match row {
        Sorting::Sort { axis, order } => lines::<T, T>(call, *axis, *order, |sorted| sorted.1),
        Sorting::Argsort { axis, order } | Sorting::ArgTop { axis, order, .. } => {
            lines::<T, i64>(call, *axis, *order, |sorted| sorted.0)
        }
    }, else Err(without_order(dtype).of(call.op)))
}

/// The first places of each sorted line, as many as the result has: what `part` makes of where an element was and what
/// it is.
fn lines<T: Ordered, U: Ordered>(
    call: &Call<'_>,
    axis: usize,
    order: SortOrder,
    part: impl Fn((i64, T)) -> U,
) -> Result<Tensor> {
    let shape = call.inputs[0].shape();
    let elements: Vec<T> = call.inputs[0].view().elements::<T>()?.collect();
    let (step, extent) = (shape[..axis].iter().product::<usize>(), shape[axis]);
    let lines: Vec<Vec<(i64, T)>> = (0..elements.len().checked_div(extent).unwrap_or(0))
        .map(|line| {
            let first = line % step + line / step * step * extent;
            let at = |place: usize| (place as i64, elements[first + place * step]);
            let mut line: Vec<(i64, T)> = (0..extent).map(at).collect();
            line.sort_by(|lhs, rhs| compare(order, lhs.1, rhs.1));
            line
        })
        .collect();
    call.filled_by_index(|index| {
        let shape = &call.result.shape;
        let (mut line, mut step) = (0, 1);
        for other in (0..index.len()).filter(|&other| other != axis) {
            line += index[other] * step;
            step *= shape[other];
        }
        part(lines[line][index[axis]])
    })
}

fn compare<T: Ordered>(order: SortOrder, lhs: T, rhs: T) -> Ordering {
    match order {
        SortOrder::Ascending => lhs.key().cmp(&rhs.key()),
        SortOrder::Descending => rhs.key().cmp(&lhs.key()),
    }
}
