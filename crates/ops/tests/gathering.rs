//! Rows that reduce, scan, sort, look indices up and convolve, on the reference engine, against values worked out by
//! hand or by NumPy.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use tenferro_ops::reference::Reference;
use tenferro_tensor::{
    Boundary, Combiner, Convolution, ConvolutionAxis, DType, Direction, GatherMode, Gathering,
    KeepAxes, Placement, Result, Scalar, ScatterMode, SortOrder, Sweep, Tensor, TensorDot,
    TensorElementwise, TensorIndexing, TensorReduction, TensorScan, TensorSorting,
    TensorStructural, TensorWindowed, Window, WindowAxis, f16,
};

const NAN: f64 = f64::NAN;

fn row<T: Scalar>(elements: &[T]) -> Tensor {
    Tensor::from_vec_col_major([elements.len()], elements.to_vec()).unwrap()
}

/// A matrix written row by row.
fn matrix<T: Scalar>(extents: [usize; 2], elements: &[T]) -> Tensor {
    Tensor::from_vec_row_major(extents, elements.to_vec()).unwrap()
}

fn rows<T: Scalar>(tensor: &Tensor) -> Vec<T> {
    tensor.to_vec_row_major().unwrap()
}

/// Elements as text, so that NaN equals NaN and zeros differ.
fn text(tensor: &Tensor) -> String {
    format!("{:?}", tensor.to_vec_row_major::<f64>().unwrap())
}

fn refused(result: Result<Tensor>) -> String {
    result.unwrap_err().to_string()
}

#[test]
fn p1_all_of_nothing_is_true_and_any_of_nothing_is_false() {
    let nothing = Tensor::zeros(DType::Bool, [0, 3]).unwrap();
    assert_eq!(rows::<bool>(&Reference.all(&nothing, [0], KeepAxes::Drop).unwrap()), [true; 3]);
    assert_eq!(rows::<bool>(&Reference.any(&nothing, [0], KeepAxes::Drop).unwrap()), [false; 3]);
    let truths = matrix([2, 2], &[true, false, true, true]);
    assert_eq!(rows::<bool>(&Reference.all(&truths, [0], KeepAxes::Drop).unwrap()), [true, false]);
    assert_eq!(rows::<bool>(&Reference.any(&truths, [1], KeepAxes::Keep).unwrap()), [true, true]);
    let numbers = row(&[1.0, 0.0]);
    insta::assert_snapshot!(refused(Reference.all(&numbers, [0], KeepAxes::Drop)), @"all: not defined for f64; it needs truth values; compare or convert first");
}

#[test]
fn p2_f10_f12_argmax_is_the_first_nan_else_the_first_extreme() {
    let largest =
        |x: &[f64]| rows::<i64>(&Reference.argmax(&row(x), [0], KeepAxes::Drop).unwrap())[0];
    let least =
        |x: &[f64]| rows::<i64>(&Reference.argmin(&row(x), [0], KeepAxes::Drop).unwrap())[0];
    assert_eq!(largest(&[3.0, NAN, 1.0, 5.0]), 1);
    assert_eq!(least(&[-1.0, -2.0, NAN]), 2);
    for length in [3, 5, 10] {
        assert_eq!((largest(&vec![NAN; length]), least(&vec![NAN; length])), (0, 0));
    }
    assert_eq!(largest(&[85.0, 16.0, 0.04, 85.0, 16.0, 85.0]), 0);
    assert_eq!((largest(&[-0.0, 0.0]), least(&[0.0, -0.0])), (0, 0));
    assert_eq!((largest(&[f64::NEG_INFINITY; 2]), least(&[f64::INFINITY; 2])), (0, 0));
}

#[test]
fn argmax_over_several_axes_counts_in_column_major_order() {
    let x = matrix([2, 3], &[1, 5, 2, 7, 0, 7]);
    assert_eq!(rows::<i64>(&Reference.argmax(&x, [0, 1], KeepAxes::Drop).unwrap()), [1]);
    assert_eq!(rows::<i64>(&Reference.argmax(&x, [1, 0], KeepAxes::Drop).unwrap()), [1]);
    assert_eq!(rows::<i64>(&Reference.argmin(&x, [0, 1], KeepAxes::Keep).unwrap()), [3]);
    assert_eq!(rows::<i64>(&Reference.argmax(&x, [1], KeepAxes::Drop).unwrap()), [1, 0]);
    assert_eq!(rows::<i64>(&Reference.argmax(&x, [], KeepAxes::Drop).unwrap()), [0; 6]);
}

