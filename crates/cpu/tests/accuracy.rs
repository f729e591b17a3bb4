//! How near the vectorised functions are to the exact values, and that an element's value is its own.
//!
//! The bounds are in units in the last place. `f64` is held against values computed with 300 bits (see
//! `fixtures/accuracy.py`); `f32` against `f64`, over bit patterns of every exponent.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod samples;

use samples::backend;
use tenferro_cpu::CpuBackend;
use tenferro_ops::{Engine, reference::Reference};
use tenferro_tensor::{
    Analytic, AsOperand, DType, Scalar, Tensor, TensorElementwise, Vocabulary, bf16, f16,
};

/// Each function with its bounds for `f64` and `f32`.
const BOUNDS: [(&str, Analytic, f64, f64); 17] = [
    ("exp", Analytic::Exp, 1.0, 1.0),
    ("exp2", Analytic::Exp2, 1.25, 1.25),
    ("expm1", Analytic::Expm1, 1.75, 1.75),
    ("log", Analytic::Log, 1.0, 1.0),
    ("log2", Analytic::Log2, 1.0, 1.0),
    ("log1p", Analytic::Log1p, 1.0, 1.0),
    ("sqrt", Analytic::Sqrt, 0.5, 0.5),
    ("rsqrt", Analytic::Rsqrt, 1.5, 1.5),
    ("sin", Analytic::Sin, 1.0, 0.75),
    ("cos", Analytic::Cos, 1.0, 0.75),
    ("tan", Analytic::Tan, 2.0, 1.5),
    ("sinh", Analytic::Sinh, 2.25, 2.25),
    ("cosh", Analytic::Cosh, 1.5, 1.5),
    ("tanh", Analytic::Tanh, 2.0, 2.5),
    ("sigmoid", Analytic::Sigmoid, 2.25, 2.5),
    ("erf", Analytic::Erf, 1.25, 1.5),
    ("pow", Analytic::Pow, 1.25, 1.0),
];

fn vector<T: Scalar>(elements: Vec<T>) -> Tensor {
    Tensor::from_vec_col_major(vec![elements.len()], elements).unwrap()
}

fn values<T: Scalar>(engine: &mut impl Engine, row: &Analytic, operands: &[Vec<T>]) -> Vec<T> {
    let tensors: Vec<Tensor> = operands.iter().cloned().map(vector).collect();
    let operands: Vec<_> = tensors.iter().map(AsOperand::as_operand).collect();
    engine.apply(&row.clone().into(), &operands).unwrap().to_vec_col_major().unwrap()
}

/// The arguments of a function, its nearest values, and what they are off.
#[derive(Default)]
struct Known {
    arguments: Vec<Vec<f64>>,
    values: Vec<(f64, f64)>,
}

fn known(name: &str) -> Known {
    let mut known = Known::default();
    let lines = include_str!("fixtures/accuracy.txt").lines().map(|line| line.split(' '));
    for mut words in lines.filter(|words| words.clone().next() == Some(name)) {
        let rest = words.next_back().unwrap().parse().unwrap();
        let mut floats: Vec<f64> = words
            .skip(1)
            .map(|bits| f64::from_bits(u64::from_str_radix(bits, 16).unwrap()))
            .collect();
        known.values.push((floats.pop().unwrap(), rest));
        known.arguments.resize(floats.len(), Vec::new());
        for (all, one) in known.arguments.iter_mut().zip(floats) {
            all.push(one);
        }
    }
    known
}

/// The distance from a number to the next.
fn unit(x: f64, mantissa: i32, least_exponent: i32) -> f64 {
    let exponent = ((x.abs().to_bits() >> 52) as i32 - 1023).max(least_exponent);
    // Two steps, because the least unit of f64 is not a normal number.
    2.0_f64.powi(exponent) * 2.0_f64.powi(-mantissa)
}

#[test]
fn functions_of_f64_keep_their_bounds() {
    let mut backend = backend(1);
    for (name, row, bound, _) in &BOUNDS {
        let known = known(name);
        assert!(known.values.len() >= 60, "{name}");
        let ours = values(&mut backend, row, &known.arguments);
        for (at, (&ours, &(nearest, rest))) in ours.iter().zip(&known.values).enumerate() {
            let error = ((ours - nearest) / unit(nearest, 52, -1022) - rest).abs();
            let x: Vec<f64> = known.arguments.iter().map(|all| all[at]).collect();
            assert!(error <= *bound + 0.01, "{name}({x:?}): {ours:e} is off by {error}");
        }
    }
}

/// Bit patterns of `f32` from all over, each exponent and either sign.
fn patterns(step: u32) -> Vec<f32> {
    let ends =
        [0.0, -0.0, f32::INFINITY, f32::NEG_INFINITY, f32::NAN, f32::MAX, f32::MIN, 1e-45, -1e-45];
    (0..u32::MAX / step).map(|at| f32::from_bits(at * step)).chain(ends).collect()
}

