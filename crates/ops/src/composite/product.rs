//! Products of all pairs, sums over a diagonal, and contractions by axes.

use tenferro_tensor::{Contraction, Indices, KeepAxes, Result};

use crate::{Build, Builder};

/// The products of each element of the left operand with each of the right one.
///
/// The result has the axes of the left operand, then those of the right one.
///
/// # Errors
/// What `mul` refuses.
pub fn outer<B: Builder + ?Sized>(
    builder: &mut B,
    lhs: &B::Value,
    rhs: &B::Value,
) -> Result<B::Value> {
    let behind = builder.meta(rhs).shape.rank();
    let own = builder.meta(lhs).shape;
    let extents: Indices = own.iter().copied().chain(std::iter::repeat_n(1, behind)).collect();
    let lhs = builder.reshape(lhs, extents)?;
    builder.mul(&lhs, rhs)
}

/// The Kronecker product, as NumPy's `kron` has it: blocks of the right operand, each times an element of the left one.
///
/// Axes are aligned from the right; missing ones have extent 1.
///
/// # Errors
/// What `mul` and `reshape` refuse.
pub fn kron<B: Builder + ?Sized>(
    builder: &mut B,
    lhs: &B::Value,
    rhs: &B::Value,
) -> Result<B::Value> {
    let shapes = [builder.meta(lhs).shape, builder.meta(rhs).shape];
    let rank = shapes[0].rank().max(shapes[1].rank());
    let extents = |side: usize, axis: usize| {
        let shape = &shapes[side];
        (axis + shape.rank()).checked_sub(rank).map_or(1, |own| shape[own])
    };
    // An axis is two here, the right operand's first and so fastest.
    let apart = |side: usize| -> Indices {
        (0..2 * rank)
            .map(|place| if place % 2 == 1 - side { extents(side, place / 2) } else { 1 })
            .collect()
    };
    let lhs = builder.reshape(lhs, apart(0))?;
    let rhs = builder.reshape(rhs, apart(1))?;
    let product = builder.mul(&lhs, &rhs)?;
    let shape = builder.meta(&product).shape;
    let together: Indices = shape.chunks(2).map(|pair| pair[0] * pair[1]).collect();
    builder.reshape(&product, together)
}

/// The sum of the elements whose indices along two axes agree.
///
/// # Errors
/// What `extract_diagonal` and `sum` refuse.
pub fn trace<B: Builder + ?Sized>(
    builder: &mut B,
    x: &B::Value,
    first: usize,
    second: usize,
) -> Result<B::Value> {
    let diagonal = builder.extract_diagonal(x, first, second)?;
    let walked = first - usize::from(second < first);
    builder.sum(&diagonal, [walked], KeepAxes::Drop)
}

/// The sums of products over pairs of axes. The result has the other axes of the left operand, then those of the right.
///
/// # Errors
/// What `dot_general` refuses.
pub fn tensordot<B: Builder + ?Sized>(
    builder: &mut B,
    lhs: &B::Value,
    rhs: &B::Value,
    lhs_axes: Indices,
    rhs_axes: Indices,
) -> Result<B::Value> {
    builder.dot_general(lhs, rhs, Contraction::over(lhs_axes, rhs_axes))
}
