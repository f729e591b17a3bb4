//! Points at which derivatives are asked for: a call that fits, and numbers for its operands.

use tenferro_ops::{Meta, infer};
use tenferro_tensor::{DType, Primitive, Shape, Tensor};

use super::{Call, Dice, Row, call, parts::from_parts};

/// Rows that say that they have no derivative: that of digamma is not in the vocabulary, and a scatter has one only if it
/// replaces or adds.
pub const WITHOUT: &[&str] = &["digamma", "scatter"];

/// Rows that count as flat though they move: they are about the bits of a number, not about its size.
pub const FLAT: &[&str] = &["bitcast", "next_after"];

/// A call and its operands. An index may be out of range, and a number outside of the domain.
pub struct Point {
    pub primitive: Primitive,
    pub wanted: Vec<Meta>,
    pub inputs: Vec<Tensor>,
    pub result: Meta,
}

impl Point {
    /// A point of a row, of f64 and C64; `None` if the call does not fit.
    pub fn draw(row: Row, dice: &mut Dice) -> Option<Self> {
        use DType::{Bool, C64, F64, I64};
        let dtype = dice.pick(&[F64, F64, C64, C64, I64, Bool]);
        let extents: Vec<usize> = (0..dice.roll(3)).map(|_| dice.roll(4)).collect();
        let Call { primitive, operands } = call(row, &extents, dice);
        let meta = |wanted: &super::Wanted| {
            let dtype = wanted.dtype.unwrap_or(dtype);
            let dtype = if wanted.below.is_some() { I64 } else { dtype };
            Meta { dtype, shape: Shape::new(&wanted.extents).unwrap() }
        };
        let wanted: Vec<Meta> = operands.iter().map(meta).collect();
        let result = infer(&primitive, &wanted).ok()?;
        if wanted.iter().chain([&result]).any(|meta| ![F64, C64, Bool, I64].contains(&meta.dtype)) {
            return None;
        }
        let range = dice.pick(&[(0.2, 0.9), (1.2, 1.9)]);
        let inputs = wanted
            .iter()
            .zip(&operands)
            .map(|(meta, wanted)| numbers(meta, wanted.below, dice, range))
            .collect();
        Some(Self { primitive, wanted, inputs, result })
    }

    /// Whether the result is a float that may change with an operand.
    pub fn moves(&self) -> bool {
        !self.wanted.is_empty() && self.result.dtype.is_inexact()
    }
}

/// Elements in a range, in each part; integers are mostly indices below a bound.
pub fn numbers(meta: &Meta, below: Option<usize>, dice: &mut Dice, range: (f64, f64)) -> Tensor {
    let (extents, elements) = (meta.shape.to_vec(), meta.shape.elements());
    match meta.dtype {
        DType::Bool => {
            let elements: Vec<bool> = (0..elements).map(|_| dice.one_in(2)).collect();
            Tensor::from_vec_col_major(extents, elements).unwrap()
        }
        DType::I64 => {
            let elements: Vec<i64> =
                (0..elements).map(|_| dice.roll(below.unwrap_or(2)) as i64).collect();
            Tensor::from_vec_col_major(extents, elements).unwrap()
        }
        dtype => {
            let count = if dtype.is_complex() { 2 * elements } else { elements };
            let parts = (0..count).map(|_| between(dice, range)).collect();
            from_parts(dtype, &extents, parts)
        }
    }
}

fn between(dice: &mut Dice, (low, high): (f64, f64)) -> f64 {
    low + (high - low) * ((dice.bits() >> 11) as f64 / (1_u64 << 53) as f64)
}