#[test]
fn p1_f3_f4_the_place_of_an_extreme_over_an_empty_axis_is_refused_and_over_another_axis_empty() {
    let x = Tensor::zeros(DType::F64, [0, 3]).unwrap();
    assert_eq!(Reference.argmin(&x, [1], KeepAxes::Drop).unwrap().shape()[..], [0]);
    insta::assert_snapshot!(refused(Reference.argmax(&x, [0], KeepAxes::Drop)), @"argmax: no place of a maximum over axis 0 of shape (0, 3), which is empty");
}

#[test]
fn sums_of_squares_are_real_and_do_not_stall() {
    let x = row(&[tenferro_tensor::Complex64::new(3.0, -4.0), tenferro_tensor::Complex64::I]);
    let squares = Reference.sum_of_squares(&x, [0], KeepAxes::Drop).unwrap();
    assert_eq!(rows::<f64>(&squares), [26.0]);
    let ones = Tensor::full([4096], f16::ONE).unwrap();
    let squares = Reference.sum_of_squares(&ones, [0], KeepAxes::Drop).unwrap();
    assert_eq!(rows::<f16>(&squares)[0].to_f32(), 4096.0);
    assert_eq!(
        rows::<i8>(&Reference.sum_of_squares(&row(&[12_i8]), [0], KeepAxes::Drop).unwrap()),
        [-112]
    );
}

#[test]
fn a_named_combiner_has_its_dtypes_and_its_neutral_element() {
    let bits = row(&[0b1100_u8, 0b1010]);
    let reduce = |x: &Tensor, combiner| Reference.reduce(x, combiner, [0], KeepAxes::Drop);
    for (combiner, expected, neutral) in [
        (Combiner::And, 0b1000, 255),
        (Combiner::Or, 0b1110, 0),
        (Combiner::Xor, 0b0110, 0),
        (Combiner::Max, 12, 0),
        (Combiner::Min, 10, 255),
        (Combiner::Sum, 22, 0),
        (Combiner::Prod, 120, 1),
    ] {
        assert_eq!(rows::<u8>(&reduce(&bits, combiner).unwrap()), [expected], "{combiner:?}");
        assert_eq!(rows::<u8>(&reduce(&row::<u8>(&[]), combiner).unwrap()), [neutral]);
    }
    insta::assert_snapshot!(refused(reduce(&row(&[1.0]), Combiner::Xor)), @"reduce: not defined for f64; it needs integers or bool");
    insta::assert_snapshot!(refused(reduce(&row(&[true]), Combiner::Max)), @"reduce: not defined for bool; it needs integers or real floats");
}

#[test]
fn scans_run_either_way_with_or_without_their_own_element() {
    let x = row(&[1, 2, 3, 4]);
    let cumsum = |sweep: Sweep| rows::<i32>(&Reference.cumsum(&x, 0_usize, sweep).unwrap());
    assert_eq!(cumsum(Sweep::default()), [1, 3, 6, 10]);
    assert_eq!(cumsum(Boundary::Exclusive.into()), [0, 1, 3, 6]);
    assert_eq!(cumsum(Direction::Reverse.into()), [10, 9, 7, 4]);
    let both = Sweep { boundary: Boundary::Exclusive, direction: Direction::Reverse };
    assert_eq!(cumsum(both), [9, 7, 4, 0]);
    let matrix = matrix([2, 3], &[1, 2, 3, 4, 5, 6]);
    let along =
        |axis: usize| rows::<i32>(&Reference.cumprod(&matrix, axis, Sweep::default()).unwrap());
    assert_eq!((along(0), along(1)), (vec![1, 2, 3, 4, 10, 18], vec![1, 2, 6, 4, 20, 120]));
    let lowest = Reference.cummin(&row(&[5_i8, 3, 4]), 0_usize, Boundary::Exclusive).unwrap();
    assert_eq!(rows::<i8>(&lowest), [127, 5, 3]);
    insta::assert_snapshot!(refused(Reference.cumsum(&x, 1_usize, Sweep::default())), @"cumsum: axis 1 does not exist in shape (4,)");
}

