//! Rules of the elementwise family: operands broadcast, and share a dtype.

use tenferro_tensor::{Comparison, DType, Elementwise, Validation};

use super::{Checked, broadcast};
use crate::{
    Meta,
    meta::Facts,
    scalar::{check_bitcast, without_order},
};

/// What the dtype of a result is.
enum ResultDType {
    /// That of the first operand.
    Own,
    /// That of the magnitude of the first operand.
    Real,
    /// The complex dtype whose parts are of the first operand's.
    Complex,
    /// Bool.
    Truth,
    /// That of the branches of a selection.
    Branch,
    /// A parameter.
    Given(DType),
}

#[inline]
fn result(row: &Elementwise) -> ResultDType {
    match row {
        Elementwise::Add
        | Elementwise::Sub
        | Elementwise::Mul
        | Elementwise::Div
        | Elementwise::Rem
        | Elementwise::Neg
        | Elementwise::Sign
        | Elementwise::Conj
        | Elementwise::Maximum
        | Elementwise::Minimum
        | Elementwise::Clamp
        | Elementwise::And
        | Elementwise::Or
        | Elementwise::Xor
        | Elementwise::Not
        | Elementwise::ShiftLeft
        | Elementwise::ShiftRightArithmetic
        | Elementwise::ShiftRightLogical
        | Elementwise::Popcount
        | Elementwise::LeadingZeros
        | Elementwise::Floor
        | Elementwise::Ceil
        | Elementwise::Round { .. }
        | Elementwise::NextAfter => ResultDType::Own,
        Elementwise::Abs | Elementwise::Real | Elementwise::Imag => ResultDType::Real,
        Elementwise::Complex => ResultDType::Complex,
        Elementwise::Compare { .. } | Elementwise::IsFinite | Elementwise::IsNan => {
            ResultDType::Truth
        }
        Elementwise::Select => ResultDType::Branch,
        Elementwise::Convert { dtype } | Elementwise::Bitcast { dtype } => {
            ResultDType::Given(*dtype)
        }
    }
}

/// Whether operands of one dtype have a result of the same.
#[inline]
pub(super) fn keeps_dtype(row: &Elementwise) -> bool {
    matches!(result(row), ResultDType::Own)
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
        _ => Ok(inputs),
    }
}

pub(super) fn rule(row: &Elementwise, inputs: &[Facts<'_>]) -> Checked<Meta> {
    let own = inputs[0].dtype;
    match row {
        Elementwise::Compare { relation } => check_relation(*relation, own)?,
        Elementwise::Bitcast { dtype } => check_bitcast(own, *dtype)?,
        _ => {}
    }
    let dtype = match result(row) {
        ResultDType::Own => own,
        ResultDType::Real => own.real(),
        ResultDType::Complex => own.complex(),
        ResultDType::Truth => DType::Bool,
        ResultDType::Branch => inputs[1].dtype,
        ResultDType::Given(dtype) => dtype,
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
