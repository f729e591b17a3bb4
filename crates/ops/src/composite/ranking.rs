//! Composites of the sorting family that have several results.

use smallvec::SmallVec;
use tenferro_tensor::{
    FromTensor, GatherMode, Operand, Operate, Result, SortOrder, Tensor, Validation, Vocabulary,
};

use super::take_along_axis;
use crate::{Build, Builder, Eager, Lent};

/// The `count` largest elements along an axis, the largest first, and where they were.
///
/// NaN counts as the largest; of equal elements the first comes first.
///
/// # Errors
/// What `arg_top` refuses.
pub fn top_k<B: Builder + ?Sized>(
    builder: &mut B,
    x: &B::Value,
    axis: usize,
    count: usize,
) -> Result<(B::Value, B::Value)> {
    let places = builder.arg_top(x, axis, count, SortOrder::Descending)?;
    let elements = take_along_axis(builder, x, &places, axis, GatherMode::Refuse)?;
    Ok((elements, places))
}

/// Operands of one shape put in the order of the first `keys` of them: by the first, where that ties by the second, and
/// so on. Stable.
///
/// # Errors
/// [`Validation::Rule`] without a key; [`Validation::ShapeMismatch`]; what `argsort` refuses.
pub fn sort_by_keys<B: Builder + ?Sized>(
    builder: &mut B,
    operands: &[B::Value],
    keys: usize,
    axis: usize,
    order: SortOrder,
) -> Result<Vec<B::Value>> {
    const OP: &str = "sort_by_keys";
    let (Some(last), true) = (keys.checked_sub(1), keys <= operands.len()) else {
        let rule = "at least one and at most all of the operands are keys";
        return Err(Validation::Rule { rule }.of(OP));
    };
    let shape = builder.meta(&operands[0]).shape;
    for other in &operands[1..] {
        let other = builder.meta(other).shape;
        if other != shape {
            let (lhs, rhs) = (shape[..].into(), other[..].into());
            return Err(Validation::ShapeMismatch { lhs, rhs }.of(OP));
        }
    }
    // Stable sorts by one key after the other, the most significant last.
    let mut places = builder.argsort(&operands[last], axis, order)?;
    for key in operands[..last].iter().rev() {
        let sorted = take_along_axis(builder, key, &places, axis, GatherMode::Refuse)?;
        let again = builder.argsort(&sorted, axis, order)?;
        places = take_along_axis(builder, &places, &again, axis, GatherMode::Refuse)?;
    }
    operands
        .iter()
        .map(|operand| take_along_axis(builder, operand, &places, axis, GatherMode::Refuse))
        .collect()
}

/// Composites with several results, for everything that has a [`Vocabulary`].
///
/// ```
/// use tenferro_ops::{TensorRanking, reference::Reference};
/// use tenferro_tensor::Tensor;
///
/// let x = Tensor::from_vec_col_major([4], vec![3.0_f64, 9.0, 1.0, 9.0])?;
/// let (largest, places) = Reference.top_k(&x, 0, 3)?;
/// assert_eq!(largest.as_slice::<f64>()?, &[9.0, 9.0, 3.0]);
/// assert_eq!(places.as_slice::<i64>()?, &[1, 3, 0]);
/// # Ok::<(), tenferro_tensor::Error>(())
/// ```
pub trait TensorRanking: Vocabulary {
    /// The `count` largest elements along an axis, the largest first, and where they were. See
    /// [`composite::top_k`](top_k).
    ///
    /// # Errors
    /// What the function refuses, and what the engine cannot do now.
    fn top_k<X: Operate>(
        &mut self,
        x: &X,
        axis: usize,
        count: usize,
    ) -> Result<(X::Same, X::Index)> {
        let mut builder = Eager::new(self);
        let (elements, places) = top_k(&mut builder, &Lent::from(x.as_operand()), axis, count)?;
        Ok((
            FromTensor::from_tensor("top_k", elements.into_tensor()?)?,
            FromTensor::from_tensor("top_k", places.into_tensor()?)?,
        ))
    }

    /// Operands of one shape put in the order of the first `keys` of them. See
    /// [`composite::sort_by_keys`](sort_by_keys).
    ///
    /// # Errors
    /// What the function refuses, and what the engine cannot do now.
    fn sort_by_keys(
        &mut self,
        operands: &[Operand<'_>],
        keys: usize,
        axis: usize,
        order: SortOrder,
    ) -> Result<Vec<Tensor>> {
        let operands: SmallVec<[Lent<'_>; 4]> =
            operands.iter().map(|&operand| Lent::from(operand)).collect();
        let sorted = sort_by_keys(&mut Eager::new(self), &operands, keys, axis, order)?;
        sorted.into_iter().map(Lent::into_tensor).collect()
    }
}

impl<V: Vocabulary + ?Sized> TensorRanking for V {}