#[test]
fn p2_f11_a_running_maximum_keeps_nan() {
    let x = row(&[1.0, 3.0, NAN, 5.0, 4.0]);
    insta::assert_snapshot!(text(&Reference.cummax(&x, 0_usize, Sweep::default()).unwrap()), @"[1.0, 3.0, NaN, NaN, NaN]");
    let zeros = row(&[-0.0, 0.0, -0.0]);
    insta::assert_snapshot!(text(&Reference.cummax(&zeros, 0_usize, Sweep::default()).unwrap()), @"[-0.0, 0.0, 0.0]");
    insta::assert_snapshot!(text(&Reference.cummin(&zeros, 0_usize, Direction::Reverse).unwrap()), @"[-0.0, -0.0, -0.0]");
}

#[test]
fn p5_f15_a_running_sum_of_bytes_wraps_unless_it_is_given_a_wider_dtype() {
    let ones = Tensor::ones(DType::U8, [300]).unwrap();
    let last = |x: &Tensor| Reference.cumsum(x, 0_usize, Sweep::default()).unwrap();
    assert_eq!(rows::<u8>(&last(&ones))[299], 44);
    let wide = Reference.convert(&ones, DType::U32).unwrap();
    assert_eq!(rows::<u32>(&last(&wide))[299], 300);
    let halves = Tensor::full([4096], f16::ONE).unwrap();
    assert_eq!(rows::<f16>(&last(&halves))[4095].to_f32(), 4096.0);
}

#[test]
fn windows_slide_stride_dilate_and_are_padded_with_what_is_neutral() {
    let x = row(&[1, 2, 3, 4, 5]);
    let window = |axis: WindowAxis, combiner| {
        rows::<i32>(&Reference.reduce_window(&x, combiner, Window::from([axis])).unwrap())
    };
    let three = WindowAxis::of(3);
    assert_eq!(window(three, Combiner::Sum), [6, 9, 12]);
    assert_eq!(window(WindowAxis { stride: 2, ..three }, Combiner::Max), [3, 5]);
    assert_eq!(window(WindowAxis { dilation: 2, ..three }, Combiner::Prod), [15]);
    let padded = WindowAxis { low: 2, high: 1, ..three };
    assert_eq!(window(padded, Combiner::Sum), [1, 3, 6, 9, 12, 9]);
    assert_eq!(window(WindowAxis { low: -1, high: -1, ..three }, Combiner::Min), [2]);
    assert_eq!(window(WindowAxis::of(6), Combiner::Sum), [0; 0]);
    let past = WindowAxis { low: 3, ..three };
    assert_eq!(window(past, Combiner::Max)[0], i32::MIN);
    let huge = WindowAxis { extent: usize::MAX, dilation: usize::MAX, ..three };
    assert_eq!(window(huge, Combiner::Sum), [0; 0]);
    let zero = Window::from([WindowAxis { stride: 0, ..three }]);
    insta::assert_snapshot!(refused(Reference.reduce_window(&x, Combiner::Sum, zero)), @"reduce_window: the extent, stride and dilation of a window must be at least 1");
}

