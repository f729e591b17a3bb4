//! Rows that look for places, scan, sort, gather, scatter and slide, on long operands: the same at every width, and what
//! the reference says.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod samples;

use samples::{Dice, Widths, backend, rough, same};
use tenferro_ops::{TensorComposite, TensorRanking, WriteTo, reference::Reference, scalar::Cast};
use tenferro_tensor::{
    AsOperand, Boundary, Combiner, Convolution, ConvolutionAxis, DType, Direction, GatherMode,
    Gathering, KeepAxes, Placement, ScatterMode, SortOrder, Sweep, Tensor, TensorDot,
    TensorIndexing, TensorReduction, TensorScan, TensorSorting, TensorStructural, TensorWindowed,
    Window, WindowAxis, dispatch,
};

const DROP: KeepAxes = KeepAxes::Drop;

/// Indices below `below`.
fn indices(extents: &[usize], below: usize, seed: u64) -> Tensor {
    let mut dice = Dice(seed);
    let elements = extents.iter().product();
    let drawn = (0..elements).map(|_| dice.roll(below) as i64).collect();
    Tensor::from_vec_col_major(extents, drawn).unwrap()
}

/// Few different numbers, zeros of both signs and NaN among them.
fn few(dtype: DType, extents: &[usize]) -> Tensor {
    let mut dice = Dice(7);
    let elements = extents.iter().product();
    dispatch!(dtype, any T => {
        let mut draw = || match dice.roll(9) {
            0 => <T as Cast>::from_f64(f64::NAN),
            1 => <T as Cast>::from_f64(-0.0),
            number => <T as Cast>::from_i64(number as i64 - 5),
        };
        Tensor::from_vec_col_major(extents, (0..elements).map(|_| draw()).collect()).unwrap()
    })
}

#[test]
fn x50_searches_for_places_do_not_depend_on_the_width() {
    let mut widths = Widths::new();
    let short_rows = few(DType::F64, &[9, 333, 3]);
    for x in [few(DType::F64, &[90, 140, 7]), short_rows, rough(DType::I16, &[90, 140, 7], 5)] {
        for axes in [&[0][..], &[1], &[2], &[0, 2], &[1, 2]] {
            for view in [x.view(), x.view().reverse(1).unwrap()] {
                let expected = Reference.argmax(&view, axes, DROP).unwrap();
                assert!(same(&expected, &backend(2).argmax(&view, axes, DROP).unwrap()));
                let expected = Reference.argmin(&view, axes, KeepAxes::Keep).unwrap();
                let found = backend(1).argmin(&view, axes, KeepAxes::Keep).unwrap();
                assert!(same(&expected, &found));
            }
        }
    }
    let x = rough(DType::F64, &[300, 400], 5);
    widths.agree("argmax", |b| b.argmax(&x, [1], DROP));
}

#[test]
fn p2_f10_the_first_nan_is_found_wherever_runs_and_lanes_end() {
    let mut b = backend(1);
    for at in [0, 15, 16, 17, 2047, 2048, 2049, 4500, 4999] {
        let mut elements = vec![1.0_f64; 5000];
        elements[at] = f64::NAN;
        elements[4999] = f64::NAN;
        let x = Tensor::from_vec_col_major([5000], elements).unwrap();
        let place = b.argmax(&x, [0], DROP).unwrap();
        assert_eq!(place.as_slice::<i64>().unwrap(), [at as i64]);
    }
}

#[test]
fn x50_scans_do_not_depend_on_the_width_and_short_ones_are_the_plain_scan() {
    let mut widths = Widths::new();
    let both = Sweep { boundary: Boundary::Exclusive, direction: Direction::Reverse };
    for dtype in [DType::F64, DType::BF16] {
        let elements = 600_000 / dtype.size();
        let long = rough(dtype, &[elements], 3);
        let few = rough(dtype, &[2, elements / 2], 4);
        for sweep in [Sweep::default(), both] {
            widths.agree("cumsum", |b| b.cumsum(&long, 0_usize, sweep));
            widths.agree("cumsum", |b| b.cumsum(&few, 1_usize, sweep));
            let lines = rough(dtype, &[150, 301], 5);
            for axis in [0_usize, 1] {
                widths.are_equal("cumsum", |b| b.cumsum(&lines, axis, sweep));
                let expected = Reference.cumsum(&lines, axis, sweep).unwrap();
                assert!(same(&expected, &backend(2).cumsum(&lines, axis, sweep).unwrap()));
            }
            widths.agree("cummax", |b| b.cummax(&long, 0_usize, sweep));
            let expected = Reference.cummax(&long, 0_usize, sweep).unwrap();
            assert!(same(&expected, &backend(4).cummax(&long, 0_usize, sweep).unwrap()));
        }
    }
}

