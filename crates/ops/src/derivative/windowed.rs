//! The derivatives of reductions over windows.

use tenferro_tensor::{
    Combiner, GatherMode, Indices, KeepAxes, Primitive, Result, Tensor, Window, WindowAxis,
    Windowed,
};

use super::{Cotangents, Place, Point, cotangents, not_linear, number, reduction, zeros};
use crate::{Build, Builder, composite::take};

/// The tangent of a reduction over windows.
pub(super) fn jvp<B: Builder + ?Sized>(
    b: &mut B,
    row: &Windowed,
    point: &Point<'_, B::Value>,
) -> Result<Option<B::Value>> {
    let Windowed::ReduceWindow { combiner, window } = row;
    let t = point.tangents[0].expect("invariant: some operand has a tangent");
    let neutral = match combiner {
        Combiner::Sum => return b.reduce_window(t, Combiner::Sum, window.clone()).map(Some),
        Combiner::Prod => 1.0,
        Combiner::Max => f64::NEG_INFINITY,
        Combiner::Min => f64::INFINITY,
        Combiner::And | Combiner::Or | Combiner::Xor => return Ok(None),
    };
    // Each window on axes of its own, which an ordinary reduction gathers.
    let x = windows(b, point.inputs[0], window, neutral)?;
    let t = windows(b, t, window, 0.0)?;
    let axes: Indices = (0..window.len()).map(|axis| 2 * axis).collect();
    let unrolled = Point { inputs: &[&x], output: point.output, tangents: &[Some(&t)] };
    reduction::gathered_by(b, *combiner, &unrolled, &t, &axes, KeepAxes::Drop)
}

/// The elements of each window: axis `i` becomes the window's own axis `2 i` and axis `2 i + 1` of its places.
fn windows<B: Builder + ?Sized>(
    b: &mut B,
    x: &B::Value,
    window: &Window,
    neutral: f64,
) -> Result<B::Value> {
    let meta = b.meta(x);
    let neutral = number(b, meta.dtype, neutral)?;
    let edges: Vec<(isize, isize, usize)> =
        window.iter().map(|axis| (axis.low, axis.high, 0)).collect();
    let mut x = b.pad(x, &neutral, &edges[..])?;
    for (axis, moves) in window.iter().enumerate() {
        let padded = b.meta(&x).shape[2 * axis];
        let covered = moves.dilation * (moves.extent - 1) + 1;
        let places = if padded < covered { 0 } else { (padded - covered) / moves.stride + 1 };
        let indices = (0..places)
            .flat_map(|place| (0..moves.extent).map(move |k| (place, k)))
            .map(|(place, k)| (place * moves.stride + k * moves.dilation) as i64)
            .collect();
        let indices = Tensor::from_vec_col_major::<i64>([moves.extent, places], indices)?;
        let indices = b.constant(indices);
        x = take(b, &x, &indices, 2 * axis, GatherMode::Refuse)?;
    }
    Ok(x)
}

/// The cotangent of sums over windows: sums over the windows that an element was in.
pub(super) fn transpose<B: Builder + ?Sized>(
    b: &mut B,
    row: &Windowed,
    operands: &[Place<'_, B::Value>],
    ct: &B::Value,
) -> Result<Cotangents<B::Value>> {
    let (Windowed::ReduceWindow { combiner: Combiner::Sum, window }, [Place::Linear(meta)]) =
        (row, operands)
    else {
        return Err(not_linear(Primitive::from(row.clone()).name()));
    };
    let places = b.meta(ct).shape;
    if places.elements() == 0 || meta.shape.elements() == 0 {
        return Ok(cotangents([Some(zeros(b, meta)?)]));
    }
    let zero = number(b, meta.dtype, 0.0)?;
    let spread: Vec<(isize, isize, usize)> =
        window.iter().map(|axis| (0, 0, axis.stride - 1)).collect();
    let spread = b.pad(ct, &zero, &spread[..])?;
    let back: Vec<WindowAxis> = window
        .iter()
        .enumerate()
        .map(|(axis, moves)| {
            let reach = (moves.dilation * (moves.extent - 1)).cast_signed();
            let low = reach - moves.low;
            let length = ((places[axis] - 1) * moves.stride + 1).cast_signed();
            let high = meta.shape[axis].cast_signed() + reach - low - length;
            WindowAxis { extent: moves.extent, stride: 1, dilation: moves.dilation, low, high }
        })
        .collect();
    Ok(cotangents([Some(b.reduce_window(&spread, Combiner::Sum, back)?)]))
}
