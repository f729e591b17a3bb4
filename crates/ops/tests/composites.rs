//! Composites on the reference engine: what NumPy and SciPy compute, and the policies at the edges.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use tenferro_ops::{TensorComposite, reference::Reference};
use tenferro_tensor::{
    AsOperand, Complex64, DType, Indices, KeepAxes, Scalar, Tensor, TensorElementwise, TypedTensor,
    Validation, bf16, f16,
};

const DROP: KeepAxes = KeepAxes::Drop;

fn row<T: Scalar>(elements: &[T]) -> Tensor {
    Tensor::from_vec_col_major([elements.len()], elements.to_vec()).unwrap()
}

fn floats(tensor: &Tensor) -> Vec<f64> {
    tensor.to_vec_row_major().unwrap()
}

fn numbers<T: std::str::FromStr<Err: std::fmt::Debug>>(field: &str) -> Vec<T> {
    field.split_whitespace().map(|number| number.parse().unwrap()).collect()
}

fn computed(name: &str, parameters: &[usize], x: &[Tensor]) -> Tensor {
    let axes = Indices::from(parameters);
    let engine = &mut Reference;
    match name {
        "mean" => engine.mean(&x[0], axes, DROP),
        "var0" => engine.var(&x[0], axes, DROP, 0_usize),
        "var1" => engine.var(&x[0], axes, DROP, 1_usize),
        "std1" => engine.std(&x[0], axes, DROP, 1_usize),
        "logsumexp" => engine.logsumexp(&x[0], axes, DROP),
        "softmax" => engine.softmax(&x[0], axes),
        "log_softmax" => engine.log_softmax(&x[0], axes),
        "norm" => engine.norm(&x[0], axes, DROP),
        "layer_norm" => engine.layer_norm(&x[0], &x[1], &x[2], axes, 1e-5),
        "rms_norm" => engine.rms_norm(&x[0], &x[1], axes, 1e-5),
        "gelu" => engine.gelu(&x[0]),
        "silu" => engine.silu(&x[0]),
        "tile" => engine.tile(&x[0], axes),
        "outer" => engine.outer(&x[0], &x[1]),
        "kron" => engine.kron(&x[0], &x[1]),
        "trace" => engine.trace(&x[0], parameters[0], parameters[1]),
        "tensordot" => engine.tensordot(&x[0], &x[1], [parameters[0]], [parameters[1]]),
        "stack" => engine.stack(x, parameters[0]),
        _ => panic!("no composite {name}"),
    }
    .unwrap()
}

#[test]
fn composites_are_what_numpy_and_scipy_compute() {
    for line in include_str!("fixtures/composite.txt").lines() {
        let fields: Vec<&str> = line.split(';').collect();
        let tensors: Vec<Tensor> = fields[2..]
            .chunks(2)
            .map(|pair| {
                Tensor::from_vec_row_major(numbers::<usize>(pair[0]), numbers::<f64>(pair[1]))
                    .unwrap()
            })
            .collect();
        let (expected, operands) = tensors.split_last().unwrap();
        let actual = computed(fields[0], &numbers::<usize>(fields[1]), operands);
        assert_eq!(actual.shape(), expected.shape(), "{line}");
        // A logarithm near 0 is a difference of larger ones.
        let least = if fields[0].starts_with("log") { 1.0 } else { 1e-8 };
        for (actual, expected) in floats(&actual).iter().zip(floats(expected)) {
            let off = (actual - expected).abs();
            // The rounded argument of `erfc` counts the more the further down its tail.
            let units = if fields[0] == "gelu" { 1000.0 } else { 8.0 };
            assert!(off <= units * f64::EPSILON * expected.abs().max(least), "{actual} in {line}");
        }
    }
}

#[test]
fn p1_statistics_of_nothing_are_nan_and_the_norm_is_zero() {
    let x = Tensor::zeros(DType::F64, [0, 3]).unwrap();
    assert!(floats(&Reference.var(&x, [0], DROP, 0_usize).unwrap()).iter().all(|x| x.is_nan()));
    assert!(floats(&Reference.std(&x, [0], DROP, 1_usize).unwrap()).iter().all(|x| x.is_nan()));
    assert_eq!(floats(&Reference.norm(&x, [0], DROP).unwrap()), [0.0; 3]);
    let log = Reference.logsumexp(&x, [0], KeepAxes::Keep).unwrap();
    assert_eq!((&log.shape()[..], floats(&log)), (&[1, 3][..], vec![f64::NEG_INFINITY; 3]));
    assert_eq!(Reference.logsumexp(&x, [1], DROP).unwrap().shape()[..], [0]);
    assert_eq!(Reference.softmax(&x, [0]).unwrap().shape()[..], [0, 3]);
    assert_eq!(Reference.log_softmax(&x, [1]).unwrap().shape()[..], [0, 3]);
}

