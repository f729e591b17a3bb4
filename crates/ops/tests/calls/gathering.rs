//! Calls of the rows that look indices up, with operands of indices that mostly fit.

use tenferro_tensor::{DType, GatherMode, Gathering, Placement, ScatterMode};

use super::{Call, Dice, Sample, Wanted};

fn modes(dice: &mut Dice) -> GatherMode {
    dice.pick(&[GatherMode::Clamp, GatherMode::Refuse])
}

/// An operand of indices below `below`.
fn indices(extents: Vec<usize>, below: usize, dice: &mut Dice) -> Wanted {
    let dtypes = [DType::I64, DType::I32, DType::U8, DType::U64, DType::I16];
    let dtype = if dice.one_in(40) { DType::F64 } else { dice.pick(&dtypes) };
    Wanted { extents, dtype: Some(dtype), below: Some(below) }
}

/// Starts of a part of `x`, one an axis.
fn starts(x: &[usize], part: &[usize], dice: &mut Dice) -> Wanted {
    let room = x.iter().zip(part).map(|(&extent, &own)| extent.saturating_sub(own) + 1).min();
    let entries = if dice.one_in(30) { x.len() + 1 } else { x.len() };
    indices(vec![entries], room.unwrap_or(1), dice)
}

/// Extents that mostly fit into others.
fn within(x: &[usize], dice: &mut Dice) -> Vec<usize> {
    let past = usize::from(dice.one_in(30));
    x.iter().map(|&extent| dice.roll(extent + 1 + past)).collect()
}

pub(super) fn dynamic_slice(x: &[usize], dice: &mut Dice) -> Call {
    let part = within(x, dice);
    let starts = starts(x, &part, dice);
    let row = tenferro_tensor::Indexing::DynamicSlice { extents: part.into(), mode: modes(dice) };
    let mut call = Call::new(row, vec![x.to_vec()]);
    call.operands.push(starts);
    call
}

pub(super) fn dynamic_update(x: &[usize], dice: &mut Dice) -> Call {
    let part = within(x, dice);
    let starts = starts(x, &part, dice);
    let row = tenferro_tensor::Indexing::DynamicUpdate { mode: modes(dice) };
    let mut call = Call::new(row, vec![x.to_vec(), part]);
    call.operands.push(starts);
    call
}

/// A gathering from `x`, the operand of its indices, and the extents of its result.
fn gathering(x: &[usize], dice: &mut Dice) -> (Gathering, Wanted, Vec<usize>) {
    let mut gathering = Gathering { slice_extents: within(x, dice).into(), ..Gathering::default() };
    let mut slice: Vec<usize> = gathering.slice_extents.to_vec();
    let (mut collapsed, mut batch, mut start) = (vec![], vec![], vec![]);
    // Axes that number slices: their extents, and whether they go with an axis of the operand.
    let mut numbering: Vec<(usize, Option<usize>)> =
        (0..dice.roll(3)).map(|_| (dice.roll(4), None)).collect();
    for axis in dice.permutation(x.len()) {
        match dice.roll(4) {
            0 => {
                slice[axis] = 1;
                collapsed.push(axis);
                start.push(axis);
            }
            1 => {
                slice[axis] = 1;
                batch.push(axis);
                let place = dice.roll(numbering.len() + 1);
                numbering.insert(place, (x[axis], Some(axis)));
            }
            2 => start.push(axis),
            // From the start of the axis.
            _ => {}
        }
    }
    let mut extents: Vec<usize> = numbering.iter().map(|&(extent, _)| extent).collect();
    gathering.component_axis = dice.roll(extents.len() + 1);
    let implied = start.len() == 1 && dice.one_in(2);
    if implied {
        gathering.component_axis = extents.len();
    } else {
        extents.insert(gathering.component_axis, start.len());
    }
    let place = |axis: &usize| {
        let number = numbering.iter().position(|&(_, own)| own == Some(*axis)).unwrap();
        number + usize::from(!implied && number >= gathering.component_axis)
    };
    gathering.index_batch_axes = batch.iter().map(place).collect();
    let kept: Vec<usize> =
        (0..x.len()).filter(|axis| !collapsed.contains(axis) && !batch.contains(axis)).collect();
    // Where slices stand in the result: any places, ascending.
    let rank = kept.len() + numbering.len();
    let mut slice_axes: Vec<usize> = dice.permutation(rank)[..kept.len()].to_vec();
    slice_axes.sort_unstable();
    let (mut own, mut numbers) = (kept.iter(), numbering.iter());
    let result = (0..rank).map(|axis| {
        if slice_axes.contains(&axis) {
            slice[*own.next().unwrap()]
        } else {
            numbers.next().unwrap().0
        }
    });
    let result = result.collect();
    let room = start.iter().map(|&axis| (x[axis] + 1).saturating_sub(slice[axis])).min();
    let wanted = indices(extents, room.unwrap_or(1), dice);
    gathering.slice_extents = slice.into();
    gathering.collapsed_axes = collapsed.into();
    gathering.batch_axes = batch.into();
    gathering.start_axes = start.into();
    gathering.slice_axes = slice_axes.into();
    (gathering, wanted, result)
}

pub(super) fn gather(x: &[usize], dice: &mut Dice) -> Call {
    let (gathering, indices, _) = gathering(x, dice);
    let row = tenferro_tensor::Indexing::Gather { gathering: gathering.into(), mode: modes(dice) };
    let mut call = Call::new(row, vec![x.to_vec()]);
    call.operands.push(indices);
    call
}

pub(super) fn scatter(x: &[usize], dice: &mut Dice) -> Call {
    let (gathering, indices, result) = gathering(x, dice);
    let placement = match dice.roll(3) {
        0 => Placement::Replace,
        _ => Placement::Combine(Sample::sample(dice)),
    };
    let mode = dice.pick(&[ScatterMode::Drop, ScatterMode::Refuse]);
    let gathering = gathering.into();
    let row = tenferro_tensor::Indexing::Scatter { gathering, placement, mode };
    let mut call = Call::new(row, vec![x.to_vec(), result]);
    call.operands.insert(1, indices);
    call
}
