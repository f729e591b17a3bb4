//! The policies of elementwise rows on the reference engine: integers, bits, rounding, NaN and signed zeros.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use tenferro_ops::reference::Reference;
use tenferro_tensor::{
    Complex32, Complex64, DType, Error, Numerical, Scalar, Tensor, TensorAnalytic,
    TensorElementwise, Ties, TypedTensor, Validation, bf16, f16,
};

fn row<T: Scalar>(elements: &[T]) -> Tensor {
    Tensor::from_vec_col_major([elements.len()], elements.to_vec()).unwrap()
}

fn elements<T: Scalar>(tensor: &Tensor) -> Vec<T> {
    tensor.as_slice::<T>().unwrap().to_vec()
}

/// Bits rather than values, so that -0 and +0 differ and NaN equals NaN.
fn bits(tensor: &Tensor) -> Vec<u64> {
    elements::<f64>(tensor).iter().map(|x| if x.is_nan() { 1 } else { x.to_bits() }).collect()
}

fn bits_of(values: &[f64]) -> Vec<u64> {
    bits(&row(values))
}

#[test]
fn p2_p3_f12_clamp_is_the_minimum_of_the_maximum_and_nan_wins() {
    let clamp = |x: f64, lo: f64, hi: f64| {
        let of = |value| Tensor::scalar(value).unwrap();
        bits(&Reference.clamp(&of(x), &of(lo), &of(hi)).unwrap())
    };
    assert_eq!(clamp(1.0, f64::NAN, 2.0), bits_of(&[f64::NAN]));
    assert_eq!(clamp(f64::NAN, 0.0, 1.0), bits_of(&[f64::NAN]));
    assert_eq!(clamp(1.0, 0.0, f64::NAN), bits_of(&[f64::NAN]));
    assert_eq!(clamp(5.0, 0.0, 1.0), bits_of(&[1.0]));
    assert_eq!(clamp(5.0, 3.0, 1.0), bits_of(&[1.0]));
    assert_eq!(clamp(-0.0, 0.0, 1.0), bits_of(&[0.0]));
    let x = Tensor::from_vec_col_major([2, 2], vec![-9_i8, 9, 3, -128]).unwrap();
    let limits = (Tensor::scalar(-4_i8).unwrap(), row(&[4_i8, 8]));
    let clamped = Reference.clamp(&x, &limits.0, &limits.1).unwrap();
    assert_eq!(elements::<i8>(&clamped), [-4, 4, 3, -4]);
}

#[test]
fn p4_f13_remainders_follow_the_dividend_and_do_not_trap() {
    let rem = |x: &Tensor, y: &Tensor| Reference.rem(x, y).unwrap();
    assert_eq!(elements::<i32>(&rem(&row(&[7, -7, i32::MIN]), &row(&[-3, 3, -1]))), [1, -1, 0]);
    assert_eq!(elements::<i64>(&rem(&row(&[i64::MIN]), &Tensor::scalar(-1_i64).unwrap())), [0]);
    assert_eq!(elements::<u8>(&rem(&row(&[255_u8]), &row(&[16_u8]))), [15]);
    let floats = rem(
        &row(&[7.5, -7.5, -4.0, 1.0, f64::INFINITY, 3.0]),
        &row(&[2.0, 2.0, 2.0, 0.0, 1.0, f64::INFINITY]),
    );
    assert_eq!(bits(&floats), bits_of(&[1.5, -1.5, -0.0, f64::NAN, f64::NAN, 3.0]));
    for divisor in [Tensor::scalar(0_i64).unwrap(), row(&[1_i64, 0])] {
        let error = Reference.rem(&row(&[1_i64, 2]), &divisor).unwrap_err();
        let failure = Numerical::DivisionByZero { dtype: DType::I64 };
        assert!(
            matches!(error, Error::NumericalFailure { op: "rem", problem } if problem == failure),
            "{error}"
        );
    }
}

