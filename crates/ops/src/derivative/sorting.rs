//! The derivatives of sorting, which moves elements.

use tenferro_tensor::{GatherMode, Result, Sorting};

use super::Point;
use crate::{Build, Builder, composite::take_along_axis};

/// The tangent of a sorted axis; places have none.
pub(super) fn jvp<B: Builder + ?Sized>(
    b: &mut B,
    row: &Sorting,
    point: &Point<'_, B::Value>,
) -> Result<Option<B::Value>> {
    match row {
        Sorting::Sort { axis, order } => {
            let t = point.tangents[0].expect("invariant: some operand has a tangent");
            let from = b.argsort(point.inputs[0], *axis, *order)?;
            take_along_axis(b, t, &from, *axis, GatherMode::Refuse).map(Some)
        }
        Sorting::Argsort { .. } | Sorting::ArgTop { .. } => Ok(None),
    }
}
