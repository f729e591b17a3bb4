//! Rules of the elementwise family: operands broadcast, and share a dtype.

use tenferro_tensor::{Comparison, DType, Elementwise, Validation};

use super::{Checked, broadcast};
use crate::{Meta, meta::Facts, scalar::without_order};

/// Whether operands of one dtype have a result of the same.
#[inline]
pub(super) fn keeps_dtype(row: &Elementwise) -> bool {
    match row {
        Elementwise::Add
        | Elementwise::Sub
        | Elementwise::Mul
        | Elementwise::Div
        | Elementwise::Neg
        | Elementwise::Sign
        | Elementwise::Conj
        | Elementwise::Maximum
        | Elementwise::Minimum => true,
        Elementwise::Abs
        | Elementwise::Compare { .. }
        | Elementwise::Select
        | Elementwise::Convert { .. } => false,
    }
}

/// The operands that must have one dtype, which the row must accept.
pub(super) fn judged_operands<'f, 's>(
    row: &Elementwise,
    inputs: &'f [Facts<'s>],
) -> Checked<&'f [Facts<'s>]> {
    match row {
        Elementwise::Select => match inputs[0].dtype {
            DType::Bool => Ok(&inputs[1..]),
            actual => Err(Validation::WrongDType { actual, requested: DType::Bool }),
        },
        Elementwise::Add
        | Elementwise::Sub
        | Elementwise::Mul
        | Elementwise::Div
        | Elementwise::Neg
        | Elementwise::Abs
        | Elementwise::Sign
        | Elementwise::Conj
        | Elementwise::Maximum
        | Elementwise::Minimum
        | Elementwise::Compare { .. }
        | Elementwise::Convert { .. } => Ok(inputs),
    }
}

pub(super) fn rule(row: &Elementwise, inputs: &[Facts<'_>]) -> Checked<Meta> {
    let own = inputs[0].dtype;
    let dtype = match row {
        Elementwise::Add
        | Elementwise::Sub
        | Elementwise::Mul
        | Elementwise::Div
        | Elementwise::Neg
        | Elementwise::Sign
        | Elementwise::Conj
        | Elementwise::Maximum
        | Elementwise::Minimum => own,
        Elementwise::Abs => own.real(),
        Elementwise::Compare { relation } => {
            check_relation(*relation, own)?;
            DType::Bool
        }
        Elementwise::Select => inputs[1].dtype,
        Elementwise::Convert { dtype } => *dtype,
    };
    Ok(Meta { dtype, shape: broadcast(inputs)? })
}

/// Complex numbers have no order.
fn check_relation(relation: Comparison, dtype: DType) -> Checked<()> {
    match relation {
        Comparison::Eq | Comparison::Ne => Ok(()),
        Comparison::Lt | Comparison::Le | Comparison::Gt | Comparison::Ge => {
            if dtype.is_complex() {
                Err(without_order(dtype))
            } else {
                Ok(())
            }
        }
    }
}