#[test]
fn p4_shifts_by_the_width_or_more_leave_zero_or_the_sign() {
    let (x, by) = (row(&[-1_i8, 64, -128, 1, -1]), row(&[3_i8, 1, 8, 100, -1]));
    assert_eq!(elements::<i8>(&Reference.shift_left(&x, &by).unwrap()), [-8, -128, 0, 0, 0]);
    let arithmetic = Reference.shift_right_arithmetic(&x, &by).unwrap();
    assert_eq!(elements::<i8>(&arithmetic), [-1, 32, -1, 0, -1]);
    let logical = Reference.shift_right_logical(&x, &by).unwrap();
    assert_eq!(elements::<i8>(&logical), [31, 32, 0, 0, 0]);
    let (x, by) = (row(&[u64::MAX; 4]), row(&[0_u64, 63, 64, u64::MAX]));
    let all = u64::MAX;
    assert_eq!(elements::<u64>(&Reference.shift_left(&x, &by).unwrap()), [all, 1 << 63, 0, 0]);
    for right in [
        Reference.shift_right_arithmetic(&x, &by).unwrap(),
        Reference.shift_right_logical(&x, &by).unwrap(),
    ] {
        assert_eq!(elements::<u64>(&right), [all, 1, 0, 0]);
    }
}

#[test]
fn bits_are_combined_counted_and_negated() {
    let (x, y) = (row(&[0b1100_u8]), row(&[0b1010_u8]));
    assert_eq!(elements::<u8>(&Reference.and(&x, &y).unwrap()), [0b1000]);
    assert_eq!(elements::<u8>(&Reference.or(&x, &y).unwrap()), [0b1110]);
    assert_eq!(elements::<u8>(&Reference.xor(&x, &y).unwrap()), [0b0110]);
    assert_eq!(elements::<u8>(&Reference.not(&x).unwrap()), [0b1111_0011]);
    assert_eq!(elements::<i16>(&Reference.not(&row(&[0_i16])).unwrap()), [-1]);
    let (x, y) = (row(&[true, true, false]), row(&[true, false, false]));
    assert_eq!(elements::<bool>(&Reference.xor(&x, &y).unwrap()), [false, true, false]);
    assert_eq!(elements::<bool>(&Reference.not(&x).unwrap()), [false, false, true]);
    let x = row(&[0_i16, -1, 1, 256]);
    assert_eq!(elements::<i16>(&Reference.popcount(&x).unwrap()), [0, 16, 1, 1]);
    assert_eq!(elements::<i16>(&Reference.leading_zeros(&x).unwrap()), [16, 0, 15, 7]);
}

#[test]
fn rounding_keeps_zeros_nan_and_integers() {
    let x = row(&[-1.5, -0.5, -0.0, 0.5, 2.5, f64::INFINITY, f64::NAN, 4503599627370497.0]);
    let rest = [f64::INFINITY, f64::NAN, 4503599627370497.0];
    let expected = |first: [f64; 5]| bits_of(&[&first[..], &rest].concat());
    assert_eq!(bits(&Reference.floor(&x).unwrap()), expected([-2.0, -1.0, -0.0, 0.0, 2.0]));
    assert_eq!(bits(&Reference.ceil(&x).unwrap()), expected([-1.0, -0.0, -0.0, 1.0, 3.0]));
    let even = Reference.round(&x, Ties::Even).unwrap();
    assert_eq!(bits(&even), expected([-2.0, -0.0, -0.0, 0.0, 2.0]));
    let away = Reference.round(&x, Ties::Away).unwrap();
    assert_eq!(bits(&away), expected([-2.0, -1.0, -0.0, 1.0, 3.0]));
    assert_eq!(elements::<i8>(&Reference.floor(&row(&[i8::MIN])).unwrap()), [i8::MIN]);
    let half = Reference.round(&row(&[f16::from_f32(0.5)]), Ties::Away).unwrap();
    assert_eq!(elements::<f16>(&half), [f16::ONE]);
}