#[test]
fn x50_long_lines_are_sorted_by_all_threads_as_by_one() {
    let mut widths = Widths::new();
    let drawn = [
        rough(DType::F32, &[140_001], 9),
        few(DType::F64, &[70_001]),
        few(DType::F16, &[70_001]),
        rough(DType::U8, &[70_001], 9),
    ];
    for x in drawn {
        for order in [SortOrder::Ascending, SortOrder::Descending] {
            widths.agree("sort", |b| b.sort(&x, 0_usize, order));
            let expected = Reference.sort(&x, 0_usize, order).unwrap();
            assert!(
                same(&expected, &backend(4).sort(&x, 0_usize, order).unwrap()),
                "{}",
                x.dtype()
            );
            widths.agree("argsort", |b| b.argsort(&x, 0_usize, order));
            let expected = Reference.argsort(&x, 0_usize, order).unwrap();
            assert!(same(&expected, &backend(4).argsort(&x, 0_usize, order).unwrap()));
            let top = |b: &mut tenferro_cpu::CpuBackend| b.arg_top(&x, 0_usize, 77_usize, order);
            let expected = Reference.arg_top(&x, 0_usize, 77_usize, order).unwrap();
            assert!(same(&expected, &top(&mut backend(2)).unwrap()));
        }
    }
    let lines = few(DType::F32, &[400, 200]);
    for axis in [0_usize, 1] {
        widths.agree("sort", |b| b.sort(&lines.view().transpose(), axis, SortOrder::Ascending));
    }
}

#[test]
fn x50_gathers_and_scatters_do_not_depend_on_the_width() {
    let mut widths = Widths::new();
    for dtype in [DType::F64, DType::BF16] {
        let x = rough(dtype, &[900, 200], 1);
        let few = indices(&[300], 200, 2);
        let rows = indices(&[1000], 900, 3);
        widths.are_equal("take", |b| b.take(&x, &few, 1_usize, GatherMode::Refuse));
        widths.are_equal("take", |b| b.take(&x, &rows, 0_usize, GatherMode::Refuse));
        let expected = Reference.take(&x, &rows, 0_usize, GatherMode::Refuse).unwrap();
        let taken = backend(4).take(&x, &rows, 0_usize, GatherMode::Refuse).unwrap();
        assert!(same(&expected, &taken));
        let places = indices(&[900, 200], 900, 4);
        let along = |b: &mut tenferro_cpu::CpuBackend| {
            b.take_along_axis(&x, &places, 0_usize, GatherMode::Clamp)
        };
        widths.agree("take_along_axis", along);
        // Long slices, then single elements, many of them for one place.
        for (gathering, indices, updates) in [
            (
                Gathering::along(1, &[900, 200]),
                indices(&[400], 200, 5),
                rough(dtype, &[900, 400], 6),
            ),
            (
                Gathering::of_elements(2, 0),
                indices(&[2, 150_000], 200, 7),
                rough(dtype, &[150_000], 8),
            ),
        ] {
            for placement in [Placement::Replace, Combiner::Sum.into()] {
                let mode = ScatterMode::Drop;
                widths.agree("scatter", |b| {
                    b.scatter(&x, &indices, &updates, gathering.clone(), placement, mode)
                });
                let expected =
                    Reference.scatter(&x, &indices, &updates, gathering.clone(), placement, mode);
                let scattered =
                    backend(4).scatter(&x, &indices, &updates, gathering.clone(), placement, mode);
                assert!(same(&expected.unwrap(), &scattered.unwrap()), "{dtype} {placement:?}");
            }
        }
    }
}

#[test]
fn p10_a_bad_index_among_many_is_found_and_nothing_is_written() {
    let mut b = backend(4);
    let x = Tensor::zeros(DType::F64, [10]).unwrap();
    let mut elements = vec![3_i64; 200_000];
    elements[170_000] = 10;
    elements[190_000] = -7;
    let indices = Tensor::from_vec_col_major([200_000], elements).unwrap();
    let mut out = Tensor::full([200_000], 5.0).unwrap();
    let gathering = Gathering::along(0, &[10]);
    for (mode, expected) in [(GatherMode::Refuse, "index 10"), (GatherMode::Clamp, "index -7")] {
        let out = out.as_operand_mut().unwrap();
        let error = b.write_to(out).gather(&x, &indices, gathering.clone(), mode).unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
    }
    assert!(out.as_slice::<f64>().unwrap().iter().all(|&element| element == 5.0));
}

