//! The derivatives of operations that pick or place elements: each is linear in them.

use smallvec::SmallVec;
use tenferro_tensor::{
    Combiner, Comparison, DType, Error, GatherMode, Gathering, Indexing, KeepAxes, Placement,
    Primitive, Result, ScatterMode, Shape, Tensor, dispatch,
};

use super::{Cotangents, Place, Point, cotangents, not_linear, number, zeros};
use crate::{Build, Builder};

/// The tangent of an indexing row's result.
pub(super) fn jvp<B: Builder + ?Sized>(
    b: &mut B,
    row: &Indexing,
    point: &Point<'_, B::Value>,
) -> Result<B::Value> {
    match row {
        Indexing::Slice { .. }
        | Indexing::ExtractDiagonal { .. }
        | Indexing::EmbedDiagonal { .. } => {
            let t = point.tangents[0].expect("invariant: some operand has a tangent");
            b.emit(row.clone().into(), &[t])
        }
        Indexing::DynamicSlice { .. } | Indexing::Gather { .. } => {
            let t = point.tangents[0].expect("invariant: the other operand holds integers");
            b.emit(row.clone().into(), &[t, point.inputs[1]])
        }
        Indexing::DynamicUpdate { .. } => {
            let tangents = filled(b, point, [0, 1])?;
            b.emit(row.clone().into(), &[&tangents[0], &tangents[1], point.inputs[2]])
        }
        Indexing::Scatter { placement, .. } => match placement {
            Placement::Replace | Placement::Combine(Combiner::Sum) => {
                let tangents = filled(b, point, [0, 2])?;
                b.emit(row.clone().into(), &[&tangents[0], point.inputs[1], &tangents[1]])
            }
            Placement::Combine(_) => {
                let reason = "it has a derivative only where it replaces or adds; use `reduce` over gathered elements for other combiners".into();
                Err(Error::Unsupported { op: "scatter", reason })
            }
        },
    }
}

/// The tangents of two operands, zeros where one has none.
fn filled<B: Builder + ?Sized>(
    b: &mut B,
    point: &Point<'_, B::Value>,
    places: [usize; 2],
) -> Result<SmallVec<[B::Value; 2]>> {
    let mut tangents = SmallVec::new();
    for place in places {
        tangents.push(match point.tangents[place] {
            Some(tangent) => tangent.clone(),
            None => {
                let meta = b.meta(point.inputs[place]);
                zeros(b, &meta)?
            }
        });
    }
    Ok(tangents)
}

