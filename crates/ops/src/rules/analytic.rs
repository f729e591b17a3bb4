//! Rules of the analytic family: operands broadcast, and the result has their dtype.

use tenferro_tensor::Analytic;

use super::{Checked, broadcast};
use crate::{Meta, meta::Facts};

pub(super) fn rule(row: &Analytic, inputs: &[Facts<'_>]) -> Checked<Meta> {
    match row {
        Analytic::Exp | Analytic::Log | Analytic::Sqrt | Analytic::Tanh | Analytic::Pow => {
            Ok(Meta { dtype: inputs[0].dtype, shape: broadcast(inputs)? })
        }
    }
}