#[test]
fn parts_of_complex_numbers_are_taken_and_put_together() {
    let z = row(&[Complex32::new(1.5, -2.0), Complex32::new(-0.0, f32::NAN)]);
    let (re, im) = (Reference.real(&z).unwrap(), Reference.imag(&z).unwrap());
    assert_eq!(elements::<f32>(&re), [1.5, -0.0]);
    let back = Reference.complex(&re, &im).unwrap();
    assert_eq!(
        format!("{:?}", elements::<Complex32>(&back)),
        format!("{:?}", elements::<Complex32>(&z))
    );
    assert_eq!(elements::<i32>(&Reference.imag(&row(&[7_i32])).unwrap()), [0]);
    let typed = TypedTensor::from_vec_col_major([1], vec![2.0_f64]).unwrap();
    let complex: TypedTensor<Complex64> = Reference.complex(&typed, &typed).unwrap();
    let real: TypedTensor<f64> = Reference.real(&complex).unwrap();
    assert_eq!(real.as_slice(), [2.0]);
    let error = Reference.complex(&row(&[f16::ONE]), &row(&[f16::ONE])).unwrap_err();
    insta::assert_snapshot!(error, @"complex: not defined for f16; it needs f32 or f64, the parts of complex numbers");
}

#[test]
fn finiteness_asks_for_every_part() {
    let (inf, nan) = (f64::INFINITY, f64::NAN);
    let z =
        [(1.0, 2.0), (inf, 0.0), (0.0, nan), (-inf, nan)].map(|(re, im)| Complex64::new(re, im));
    assert_eq!(
        elements::<bool>(&Reference.is_finite(&row(&z)).unwrap()),
        [true, false, false, false]
    );
    assert_eq!(elements::<bool>(&Reference.is_nan(&row(&z)).unwrap()), [false, false, true, true]);
    let halves = row(&[bf16::INFINITY, bf16::NAN, bf16::MAX]);
    assert_eq!(elements::<bool>(&Reference.is_finite(&halves).unwrap()), [false, false, true]);
    assert_eq!(elements::<bool>(&Reference.is_nan(&row(&[1_u8])).unwrap()), [false]);
}

#[test]
fn neighbours_pass_zero_and_the_ends_of_the_range() {
    let least = f64::from_bits(1);
    let x = row(&[0.0, -0.0, 0.0, 1.0, 1.0, -1.0, f64::MAX, f64::NEG_INFINITY, least, 2.0]);
    let toward = row(&[1.0, -1.0, -0.0, 2.0, f64::NAN, 0.0, f64::INFINITY, 0.0, -1.0, 2.0]);
    let expected = [
        least,
        -least,
        -0.0,
        1.0 + f64::EPSILON,
        f64::NAN,
        -1.0 + f64::EPSILON / 2.0,
        f64::INFINITY,
        f64::MIN,
        0.0,
        2.0,
    ];
    assert_eq!(bits(&Reference.next_after(&x, &toward).unwrap()), bits_of(&expected));
    let half = Reference.next_after(&row(&[f16::ONE]), &row(&[f16::INFINITY])).unwrap();
    assert_eq!(elements::<f16>(&half)[0].to_bits(), f16::ONE.to_bits() + 1);
}

#[test]
fn bits_move_between_dtypes_of_one_size() {
    let x = row(&[1.0_f32, -0.0, f32::from_bits(0x7fc0_1234)]);
    let words = Reference.bitcast(&x, DType::U32).unwrap();
    assert_eq!(elements::<u32>(&words), [0x3f80_0000, 0x8000_0000, 0x7fc0_1234]);
    let back = Reference.bitcast(&words, DType::F32).unwrap();
    assert_eq!(elements::<f32>(&back)[2].to_bits(), 0x7fc0_1234);
    let pair = Reference.bitcast(&row(&[Complex32::new(1.0, -0.0)]), DType::U64).unwrap();
    assert_eq!(elements::<u64>(&pair), [0x8000_0000_3f80_0000]);
    let bytes = Reference.bitcast(&row(&[true, false]), DType::U8).unwrap();
    assert_eq!(elements::<u8>(&bytes), [1, 0]);
    let refused = |x: &Tensor, to| Reference.bitcast(x, to).unwrap_err();
    insta::assert_snapshot!(refused(&words, DType::F64), @"bitcast: the bits of u32 are no f64; use a dtype of the same size that is not bool, or convert");
    assert!(matches!(refused(&bytes, DType::Bool).validation(), Some(Validation::Bitcast { .. })));
}

