//! The matrix product of batches of matrices.

use smallvec::SmallVec;
use tenferro_tensor::{Contraction, Indices, Result, Shape, Validation};

use crate::{Build, Builder};

/// The matrix product, as NumPy's `matmul` has it.
///
/// The last two axes are matrices `(.., m, k)` and `(.., k, n)`; axes before them are a batch and broadcast. An
/// operand of one axis is a row on the left and a column on the right, and has no axis in the result. It is one
/// `dot_general`; a stretched batch is a view, not a copy, where the builder has views.
///
/// # Errors
/// [`Validation::Rule`] for an operand without axes; [`Validation::ExtentMismatch`] if the inner extents differ;
/// [`Validation::Broadcast`] if the batches do not broadcast; what `dot_general` refuses.
pub fn matmul<B: Builder + ?Sized>(
    builder: &mut B,
    lhs: &B::Value,
    rhs: &B::Value,
) -> Result<B::Value> {
    if let Some(product) = builder.product(lhs, rhs)? {
        return Ok(product);
    }
    let shapes = [builder.meta(lhs).shape, builder.meta(rhs).shape];
    let (summed, batch) = axes(&shapes[0], &shapes[1]).map_err(|p| p.of("matmul"))?;
    match batch {
        None => builder.dot_general(lhs, rhs, Contraction::over([summed.0], [summed.1])),
        Some(batch) => {
            let [lhs_shape, rhs_shape] = &shapes;
            let lhs = builder.stretch(lhs, &stretched(&batch, lhs_shape))?;
            let rhs = builder.stretch(rhs, &stretched(&batch, rhs_shape))?;
            builder.dot_general(&lhs, &rhs, batched(batch.rank()))
        }
    }
}

/// The pair of axes that a matrix product sums over, and the shape of its batch where both operands have one.
#[allow(clippy::type_complexity, reason = "two parts that have no name together")]
fn axes(
    lhs: &Shape,
    rhs: &Shape,
) -> std::result::Result<((usize, usize), Option<Shape>), Validation> {
    if lhs.rank() == 0 || rhs.rank() == 0 {
        let rule = "both operands need an axis at least; use mul to scale by a number";
        return Err(Validation::Rule { rule });
    }
    let summed = (lhs.rank() - 1, rhs.rank().saturating_sub(2));
    if lhs[summed.0] != rhs[summed.1] {
        return Err(Validation::ExtentMismatch {
            what: "inner extents",
            lhs: lhs[summed.0],
            rhs: rhs[summed.1],
            lhs_shape: lhs[..].into(),
            rhs_shape: rhs[..].into(),
        });
    }
    // Without a batch on the right, or with a row on the left, all other axes are free and in the right order.
    if rhs.rank() <= 2 || lhs.rank() == 1 {
        return Ok((summed, None));
    }
    let batch = Shape::new(&lhs[..lhs.rank() - 2])?.broadcast(&rhs[..rhs.rank() - 2])?;
    Ok((summed, Some(batch)))
}

/// The product of matrices `(.., m, k)` and `(.., k, n)` with a batch of `rank` axes before them.
fn batched(rank: usize) -> Contraction {
    let axes: Indices = (0..rank).collect();
    Contraction {
        lhs_contracting: [rank + 1].into(),
        rhs_contracting: [rank].into(),
        lhs_batch: axes.clone(),
        rhs_batch: axes,
        ..Contraction::default()
    }
}

/// The extents of an operand under the batch of both.
fn stretched(batch: &Shape, operand: &Shape) -> SmallVec<[usize; 6]> {
    batch.iter().chain(&operand[operand.rank() - 2..]).copied().collect()
}
