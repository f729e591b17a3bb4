//! The policies of the vocabulary on the reference engine: what libraries disagree about, and our answer.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use tenferro_ops::{TensorComposite, reference::Reference};
use tenferro_tensor::{
    Comparison, Contraction, DType, Error, KeepAxes, Numerical, Scalar, Tensor, TensorAnalytic,
    TensorDot, TensorElementwise, TensorIndexing, TensorReduction, TensorStructural, Validation,
    bf16, f16,
};

const DROP: KeepAxes = KeepAxes::Drop;

/// A tensor of one axis.
fn row<T: Scalar>(elements: &[T]) -> Tensor {
    Tensor::from_vec_col_major([elements.len()], elements.to_vec()).unwrap()
}

fn empty(extents: &[usize]) -> Tensor {
    Tensor::zeros(DType::F64, extents).unwrap()
}

fn floats(tensor: &Tensor) -> Vec<f64> {
    tensor.to_vec_row_major().unwrap()
}

/// Bits rather than values, so that -0 and +0 differ.
fn bits(tensor: &Tensor) -> Vec<u64> {
    floats(tensor).iter().map(|x| x.to_bits()).collect()
}

#[test]
fn p1_an_empty_axis_sums_to_zero_and_multiplies_to_one() {
    let x = empty(&[0, 3]);
    assert_eq!(floats(&Reference.sum(&x, [0], DROP).unwrap()), [0.0; 3]);
    assert_eq!(floats(&Reference.prod(&x, [0], DROP).unwrap()), [1.0; 3]);
    assert_eq!(Reference.sum(&x, [0], KeepAxes::Keep).unwrap().shape()[..], [1, 3]);
}

#[test]
fn p1_f3_f4_an_extreme_over_an_empty_axis_is_refused_and_over_another_axis_empty() {
    let x = empty(&[0, 3]);
    for extreme in [Reference.max(&x, [0], DROP), Reference.min(&x, [0, 1], DROP)] {
        let error = extreme.unwrap_err();
        assert!(matches!(error.validation(), Some(Validation::EmptyReduction { .. })), "{error}");
    }
    assert_eq!(Reference.min(&x, [1], DROP).unwrap().shape()[..], [0]);
    assert_eq!(Reference.max(&x, [1], KeepAxes::Keep).unwrap().shape()[..], [0, 1]);
}

#[test]
fn p1_f4_the_mean_of_nothing_is_nan() {
    let mean = Reference.mean(&empty(&[0, 3]), [0], DROP).unwrap();
    assert_eq!(mean.shape()[..], [3]);
    assert!(floats(&mean).iter().all(|x| x.is_nan()));
    let complex = Tensor::zeros(DType::C64, [0]).unwrap();
    let mean = Reference.mean(&complex, [0], DROP).unwrap();
    assert!(mean.get::<tenferro_tensor::Complex64>(&[]).unwrap().re.is_nan());
}

#[test]
fn p2_nan_wins_wherever_it_stands() {
    let with_nan = [[f64::NAN, 1.0, 2.0], [1.0, f64::NAN, 2.0], [1.0, 2.0, f64::NAN]];
    for elements in with_nan {
        let x = row(&elements);
        assert!(floats(&Reference.max(&x, [0], DROP).unwrap())[0].is_nan());
        assert!(floats(&Reference.min(&x, [0], DROP).unwrap())[0].is_nan());
    }
    let (nan, one) = (row(&[f64::NAN]), row(&[1.0]));
    for (lhs, rhs) in [(&nan, &one), (&one, &nan), (&nan, &nan)] {
        assert!(floats(&Reference.maximum(lhs, rhs).unwrap())[0].is_nan());
        assert!(floats(&Reference.minimum(lhs, rhs).unwrap())[0].is_nan());
    }
}

#[test]
fn p2_nan_wins_in_half_precision_too() {
    let x = row(&[f16::from_f32(1.0), f16::NAN, f16::from_f32(5.0)]);
    assert!(Reference.max(&x, [0], DROP).unwrap().get::<f16>(&[]).unwrap().is_nan());
    let x = row(&[bf16::NEG_ZERO, bf16::ZERO]);
    let least = Reference.min(&x, [0], DROP).unwrap().get::<bf16>(&[]).unwrap();
    assert_eq!(least.to_bits(), bf16::NEG_ZERO.to_bits());
}

