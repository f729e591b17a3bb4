//! The derivatives of contractions, which are linear in each operand.

use smallvec::SmallVec;
use tenferro_tensor::{BatchPosition, Conjugation, Contraction, Dot, Indices, Result};

use super::{Cotangents, Place, Point, convolution, cotangents, not_linear, sum_of};
use crate::{Build, Builder, Meta};

/// The tangent of a contraction: of each operand with the other.
pub(super) fn jvp<B: Builder + ?Sized>(
    b: &mut B,
    row: &Dot,
    point: &Point<'_, B::Value>,
) -> Result<B::Value> {
    let lhs =
        point.tangents[0].map(|t| b.emit(row.clone().into(), &[t, point.inputs[1]])).transpose()?;
    let rhs =
        point.tangents[1].map(|t| b.emit(row.clone().into(), &[point.inputs[0], t])).transpose()?;
    Ok(sum_of(b, [lhs, rhs])?.expect("invariant: some operand has a tangent"))
}

/// The cotangent of the operand that is linear: that of the result, contracted with the other operand's conjugate.
pub(super) fn transpose<B: Builder + ?Sized>(
    b: &mut B,
    row: &Dot,
    operands: &[Place<'_, B::Value>],
    ct: &B::Value,
) -> Result<Cotangents<B::Value>> {
    let contraction = match row {
        Dot::DotGeneral { contraction } => contraction,
        Dot::Convolve { convolution } => {
            return convolution::transpose(b, convolution, operands, ct);
        }
    };
    let ct_rank = b.meta(ct).shape.rank();
    match operands {
        [Place::Linear(lhs), Place::Known(rhs)] => {
            let sides = Sides {
                own: (&contraction.lhs_contracting, &contraction.lhs_batch, contraction.lhs),
                other: (&contraction.rhs_contracting, &contraction.rhs_batch, contraction.rhs),
                other_rank: b.meta(rhs).shape.rank(),
                ct_rank,
                own_first: true,
                batch: contraction.batch,
            };
            Ok(cotangents([Some(sides.turned(b, lhs, rhs, ct)?), None]))
        }
        [Place::Known(lhs), Place::Linear(rhs)] => {
            let sides = Sides {
                own: (&contraction.rhs_contracting, &contraction.rhs_batch, contraction.rhs),
                other: (&contraction.lhs_contracting, &contraction.lhs_batch, contraction.lhs),
                other_rank: b.meta(lhs).shape.rank(),
                ct_rank,
                own_first: false,
                batch: contraction.batch,
            };
            Ok(cotangents([None, Some(sides.turned(b, rhs, lhs, ct)?)]))
        }
        _ => Err(not_linear("dot_general")),
    }
}

/// A contraction seen from the operand whose cotangent is asked for.
struct Sides<'a> {
    /// Contracting axes, batch axes and conjugation of that operand.
    own: (&'a Indices, &'a Indices, Conjugation),
    /// Those of the other one.
    other: (&'a Indices, &'a Indices, Conjugation),
    other_rank: usize,
    ct_rank: usize,
    /// Whether the operand is the left one, whose free axes come first in the result.
    own_first: bool,
    batch: BatchPosition,
}

