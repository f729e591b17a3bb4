//! Tensors print as NumPy's arrays do: `fixtures/display.py` wrote the texts with NumPy itself.

#![allow(clippy::unwrap_used, reason = "a test unwraps what it expects to be there")]

use std::str::FromStr;

use num_complex::Complex;
use serde::Deserialize;
use tenferro_tensor::{DType, Factor, Scalar, Tensor, bf16, dispatch, f16};

#[derive(Deserialize)]
struct Case {
    dtype: String,
    shape: Vec<usize>,
    values: Option<Vec<Value>>,
    start: Option<f64>,
    step: Option<f64>,
    str: String,
    repr: String,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Value {
    Real(String),
    Complex(String, String),
}

/// Reads an element as the fixture writes it.
trait Parse: Scalar {
    fn parse(value: &Value) -> Self;
}

macro_rules! parse_real {
    ($($ty:ty),*) => {
        $(impl Parse for $ty {
            fn parse(value: &Value) -> Self {
                let Value::Real(text) = value else { panic!("a complex value of a real dtype") };
                text.parse().unwrap()
            }
        })*
    };
}

parse_real!(f64, f32, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64);

impl Parse for bool {
    fn parse(value: &Value) -> Self {
        u8::parse(value) == 1
    }
}

impl<R: FromStr<Err: std::fmt::Debug>> Parse for Complex<R>
where
    Complex<R>: Scalar,
{
    fn parse(value: &Value) -> Self {
        let Value::Complex(re, im) = value else { panic!("a real value of a complex dtype") };
        Complex::new(re.parse().unwrap(), im.parse().unwrap())
    }
}

impl Case {
    fn tensor(&self) -> Tensor {
        let dtype = *DType::ALL.iter().find(|dtype| dtype.name() == self.dtype).unwrap();
        dispatch!(dtype, any T => {
            let elements: Vec<T> = match &self.values {
                Some(values) => values.iter().map(T::parse).collect(),
                None => (0..self.shape.iter().product())
                    .map(|i: usize| self.start.unwrap() + self.step.unwrap() * i as f64)
                    .map(|value| T::from_factor(Factor::Real(value)).unwrap())
                    .collect(),
            };
            Tensor::from_vec_row_major(self.shape.clone(), elements).unwrap()
        })
    }
}

fn cases() -> Vec<Case> {
    serde_json::from_str(include_str!("fixtures/display.json")).unwrap()
}

#[test]
fn display_equals_numpy_str() {
    for case in cases() {
        let tensor = case.tensor();
        assert_eq!(tensor.to_string(), case.str, "{} {:?}", case.dtype, case.shape);
    }
}

#[test]
fn debug_equals_numpy_repr_with_the_dtype() {
    for case in cases() {
        let tensor = case.tensor();
        let shape = if tensor.elements() > 1000 || (tensor.elements() == 0 && case.shape != [0]) {
            format!(", shape={}", tensor.shape())
        } else {
            String::new()
        };
        let expected = format!("tensor({}{shape}, dtype={})", case.repr, case.dtype);
        assert_eq!(format!("{tensor:?}"), expected);
    }
}

#[test]
fn bf16_prints_its_own_shortest_digits() {
    let third = bf16::from_f64(1.0 / 3.0);
    let x = Tensor::from_vec_col_major([3], vec![bf16::from_f64(0.1), third, bf16::ONE]).unwrap();
    insta::assert_snapshot!(x, @"[0.1   0.334 1.   ]");
    insta::assert_snapshot!(Tensor::scalar(bf16::MAX).unwrap(), @"3.39e+38");
}

#[test]
fn a_precision_limits_the_digits_after_the_point() {
    let x = Tensor::from_vec_col_major([3], vec![1.0 / 3.0, 2.0, -0.12345]).unwrap();
    insta::assert_snapshot!(format!("{x:.3}"), @"[ 0.333  2.    -0.123]");
    insta::assert_snapshot!(format!("{x:.0?}"), @"tensor([ 0.,  2., -0.], dtype=f64)");
}

#[test]
fn a_strided_view_prints_what_it_shows() {
    let x = Tensor::from_vec_row_major([2, 3], vec![1_i32, 2, 3, 40, 50, 60]).unwrap();
    let flipped = x.view().transpose().reverse(0).unwrap();
    insta::assert_snapshot!(flipped, @r"
    [[ 3 60]
     [ 2 50]
     [ 1 40]]
    ");
    let row = x.view().slice(0, ..1, 1).unwrap().broadcast(&[2, 3]).unwrap();
    insta::assert_snapshot!(row, @r"
    [[1 2 3]
     [1 2 3]]
    ");
}

#[test]
fn a_broadcast_view_of_terabytes_prints_at_once() {
    let x = Tensor::scalar(0.5_f64).unwrap();
    let huge = x.view().broadcast(&[1 << 30, 1 << 30]).unwrap();
    insta::assert_snapshot!(huge.slice(0, ..1, 1).unwrap(), @"[[0.5 0.5 0.5 ... 0.5 0.5 0.5]]");
}

#[test]
fn many_unit_axes_print_without_deep_recursion() {
    let extents = vec![1; 100_000];
    let x = Tensor::from_vec_col_major(extents, vec![7_u8]).unwrap();
    assert_eq!(x.to_string().len(), 200_001);
}