#[test]
fn p2_zeros_are_ordered_by_their_sign() {
    let (minus, plus) = (row(&[-0.0]), row(&[0.0]));
    for (lhs, rhs) in [(&minus, &plus), (&plus, &minus)] {
        assert_eq!(bits(&Reference.maximum(lhs, rhs).unwrap()), [0.0_f64.to_bits()]);
        assert_eq!(bits(&Reference.minimum(lhs, rhs).unwrap()), [(-0.0_f64).to_bits()]);
    }
    for zeros in [[-0.0, 0.0], [0.0, -0.0]] {
        assert_eq!(bits(&Reference.max(&row(&zeros), [0], DROP).unwrap()), [0]);
        assert_eq!(bits(&Reference.min(&row(&zeros), [0], DROP).unwrap()), [(-0.0_f64).to_bits()]);
    }
    assert_eq!(bits(&Reference.maximum(&minus, &minus).unwrap()), bits(&minus));
    let infinities = row(&[f64::NEG_INFINITY, f64::NEG_INFINITY]);
    assert_eq!(floats(&Reference.max(&infinities, [0], DROP).unwrap()), [f64::NEG_INFINITY]);
}

#[test]
fn p2_f10_the_largest_of_numbers_with_a_nan_is_nan() {
    let largest = Reference.max(&row(&[3.0, f64::NAN, 1.0, 5.0]), [0], DROP).unwrap();
    assert!(floats(&largest)[0].is_nan());
}

#[test]
fn p3_f12_min_of_max_clamps_and_keeps_nan() {
    let clamp = |x: f64, low: f64, high: f64| {
        let raised = Reference.maximum(&row(&[x]), &row(&[low])).unwrap();
        floats(&Reference.minimum(&raised, &row(&[high])).unwrap())[0]
    };
    assert!(clamp(1.0, f64::NAN, 2.0).is_nan());
    assert!(clamp(f64::NAN, 0.0, 1.0).is_nan());
    assert_eq!(clamp(3.0, 0.0, 1.0), 1.0);
}

#[test]
fn p4_integers_wrap() {
    let x = row(&[i8::MAX, i8::MIN, -1]);
    let one = row(&[1_i8]);
    let taken = |tensor: Tensor| tensor.to_vec_col_major::<i8>().unwrap();
    assert_eq!(taken(Reference.add(&x, &one).unwrap()), [i8::MIN, -127, 0]);
    assert_eq!(taken(Reference.neg(&x).unwrap()), [-127, i8::MIN, 1]);
    assert_eq!(taken(Reference.abs(&x).unwrap()), [i8::MAX, i8::MIN, 1]);
    assert_eq!(taken(Reference.sign(&x).unwrap()), [1, -1, -1]);
    assert_eq!(taken(Reference.mul(&x, &x).unwrap()), [1, 0, 1]);
    let unsigned = Reference.sub(&row(&[0_u32]), &row(&[1_u32])).unwrap();
    assert_eq!(unsigned.as_slice::<u32>().unwrap(), [u32::MAX]);
    let sum = Reference.sum(&row(&[1_u8; 300]), [0], DROP).unwrap();
    assert_eq!(sum.get::<u8>(&[]).unwrap(), 44);
    let product = Reference.prod(&row(&[2_i32; 33]), [0], DROP).unwrap();
    assert_eq!(product.get::<i32>(&[]).unwrap(), 0);
}

#[test]
fn p4_f13_the_least_integer_divided_by_minus_one_is_itself() {
    let quotient = Reference.div(&row(&[i32::MIN, 7]), &row(&[-1_i32, -2])).unwrap();
    assert_eq!(quotient.as_slice::<i32>().unwrap(), [i32::MIN, -3]);
    let quotient = Reference.div(&row(&[i64::MIN]), &row(&[-1_i64])).unwrap();
    assert_eq!(quotient.as_slice::<i64>().unwrap(), [i64::MIN]);
}