#[test]
fn p2_f11_nan_is_the_last_of_a_sorted_axis_and_equal_elements_keep_their_order() {
    let sort = |x: &[f64], order| text(&Reference.sort(&row(x), 0_usize, order).unwrap());
    let argsort =
        |x: &[f64], order| rows::<i64>(&Reference.argsort(&row(x), 0_usize, order).unwrap());
    use SortOrder::{Ascending, Descending};
    insta::assert_snapshot!(sort(&[1.0, NAN, 2.0, 3.0], Ascending), @"[1.0, 2.0, 3.0, NaN]");
    insta::assert_snapshot!(sort(&[1.0, NAN, 2.0, 3.0], Descending), @"[NaN, 3.0, 2.0, 1.0]");
    insta::assert_snapshot!(sort(&[0.0, -1.0, -0.0, f64::INFINITY, f64::NEG_INFINITY], Ascending), @"[-inf, -1.0, 0.0, -0.0, inf]");
    insta::assert_snapshot!(sort(&[-0.0, 0.0, -NAN, NAN], Descending), @"[NaN, NaN, -0.0, 0.0]");
    assert_eq!(argsort(&[2.0, 1.0, 2.0, 1.0, -NAN, NAN], Ascending), [1, 3, 0, 2, 4, 5]);
    assert_eq!(argsort(&[2.0, 1.0, 2.0, 1.0, -NAN, NAN], Descending), [4, 5, 0, 2, 1, 3]);
    let x = matrix([2, 3], &[3_i8, -128, 127, -1, 0, 5]);
    let along = |axis: usize| rows::<i8>(&Reference.sort(&x, axis, Ascending).unwrap());
    assert_eq!((along(0), along(1)), (vec![-1, -128, 5, 3, 0, 127], vec![-128, 3, 127, -1, 0, 5]));
    let top = Reference.arg_top(&x, 1_usize, 2_usize, Descending).unwrap();
    assert_eq!(rows::<i64>(&top), [2, 0, 2, 1]);
    let truths = Reference.sort(&row(&[true, false, true]), 0_usize, Ascending).unwrap();
    assert_eq!(rows::<bool>(&truths), [false, true, true]);
    let complex = Tensor::zeros(DType::C64, [1]).unwrap();
    insta::assert_snapshot!(refused(Reference.sort(&complex, 0_usize, Ascending)), @"sort: not defined for c64; complex numbers have no order");
    insta::assert_snapshot!(refused(Reference.arg_top(&x, 0_usize, 3_usize, Ascending)), @"arg_top: there are fewer elements along the axis than places are asked for");
}

#[test]
fn reverse_triangles_and_iota() {
    let x = matrix([2, 3], &[1, 2, 3, 4, 5, 6]);
    assert_eq!(rows::<i32>(&Reference.reverse(&x, [1]).unwrap()), [3, 2, 1, 6, 5, 4]);
    assert_eq!(rows::<i32>(&Reference.reverse(&x, [1, 0]).unwrap()), [6, 5, 4, 3, 2, 1]);
    let lower = |offset: isize| rows::<i32>(&Reference.tril(&x, 0_usize, 1_usize, offset).unwrap());
    let upper = |offset: isize| rows::<i32>(&Reference.triu(&x, 0_usize, 1_usize, offset).unwrap());
    assert_eq!(
        (lower(0), lower(1), lower(-1)),
        (vec![1, 0, 0, 4, 5, 0], vec![1, 2, 0, 4, 5, 6], vec![0, 0, 0, 4, 0, 0])
    );
    assert_eq!(
        (upper(0), upper(1), upper(-1)),
        (vec![1, 2, 3, 0, 5, 6], vec![0, 2, 3, 0, 0, 6], vec![1, 2, 3, 4, 5, 6])
    );
    assert_eq!((lower(isize::MIN), upper(isize::MIN)), (vec![0; 6], vec![1, 2, 3, 4, 5, 6]));
    let counts = Reference.iota(DType::F32, [2, 3], 1_usize).unwrap();
    assert_eq!(rows::<f32>(&counts), [0.0, 1.0, 2.0, 0.0, 1.0, 2.0]);
    insta::assert_snapshot!(refused(Reference.iota(DType::Bool, [2], 0_usize)), @"iota: not defined for bool; it needs numbers");
    insta::assert_snapshot!(refused(Reference.iota(DType::I8, [], 0_usize)), @"iota: axis 0 does not exist in shape ()");
}

