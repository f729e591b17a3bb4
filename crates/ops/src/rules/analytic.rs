//! Rules of the analytic family: operands broadcast, and the result has their dtype.

use super::{Checked, broadcast};
use crate::{Meta, meta::Facts};

/// The rule of every row of the family.
pub(super) fn rule(inputs: &[Facts<'_>]) -> Checked<Meta> {
    Ok(Meta { dtype: inputs[0].dtype, shape: broadcast(inputs)? })
}
