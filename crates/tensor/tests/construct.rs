//! Ways to make a tensor.

#![allow(clippy::unwrap_used, reason = "a test unwraps what it expects to be there")]

use chacha20::{
    ChaCha8Rng,
    rand_core::{Rng, SeedableRng},
};
use tenferro_tensor::{
    Complex32, Complex64, DType, Distribution, Error, Factor, Tensor, TypedTensor, Validation,
    bf16, dispatch, f16,
};

fn refusal<T: std::fmt::Debug>(result: Result<T, Error>) -> String {
    result.unwrap_err().to_string()
}

#[test]
fn row_major_elements_are_reordered_and_column_major_ones_kept() {
    let x = Tensor::from_vec_row_major([2, 3], vec![1, 2, 3, 4, 5, 6]).unwrap();
    assert_eq!(x.as_slice::<i32>().unwrap(), [1, 4, 2, 5, 3, 6]);
    assert_eq!(x.to_vec_row_major::<i32>().unwrap(), [1, 2, 3, 4, 5, 6]);
    assert_eq!(x.get::<i32>(&[1, 0]).unwrap(), 4);
    let long: Vec<i64> = (0..24_000).collect();
    let y = Tensor::from_vec_row_major([20, 30, 40], long.clone()).unwrap();
    assert_eq!(y.get::<i64>(&[7, 11, 13]).unwrap(), (7 * 30 + 11) * 40 + 13);
    assert_eq!(y.to_vec_row_major::<i64>().unwrap(), long);
    insta::assert_snapshot!(
        refusal(Tensor::from_vec_col_major([2, 2], vec![1, 2, 3])),
        @"from_vec_col_major: shape (2, 2) needs 4 elements, but there are 3"
    );
    insta::assert_snapshot!(
        refusal(Tensor::from_vec_row_major([1 << 40, 1 << 40, 0], Vec::<f64>::new())),
        @"from_vec_row_major: shape (1099511627776, 1099511627776, 0) has more elements than can be addressed"
    );
}

#[test]
fn constants_hold_the_dtype_s_own_zero_and_one() {
    for &dtype in DType::ALL {
        dispatch!(dtype, any T => {
            let one = <T as tenferro_tensor::Scalar>::ONE;
            assert_eq!(Tensor::ones(dtype, [2]).unwrap().as_slice::<T>().unwrap(), [one; 2]);
            assert_eq!(Tensor::zeros(dtype, [2]).unwrap().as_slice::<T>().unwrap(), [T::default(); 2]);
            let eye = Tensor::eye(dtype, 3).unwrap().to_vec_col_major::<T>().unwrap();
            for (at, element) in eye.into_iter().enumerate() {
                assert_eq!(element, if at % 4 == 0 { one } else { T::default() });
            }
            assert_eq!(Tensor::eye(dtype, 0).unwrap().elements(), 0);
        });
    }
    assert_eq!(Tensor::full([2, 2], 7_u8).unwrap().as_slice::<u8>().unwrap(), [7; 4]);
    assert_eq!(Tensor::scalar(2.5_f32).unwrap().rank(), 0);
}

#[test]
fn arange_counts_as_numpy_does() {
    // Lengths and ends of numpy.arange(start, stop, step).
    for (start, stop, step, count) in [
        (0.0, 1.0, 0.1, 10),
        (1.0, 1.3, 0.1, 4),
        (0.0, 0.3, 0.1, 3),
        (5.0, 0.0, -1.5, 4),
        (0.0, -1.0, 1.0, 0),
        (2.0, 2.0, 1.0, 0),
        (0.0, 1e-9, 1.0, 1),
    ] {
        let x = TypedTensor::<f64>::arange(start, stop, step).unwrap();
        assert_eq!(x.elements(), count, "{start} {stop} {step}");
        for (at, &number) in x.as_slice().iter().enumerate() {
            assert_eq!(number, start + at as f64 * step);
        }
    }
    assert_eq!(TypedTensor::<i32>::arange(-3, 4, 3).unwrap().as_slice(), [-3, 0, 3]);
    assert_eq!(
        TypedTensor::<i8>::arange(127, -129, -51).unwrap().as_slice(),
        [127, 76, 25, -26, -77, -128]
    );
    assert_eq!(TypedTensor::<u8>::arange(0, 256, 1).unwrap().as_slice()[255], 255);
    let top = TypedTensor::<i64>::arange(i64::MAX - 2, 2.0_f64.powi(63), 1).unwrap();
    assert_eq!(top.as_slice(), [i64::MAX - 2, i64::MAX - 1, i64::MAX]);
    assert_eq!(
        TypedTensor::<f16>::arange(0, 1, 0.25).unwrap().as_slice(),
        [0.0, 0.25, 0.5, 0.75].map(f16::from_f64)
    );
}