#[test]
fn p4_f13_integer_division_by_zero_is_a_numerical_failure() {
    let zero_scalar = Tensor::scalar(0_i64).unwrap();
    for divisor in [&row(&[1_i64, 0, 1]), &zero_scalar] {
        let error = Reference.div(&row(&[4_i64, 5, 6]), divisor).unwrap_err();
        let failure = Numerical::DivisionByZero { dtype: DType::I64 };
        assert!(
            matches!(error, Error::NumericalFailure { op: "div", problem } if problem == failure),
            "{error}"
        );
    }
    let floats_divide = Reference.div(&row(&[1.0_f64]), &row(&[0.0])).unwrap();
    assert_eq!(floats_divide.as_slice::<f64>().unwrap(), [f64::INFINITY]);
}

#[test]
fn p4_nothing_divided_by_zero_is_nothing() {
    let nothing = Tensor::zeros(DType::I32, [0]).unwrap();
    let quotient = Reference.div(&nothing, &Tensor::scalar(0_i32).unwrap()).unwrap();
    assert_eq!(quotient.elements(), 0);
}

#[test]
fn p4_f13_a_negative_integer_exponent_is_a_numerical_failure() {
    for base in [2_i32, 1, -1, 0] {
        let error = Reference.pow(&row(&[base]), &row(&[-1_i32])).unwrap_err();
        let failure = Numerical::NegativeExponent { dtype: DType::I32 };
        assert!(matches!(error, Error::NumericalFailure { problem, .. } if problem == failure));
    }
}

#[test]
fn p4_integer_powers_wrap_and_end_for_huge_exponents() {
    let power = Reference.pow(&row(&[3_u64, 2, 0, 1]), &row(&[u64::MAX, 64, 0, u64::MAX])).unwrap();
    // 3 is odd, so 3^(2^64) is 1 and 3^(2^64 - 1) its inverse.
    let inverse = power.as_slice::<u64>().unwrap()[0];
    assert_eq!(inverse.wrapping_mul(3), 1);
    assert_eq!(power.as_slice::<u64>().unwrap()[1..], [0, 1, 1]);
    let signed = Reference.pow(&row(&[-2_i8, -2]), &row(&[7_i8, 8])).unwrap();
    assert_eq!(signed.as_slice::<i8>().unwrap(), [-128, 0]);
}

#[test]
fn p5_f14_floats_saturate_into_integers_and_nan_is_zero() {
    let x = row(&[f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 300.0, -1.5]);
    let to = |dtype| Reference.convert(&x, dtype).unwrap();
    assert_eq!(to(DType::I8).as_slice::<i8>().unwrap(), [0, 127, -128, 127, -1]);
    assert_eq!(to(DType::U8).as_slice::<u8>().unwrap(), [0, 255, 0, 255, 0]);
    assert_eq!(to(DType::I64).as_slice::<i64>().unwrap(), [0, i64::MAX, i64::MIN, 300, -1]);
    let halves = Reference.convert(&to(DType::F16), DType::U16).unwrap();
    assert_eq!(halves.as_slice::<u16>().unwrap(), [0, u16::MAX, 0, 300, 0]);
}

#[test]
fn p5_integers_wrap_into_integers_and_round_into_floats() {
    let x = row(&[-1_i64, 300, i64::MAX]);
    let to = |dtype| Reference.convert(&x, dtype).unwrap();
    assert_eq!(to(DType::U8).as_slice::<u8>().unwrap(), [255, 44, 255]);
    assert_eq!(to(DType::U64).as_slice::<u64>().unwrap(), [u64::MAX, 300, i64::MAX as u64]);
    assert_eq!(to(DType::F32).as_slice::<f32>().unwrap(), [-1.0, 300.0, 9.223372e18]);
    let big = Reference.convert(&row(&[u64::MAX]), DType::F64).unwrap();
    assert_eq!(floats(&big), [1.8446744073709552e19]);
}

