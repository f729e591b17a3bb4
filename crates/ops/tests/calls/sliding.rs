//! Calls of the rows that go along axes: scans, windows, sorting, convolutions.

use tenferro_tensor::{
    Boundary, Convolution, ConvolutionAxis, Direction, SortOrder, Sweep, Window, WindowAxis,
};

use super::{Call, Dice, Sample, Scan, Sorting, Windowed};

/// An axis, now and then one that is not there.
fn axis(x: &[usize], dice: &mut Dice) -> usize {
    let past = usize::from(dice.one_in(20));
    dice.roll(x.len() + past)
}

pub(super) fn scan(row: Scan::Row, x: &[usize], dice: &mut Dice) -> Call {
    use tenferro_tensor::Scan as Primitives;
    let axis = axis(x, dice);
    let boundary = dice.pick(&[Boundary::Inclusive, Boundary::Exclusive]);
    let direction = dice.pick(&[Direction::Forward, Direction::Reverse]);
    let sweep = Sweep { boundary, direction };
    let primitive = match row {
        Scan::Row::Cumsum => Primitives::Cumsum { axis, sweep },
        Scan::Row::Cumprod => Primitives::Cumprod { axis, sweep },
        Scan::Row::Cummax => Primitives::Cummax { axis, sweep },
        Scan::Row::Cummin => Primitives::Cummin { axis, sweep },
    };
    Call::new(primitive, vec![x.to_vec()])
}

pub(super) fn windowed(row: Windowed::Row, x: &[usize], dice: &mut Dice) -> Call {
    let Windowed::Row::ReduceWindow = row;
    let mut at_least_one = |sides: usize| 1 + dice.roll(sides);
    let axes: Vec<WindowAxis> = x
        .iter()
        .map(|_| WindowAxis {
            extent: at_least_one(3),
            stride: at_least_one(3),
            dilation: at_least_one(2),
            low: at_least_one(4) as isize - 2,
            high: at_least_one(4) as isize - 2,
        })
        .collect();
    let mut window = Window::from(axes);
    if dice.one_in(40)
        && let Some(&first) = window.first()
    {
        window = vec![WindowAxis { stride: 0, ..first }; window.len()].into();
    }
    let combiner = Sample::sample(dice);
    Call::new(tenferro_tensor::Windowed::ReduceWindow { combiner, window }, vec![x.to_vec()])
}

pub(super) fn sorting(row: Sorting::Row, x: &[usize], dice: &mut Dice) -> Call {
    use tenferro_tensor::Sorting as Primitives;
    let axis = axis(x, dice);
    let order = dice.pick(&[SortOrder::Ascending, SortOrder::Descending]);
    let past = usize::from(dice.one_in(20));
    let count = dice.roll(x.get(axis).copied().unwrap_or(0) + 1 + past);
    let primitive = match row {
        Sorting::Row::Sort => Primitives::Sort { axis, order },
        Sorting::Row::Argsort => Primitives::Argsort { axis, order },
        Sorting::Row::ArgTop => Primitives::ArgTop { axis, count, order },
    };
    Call::new(primitive, vec![x.to_vec()])
}

/// The last two axes are channels and batch; without them the call is refused.
pub(super) fn convolution(x: &[usize], dice: &mut Dice) -> Call {
    let spatial = x.len().saturating_sub(2);
    let axes: Vec<ConvolutionAxis> = (0..spatial)
        .map(|_| ConvolutionAxis {
            stride: 1 + dice.roll(3),
            low: dice.roll(5) as isize - 2,
            high: dice.roll(5) as isize - 2,
            lhs_dilation: 1 + dice.roll(2),
            rhs_dilation: 1 + dice.roll(2),
        })
        .collect();
    let channels = x.get(spatial).copied().unwrap_or(0);
    let groups = if channels > 0 && dice.one_in(3) { channels } else { 1 + dice.roll(2) };
    let mut kernel: Vec<usize> = (0..spatial).map(|_| dice.roll(4)).collect();
    kernel.extend([channels / groups, groups * dice.roll(3)]);
    let convolution = Convolution { axes, groups };
    Call::new(tenferro_tensor::Dot::Convolve { convolution }, vec![x.to_vec(), kernel])
}