#[test]
fn p7_f34_logsumexp_and_softmax_of_infinities() {
    let (inf, low) = (f64::INFINITY, f64::NEG_INFINITY);
    let sum = |x: &[f64]| floats(&Reference.logsumexp(&row(x), [0], DROP).unwrap())[0];
    assert_eq!(sum(&[low, low]), low);
    assert_eq!(sum(&[low, 3.0]), 3.0);
    assert_eq!(sum(&[inf, 3.0]), inf);
    assert_eq!(sum(&[inf, low]), inf);
    assert!(sum(&[f64::NAN, 3.0]).is_nan());
    assert!((sum(&[1000.0, 1000.0]) - (1000.0 + 2.0_f64.ln())).abs() < 1e-12);
    assert!((sum(&[-1000.5, -1000.5]) - (-1000.5 + 2.0_f64.ln())).abs() < 1e-12);
    let softmax = |x: &[f64]| floats(&Reference.softmax(&row(x), [0]).unwrap());
    assert!(softmax(&[low, low]).iter().all(|x| x.is_nan()));
    assert!(softmax(&[inf, 0.0]).iter().all(|x| x.is_nan()));
    assert_eq!(softmax(&[low, 1000.0]), [0.0, 1.0]);
    let log = floats(&Reference.log_softmax(&row(&[-2000.0, 0.0]), [0]).unwrap());
    assert_eq!(log, [-2000.0, 0.0]);
}

#[test]
fn f47_the_variance_of_a_constant_is_not_negative() {
    for value in [0.1_f64, 1e8 + 0.1, -3.7, 1e100] {
        let x = Tensor::full([1000], value).unwrap();
        let variance = floats(&Reference.var(&x, [0], DROP, 0_usize).unwrap())[0];
        assert!(variance >= 0.0 && variance.sqrt() <= 1e-12 * value.abs(), "{variance}");
    }
    let x = row(&[Complex64::new(1.0, 2.0), Complex64::new(1.0, -2.0)]);
    let variance = Reference.var(&x, [0], DROP, 0_usize).unwrap();
    assert_eq!(variance.as_slice::<f64>().unwrap(), [4.0]);
}

#[test]
fn f47_the_norm_overflows_only_where_it_is_out_of_range() {
    let norm = |x: &Tensor| Reference.norm(x, [0], DROP).unwrap();
    for (x, expected) in [
        ([3e300, 4e300], 5e300),
        ([3e-310, 4e-310], 5e-310),
        ([0.0, -0.0], 0.0),
        ([3.0, 4.0], 5.0),
        ([f64::MAX, f64::MAX], f64::INFINITY),
        ([f64::INFINITY, 1.0], f64::INFINITY),
    ] {
        let actual = floats(&norm(&row(&x)))[0];
        assert!(actual == expected || (actual / expected - 1.0).abs() < 1e-12, "{x:?}: {actual}");
    }
    assert!(floats(&norm(&row(&[f64::NAN, 1.0])))[0].is_nan());
    let single = norm(&row(&[3e30_f32, -4e30]));
    assert!((single.as_slice::<f32>().unwrap()[0] / 5e30 - 1.0).abs() < 1e-6);
    let half = norm(&row(&[f16::from_f32(30000.0), f16::from_f32(40000.0)]));
    assert_eq!(half.as_slice::<f16>().unwrap()[0].to_f32(), 49984.0);
    let complex = norm(&row(&[Complex64::new(1e300, 1e300)]));
    assert!((floats(&complex)[0] / 1.4142135623730951e300 - 1.0).abs() < 1e-15);
}

#[test]
fn p5_f46_halves_are_computed_in_single_precision() {
    let ones = Tensor::full([4096], f16::from_f32(3.0)).unwrap();
    let variance = Reference.var(&ones, [0], DROP, 0_usize).unwrap();
    assert_eq!(variance.as_slice::<f16>().unwrap()[0].to_f32(), 0.0);
    let x = row(&[bf16::from_f32(100.0); 512]);
    let log = Reference.logsumexp(&x, [0], DROP).unwrap();
    assert_eq!(log.as_slice::<bf16>().unwrap()[0], bf16::from_f32(100.0 + 512.0_f32.ln()));
    let softmax = Reference.softmax(&Tensor::zeros(DType::F16, [4096]).unwrap(), [0]).unwrap();
    assert!(softmax.as_slice::<f16>().unwrap().iter().all(|x| x.to_f32() == 1.0 / 4096.0));
}

