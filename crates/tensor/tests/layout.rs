//! Layouts against a naive oracle: the list of offsets that an index-by-index walk reaches.

#![allow(clippy::unwrap_used, reason = "a test unwraps what it expects to be there")]

use std::collections::HashSet;

use tenferro_tensor::{Layout, Shape, Validation};

/// Every index of a shape in column-major order.
fn indices(extents: &[usize]) -> Vec<Vec<usize>> {
    extents.iter().enumerate().fold(vec![vec![0; extents.len()]], |found, (axis, &extent)| {
        (0..extent)
            .flat_map(|at| {
                found.iter().cloned().map(move |mut index| {
                    index[axis] = at;
                    index
                })
            })
            .collect()
    })
}

/// The offsets of a layout in column-major order.
fn offsets(layout: &Layout) -> Vec<isize> {
    indices(layout.shape()).iter().map(|index| layout.offset(index).unwrap()).collect()
}

/// The layout that walks `offsets` under `extents`, if strides can say it: each one is forced by one element.
fn strides_for(extents: &[usize], offsets: &[isize]) -> Option<Layout> {
    let dense = Layout::column_major(Shape::new(extents).unwrap());
    let strides: Vec<isize> = (0..extents.len())
        .map(|axis| match extents[axis] {
            1 => 0,
            _ => offsets[dense.strides()[axis].unsigned_abs()] - offsets[0],
        })
        .collect();
    let layout = Layout::strided(extents, &strides).unwrap();
    (self::offsets(&layout) == offsets).then_some(layout)
}

/// Every list of `rank` values.
fn lists<T: Copy>(values: &[T], rank: usize) -> Vec<Vec<T>> {
    (0..rank).fold(vec![Vec::new()], |lists, _| {
        lists
            .iter()
            .flat_map(|list| values.iter().map(move |&value| [&list[..], &[value]].concat()))
            .collect()
    })
}

/// Every layout of up to three axes with these extents and strides.
fn layouts(extents: &[usize], strides: &[isize]) -> Vec<Layout> {
    let mut layouts = Vec::new();
    for rank in 0..=3 {
        for extents in lists(extents, rank) {
            for strides in lists(strides, rank) {
                layouts.push(Layout::strided(&extents, &strides).unwrap());
            }
        }
    }
    layouts
}

#[test]
fn a_reshape_succeeds_exactly_where_strides_can_describe_it() {
    let mut described = 0;
    let mut refused = 0;
    // Powers of two, for axes that split and merge; then mixed factors.
    let cases: [(&[usize], &[isize], &[usize]); 2] = [
        (&[1, 2, 4], &[-2, 0, 1, 2, 4], &[1, 2, 4, 8]),
        (&[1, 2, 3], &[-3, 1, 2, 6], &[1, 2, 3, 6]),
    ];
    for (extents, strides, wanted) in cases {
        let wanted: Vec<_> = (0..=3).flat_map(|rank| lists(wanted, rank)).collect();
        for layout in layouts(extents, strides) {
            let walked = offsets(&layout);
            for wanted in wanted.iter().filter(|w| w.iter().product::<usize>() == walked.len()) {
                match (layout.reshaped(wanted), strides_for(wanted, &walked)) {
                    (Ok(reshaped), Some(_)) => {
                        described += 1;
                        assert_eq!(offsets(&reshaped), walked, "{layout:?} to {wanted:?}");
                    }
                    (Err(Validation::NotDense { .. }), None) => refused += 1,
                    (ours, oracle) => panic!("{layout:?} to {wanted:?}: {ours:?}, {oracle:?}"),
                }
            }
        }
    }
    assert!(described > 5_000 && refused > 5_000, "{described} and {refused}");
}

#[test]
fn an_overlap_is_never_missed() {
    for layout in layouts(&[0, 1, 2, 4], &[-5, -1, 0, 1, 2, 3, 6, 12]) {
        let walked = offsets(&layout);
        let distinct = walked.iter().collect::<HashSet<_>>().len();
        assert!(layout.overlaps() || distinct == walked.len(), "{layout:?}");
    }
}

#[test]
fn the_span_is_the_lowest_and_highest_offset() {
    for layout in layouts(&[0, 1, 2, 3], &[-7, -1, 0, 2, 5]) {
        let walked = offsets(&layout);
        let span = walked.iter().min().copied().zip(walked.iter().max().copied());
        assert_eq!(layout.span().unwrap(), span, "{layout:?}");
    }
}

#[test]
fn density_means_that_offsets_count_up() {
    for layout in layouts(&[0, 1, 2, 3], &[-1, 0, 1, 2, 3, 4, 6, 9]) {
        let counts_up = offsets(&layout).iter().zip(0..).all(|(&offset, at)| offset == at);
        assert_eq!(layout.is_dense(), counts_up, "{layout:?}");
    }
}

