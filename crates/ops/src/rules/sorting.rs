//! Rules of the sorting family: an axis is there; places are i64.

use tenferro_tensor::{DType, Shape, Sorting, Validation};

use super::{Checked, Extents, check_axes};
use crate::{Meta, meta::Facts};

pub(super) fn rule(row: &Sorting, inputs: &[Facts<'_>]) -> Checked<Meta> {
    let Facts { dtype, shape } = inputs[0];
    let (Sorting::Sort { axis, .. } | Sorting::Argsort { axis, .. } | Sorting::ArgTop { axis, .. }) =
        row;
    check_axes(&[*axis], shape)?;
    match row {
        Sorting::Sort { .. } => Ok(Meta { dtype, shape: shape.clone() }),
        Sorting::Argsort { .. } => Ok(Meta { dtype: DType::I64, shape: shape.clone() }),
        Sorting::ArgTop { count, .. } => {
            if *count > shape[*axis] {
                let rule = "there are fewer elements along the axis than places are asked for";
                return Err(Validation::Rule { rule });
            }
            let mut extents = Extents::from_slice(shape);
            extents[*axis] = *count;
            Ok(Meta { dtype: DType::I64, shape: Shape::new(&extents)? })
        }
    }
}