#[test]
fn p10_dynamic_parts_are_clamped_or_refused_and_never_negative() {
    let x = matrix([2, 3], &[1, 2, 3, 4, 5, 6]);
    let slice = |starts: [i64; 2], mode: GatherMode| {
        Reference.dynamic_slice(&x, &row(&starts), [1, 2], mode)
    };
    assert_eq!(rows::<i32>(&slice([1, 0], GatherMode::Refuse).unwrap()), [4, 5]);
    assert_eq!(rows::<i32>(&slice([7, 2], GatherMode::Clamp).unwrap()), [5, 6]);
    insta::assert_snapshot!(refused(slice([0, 2], GatherMode::Refuse)), @"dynamic_slice: index 3 is outside of axis 1 with extent 3");
    insta::assert_snapshot!(refused(slice([-1, 0], GatherMode::Clamp)), @"dynamic_slice: index -1 is outside of axis 0 with extent 2");
    let update = matrix([1, 2], &[8, 9]);
    let updated =
        Reference.dynamic_update(&x, &update, &row(&[1_u8, 9]), GatherMode::Clamp).unwrap();
    assert_eq!(rows::<i32>(&updated), [1, 2, 3, 4, 8, 9]);
    insta::assert_snapshot!(refused(Reference.dynamic_slice(&x, &row(&[0.0, 0.0]), [1, 1], GatherMode::Clamp)), @"dynamic_slice: not defined for f64; indices are integers; convert them first");
}

#[test]
fn p10_a_gather_clamps_or_refuses_axis_by_axis() {
    let x = matrix([3, 2], &[1, 2, 3, 4, 5, 6]);
    let gather = |indices: &[i64], mode| {
        Reference.gather(&x, &row(indices), Gathering::along(0, x.shape()), mode)
    };
    assert_eq!(rows::<i32>(&gather(&[2, 0, 2], GatherMode::Refuse).unwrap()), [5, 6, 1, 2, 5, 6]);
    assert_eq!(rows::<i32>(&gather(&[1, 99], GatherMode::Clamp).unwrap()), [3, 4, 5, 6]);
    insta::assert_snapshot!(refused(gather(&[0, 3], GatherMode::Refuse)), @"gather: index 3 is outside of axis 0 with extent 3");
    insta::assert_snapshot!(refused(gather(&[0, -1], GatherMode::Clamp)), @"gather: index -1 is outside of axis 0 with extent 3");
    // (row, column) pairs: only the column leaves its axis.
    let pairs = matrix([2, 2], &[2_i64, 0, 1, 5]);
    let picked =
        Reference.gather(&x, &pairs, Gathering::of_elements(2, 1), GatherMode::Clamp).unwrap();
    assert_eq!(rows::<i32>(&picked), [5, 4]);
    let huge = row(&[u64::MAX]);
    let last =
        Reference.gather(&x, &huge, Gathering::along(0, x.shape()), GatherMode::Clamp).unwrap();
    assert_eq!(rows::<i32>(&last), [5, 6]);
}

#[test]
fn an_empty_axis_has_nothing_to_gather_but_no_index_is_no_error() {
    let x = Tensor::zeros(DType::I32, [0, 2]).unwrap();
    let gather = |indices: &[i64], mode| {
        Reference.gather(&x, &row(indices), Gathering::along(0, x.shape()), mode)
    };
    assert_eq!(gather(&[], GatherMode::Refuse).unwrap().shape()[..], [0, 2]);
    insta::assert_snapshot!(refused(gather(&[0], GatherMode::Clamp)), @"gather: index 0 is outside of axis 0 with extent 0");
}