#[test]
fn x50_windows_and_convolutions_do_not_depend_on_the_width() {
    let mut widths = Widths::new();
    let two = WindowAxis { stride: 2, low: 1, ..WindowAxis::of(3) };
    let window = Window::from([two, WindowAxis::of(2), WindowAxis::of(1)]);
    let x = rough(DType::F32, &[100, 60, 24], 2);
    for combiner in [Combiner::Sum, Combiner::Max] {
        widths.agree("reduce_window", |b| b.reduce_window(&x, combiner, window.clone()));
    }
    let expected = Reference.reduce_window(&x, Combiner::Max, window.clone()).unwrap();
    assert!(same(&expected, &backend(2).reduce_window(&x, Combiner::Max, window).unwrap()));
    // Large enough for several blocks of windows, and for products that are shared out.
    let (x, kernel) =
        (rough(DType::F32, &[300, 200, 8, 1], 3), rough(DType::F32, &[3, 3, 8, 8], 4));
    let same_size = ConvolutionAxis { low: 1, high: 1, ..ConvolutionAxis::VALID };
    let convolution = Convolution::from([same_size, same_size]);
    widths.agree("convolve", |b| b.convolve(&x, &kernel, convolution.clone()));
    let whole = [DType::I32, DType::U8]
        .map(|dtype| (rough(dtype, &[40, 30, 4, 3], 5), rough(dtype, &[3, 2, 2, 6], 6)));
    for (x, kernel) in whole {
        let grouped = Convolution { axes: vec![same_size; 2], groups: 2 };
        let expected = Reference.convolve(&x, &kernel, grouped.clone()).unwrap();
        assert!(same(&expected, &backend(2).convolve(&x, &kernel, grouped).unwrap()));
    }
}

#[test]
fn f5_f7_huge_windows_and_slices_of_nothing_make_no_memory() {
    let mut b = backend(1);
    let x = Tensor::zeros(DType::F64, [3]).unwrap();
    let huge = WindowAxis { low: isize::MAX, high: isize::MAX, ..WindowAxis::of(1) };
    assert!(b.reduce_window(&x, Combiner::Sum, Window::from([huge])).is_err());
    let far = ConvolutionAxis { lhs_dilation: usize::MAX, ..ConvolutionAxis::VALID };
    let x = Tensor::zeros(DType::F64, [3, 1, 0]).unwrap();
    let kernel = Tensor::zeros(DType::F64, [1, 1, 1]).unwrap();
    assert!(b.convolve(&x, &kernel, Convolution::from([far])).is_err());
    assert!(b.iota(DType::F64, [1 << 40, 1 << 40, 0], 0_usize).is_err());
    let nothing = Tensor::zeros(DType::F64, [0, 3]).unwrap();
    assert_eq!(b.sort(&nothing, 0_usize, SortOrder::Ascending).unwrap().shape()[..], [0, 3]);
    assert_eq!(b.cumsum(&nothing, 0_usize, Sweep::default()).unwrap().shape()[..], [0, 3]);
}

#[test]
fn several_operands_are_sorted_by_several_keys() {
    let mut b = backend(2);
    let row = |elements: &[i64]| Tensor::from_vec_col_major([elements.len()], elements.to_vec());
    let (first, second, rest) = (
        row(&[2, 1, 2, 1]).unwrap(),
        row(&[0, 5, -1, 5]).unwrap(),
        row(&[10, 11, 12, 13]).unwrap(),
    );
    let operands = [first.as_operand(), second.as_operand(), rest.as_operand()];
    let sorted = b.sort_by_keys(&operands, 2, 0, SortOrder::Ascending).unwrap();
    let elements: Vec<_> = sorted.iter().map(|x| x.as_slice::<i64>().unwrap()).collect();
    assert_eq!(elements, [[1, 1, 2, 2], [5, 5, -1, 0], [11, 13, 12, 10]]);
    let (largest, places) = b.top_k(&second, 0, 3).unwrap();
    assert_eq!(largest.as_slice::<i64>().unwrap(), [5, 5, 0]);
    assert_eq!(places.as_slice::<i64>().unwrap(), [1, 3, 0]);
    assert!(b.sort_by_keys(&operands, 0, 0, SortOrder::Ascending).is_err());
}

#[test]
fn f16_f17_results_are_written_over_views_of_any_strides() {
    let mut b = backend(1);
    let x = Tensor::from_vec_row_major([2, 2], vec![0_i32, 1, 2, 3]).unwrap();
    let mut out = Tensor::full([4, 2], 9_i32).unwrap();
    let mut view = out.view_mut().unwrap().slice(0, .., 2).unwrap().reverse(1).unwrap();
    b.write_to(view.as_operand_mut()).add(&x, &x.view().transpose()).unwrap();
    assert_eq!(out.to_vec_row_major::<i32>().unwrap(), [3, 0, 9, 9, 6, 3, 9, 9]);
}