#[test]
fn f1_broadcasting_aligns_right_and_stretches_ones_also_to_zero() {
    let shape = |extents: &[usize]| Shape::new(extents).unwrap();
    assert_eq!(shape(&[2, 0]).broadcast(&[2, 1]).unwrap()[..], [2, 0]);
    assert_eq!(shape(&[1]).broadcast(&[0]).unwrap()[..], [0]);
    assert_eq!(shape(&[3, 1]).broadcast(&[2, 1, 4]).unwrap()[..], [2, 3, 4]);
    assert_eq!(shape(&[]).broadcast(&[2]).unwrap()[..], [2]);
    let refused = shape(&[5]).broadcast(&[0]).unwrap_err();
    assert!(matches!(refused, Validation::Broadcast { .. }));
    let layout = Layout::column_major(shape(&[0]));
    assert!(matches!(layout.broadcast(&[1]), Err(Validation::Broadcast { .. })));
}

#[test]
fn f7_shapes_that_cannot_be_counted_are_refused_also_with_a_zero() {
    let many = [2; 64];
    for extents in [&many[..], &[1 << 16; 4], &[1 << 40, 1 << 40, 0], &[0, usize::MAX]] {
        let refused = Shape::new(extents).unwrap_err();
        assert!(matches!(refused, Validation::SizeOverflow { .. }), "{extents:?}");
    }
    assert_eq!(Shape::new(&[isize::MAX.unsigned_abs(), 0]).unwrap().elements(), 0);
    assert_eq!(Shape::new(&many[..62]).unwrap().elements(), 1 << 62);
}

#[test]
fn f8_a_slice_that_runs_backwards_or_stands_still_is_refused() {
    let layout = Layout::column_major(Shape::new(&[5]).unwrap());
    for (start, limit, stride) in [(3, 2, 1), (0, 5, 0), (0, 6, 1), (6, 6, 1), (usize::MAX, 0, 1)] {
        let refused = layout.sliced(0, start, limit, stride).unwrap_err();
        assert!(matches!(refused, Validation::Slice { .. }), "{start} {limit} {stride}");
    }
    assert!(matches!(layout.sliced(1, 0, 0, 1), Err(Validation::AxisOutOfRange { .. })));
    let (one, offset) = layout.sliced(0, 4, 5, usize::MAX).unwrap();
    assert_eq!((&one.shape()[..], offset), (&[1][..], 4));
    let (none, offset) = layout.sliced(0, 5, 5, 3).unwrap();
    assert_eq!((&none.shape()[..], offset), (&[0][..], 0));
}

#[test]
fn f9_a_broadcast_that_cannot_be_counted_is_refused() {
    let layout = Layout::column_major(Shape::new(&[1]).unwrap());
    for extents in [&[1 << 32, 1 << 31][..], &[1 << 40, 1 << 40, 0, 1], &[usize::MAX]] {
        let refused = layout.broadcast(extents).unwrap_err();
        assert!(matches!(refused, Validation::SizeOverflow { .. }), "{extents:?}");
    }
    assert_eq!(layout.broadcast(&[1 << 31, 1 << 31]).unwrap().strides(), [0, 0]);
}

#[test]
fn x53_unit_and_empty_axes_carry_any_stride() {
    for odd in [isize::MIN, isize::MAX, 16384, -3, 0] {
        let layout = Layout::strided(&[1, 4, 1], &[odd, 1, odd]).unwrap();
        assert!(layout.is_dense() && !layout.overlaps());
        assert_eq!(layout.span().unwrap(), Some((0, 3)));
        assert_eq!(layout.reversed(0).unwrap().1, 0);
        assert_eq!(layout.sliced(2, 0, 1, 7).unwrap().1, 0);
        assert_eq!(layout.reshaped(&[2, 2]).unwrap().strides(), [1, 2]);
        assert_eq!(layout.diagonal(0, 2).unwrap().span().unwrap(), Some((0, 3)));
        let empty = Layout::strided(&[0, 4], &[odd, odd]).unwrap();
        assert!(empty.is_dense() && !empty.overlaps());
        assert_eq!(empty.span().unwrap(), None);
        assert_eq!(empty.reversed(1).unwrap().1, 0);
        assert_eq!(empty.sliced(1, 3, 4, 1).unwrap().1, 0);
    }
}

#[test]
fn strides_that_no_data_can_have_are_refused_without_wrapping() {
    let far = |result: Result<isize, Validation>| {
        assert!(matches!(result, Err(Validation::SizeOverflow { .. })), "{result:?}");
    };
    for stride in [isize::MIN, isize::MAX] {
        let layout = Layout::strided(&[3, 3], &[stride, stride]).unwrap();
        far(layout.offset(&[2, 0]));
        far(layout.offset(&[1, 1]));
        far(layout.span().map(|_| 0));
        far(layout.sliced(0, 2, 3, 1).map(|(_, offset)| offset));
        far(layout.sliced(0, 0, 3, 2).map(|(_, offset)| offset));
        far(layout.reversed(0).map(|(_, offset)| offset));
        far(layout.diagonal(0, 1).map(|_| 0));
        assert!(layout.overlaps());
    }
    let layout = Layout::strided(&[8], &[isize::MAX]).unwrap();
    far(layout.reshaped(&[2, 4]).map(|_| 0));
}
