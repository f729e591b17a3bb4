//! Contractions: both operands as columns of what is summed over, then one sum of products an element.

use tenferro_tensor::{
    Accepts, AsOperand, BatchPosition, Conjugation, Contraction, Dot, Indices, Operand, Result,
    Shape, Tensor, Uninit, Validation, dispatch,
};

use super::{Call, convolution};
use crate::scalar::Number;

pub(super) fn evaluate(row: &Dot, call: &Call<'_>) -> Result<Tensor> {
    let dtype = call.result.dtype;
    dispatch!(dtype, number T => match row {
        Dot::DotGeneral { contraction } => contract::<T>(contraction, call),
        Dot::Convolve { convolution } => convolution::convolve::<T>(convolution, call),
    }, else {
        let expected = Accepts::Number.description();
        Err(Validation::MeaninglessDType { dtype, expected }.of(call.op))
    })
}

fn contract<T: Number>(contraction: &Contraction, call: &Call<'_>) -> Result<Tensor> {
    let Contraction { lhs_contracting, rhs_contracting, lhs_batch, rhs_batch, .. } = contraction;
    let lhs = columns::<T>(&call.inputs[0], lhs_contracting, lhs_batch, contraction.lhs)?;
    let rhs = columns::<T>(&call.inputs[1], rhs_contracting, rhs_batch, contraction.rhs)?;
    let sums = (0..lhs.batch).flat_map(|b| {
        let (lhs, rhs) = (&lhs, &rhs);
        (0..rhs.free).flat_map(move |j| (0..lhs.free).map(move |i| (lhs.at(i, b), rhs.at(j, b))))
    });
    let mut elements = sums.map(|(lhs, rhs)| dot(lhs, rhs));
    let mut next = || elements.next().expect("invariant: a sum an element");
    let batch = lhs_batch.len();
    match contraction.batch {
        BatchPosition::Trailing => Ok(call.allocate()?.filled(next)),
        BatchPosition::Leading => {
            let mut extents = call.result.shape.to_vec();
            extents.rotate_left(batch);
            let shape = Shape::new(&extents).map_err(|problem| problem.of(call.op))?;
            let trailing = Uninit::allocate(call.op, T::DTYPE, shape)?.filled(&mut next);
            let mut leading: Vec<usize> = (0..extents.len()).collect();
            leading.rotate_right(batch);
            Ok(call.allocate()?.copied_from(&trailing.view().permute(&leading)?.as_operand()))
        }
    }
}

fn dot<T: Number>(lhs: &[T], rhs: &[T]) -> T {
    T::narrow(
        lhs.iter()
            .zip(rhs)
            .fold(T::Wide::default(), |sum, (&x, &y)| sum.add(x.widen().mul(y.widen()))),
    )
}

/// An operand's elements, what is summed over fastest, the batch slowest.
struct Columns<T> {
    elements: Vec<T>,
    summed: usize,
    free: usize,
    batch: usize,
}

impl<T> Columns<T> {
    fn at(&self, free: usize, batch: usize) -> &[T] {
        let start = (batch * self.free + free) * self.summed;
        &self.elements[start..start + self.summed]
    }
}

fn columns<T: Number>(
    operand: &Operand<'_>,
    contracting: &Indices,
    batch: &Indices,
    conjugation: Conjugation,
) -> Result<Columns<T>> {
    let free = (0..operand.shape().rank())
        .filter(|axis| !contracting.contains(axis) && !batch.contains(axis));
    let free: Indices = free.collect();
    let extent = |axes: &Indices| axes.iter().map(|&axis| operand.shape()[axis]).product();
    let order: Vec<usize> =
        [contracting, &free, batch].into_iter().flat_map(|axes| axes.iter().copied()).collect();
    let elements = operand.view().permute(&order)?.elements::<T>()?;
    Ok(Columns {
        elements: match conjugation {
            Conjugation::Plain => elements.collect(),
            Conjugation::Conjugated => elements.map(Number::conj).collect(),
        },
        summed: extent(contracting),
        free: extent(&free),
        batch: extent(batch),
    })
}