#[test]
fn p5_f15_a_sum_in_a_wider_dtype_does_not_wrap() {
    let ones = Tensor::ones(DType::U8, [300]).unwrap();
    let wide = Reference.sum_as(&ones, DType::U32, [0], DROP).unwrap();
    assert_eq!(wide.as_slice::<u32>().unwrap(), [300]);
    let own = Reference.sum_as(&ones, DType::U8, [0], DROP).unwrap();
    assert_eq!(own.as_slice::<u8>().unwrap(), [44]);
    let twos = Tensor::full([20], 2_i8).unwrap();
    let product = Reference.prod_as(&twos, DType::I64, [0], KeepAxes::Keep).unwrap();
    assert_eq!(product.as_slice::<i64>().unwrap(), [1 << 20]);
}

#[test]
fn one_hot_marks_the_class_and_nothing_out_of_range() {
    let x = row(&[2_i8, 0, -1, 100]);
    let hot = Reference.one_hot(&x, 1_usize, 300_usize, DType::F32).unwrap();
    assert_eq!(hot.shape()[..], [4, 300]);
    let marks: Vec<(usize, usize)> = (0..4)
        .flat_map(|i| (0..300).map(move |class| (i, class)))
        .filter(|&(i, class)| hot.get::<f32>(&[i, class]).unwrap() == 1.0)
        .collect();
    assert_eq!(marks, [(0, 2), (1, 0), (3, 100)]);
    let first = Reference.one_hot(&row(&[1_u64, u64::MAX]), 0_usize, 2_usize, DType::Bool).unwrap();
    assert_eq!(first.to_vec_row_major::<bool>().unwrap(), [false, false, true, false]);
    assert!(Reference.one_hot(&x, 2_usize, 3_usize, DType::F32).is_err());
    assert!(Reference.one_hot(&row(&[1.0]), 0_usize, 3_usize, DType::F32).is_err());
}

#[test]
fn a_stack_split_along_its_axis_gives_the_parts_back() {
    let x = Tensor::from_vec_col_major([2, 3], (0..6).collect::<Vec<i32>>()).unwrap();
    let y = Reference.neg(&x).unwrap();
    for axis in 0..3 {
        let both = Reference.stack(&[&x, &y].map(Tensor::clone), axis).unwrap();
        let parts = Reference.split(&both, axis, &[1, 0, 1]).unwrap();
        let reshaped: Vec<Tensor> = [&parts[0], &parts[2]]
            .map(|part| part.view().reshape(&[2, 3]).unwrap().to_tensor().unwrap())
            .into();
        assert_eq!(reshaped[0].as_slice::<i32>().unwrap(), x.as_slice::<i32>().unwrap());
        assert_eq!(reshaped[1].as_slice::<i32>().unwrap(), y.as_slice::<i32>().unwrap());
        assert_eq!(parts[1].elements(), 0);
        assert!(Reference.split(&both, axis, &[1]).is_err());
    }
    assert!(Reference.stack(std::slice::from_ref(&x), 3).is_err());
    assert!(Reference.stack::<Tensor>(&[], 0).is_err());
    assert!(Reference.split(&x, 2, &[1]).is_err());
}

#[test]
fn typed_operands_give_typed_results() {
    let x = TypedTensor::from_vec_col_major([1], vec![Complex64::new(3.0, 4.0)]).unwrap();
    let norm: TypedTensor<f64> = Reference.norm(&x, [0], DROP).unwrap();
    assert_eq!(norm.as_operand().as_slice::<f64>().unwrap(), [5.0]);
    let _: TypedTensor<Complex64> = Reference.silu(&x).unwrap();
}

#[test]
fn meaningless_dtypes_are_refused_in_the_name_of_the_composite() {
    let (integers, complex) = (row(&[1_i32]), row(&[Complex64::new(1.0, 0.0)]));
    for (error, name) in [
        (Reference.var(&integers, [0], DROP, 0_usize).unwrap_err(), "var"),
        (Reference.norm(&integers, [0], DROP).unwrap_err(), "norm"),
        (Reference.logsumexp(&complex, [0], DROP).unwrap_err(), "logsumexp"),
        (Reference.softmax(&complex, [0]).unwrap_err(), "softmax"),
        (Reference.gelu(&complex).unwrap_err(), "gelu"),
        (Reference.rms_norm(&integers, &integers, [0], 0.0).unwrap_err(), "rms_norm"),
    ] {
        assert_eq!(error.op(), name);
        assert!(matches!(error.validation(), Some(Validation::MeaninglessDType { .. })), "{error}");
    }
    let x = row(&[1.0]);
    let mixed = Reference.rms_norm(&x, &row(&[1.0_f32]), [0], 0.0).unwrap_err();
    assert!(matches!(mixed.validation(), Some(Validation::DTypeMismatch { .. })), "{mixed}");
    assert!(Reference.norm(&x, [1], DROP).is_err());
    assert!(Reference.softmax(&x, [0, 0]).is_err());
}