#[test]
fn p5_complex_loses_its_imaginary_part_and_bool_asks_for_nonzero() {
    use tenferro_tensor::Complex64;
    let x = row(&[Complex64::new(2.5, 9.0), Complex64::new(0.0, 1.0), Complex64::new(0.0, 0.0)]);
    let to = |x: &Tensor, dtype| Reference.convert(x, dtype).unwrap();
    assert_eq!(floats(&to(&x, DType::F64)), [2.5, 0.0, 0.0]);
    assert_eq!(to(&x, DType::I16).as_slice::<i16>().unwrap(), [2, 0, 0]);
    assert_eq!(to(&x, DType::Bool).as_slice::<bool>().unwrap(), [true, true, false]);
    let nan = row(&[f32::NAN, -0.0, 0.25]);
    assert_eq!(to(&nan, DType::Bool).as_slice::<bool>().unwrap(), [true, false, true]);
    let truth = row(&[true, false]);
    assert_eq!(
        to(&truth, DType::C64).as_slice::<Complex64>().unwrap()[0],
        Complex64::new(1.0, 0.0)
    );
}

#[test]
fn p5_f46_long_half_precision_sums_do_not_stall() {
    let ones = Tensor::ones(DType::F16, [4096]).unwrap();
    let sum = Reference.sum(&ones, [0], DROP).unwrap();
    assert_eq!(sum.get::<f16>(&[]).unwrap().to_f32(), 4096.0);
    let ones = Tensor::ones(DType::BF16, [70_000]).unwrap();
    let sum = Reference.sum(&ones, [0], DROP).unwrap();
    assert_eq!(sum.get::<bf16>(&[]).unwrap().to_f32(), 70144.0);
}

#[test]
fn f46_the_mean_of_large_halves_fits_though_their_sum_does_not() {
    let x = row(&[f16::from_f32(40000.0); 3]);
    let mean = Reference.mean(&x, [0], DROP).unwrap();
    assert_eq!(mean.dtype(), DType::F16);
    assert_eq!(mean.get::<f16>(&[]).unwrap().to_f32(), 40000.0);
}

#[test]
fn p13_f7_overflowing_shapes_are_refused_even_when_an_extent_is_zero() {
    let huge = 1_usize << 40;
    let overflow = |result: tenferro_tensor::Result<Tensor>| {
        let error = result.unwrap_err();
        assert!(matches!(error.validation(), Some(Validation::SizeOverflow { .. })), "{error}");
    };
    let zero = empty(&[0]);
    overflow(Reference.reshape(&zero, [huge, huge, 0]));
    overflow(Reference.broadcast_in_dim(&zero, [huge, huge, 0], [2]));
    let one = Tensor::scalar(1.0).unwrap();
    overflow(Reference.broadcast_in_dim(&one, vec![1 << 16; 4], []));
    let scalar = Tensor::scalar(0.0).unwrap();
    overflow(Reference.pad(&empty(&[2]), &scalar, [(0, 0, usize::MAX)]));
    overflow(Reference.pad(&empty(&[2]), &scalar, [(isize::MAX, isize::MAX, 0)]));
    overflow(Reference.pad(&empty(&[0, 2]), &scalar, [(0, 0, 0), (isize::MAX, 0, usize::MAX)]));
    let tall = Reference.broadcast_in_dim(&zero, [huge, 1, 0], [2]).unwrap();
    let wide = Reference.broadcast_in_dim(&zero, [1, huge, 0], [2]).unwrap();
    overflow(Reference.add(&tall, &wide));
    let long = Reference.broadcast_in_dim(&zero, [0, 1 << 62], [0]).unwrap();
    overflow(Reference.concatenate(&[&long, &long].map(Tensor::clone), 1_usize));
    let outer = Contraction::over([], []);
    overflow(Reference.dot_general(&tall, &wide, outer));
    overflow(Reference.embed_diagonal(&long, 1_usize, 0_usize));
}

#[test]
fn f1_zero_and_one_broadcast_to_zero() {
    let sum = Reference.add(&empty(&[2, 0]), &empty(&[2, 1])).unwrap();
    assert_eq!(sum.shape()[..], [2, 0]);
    assert!(Reference.add(&empty(&[5]), &empty(&[0])).is_err());
}