/// The cotangents of an indexing row's operands.
pub(super) fn transpose<B: Builder + ?Sized>(
    b: &mut B,
    row: &Indexing,
    operands: &[Place<'_, B::Value>],
    ct: &B::Value,
) -> Result<Cotangents<B::Value>> {
    let one = |value: B::Value| Ok(cotangents([Some(value)]));
    match (row, operands) {
        (Indexing::Slice { starts, strides, .. }, [Place::Linear(meta)]) => {
            let picked = b.meta(ct).shape;
            let edges: Vec<(isize, isize, usize)> = (0..picked.rank())
                .map(|axis| {
                    let span = match picked[axis] {
                        0 => 0,
                        count => (count - 1) * strides[axis] + 1,
                    };
                    // What was not picked is zero: before, between and after.
                    let low = if span == 0 { 0 } else { starts[axis] };
                    let high = meta.shape[axis] - span - low;
                    (low.cast_signed(), high.cast_signed(), strides[axis] - 1)
                })
                .collect();
            let zero = number(b, meta.dtype, 0.0)?;
            one(b.pad(ct, &zero, &edges[..])?)
        }
        (Indexing::ExtractDiagonal { first, second }, [Place::Linear(_)]) => {
            one(b.embed_diagonal(ct, after_removal(*first, *second), *second)?)
        }
        (Indexing::EmbedDiagonal { axis, new_axis }, [Place::Linear(_)]) => {
            // The operand's axis moved up if the new one stands before it.
            let moved = if new_axis <= axis { axis + 1 } else { *axis };
            one(b.extract_diagonal(ct, moved, *new_axis)?)
        }
        (Indexing::DynamicSlice { mode, .. }, [Place::Linear(meta), Place::Known(starts)]) => {
            let nothing = zeros(b, meta)?;
            let back = b.dynamic_update(&nothing, ct, starts, *mode)?;
            Ok(cotangents([Some(back), None]))
        }
        (Indexing::DynamicUpdate { mode }, [x, update, Place::Known(starts)]) => {
            let meta = update.meta(b);
            let to_x = match x {
                Place::Known(_) => None,
                Place::Linear(_) => {
                    let nothing = zeros(b, &meta)?;
                    Some(b.dynamic_update(ct, &nothing, starts, *mode)?)
                }
            };
            let to_update = match update {
                Place::Known(_) => None,
                Place::Linear(_) => Some(b.dynamic_slice(ct, starts, &meta.shape[..], *mode)?),
            };
            Ok(cotangents([to_x, to_update, None]))
        }
        (Indexing::Gather { gathering, mode }, [Place::Linear(meta), Place::Known(indices)]) => {
            let nothing = zeros(b, meta)?;
            let indices = match mode {
                GatherMode::Refuse => (*indices).clone(),
                GatherMode::Clamp => {
                    Reach::of(b, gathering, &meta.shape, indices).clamped(b, indices)?
                }
            };
            let sum = Placement::Combine(Combiner::Sum);
            let back =
                b.scatter(&nothing, &indices, ct, gathering.clone(), sum, ScatterMode::Refuse)?;
            Ok(cotangents([Some(back), None]))
        }
        (Indexing::Scatter { gathering, placement, mode }, [x, Place::Known(indices), updates]) => {
            scattered(b, (gathering, *placement, *mode), [x, updates], indices, ct)
        }
        _ => Err(not_linear(Primitive::from(row.clone()).name())),
    }
}

/// Where an axis stands after another one is gone.
fn after_removal(axis: usize, gone: usize) -> usize {
    if gone < axis { axis - 1 } else { axis }
}

/// A scatter turned around: what was written over got nothing, and an update that was left out gives nothing.
fn scattered<B: Builder + ?Sized>(
    b: &mut B,
    (gathering, placement, mode): (&Gathering, Placement, ScatterMode),
    [x, updates]: [&Place<'_, B::Value>; 2],
    indices: &B::Value,
    ct: &B::Value,
) -> Result<Cotangents<B::Value>> {
    let (x_meta, updates_meta) = (x.meta(b), updates.meta(b));
    let replaces = placement == Placement::Replace;
    let to_x = match x {
        Place::Known(_) => None,
        Place::Linear(_) if replaces => {
            let nothing = zeros(b, &updates_meta)?;
            Some(b.scatter(ct, indices, &nothing, gathering.clone(), placement, mode)?)
        }
        Place::Linear(_) => Some(ct.clone()),
    };
    let to_updates = match updates {
        Place::Known(_) => None,
        // All were left out, and there is nothing to pick from.
        Place::Linear(_) if !has_room(gathering, &x_meta.shape) => Some(zeros(b, &updates_meta)?),
        Place::Linear(_) => {
            let picked = b.gather(ct, indices, gathering.clone(), GatherMode::Clamp)?;
            let zero = number(b, updates_meta.dtype, 0.0)?;
            let mut picked = picked;
            if mode == ScatterMode::Drop {
                let reach = Reach::of(b, gathering, &x_meta.shape, indices);
                let placed = reach.placed(b, indices, &updates_meta.shape)?;
                picked = b.select(&placed, &picked, &zero)?;
            }
            if replaces {
                // Each place is told which update it kept.
                let number = (0..updates_meta.shape.elements() as i64).collect();
                let own = Tensor::from_vec_col_major(updates_meta.shape.to_vec(), number)?;
                let own = b.constant(own);
                let nobody = b.constant(Tensor::full(x_meta.shape.to_vec(), -1_i64)?);
                let kept = b.scatter(&nobody, indices, &own, gathering.clone(), placement, mode)?;
                let kept = b.gather(&kept, indices, gathering.clone(), GatherMode::Clamp)?;
                let stayed = b.compare(&kept, &own, Comparison::Eq)?;
                picked = b.select(&stayed, &picked, &zero)?;
            }
            Some(picked)
        }
    };
    Ok(cotangents([to_x, None, to_updates]))
}

/// Whether a slice fits somewhere.
fn has_room(gathering: &Gathering, x: &Shape) -> bool {
    gathering.slice_extents.iter().zip(x.iter()).all(|(slice, extent)| slice <= extent)
}

/// The last start of a slice along each component of an index, shaped to broadcast against the indices.
struct Reach<V> {
    last: V,
    /// The axis of components; `None` if every index has one.
    component_axis: Option<usize>,
    /// Axes of the result that number the slices.
    numbering: SmallVec<[usize; 6]>,
}

impl<V: Clone> Reach<V> {
    fn of<B: Builder<Value = V> + ?Sized>(
        b: &mut B,
        gathering: &Gathering,
        x: &Shape,
        indices: &V,
    ) -> Self {
        let meta = b.meta(indices);
        let component_axis =
            (gathering.component_axis < meta.shape.rank()).then_some(gathering.component_axis);
        let last: Vec<usize> = gathering
            .start_axes
            .iter()
            .map(|&axis| x[axis].saturating_sub(gathering.slice_extents[axis]))
            .collect();
        let mut extents = vec![1; meta.shape.rank()];
        if let Some(axis) = component_axis {
            extents[axis] = last.len();
        }
        let last = integers(meta.dtype, extents, &last);
        let slices = meta.shape.rank() - usize::from(component_axis.is_some());
        let rank = slices + gathering.slice_axes.len();
        let numbering = (0..rank).filter(|axis| !gathering.slice_axes.contains(axis)).collect();
        Self { last: b.constant(last), component_axis, numbering }
    }

    /// The indices, none past the last start.
    fn clamped<B: Builder<Value = V> + ?Sized>(&self, b: &mut B, indices: &V) -> Result<V> {
        b.minimum(indices, &self.last)
    }

    /// Whether each element of the updates was placed.
    fn placed<B: Builder<Value = V> + ?Sized>(
        &self,
        b: &mut B,
        indices: &V,
        updates: &Shape,
    ) -> Result<V> {
        let fits = b.compare(indices, &self.last, Comparison::Le)?;
        let fits = match self.component_axis {
            Some(axis) => b.all(&fits, [axis], KeepAxes::Drop)?,
            None => fits,
        };
        b.broadcast_in_dim(&fits, &updates[..], &self.numbering[..])
    }
}

/// Positions in the dtype of the indices beside which they stand; the highest number where one does not fit.
fn integers(dtype: DType, extents: Vec<usize>, values: &[usize]) -> Tensor {
    dispatch!(dtype, integer T => {
        let values = values.iter().map(|&value| T::try_from(value).unwrap_or(T::MAX)).collect();
        Tensor::from_vec_col_major::<T>(extents, values)
            .expect("invariant: one value a component")
    }, else unreachable!("invariant: indices are integers"))
}
