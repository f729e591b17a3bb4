//! Rules of the scans: an axis is there, and the result is like the operand.

use tenferro_tensor::Scan;

use super::{Checked, check_axes};
use crate::{Meta, meta::Facts};

pub(super) fn rule(row: &Scan, inputs: &[Facts<'_>]) -> Checked<Meta> {
    let Facts { dtype, shape } = inputs[0];
    let (Scan::Cumsum { axis, .. }
    | Scan::Cumprod { axis, .. }
    | Scan::Cummax { axis, .. }
    | Scan::Cummin { axis, .. }) = row;
    check_axes(&[*axis], shape)?;
    Ok(Meta { dtype, shape: shape.clone() })
}