impl Sides<'_> {
    fn turned<B: Builder + ?Sized>(
        &self,
        b: &mut B,
        own: &Meta,
        other: &B::Value,
        ct: &B::Value,
    ) -> Result<B::Value> {
        let (own_contracting, own_batch, own_conjugation) = self.own;
        let (other_contracting, other_batch, other_conjugation) = self.other;
        let batches = own_batch.len();
        // With a conjugated operand the sum is one of conjugates.
        let (ct_conjugation, other_conjugation) = match own_conjugation {
            Conjugation::Conjugated => (Conjugation::Conjugated, other_conjugation),
            Conjugation::Plain => (Conjugation::Plain, flipped(other_conjugation)),
        };
        // Of two matrices, so that the product's axes are in the operand's order: the most common case, without lists.
        if let (&[own_axis], &[other_axis]) = (&own_contracting[..], &other_contracting[..])
            && (own.shape.rank(), self.other_rank, batches) == (2, 2, 0)
            && own_axis == usize::from(self.own_first)
        {
            let plain = |lhs_axis: usize, rhs_axis: usize, lhs, rhs| Contraction {
                lhs_contracting: [lhs_axis].into(),
                rhs_contracting: [rhs_axis].into(),
                lhs,
                rhs,
                ..Contraction::default()
            };
            return if self.own_first {
                b.dot_general(
                    ct,
                    other,
                    plain(1, 1 - other_axis, ct_conjugation, other_conjugation),
                )
            } else {
                b.dot_general(
                    other,
                    ct,
                    plain(1 - other_axis, 0, other_conjugation, ct_conjugation),
                )
            };
        }
        let free = |rank: usize, contracting: &Indices, batch: &Indices| {
            let is_free = |axis: &usize| !contracting.contains(axis) && !batch.contains(axis);
            (0..rank).filter(is_free).collect::<SmallVec<[usize; 6]>>()
        };
        let own_free = free(own.shape.rank(), own_contracting, own_batch);
        let other_free = free(self.other_rank, other_contracting, other_batch);

        // Where the result has its batch axes and the other operand's free ones.
        let (first_batch, first_free) = match self.batch {
            BatchPosition::Leading => (0, batches),
            BatchPosition::Trailing => (self.ct_rank - batches, 0),
        };
        let first_other = first_free + if self.own_first { own_free.len() } else { 0 };
        let ct_contracting: Indices = (first_other..first_other + other_free.len()).collect();
        let other_contracted: Indices = other_free.iter().copied().collect();
        let ct_batch: Indices = (first_batch..first_batch + batches).collect();
        // The operand's own order of axes is that of the product of the cotangent with the other operand where it was the
        // left one, and that of the other operand with the cotangent where it was the right one.
        let product = if self.own_first {
            let contraction = Contraction {
                lhs_contracting: ct_contracting,
                rhs_contracting: other_contracted,
                lhs_batch: ct_batch,
                rhs_batch: other_batch.clone(),
                batch: BatchPosition::Leading,
                lhs: ct_conjugation,
                rhs: other_conjugation,
            };
            b.dot_general(ct, other, contraction)?
        } else {
            let contraction = Contraction {
                lhs_contracting: other_contracted,
                rhs_contracting: ct_contracting,
                lhs_batch: other_batch.clone(),
                rhs_batch: ct_batch,
                batch: BatchPosition::Leading,
                lhs: other_conjugation,
                rhs: ct_conjugation,
            };
            b.dot_general(other, ct, contraction)?
        };

        // The product has batch axes, then own free ones and the summed ones in the other operand's order, or the other
        // way round.
        let (first_own, first_summed) = match self.own_first {
            true => (batches, batches + own_free.len()),
            false => (batches + own_contracting.len(), batches),
        };
        let mut order = SmallVec::<[usize; 6]>::from_elem(0, own.shape.rank());
        for (place, &axis) in own_batch.iter().enumerate() {
            order[axis] = place;
        }
        for (place, &axis) in own_free.iter().enumerate() {
            order[axis] = first_own + place;
        }
        for (&axis, &paired) in own_contracting.iter().zip(other_contracting.iter()) {
            let before = other_contracting.iter().filter(|&&other| other < paired).count();
            order[axis] = first_summed + before;
        }
        if order.iter().enumerate().all(|(place, &from)| place == from) {
            return Ok(product);
        }
        b.transpose(&product, &order[..])
    }
}

fn flipped(conjugation: Conjugation) -> Conjugation {
    match conjugation {
        Conjugation::Plain => Conjugation::Conjugated,
        Conjugation::Conjugated => Conjugation::Plain,
    }
}
