//! The derivatives of reductions.

use smallvec::SmallVec;
use tenferro_tensor::{
    Combiner, Comparison, Indices, KeepAxes, Primitive, Reduction, Result, Shape,
};

use super::{Cotangents, Place, Point, conjugate, cotangents, not_linear, number, scaled};
use crate::{Build, Builder};

/// The tangent of a reduction's result.
pub(super) fn jvp<B: Builder + ?Sized>(
    b: &mut B,
    row: &Reduction,
    point: &Point<'_, B::Value>,
) -> Result<Option<B::Value>> {
    let x = point.inputs[0];
    let t = point.tangents[0].expect("invariant: some operand has a tangent");
    match row {
        Reduction::Sum { axes, keep } => gathered_by(b, Combiner::Sum, point, t, axes, *keep),
        Reduction::Prod { axes, keep } => gathered_by(b, Combiner::Prod, point, t, axes, *keep),
        Reduction::Max { axes, keep } => gathered_by(b, Combiner::Max, point, t, axes, *keep),
        Reduction::Min { axes, keep } => gathered_by(b, Combiner::Min, point, t, axes, *keep),
        Reduction::Reduce { combiner, axes, keep } => {
            gathered_by(b, *combiner, point, t, axes, *keep)
        }
        // 2 Re(conj(x) t)
        Reduction::SumOfSquares { axes, keep } => {
            let back = conjugate(b, x)?;
            let along = b.mul(t, &back)?;
            let along = if b.meta(x).dtype.is_complex() { b.real(&along)? } else { along };
            let along = scaled(b, &along, 2.0)?;
            b.sum(&along, axes.clone(), *keep).map(Some)
        }
        Reduction::All { .. }
        | Reduction::Any { .. }
        | Reduction::Argmax { .. }
        | Reduction::Argmin { .. } => Ok(None),
    }
}

/// The tangent of elements gathered by a combiner.
pub(super) fn gathered_by<B: Builder + ?Sized>(
    b: &mut B,
    combiner: Combiner,
    point: &Point<'_, B::Value>,
    t: &B::Value,
    axes: &Indices,
    keep: KeepAxes,
) -> Result<Option<B::Value>> {
    match combiner {
        Combiner::Sum => b.sum(t, axes.clone(), keep).map(Some),
        Combiner::Prod => product(b, point.inputs[0], t, axes, keep).map(Some),
        Combiner::Max | Combiner::Min => extreme(b, point, t, axes, keep).map(Some),
        Combiner::And | Combiner::Or | Combiner::Xor => Ok(None),
    }
}

/// The tangents of all extreme elements, shared equally.
fn extreme<B: Builder + ?Sized>(
    b: &mut B,
    point: &Point<'_, B::Value>,
    t: &B::Value,
    axes: &Indices,
    keep: KeepAxes,
) -> Result<B::Value> {
    let meta = b.meta(point.inputs[0]);
    let kept = with_kept(&meta.shape, axes);
    let y = b.reshape(point.output, &kept[..])?;
    let chosen = b.compare(point.inputs[0], &y, Comparison::Eq)?;
    let chosen = b.convert(&chosen, meta.dtype)?;
    let count = b.sum(&chosen, axes.clone(), KeepAxes::Keep)?;
    let weight = b.div(&chosen, &count)?;
    let shares = b.mul(t, &weight)?;
    b.sum(&shares, axes.clone(), keep)
}

/// The extents of a reduction's result with its axes kept.
pub(super) fn with_kept(shape: &Shape, axes: &Indices) -> SmallVec<[usize; 6]> {
    let kept = |(axis, &extent): (usize, &usize)| if axes.contains(&axis) { 1 } else { extent };
    shape.iter().enumerate().map(kept).collect()
}

/// The tangent of a product, exact where factors are zero: halves are multiplied until one element is left, and each
/// step is `d(a b) = da b + a db`.
fn product<B: Builder + ?Sized>(
    b: &mut B,
    x: &B::Value,
    t: &B::Value,
    axes: &Indices,
    keep: KeepAxes,
) -> Result<B::Value> {
    let meta = b.meta(x);
    let (mut x, mut t) = (x.clone(), t.clone());
    for &axis in axes.iter() {
        let mut extent = meta.shape[axis];
        if extent == 0 {
            // The product over nothing is 1, whatever changes.
            let mut one = SmallVec::<[usize; 6]>::from_slice(&b.meta(&x).shape);
            one[axis] = 1;
            let zero = number(b, meta.dtype, 0.0)?;
            let unit = number(b, meta.dtype, 1.0)?;
            x = b.stretch(&unit, &one)?;
            let nothing = b.sum(&t, [axis], KeepAxes::Keep)?;
            t = b.mul(&nothing, &zero)?;
            continue;
        }
        while extent > 1 {
            let half = extent / 2;
            let part = |b: &mut B, v: &B::Value, from: usize, to: usize| {
                let shape = b.meta(v).shape;
                let mut starts = SmallVec::<[usize; 6]>::from_elem(0, shape.rank());
                let mut limits = SmallVec::<[usize; 6]>::from_slice(&shape);
                (starts[axis], limits[axis]) = (from, to);
                b.slice(v, &starts[..], &limits[..], vec![1; shape.rank()])
            };
            let [x0, t0] = [part(b, &x, 0, half)?, part(b, &t, 0, half)?];
            let [x1, t1] = [part(b, &x, half, 2 * half)?, part(b, &t, half, 2 * half)?];
            let lhs = b.mul(&t0, &x1)?;
            let rhs = b.mul(&t1, &x0)?;
            let (mut product, mut tangent) = (b.mul(&x0, &x1)?, b.add(&lhs, &rhs)?);
            if extent > 2 * half {
                let [x_last, t_last] =
                    [part(b, &x, 2 * half, extent)?, part(b, &t, 2 * half, extent)?];
                product = b.concatenate(&[product, x_last], axis)?;
                tangent = b.concatenate(&[tangent, t_last], axis)?;
            }
            (x, t) = (product, tangent);
            extent -= half;
        }
    }
    match keep {
        KeepAxes::Keep => Ok(t),
        KeepAxes::Drop => {
            let kept = |(axis, &extent): (usize, &usize)| (!axes.contains(&axis)).then_some(extent);
            let extents: Indices = meta.shape.iter().enumerate().filter_map(kept).collect();
            b.reshape(&t, extents)
        }
    }
}

/// The cotangent of a linear reduction's operand, not yet stretched over the axes that were reduced.
pub(super) fn transpose<B: Builder + ?Sized>(
    b: &mut B,
    row: &Reduction,
    operands: &[Place<'_, B::Value>],
    ct: &B::Value,
) -> Result<Cotangents<B::Value>> {
    match (row, operands) {
        (
            Reduction::Sum { axes, .. } | Reduction::Reduce { combiner: Combiner::Sum, axes, .. },
            [Place::Linear(meta)],
        ) => {
            let kept = with_kept(&meta.shape, axes);
            let shape = b.meta(ct).shape;
            // A number stretches as it is.
            let narrow = if shape.rank() == 0 || shape[..] == kept[..] {
                ct.clone()
            } else {
                b.reshape(ct, &kept[..])?
            };
            Ok(cotangents([Some(narrow)]))
        }
        _ => Err(not_linear(Primitive::from(row.clone()).name())),
    }
}
