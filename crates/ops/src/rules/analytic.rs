//! Rules of the analytic family: operands broadcast, and the result has their dtype.

use tenferro_tensor::Analytic;

use super::{Checked, broadcast};
use crate::{Meta, meta::Facts};

/// Whether operands of one dtype have a result of the same.
#[inline]
pub(super) fn keeps_dtype(row: &Analytic) -> bool {
    match row {
        Analytic::Exp | Analytic::Log | Analytic::Sqrt | Analytic::Tanh | Analytic::Pow => true,
    }
}

pub(super) fn rule(row: &Analytic, inputs: &[Facts<'_>]) -> Checked<Meta> {
    match row {
        Analytic::Exp | Analytic::Log | Analytic::Sqrt | Analytic::Tanh | Analytic::Pow => {
            Ok(Meta { dtype: inputs[0].dtype, shape: broadcast(inputs)? })
        }
    }
}