#[test]
fn f2_every_rank_three_shape_with_a_zero_visits_nothing() {
    for zero in 0..3 {
        let mut extents = [2, 3, 4];
        extents[zero] = 0;
        let x = empty(&extents);
        assert_eq!(Reference.exp(&x).unwrap().elements(), 0);
        assert_eq!(Reference.transpose(&x, [2, 0, 1]).unwrap().elements(), 0);
        assert_eq!(Reference.sum(&x, [0, 1, 2], DROP).unwrap().get::<f64>(&[]).unwrap(), 0.0);
    }
}

#[test]
fn f13_f47_the_magnitude_of_large_complex_numbers_does_not_overflow() {
    use tenferro_tensor::{Complex32, Complex64};
    let x = row(&[Complex64::new(1e300, 1e300)]);
    let magnitude = floats(&Reference.abs(&x).unwrap())[0];
    assert!((magnitude / 1.4142135623730951e300 - 1.0).abs() < 1e-15);
    let tiny = row(&[Complex32::new(-1.0568e-23, 0.0)]);
    assert_eq!(Reference.abs(&tiny).unwrap().as_slice::<f32>().unwrap(), [1.0568e-23]);
    assert_eq!(Reference.sign(&tiny).unwrap().as_slice::<Complex32>().unwrap()[0].re, -1.0);
}

#[test]
fn f47_the_square_root_follows_the_branch_cut() {
    use tenferro_tensor::Complex64;
    let x = row(&[Complex64::new(-4.0, -0.0), Complex64::new(-4.0, 0.0)]);
    let root = Reference.sqrt(&x).unwrap();
    let root = root.as_slice::<Complex64>().unwrap();
    assert_eq!((root[0].re, root[0].im), (0.0, -2.0));
    assert_eq!((root[1].re, root[1].im), (0.0, 2.0));
}

#[test]
fn f48_subnormal_numbers_stay_subnormal() {
    let product = Reference.mul(&row(&[1e-310]), &row(&[1.0])).unwrap();
    assert_eq!(bits(&product), [1e-310_f64.to_bits()]);
}

#[test]
fn comparisons_with_nan_are_false_but_ne() {
    let (x, y) = (row(&[f64::NAN, 1.0, -0.0]), row(&[f64::NAN, 2.0, 0.0]));
    let expected = [
        (Comparison::Eq, [false, false, true]),
        (Comparison::Ne, [true, true, false]),
        (Comparison::Lt, [false, true, false]),
        (Comparison::Le, [false, true, true]),
        (Comparison::Gt, [false, false, false]),
        (Comparison::Ge, [false, false, true]),
    ];
    for (relation, truth) in expected {
        let result = Reference.compare(&x, &y, relation).unwrap();
        assert_eq!(result.as_slice::<bool>().unwrap(), truth, "{relation:?}");
    }
    let truth = Reference.compare(&row(&[false]), &row(&[true]), Comparison::Lt).unwrap();
    assert_eq!(truth.as_slice::<bool>().unwrap(), [true]);
}

#[test]
fn select_takes_the_branch_and_broadcasts_all_three() {
    let predicate = row(&[true, false, true]);
    let column = Tensor::from_vec_col_major([2, 1], vec![1_i32, 2]).unwrap();
    let chosen = Reference.select(&predicate, &column, &Tensor::scalar(0_i32).unwrap()).unwrap();
    assert_eq!(chosen.to_vec_row_major::<i32>().unwrap(), [1, 0, 1, 2, 0, 2]);
}

#[test]
fn zeros_keep_their_sign_in_sign_and_nan_stays() {
    let signs = floats(&Reference.sign(&row(&[-0.0, 0.0, -3.0, 2.0, f64::NAN])).unwrap());
    assert_eq!(signs[0].to_bits(), (-0.0_f64).to_bits());
    assert_eq!(signs[1].to_bits(), 0);
    assert_eq!(signs[2..4], [-1.0, 1.0]);
    assert!(signs[4].is_nan());
}