#[test]
fn p10_f37_a_scatter_drops_or_refuses_and_adds_up_repeated_indices() {
    let x = row(&[1.0, 2.0, 3.0]);
    let scatter = |indices: &[i64], placement: Placement, mode| {
        let updates = row(&(0..indices.len()).map(|at| 10.0 * (at + 1) as f64).collect::<Vec<_>>());
        Reference.scatter(
            &x,
            &row(indices),
            &updates,
            Gathering::along(0, x.shape()),
            placement,
            mode,
        )
    };
    let sum = Placement::from(Combiner::Sum);
    assert_eq!(
        rows::<f64>(&scatter(&[0, 2, 0], sum, ScatterMode::Refuse).unwrap()),
        [41.0, 2.0, 23.0]
    );
    let replaced = scatter(&[0, 2, 0], Placement::Replace, ScatterMode::Refuse).unwrap();
    assert_eq!(rows::<f64>(&replaced), [30.0, 2.0, 20.0]);
    assert_eq!(rows::<f64>(&scatter(&[3, 1], sum, ScatterMode::Drop).unwrap()), [1.0, 22.0, 3.0]);
    insta::assert_snapshot!(refused(scatter(&[1, 3], sum, ScatterMode::Refuse)), @"scatter: index 3 is outside of axis 0 with extent 3");
    insta::assert_snapshot!(refused(scatter(&[-1], sum, ScatterMode::Drop)), @"scatter: index -1 is outside of axis 0 with extent 3");
    // The gradient of a gather of [.1] at [0, 0] with the cotangent [.2, .3].
    let updates = row(&[0.2, 0.3]);
    let zero = Tensor::zeros(DType::F64, [1]).unwrap();
    let gathering = Gathering::along(0, &[1]);
    let gradient =
        Reference.scatter(&zero, &row(&[0_i64, 0]), &updates, gathering, sum, ScatterMode::Refuse);
    assert_eq!(rows::<f64>(&gradient.unwrap()), [0.5]);
}

#[test]
fn p5_a_scatter_of_halves_accumulates_in_single_precision() {
    let zero = Tensor::zeros(DType::F16, [1]).unwrap();
    let (indices, ones) =
        (Tensor::zeros(DType::I32, [4096]).unwrap(), Tensor::full([4096], f16::ONE).unwrap());
    let gathering = Gathering::along(0, &[1]);
    let sum =
        Reference.scatter(&zero, &indices, &ones, gathering, Combiner::Sum, ScatterMode::Refuse);
    assert_eq!(rows::<f16>(&sum.unwrap())[0].to_f32(), 4096.0);
}

#[test]
fn convolutions_agree_with_values_worked_out_by_hand() {
    // One channel, one result, one of a batch: [1, 2, 3, 4] under [1, 10].
    let x = Tensor::from_vec_col_major([4, 1, 1], vec![1.0, 2.0, 3.0, 4.0]).unwrap();
    let kernel = Tensor::from_vec_col_major([2, 1, 1], vec![1.0, 10.0]).unwrap();
    let convolve = |axis: ConvolutionAxis| {
        rows::<f64>(&Reference.convolve(&x, &kernel, Convolution::from([axis])).unwrap())
    };
    let valid = ConvolutionAxis::VALID;
    assert_eq!(convolve(valid), [21.0, 32.0, 43.0]);
    assert_eq!(convolve(ConvolutionAxis { stride: 2, ..valid }), [21.0, 43.0]);
    assert_eq!(
        convolve(ConvolutionAxis { low: 1, high: 1, ..valid }),
        [10.0, 21.0, 32.0, 43.0, 4.0]
    );
    assert_eq!(convolve(ConvolutionAxis { rhs_dilation: 2, ..valid }), [31.0, 42.0]);
    assert_eq!(
        convolve(ConvolutionAxis { lhs_dilation: 2, ..valid }),
        [1.0, 20.0, 2.0, 30.0, 3.0, 40.0]
    );
    assert_eq!(convolve(ConvolutionAxis { low: -1, high: -1, ..valid }), [32.0]);
    // Two groups: each result sees its own channel.
    let x = Tensor::from_vec_col_major([2, 2, 1], vec![1.0, 2.0, 3.0, 4.0]).unwrap();
    let kernel = Tensor::from_vec_col_major([1, 1, 2], vec![10.0, 100.0]).unwrap();
    let grouped = Convolution { axes: vec![valid], groups: 2 };
    let result = Reference.convolve(&x, &kernel, grouped).unwrap();
    assert_eq!(result.to_vec_col_major::<f64>().unwrap(), [10.0, 20.0, 300.0, 400.0]);
    let ungrouped = Convolution::valid(1);
    insta::assert_snapshot!(refused(Reference.convolve(&x, &kernel, ungrouped)), @"convolve: channels of a group: extents 2 and 1 differ in shapes (2, 2, 1) and (1, 1, 2)");
    let none = Convolution { axes: vec![valid], groups: 0 };
    insta::assert_snapshot!(refused(Reference.convolve(&x, &kernel, none)), @"convolve: groups, at least one, must divide the operand's channels and the kernel's results");
}
