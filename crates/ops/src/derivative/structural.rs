//! The derivatives of operations that move elements: each is linear, so that tangents move alike.

use smallvec::SmallVec;
use tenferro_tensor::{Indices, KeepAxes, Padding, Result, Structural};

use super::{Cotangents, Place, Point, cotangents, not_linear, number, zeros};
use crate::{Build, Builder};

/// The tangent of a structural row's result.
pub(super) fn jvp<B: Builder + ?Sized>(
    b: &mut B,
    row: &Structural,
    point: &Point<'_, B::Value>,
) -> Result<B::Value> {
    match row {
        Structural::Transpose { .. }
        | Structural::Reshape { .. }
        | Structural::BroadcastInDim { .. }
        | Structural::Reverse { .. }
        | Structural::Tril { .. }
        | Structural::Triu { .. } => {
            let t = point.tangents[0].expect("invariant: some operand has a tangent");
            b.emit(row.clone().into(), &[t])
        }
        Structural::Concatenate { .. } | Structural::Pad { .. } => {
            let tangents = filled(b, point)?;
            let tangents: SmallVec<[&B::Value; 4]> = tangents.iter().collect();
            b.emit(row.clone().into(), &tangents)
        }
        Structural::Iota { .. } => unreachable!("invariant: some operand has a tangent"),
    }
}

/// The tangents, zeros where an operand has none.
pub(super) fn filled<B: Builder + ?Sized>(
    b: &mut B,
    point: &Point<'_, B::Value>,
) -> Result<SmallVec<[B::Value; 4]>> {
    let mut tangents = SmallVec::new();
    for (input, tangent) in point.inputs.iter().zip(point.tangents) {
        tangents.push(match tangent {
            Some(tangent) => (*tangent).clone(),
            None => {
                let meta = b.meta(input);
                zeros(b, &meta)?
            }
        });
    }
    Ok(tangents)
}

/// The cotangents of a structural row's operands.
pub(super) fn transpose<B: Builder + ?Sized>(
    b: &mut B,
    row: &Structural,
    operands: &[Place<'_, B::Value>],
    ct: &B::Value,
) -> Result<Cotangents<B::Value>> {
    let one = |value: B::Value| Ok(cotangents([Some(value)]));
    match (row, operands) {
        (Structural::Transpose { permutation }, [Place::Linear(_)]) => {
            one(b.transpose(ct, inverse(permutation))?)
        }
        // Each is its own transpose.
        (
            Structural::Reverse { .. } | Structural::Tril { .. } | Structural::Triu { .. },
            [Place::Linear(_)],
        ) => one(b.emit(row.clone().into(), &[ct])?),
        (Structural::Reshape { .. }, [Place::Linear(meta)]) => one(b.reshape(ct, &meta.shape[..])?),
        (Structural::BroadcastInDim { axes, .. }, [Place::Linear(meta)]) => {
            let wide = b.meta(ct).shape;
            let kept = |axis: &usize| {
                axes.iter().position(|to| to == axis).is_some_and(|i| meta.shape[i] == wide[*axis])
            };
            let summed: Indices = (0..wide.rank()).filter(|axis| !kept(axis)).collect();
            let ct = b.sum(ct, summed, KeepAxes::Drop)?;
            // What is left stands in the order of the result's axes.
            let mut places: SmallVec<[usize; 6]> =
                (0..axes.len()).filter(|&i| kept(&axes[i])).collect();
            places.sort_by_key(|&i| axes[i]);
            let order: Indices = (0..axes.len())
                .filter_map(|i| places.iter().position(|&place| place == i))
                .collect();
            let ct = b.transpose(&ct, order)?;
            one(b.reshape(&ct, &meta.shape[..])?)
        }
        (Structural::Concatenate { axis }, _) => {
            let mut at = 0;
            let mut parts = Cotangents::new();
            for operand in operands {
                let extent = match operand {
                    Place::Known(known) => b.meta(known).shape[*axis],
                    Place::Linear(meta) => meta.shape[*axis],
                };
                parts.push(match operand {
                    Place::Known(_) => None,
                    Place::Linear(meta) => {
                        let mut starts = SmallVec::<[usize; 6]>::from_elem(0, meta.shape.rank());
                        let mut limits = SmallVec::<[usize; 6]>::from_slice(&meta.shape);
                        (starts[*axis], limits[*axis]) = (at, at + extent);
                        Some(b.slice(ct, &starts[..], &limits[..], vec![1; meta.shape.rank()])?)
                    }
                });
                at += extent;
            }
            Ok(parts)
        }
        (Structural::Pad { padding }, [x, value]) => padded(b, padding, [x, value], ct),
        _ => Err(not_linear(tenferro_tensor::Primitive::from(row.clone()).name())),
    }
}

/// Padding turned around: edges come off, what was between elements is dropped; the value gets the rest.
fn padded<B: Builder + ?Sized>(
    b: &mut B,
    padding: &Padding,
    [x, value]: [&Place<'_, B::Value>; 2],
    ct: &B::Value,
) -> Result<Cotangents<B::Value>> {
    let meta = match x {
        Place::Known(x) => b.meta(x),
        Place::Linear(meta) => (*meta).clone(),
    };
    let zero = number(b, meta.dtype, 0.0)?;
    let edges: Vec<(isize, isize, usize)> =
        padding.iter().map(|axis| (-axis.low, -axis.high, 0)).collect();
    let inner = b.pad(ct, &zero, &edges[..])?;
    let shape = b.meta(&inner).shape;
    let strides: Indices = padding.iter().map(|axis| axis.interior + 1).collect();
    let inner = b.slice(&inner, vec![0; shape.rank()], &shape[..], strides)?;
    let to_value = match value {
        Place::Known(_) => None,
        Place::Linear(_) => {
            let all: Indices = (0..shape.rank()).collect();
            let total = b.sum(ct, all.clone(), KeepAxes::Drop)?;
            let taken = b.sum(&inner, all, KeepAxes::Drop)?;
            Some(b.sub(&total, &taken)?)
        }
    };
    let to_x = matches!(x, Place::Linear(_)).then_some(inner);
    Ok(cotangents([to_x, to_value]))
}

/// The permutation that undoes another.
fn inverse(permutation: &Indices) -> Indices {
    let mut inverse = SmallVec::<[usize; 6]>::from_elem(0, permutation.len());
    for (to, &from) in permutation.iter().enumerate() {
        inverse[from] = to;
    }
    inverse.into_iter().collect()
}