#[test]
fn meaningless_dtypes_are_refused_by_operation_and_dtype() {
    let (truth, real, complex) = (row(&[true]), row(&[1.0]), row(&[Complex64::new(1.0, 0.0)]));
    insta::assert_snapshot!(Reference.and(&real, &real).unwrap_err(), @"and: not defined for f64; it needs integers or bool");
    insta::assert_snapshot!(Reference.popcount(&truth).unwrap_err(), @"popcount: not defined for bool; it needs integers");
    insta::assert_snapshot!(Reference.erf(&complex).unwrap_err(), @"erf: not defined for c64; it needs real floats");
    insta::assert_snapshot!(Reference.rem(&complex, &complex).unwrap_err(), @"rem: not defined for c64; it needs integers or real floats");
    insta::assert_snapshot!(Reference.is_nan(&truth).unwrap_err(), @"is_nan: not defined for bool; it needs numbers");
    insta::assert_snapshot!(Reference.sin(&row(&[1_i32])).unwrap_err(), @"sin: not defined for i32; it needs real or complex floats");
}

#[test]
fn functions_at_the_ends_of_their_domain_follow_ieee() {
    let (inf, nan) = (f64::INFINITY, f64::NAN);
    let check = |result: tenferro_tensor::Result<Tensor>, expected: &[f64]| {
        assert_eq!(bits(&result.unwrap()), bits_of(expected));
    };
    check(Reference.erf_inv(&row(&[1.0, -1.0, 1.5, nan, -0.0])), &[inf, -inf, nan, nan, -0.0]);
    check(
        Reference.lgamma(&row(&[0.0, -0.0, -3.0, inf, -inf, 1.0, 2.0])),
        &[inf, inf, inf, inf, inf, 0.0, 0.0],
    );
    check(
        Reference.digamma(&row(&[0.0, -0.0, -1.0, inf, -inf, nan])),
        &[-inf, inf, nan, inf, nan, nan],
    );
    check(Reference.rsqrt(&row(&[0.0, -0.0, inf, 4.0, -1.0])), &[inf, -inf, 0.0, 0.5, nan]);
    check(Reference.cbrt(&row(&[-27.0, -0.0, -inf])), &[-3.0, -0.0, -inf]);
    check(Reference.sigmoid(&row(&[inf, -inf, 0.0, nan, -800.0])), &[1.0, 0.0, 0.5, nan, 0.0]);
    check(Reference.atanh(&row(&[1.0, -1.0, 2.0, -0.0])), &[inf, -inf, nan, -0.0]);
    check(Reference.log1p(&row(&[-1.0, -2.0, -0.0, inf])), &[-inf, nan, -0.0, inf]);
    check(Reference.tanh(&row(&[inf, -inf, 1000.0, -0.0])), &[1.0, -1.0, 1.0, -0.0]);
    check(Reference.sinh(&row(&[-0.0, -inf, 800.0])), &[-0.0, -inf, inf]);
    check(Reference.acosh(&row(&[1.0, 0.5, inf])), &[0.0, nan, inf]);
    check(Reference.exp2(&row(&[-1074.0, 1024.0, -inf])), &[f64::from_bits(1), inf, 0.0]);
    check(Reference.log2(&row(&[8.0, 0.0, -1.0])), &[3.0, -inf, nan]);
}