#[test]
fn functions_of_f32_keep_their_bounds() {
    let mut backend = backend(1);
    let x = patterns(60_013);
    let wide: Vec<f64> = x.iter().map(|&x| f64::from(x)).collect();
    let y: Vec<f32> = x.iter().enumerate().map(|(at, _)| at as f32 * 1e-3 - 30.0).collect();
    let wide_y: Vec<f64> = y.iter().map(|&y| f64::from(y)).collect();
    for (name, row, _, bound) in &BOUNDS {
        let two = *row == Analytic::Pow;
        let narrow = if two { vec![x.clone(), y.clone()] } else { vec![x.clone()] };
        let wider = if two { vec![wide.clone(), wide_y.clone()] } else { vec![wide.clone()] };
        let exact = values(&mut Reference, row, &wider);
        let ours = values(&mut backend, row, &narrow);
        for ((&ours, &exact), x) in ours.iter().zip(&exact).zip(&x) {
            let rounded = exact as f32;
            let equal = rounded == ours || (rounded.is_nan() && ours.is_nan());
            let error = (f64::from(ours) - exact).abs() / unit(exact, 23, -126);
            assert!(
                equal
                    || (ours.is_finite() && error <= *bound)
                    || exact.abs() >= f64::from(f32::MAX) && ours.abs() >= f32::MAX,
                "{name}({x:e}): {ours:e}, not {exact:e}, is off by {error}"
            );
            // Zeros have the sign that they should.
            assert!(
                ours != 0.0 || ours.is_sign_negative() == exact.is_sign_negative(),
                "{name}({x:e})"
            );
        }
    }
}

#[test]
fn special_arguments_have_the_values_of_the_c_library() {
    let mut backend = backend(1);
    let special = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
        f64::MAX,
        f64::MIN,
        5e-324,
        -5e-324,
        1e-310,
        f64::MIN_POSITIVE,
        709.782712893384,
        709.7827128933841,
        -745.1332191019411,
        -745.1332191019412,
        710.4758600739439,
        1024.0,
        -1074.0,
        -1075.0,
        1e22,
        2.0_f64.powi(40),
    ];
    let pairs = |get: fn(f64, f64) -> f64| -> Vec<f64> {
        special.iter().flat_map(|&x| special.map(|y| get(x, y))).collect()
    };
    let operands = [pairs(|x, _| x), pairs(|_, y| y)];
    for (name, row, bound, _) in &BOUNDS {
        let operands = if *row == Analytic::Pow { &operands[..] } else { &operands[..1] };
        let expected = values(&mut Reference, row, operands);
        let ours = values(&mut backend, row, operands);
        for (at, (ours, expected)) in ours.iter().zip(expected).enumerate() {
            let error = (ours - expected).abs() / unit(expected, 52, -1022);
            let same = ours.to_bits() == expected.to_bits() || (ours.is_nan() && expected.is_nan());
            let near = ours.is_finite() && expected != 0.0 && error <= bound + 1.0;
            let x: Vec<f64> = operands.iter().map(|all| all[at]).collect();
            assert!(same || near, "{name}({x:?}): {ours:e}, not {expected:e}");
        }
    }
}

#[test]
fn x50_the_value_of_an_element_does_not_depend_on_its_place_or_layout() {
    let numbers: Vec<f64> = (0..5000).map(|at| f64::from(at).mul_add(0.0037, 0.003)).collect();
    for (name, row, ..) in &BOUNDS {
        let operands = vec![numbers.clone(); if *row == Analytic::Pow { 2 } else { 1 }];
        let mut one = backend(1);
        let all = values(&mut one, row, &operands);
        for length in [1, 2, 31, 32, 33, 63, 100, 511, 513] {
            let shifted: Vec<Vec<f64>> =
                operands.iter().map(|x| x[7..7 + length].to_vec()).collect();
            assert_eq!(values(&mut one, row, &shifted), all[7..7 + length], "{name} {length}");
        }
        let tensor = Tensor::from_vec_col_major(vec![50, 100], numbers.clone()).unwrap();
        let turned = tensor.view().transpose();
        let inputs = vec![turned.as_operand(); operands.len()];
        let result = one.apply(&row.clone().into(), &inputs).unwrap();
        let back = result.view().transpose().to_vec_col_major::<f64>().unwrap();
        assert_eq!(back, all, "{name} transposed");
        assert_eq!(values(&mut backend(4), row, &operands), all, "{name} on four threads");
    }
}

fn check_halves<T: Scalar>(
    backend: &mut CpuBackend,
    of: fn(f32) -> T,
    to: fn(T) -> f32,
    bits: Vec<T>,
) {
    let wide: Vec<f32> = bits.iter().map(|&x| to(x)).collect();
    for (name, row, ..) in BOUNDS.iter().filter(|(_, row, ..)| *row != Analytic::Pow) {
        let expected = values(backend, row, std::slice::from_ref(&wide));
        let ours = values(backend, row, std::slice::from_ref(&bits));
        for ((&ours, expected), x) in ours.iter().zip(expected).zip(&wide) {
            let (ours, expected) = (to(ours), to(of(expected)));
            assert!(
                ours.to_bits() == expected.to_bits() || (ours.is_nan() && expected.is_nan()),
                "{name}({x:e}) in {}: {ours:e}, not {expected:e}",
                T::DTYPE
            );
        }
    }
}

#[test]
fn floats_of_16_bits_are_computed_in_f32_and_rounded_once() {
    let mut backend = backend(1);
    let bits = || (0..=u16::MAX).step_by(3);
    check_halves(&mut backend, f16::from_f32, f16::to_f32, bits().map(f16::from_bits).collect());
    check_halves(&mut backend, bf16::from_f32, bf16::to_f32, bits().map(bf16::from_bits).collect());
}

#[test]
fn converted_functions_of_no_elements_are_empty() {
    let empty = Tensor::zeros(DType::F64, [0, 3]).unwrap();
    let mut backend = backend(2);
    for (_, row, ..) in &BOUNDS {
        let inputs = vec![empty.as_operand(); if *row == Analytic::Pow { 2 } else { 1 }];
        assert_eq!(backend.apply(&row.clone().into(), &inputs).unwrap().elements(), 0);
    }
    assert_eq!(backend.neg(&empty).unwrap().elements(), 0);
}