#[test]
fn arange_refuses_what_it_cannot_count() {
    let texts = [
        refusal(Tensor::arange(DType::F64, 0, 1, 0)),
        refusal(Tensor::arange(DType::I32, 0, 1, 0)),
        refusal(Tensor::arange(DType::F64, 0, f64::INFINITY, 1)),
        refusal(Tensor::arange(DType::F64, 0, 1, f64::NAN)),
        refusal(Tensor::arange(DType::I32, 0, 1, 0.5)),
        refusal(Tensor::arange(DType::U8, 0, 257, 1)),
        refusal(Tensor::arange(DType::U8, -1, 3, 1)),
        refusal(Tensor::arange(DType::F64, 0, 1, 1e-300)),
        refusal(Tensor::arange(DType::C64, 0, 1, 1)),
        refusal(Tensor::arange(DType::Bool, 0, 1, 1)),
        refusal(Tensor::arange(DType::F32, Complex64::I, 1, 1)),
    ];
    insta::assert_snapshot!(texts.join("\n"), @r"
    arange: the step must not be zero
    arange: the step must not be zero
    arange: start, stop and step must be finite
    arange: start, stop and step must be finite
    arange: start, stop and step of an integer dtype must be whole numbers
    arange: the numbers leave the range of the dtype
    arange: the numbers leave the range of the dtype
    arange: shape (18446744073709551615,) has more elements than can be addressed
    arange: not defined for c64; it needs integers or real floats
    arange: not defined for bool; it needs integers or real floats
    arange: real numbers have no imaginary part
    ");
}

#[test]
fn linspace_meets_both_ends() {
    let x = TypedTensor::<f64>::linspace(0, 1, 11).unwrap();
    assert_eq!((x.as_slice()[0], x.as_slice()[3], x.as_slice()[10]), (0.0, 0.1 * 3.0, 1.0));
    assert_eq!(TypedTensor::<f64>::linspace(3, 5, 1).unwrap().as_slice(), [3.0]);
    assert_eq!(TypedTensor::<f32>::linspace(3, 5, 0).unwrap().elements(), 0);
    assert_eq!(TypedTensor::<f32>::linspace(1, -1, 3).unwrap().as_slice(), [1.0, 0.0, -1.0]);
    assert_eq!(
        TypedTensor::<Complex32>::linspace(0, Complex64::new(1.0, 2.0), 2).unwrap().as_slice(),
        [Complex32::ZERO, Complex32::new(1.0, 2.0)]
    );
    let texts = [
        refusal(Tensor::linspace(DType::I32, 0, 1, 2)),
        refusal(Tensor::linspace(DType::F64, 0, Complex64::I, 2)),
        refusal(Tensor::linspace(DType::F64, 0, 1, usize::MAX)),
    ];
    insta::assert_snapshot!(texts.join("\n"), @r"
    linspace: not defined for i32; it needs real or complex floats
    linspace: the bounds of real numbers have no imaginary part
    linspace: shape (18446744073709551615,) has more elements than can be addressed
    ");
}

/// The four words of one element, found without those before it.
fn words(seed: u64, element: usize) -> [u64; 2] {
    let mut key = [0; 32];
    key[..8].copy_from_slice(&seed.to_le_bytes());
    let mut generator = ChaCha8Rng::from_seed(key);
    generator.set_word_pos(4 * element as u128);
    [generator.next_u64(), generator.next_u64()]
}

#[test]
fn a_random_element_depends_on_the_seed_and_its_position_only() {
    let long = TypedTensor::<f64>::random([1000], Distribution::UNIT, 7).unwrap();
    let short = TypedTensor::<f64>::random([2, 3, 4], Distribution::UNIT, 7).unwrap();
    assert_eq!(short.as_slice(), &long.as_slice()[..24]);
    for element in [0, 1, 4, 17, 999] {
        let unit = (words(7, element)[0] >> 11) as f64 / 2.0_f64.powi(53);
        assert_eq!(long.as_slice()[element], unit);
    }
    let other = TypedTensor::<f64>::random([1000], Distribution::UNIT, 8).unwrap();
    assert!(long.as_slice().iter().zip(other.as_slice()).all(|(a, b)| a != b));
    let single = TypedTensor::<f32>::random([1000], Distribution::UNIT, 7).unwrap();
    for (&single, &double) in single.as_slice().iter().zip(long.as_slice()) {
        assert!((f64::from(single) - double).abs() < 2.0_f64.powi(-24));
    }
}

#[test]
fn random_numbers_of_a_seed_stay_the_same_forever() {
    let show = |dtype, distribution| {
        format!("{:?}", Tensor::random(dtype, [4], distribution, 2026).unwrap())
    };
    insta::assert_snapshot!(show(DType::F64, Distribution::UNIT), @"tensor([0.80577051, 0.70985807, 0.10449761, 0.85471589], dtype=f64)");
    insta::assert_snapshot!(show(DType::F16, Distribution::UNIT), @"tensor([0.8057, 0.7095, 0.1045, 0.8545], dtype=f16)");
    insta::assert_snapshot!(show(DType::C32, Distribution::uniform(-1, 1)), @r"
    tensor([ 0.6115409 +0.6784229j ,  0.41971612-0.6009269j ,
            -0.7910049 -0.54969287j,  0.70943177-0.4852692j ], dtype=c32)
    ");
    insta::assert_snapshot!(show(DType::I64, Distribution::uniform(-1000, 1000)), @"tensor([ 611,  419, -792,  709], dtype=i64)");
    insta::assert_snapshot!(show(DType::U8, Distribution::uniform(0, 256)), @"tensor([206, 181,  26, 218], dtype=u8)");
    insta::assert_snapshot!(format!("{:.6?}", Tensor::random(DType::F64, [4], Distribution::STANDARD_NORMAL, 2026).unwrap()), @"tensor([ 0.962459,  0.490481,  0.07305 , -0.090868], dtype=f64)");
}

#[test]
fn random_numbers_keep_to_their_distribution() {
    let n = 40_000;
    let moments = |x: &[f64]| {
        let mean = x.iter().sum::<f64>() / x.len() as f64;
        let moment = |power| x.iter().map(|x| (x - mean).powi(power)).sum::<f64>() / x.len() as f64;
        (mean, moment(2), moment(4))
    };
    let x = TypedTensor::<f64>::random([n], Distribution::uniform(2, 5), 1).unwrap();
    assert!(x.as_slice().iter().all(|x| (2.0..5.0).contains(x)));
    let (mean, variance, _) = moments(x.as_slice());
    assert!((mean - 3.5).abs() < 0.02 && (variance - 0.75).abs() < 0.02, "{mean} {variance}");
    let x = TypedTensor::<f64>::random([n], Distribution::normal(1.0, 2.0), 1).unwrap();
    let (mean, variance, fourth) = moments(x.as_slice());
    assert!((mean - 1.0).abs() < 0.04 && (variance - 4.0).abs() < 0.12, "{mean} {variance}");
    assert!((fourth / variance.powi(2) - 3.0).abs() < 0.15, "{fourth}");
    let z = TypedTensor::<Complex64>::random([n], Distribution::STANDARD_NORMAL, 1).unwrap();
    let product = z.as_slice().iter().map(|z| z.re * z.im).sum::<f64>() / n as f64;
    assert!(product.abs() < 0.02, "components are independent: {product}");
    let dice = TypedTensor::<i16>::random([n], Distribution::uniform(-1, 2), 1).unwrap();
    for eyes in -1..2 {
        let count = dice.as_slice().iter().filter(|&&face| face == eyes).count();
        assert!((count as f64 / n as f64 - 1.0 / 3.0).abs() < 0.01, "{eyes}: {count}");
    }
    let unit = TypedTensor::<bf16>::random([n], Distribution::UNIT, 1).unwrap();
    assert!(unit.as_slice().iter().all(|x| (0.0..1.0).contains(&x.to_f32())));
    let wide = Distribution::uniform(0, 2.0_f64.powi(64));
    let wide = TypedTensor::<u64>::random([n], wide, 1).unwrap();
    let upper = wide.as_slice().iter().filter(|&&x| x >> 63 == 1).count();
    assert!((upper as f64 / n as f64 - 0.5).abs() < 0.01, "{upper}");
}

#[test]
fn a_distribution_that_does_not_fit_is_refused() {
    let random = |dtype, distribution| refusal(Tensor::random(dtype, [2], distribution, 0));
    let nan = f64::NAN;
    let texts = [
        random(DType::Bool, Distribution::UNIT),
        random(DType::I32, Distribution::STANDARD_NORMAL),
        random(DType::I32, Distribution::uniform(0, 0.5)),
        random(DType::U8, Distribution::uniform(0, 257)),
        random(DType::I8, Distribution::uniform(3, 3)),
        random(DType::F64, Distribution::uniform(1, 0)),
        random(DType::F64, Distribution::uniform(nan, 1)),
        random(DType::F64, Distribution::uniform(-1e308, 1e308)),
        random(DType::F64, Distribution::uniform(Complex64::I, 1)),
        random(DType::F64, Distribution::normal(nan, 1.0)),
        random(DType::F64, Distribution::normal(0.0, -1.0)),
        refusal(Tensor::random(DType::F64, [usize::MAX, 2], Distribution::UNIT, 0)),
    ];
    insta::assert_snapshot!(texts.join("\n"), @r"
    random: not defined for bool; it needs numbers
    random: not defined for i32; it needs real or complex floats
    random: the bounds of integers are whole numbers
    random: the numbers leave the range of the dtype
    random: low must be below high
    random: low must be below high
    random: the bounds and their distance must be finite
    random: the bounds and their distance must be finite
    random: the bounds of a distribution are real numbers
    random: mean and deviation must be finite
    random: the deviation must not be negative
    random: shape (18446744073709551615, 2) has more elements than can be addressed
    ");
    assert_eq!(Tensor::random(DType::F32, [0, 3], Distribution::UNIT, 0).unwrap().elements(), 0);
}

#[test]
fn the_typed_twin_has_the_same_constructors() {
    let ones = TypedTensor::<f32>::ones([2, 2]).unwrap();
    assert_eq!((ones.rank(), ones.elements(), ones.to_vec_col_major()), (2, 4, vec![1.0; 4]));
    assert_eq!(TypedTensor::<bool>::zeros([1]).unwrap().as_slice(), [false]);
    assert_eq!(TypedTensor::<u8>::eye(2).unwrap().as_slice(), [1, 0, 0, 1]);
    assert_eq!(TypedTensor::full([1, 2], 'x'.len_utf8() as u64).unwrap().as_slice(), [1, 1]);
    assert_eq!(TypedTensor::scalar(3_i8).unwrap().get(&[]).unwrap(), 3);
    let x = TypedTensor::from_vec_row_major([2, 2], vec![1, 2, 3, 4]).unwrap();
    assert_eq!(x.to_vec_row_major(), [1, 2, 3, 4]);
    assert_eq!(x.reshaped([4]).unwrap().as_slice(), [1, 3, 2, 4]);
    assert_ne!(x.duplicate().unwrap().as_slice().as_ptr(), x.as_slice().as_ptr());
    let wrong = Tensor::zeros(DType::F32, [1]).unwrap().typed::<f64>().unwrap_err();
    assert!(matches!(wrong.validation(), Some(Validation::WrongDType { .. })));
    assert_eq!(Factor::from(1.0_f32), Factor::Real(1.0));
}
