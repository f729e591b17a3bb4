//! Calls of the rows that move elements or sum products over axes.

use tenferro_tensor::{BatchPosition, Conjugation, Contraction, DType};

use super::{Call, Dice, Dot, Indexing, Structural, gathering, sliding};

pub(super) fn structural(row: Structural::Row, x: &[usize], dice: &mut Dice) -> Call {
    let (rank, shape) = (x.len(), x.to_vec());
    let permutation = dice.permutation(rank);
    match row {
        Structural::Row::Transpose => Call::new(
            tenferro_tensor::Structural::Transpose { permutation: permutation.into() },
            vec![shape],
        ),
        Structural::Row::Reshape => {
            let mut extents: Vec<usize> = permutation.iter().map(|&axis| x[axis]).collect();
            extents.insert(dice.roll(rank + 1), 1);
            if extents.len() > 2 && dice.one_in(2) {
                let last = extents.pop().unwrap();
                extents[0] *= last;
            }
            Call::new(tenferro_tensor::Structural::Reshape { extents: extents.into() }, vec![shape])
        }
        Structural::Row::BroadcastInDim => {
            let mut extents = vec![2; rank + 1];
            let mut own = shape;
            for (axis, &to) in permutation.iter().enumerate() {
                extents[to] = own[axis];
                if dice.one_in(3) {
                    own[axis] = 1;
                }
            }
            let (extents, axes) = (extents.into(), permutation.into());
            Call::new(tenferro_tensor::Structural::BroadcastInDim { extents, axes }, vec![own])
        }
        Structural::Row::Concatenate => {
            let past = usize::from(dice.one_in(10));
            let axis = dice.roll(rank + past);
            let mut other = shape.clone();
            if let Some(extent) = other.get_mut(axis) {
                *extent = dice.roll(4);
            }
            Call::new(
                tenferro_tensor::Structural::Concatenate { axis },
                vec![shape.clone(), other, shape],
            )
        }
        Structural::Row::Pad => {
            let mut edge = || (dice.roll(6) as isize - 2, dice.roll(6) as isize - 2, dice.roll(3));
            let axes: Vec<_> = (0..rank).map(|_| edge()).collect();
            Call::new(
                tenferro_tensor::Structural::Pad { padding: (&axes[..]).into() },
                vec![shape, vec![]],
            )
        }
        Structural::Row::Reverse => {
            let axes = permutation[..dice.roll(rank + 1)].into();
            Call::new(tenferro_tensor::Structural::Reverse { axes }, vec![shape])
        }
        Structural::Row::Tril => {
            let (rows, columns, offset) = triangle(&permutation, dice);
            Call::new(tenferro_tensor::Structural::Tril { rows, columns, offset }, vec![shape])
        }
        Structural::Row::Triu => {
            let (rows, columns, offset) = triangle(&permutation, dice);
            Call::new(tenferro_tensor::Structural::Triu { rows, columns, offset }, vec![shape])
        }
        Structural::Row::Iota => {
            let (dtype, axis) = (dice.pick(DType::ALL), dice.roll(rank));
            let extents = shape.into();
            Call::new(tenferro_tensor::Structural::Iota { dtype, extents, axis }, vec![])
        }
    }
}

/// Two axes, if there are as many, and an offset of the diagonal.
fn triangle(permutation: &[usize], dice: &mut Dice) -> (usize, usize, isize) {
    let at = |place| permutation.get(place).copied().unwrap_or(0);
    let far = dice.pick(&[isize::MIN, isize::MAX]);
    (at(0), at(1), if dice.one_in(20) { far } else { dice.roll(7) as isize - 3 })
}

pub(super) fn indexing(row: Indexing::Row, x: &[usize], dice: &mut Dice) -> Call {
    let (rank, shape) = (x.len(), x.to_vec());
    match row {
        Indexing::Row::Slice => {
            let (mut starts, mut limits, mut strides) = (vec![], vec![], vec![]);
            for &extent in x {
                let (one, other) = (dice.roll(extent + 1), dice.roll(extent + 1));
                starts.push(if dice.one_in(30) { one.max(other) + 1 } else { one.min(other) });
                limits.push(one.max(other));
                strides.push(if dice.one_in(40) { 0 } else { 1 + dice.roll(3) });
            }
            let (starts, limits, strides) = (starts.into(), limits.into(), strides.into());
            Call::new(tenferro_tensor::Indexing::Slice { starts, limits, strides }, vec![shape])
        }
        Indexing::Row::ExtractDiagonal => {
            let (first, second) = (dice.roll(rank), dice.roll(rank));
            let mut square = shape;
            if let Some(&extent) = square.get(first)
                && !dice.one_in(10)
            {
                square[second] = extent;
            }
            Call::new(tenferro_tensor::Indexing::ExtractDiagonal { first, second }, vec![square])
        }
        Indexing::Row::EmbedDiagonal => {
            let (axis, new_axis) = (dice.roll(rank), dice.roll(rank + 1));
            Call::new(tenferro_tensor::Indexing::EmbedDiagonal { axis, new_axis }, vec![shape])
        }
        Indexing::Row::DynamicSlice => gathering::dynamic_slice(x, dice),
        Indexing::Row::DynamicUpdate => gathering::dynamic_update(x, dice),
        Indexing::Row::Gather => gathering::gather(x, dice),
        Indexing::Row::Scatter => gathering::scatter(x, dice),
    }
}

pub(super) fn dot(row: Dot::Row, x: &[usize], dice: &mut Dice) -> Call {
    match row {
        Dot::Row::DotGeneral => contraction(x, dice),
        Dot::Row::Convolve => sliding::convolution(x, dice),
    }
}

/// Some axes of both operands are summed over, some are a batch, some free; at times extents do not fit.
pub fn contraction(x: &[usize], dice: &mut Dice) -> Call {
    let places = dice.permutation(x.len());
    let mut other = vec![0; x.len()];
    let mut contraction = Contraction {
        batch: dice.pick(&[BatchPosition::Leading, BatchPosition::Trailing]),
        lhs: dice.pick(&[Conjugation::Plain, Conjugation::Conjugated]),
        rhs: dice.pick(&[Conjugation::Plain, Conjugation::Conjugated]),
        ..Contraction::default()
    };
    let (mut summed, mut batch) = ((vec![], vec![]), (vec![], vec![]));
    for axis in dice.permutation(x.len()) {
        let to = places[axis];
        other[to] = x[axis];
        match dice.roll(3) {
            0 => {
                summed.0.push(axis);
                summed.1.push(to);
            }
            1 => {
                batch.0.push(axis);
                batch.1.push(to);
            }
            _ => other[to] = dice.roll(4.max(x[axis] + 1)),
        }
    }
    (contraction.lhs_contracting, contraction.rhs_contracting) = (summed.0.into(), summed.1.into());
    (contraction.lhs_batch, contraction.rhs_batch) = (batch.0.into(), batch.1.into());
    if dice.one_in(30)
        && let Some(extent) = other.first_mut()
    {
        *extent += 1;
    }
    Call::new(tenferro_tensor::Dot::DotGeneral { contraction }, vec![x.to_vec(), other])
}
