//! The derivatives of running reductions.

use smallvec::SmallVec;
use tenferro_tensor::{
    Boundary, Comparison, DType, Direction, GatherMode, Primitive, Result, Scan, Sweep, Tensor,
};

use super::{Cotangents, Place, Point, cotangents, not_linear, number};
use crate::{Build, Builder, composite::take_along_axis};

/// The tangent of a scan.
pub(super) fn jvp<B: Builder + ?Sized>(
    b: &mut B,
    row: &Scan,
    point: &Point<'_, B::Value>,
) -> Result<B::Value> {
    let x = point.inputs[0];
    let t = point.tangents[0].expect("invariant: some operand has a tangent");
    match row {
        Scan::Cumsum { axis, sweep } => b.cumsum(t, *axis, *sweep),
        Scan::Cumprod { axis, sweep } => along(b, *axis, *sweep, x, t, product),
        Scan::Cummax { axis, sweep } => {
            along(b, *axis, *sweep, x, t, |b, axis, x, t| extreme(b, axis, x, t, Extreme::Largest))
        }
        Scan::Cummin { axis, sweep } => {
            along(b, *axis, *sweep, x, t, |b, axis, x, t| extreme(b, axis, x, t, Extreme::Smallest))
        }
    }
}

/// Runs the tangent of an inclusive forward scan along any sweep: by turning the axis around, and by moving the result
/// on by one place.
fn along<B: Builder + ?Sized>(
    b: &mut B,
    axis: usize,
    sweep: Sweep,
    x: &B::Value,
    t: &B::Value,
    scan: impl FnOnce(&mut B, usize, &B::Value, &B::Value) -> Result<B::Value>,
) -> Result<B::Value> {
    let meta = b.meta(x);
    if meta.shape[axis] == 0 {
        return Ok(t.clone());
    }
    let tangent = match sweep.direction {
        Direction::Forward => scan(b, axis, x, t)?,
        Direction::Reverse => {
            let (x, t) = (b.reverse(x, [axis])?, b.reverse(t, [axis])?);
            scan(b, axis, &x, &t)?
        }
    };
    let tangent = match sweep.boundary {
        Boundary::Inclusive => tangent,
        // Before the first element nothing changes.
        Boundary::Exclusive => moved_on(b, axis, &tangent, 1, 0.0)?,
    };
    match sweep.direction {
        Direction::Forward => Ok(tangent),
        Direction::Reverse => b.reverse(&tangent, [axis]),
    }
}

/// The elements of an axis moved on by some places; a number follows.
fn moved_on<B: Builder + ?Sized>(
    b: &mut B,
    axis: usize,
    x: &B::Value,
    by: usize,
    fill: f64,
) -> Result<B::Value> {
    let meta = b.meta(x);
    let fill = number(b, meta.dtype, fill)?;
    let mut edges: Vec<(isize, isize, usize)> = vec![(0, 0, 0); meta.shape.rank()];
    let by = by.min(meta.shape[axis]).cast_signed();
    edges[axis] = (by, -by, 0);
    b.pad(x, &fill, &edges[..])
}

/// The tangents of running products, exact where factors are zero: runs of 1, 2, 4, .. factors are multiplied with the
/// run before them, and each step is `d(a b) = da b + a db`.
fn product<B: Builder + ?Sized>(
    b: &mut B,
    axis: usize,
    x: &B::Value,
    t: &B::Value,
) -> Result<B::Value> {
    let extent = b.meta(x).shape[axis];
    let (mut x, mut t) = (x.clone(), t.clone());
    let mut run = 1;
    while run < extent {
        let (x_before, t_before) =
            (moved_on(b, axis, &x, run, 1.0)?, moved_on(b, axis, &t, run, 0.0)?);
        let (lhs, rhs) = (b.mul(&t_before, &x)?, b.mul(&t, &x_before)?);
        t = b.add(&lhs, &rhs)?;
        x = b.mul(&x_before, &x)?;
        run *= 2;
    }
    Ok(t)
}

#[derive(Clone, Copy)]
enum Extreme {
    Largest,
    Smallest,
}

/// The tangent of the element that each running extreme is: of equal ones, the last.
fn extreme<B: Builder + ?Sized>(
    b: &mut B,
    axis: usize,
    x: &B::Value,
    t: &B::Value,
    which: Extreme,
) -> Result<B::Value> {
    let y = match which {
        Extreme::Largest => b.cummax(x, axis, Sweep::default())?,
        Extreme::Smallest => b.cummin(x, axis, Sweep::default())?,
    };
    let attained = b.compare(x, &y, Comparison::Eq)?;
    let shape = SmallVec::<[usize; 6]>::from_slice(&b.meta(x).shape);
    let place = b.iota(DType::I64, &shape[..], axis)?;
    // What is NaN attains nothing; the place before the first is never looked at then.
    let first = b.constant(Tensor::scalar(0_i64)?);
    let place = b.select(&attained, &place, &first)?;
    let place = b.cummax(&place, axis, Sweep::default())?;
    take_along_axis(b, t, &place, axis, GatherMode::Refuse)
}

/// The cotangent of a running sum: a running sum from the other end.
pub(super) fn transpose<B: Builder + ?Sized>(
    b: &mut B,
    row: &Scan,
    operands: &[Place<'_, B::Value>],
    ct: &B::Value,
) -> Result<Cotangents<B::Value>> {
    match (row, operands) {
        (Scan::Cumsum { axis, sweep }, [Place::Linear(_)]) => {
            let direction = match sweep.direction {
                Direction::Forward => Direction::Reverse,
                Direction::Reverse => Direction::Forward,
            };
            let back = b.cumsum(ct, *axis, Sweep { direction, ..*sweep })?;
            Ok(cotangents([Some(back)]))
        }
        _ => Err(not_linear(Primitive::from(row.clone()).name())),
    }
}
