//! The functions of one element against values of NumPy, SciPy and mpmath: in units of the last place, and on cuts.
//!
//! `fixtures/special.py` made the values and says how.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;

use tenferro_ops::reference::Reference;
use tenferro_tensor::{
    Analytic, AsOperand, Complex64, DType, Operand, Primitive, Tensor, TensorElementwise,
    Vocabulary, vocabulary,
};

macro_rules! functions {
    ($($family:ident $trait:ident $about:literal {
        $($variant:ident $method:ident $operands:tt $([$($param:ident: $ty:ty),+])? -> $result:ty, $accepts:ident, $doc:literal;)*
    })*) => {
        functions!{@found $($family { $($variant $method;)* })*}
    };
    (@found Elementwise $elementwise:tt Analytic { $($variant:ident $method:ident;)* } $($rest:tt)*) => {
        &[$((stringify!($method), Analytic::$variant)),*]
    };
}

/// The rows of the analytic family by name.
const FUNCTIONS: &[(&str, Analytic)] = vocabulary!(functions);

/// How far a function of f64 or f32 may be off, in units of the last place of the exact value.
fn real_bound(function: &str) -> f64 {
    match function {
        // Sums and products of a few terms.
        "digamma" => 4.0,
        _ => 2.0,
    }
}

/// Where the value itself nears zero, the bound is that of a value of this size.
fn floor_of(function: &str, x: f64) -> f64 {
    match function {
        // Between its poles the value crosses zero, where only the absolute error is small.
        "lgamma" if x < 0.0 => 1.0,
        "digamma" if x < 0.0 => 2.0,
        _ => 0.0,
    }
}

/// The distance from one number of a dtype to the next, at a magnitude.
fn last_place(dtype: DType, at: f64) -> f64 {
    let at = Tensor::scalar(at.abs()).unwrap();
    let at = Reference.convert(&at, dtype).unwrap();
    let infinity = Tensor::scalar(f64::INFINITY).unwrap();
    let infinity = Reference.convert(&infinity, dtype).unwrap();
    real(&Reference.next_after(&at, &infinity).unwrap()) - real(&at)
}

fn function(name: &str) -> Primitive {
    let found = FUNCTIONS.iter().find(|(method, _)| *method == name);
    found.unwrap_or_else(|| panic!("{name} is no row")).1.clone().into()
}

/// The value of a function at a point, in a dtype.
fn value(name: &str, dtype: DType, point: &[Tensor]) -> Tensor {
    let operands: Vec<Tensor> =
        point.iter().map(|x| Reference.convert(x, dtype).unwrap()).collect();
    let operands: Vec<Operand<'_>> = operands.iter().map(AsOperand::as_operand).collect();
    Reference.apply(&function(name), &operands).unwrap()
}

fn real(tensor: &Tensor) -> f64 {
    Reference.convert(tensor, DType::F64).unwrap().get::<f64>(&[]).unwrap()
}

struct Line<'l> {
    function: &'l str,
    dtype: &'l str,
    numbers: Vec<f64>,
}

fn lines() -> impl Iterator<Item = Line<'static>> {
    include_str!("fixtures/special.txt").lines().map(|line| {
        let mut fields = line.split(';');
        let (function, dtype) = (fields.next().unwrap(), fields.next().unwrap());
        Line { function, dtype, numbers: fields.map(|number| number.parse().unwrap()).collect() }
    })
}

#[test]
fn functions_of_real_numbers_are_within_two_units_of_the_last_place() {
    let mut worst: BTreeMap<(&str, &str), (f64, Vec<f64>)> = BTreeMap::new();
    for Line { function, dtype: name, numbers } in lines().filter(|line| line.dtype != "c64") {
        let dtype = if name == "f32" { DType::F32 } else { DType::F64 };
        let [point @ .., exact, _] = &numbers[..] else { panic!("a line without values") };
        let operands: Vec<Tensor> = point.iter().map(|&x| Tensor::scalar(x).unwrap()).collect();
        let actual = real(&self::value(function, dtype, &operands));
        let unit = last_place(dtype, exact.abs().max(floor_of(function, point[0])));
        let off = (actual - exact).abs() / unit;
        let entry = worst.entry((function, name)).or_default();
        if off.is_nan() || off > entry.0 {
            *entry = (off, numbers);
        }
    }
    let table: Vec<String> = worst
        .iter()
        .map(|((function, dtype), (off, line))| format!("{function} {dtype}: {off:.2} at {line:?}"))
        .collect();
    let kept = worst.iter().all(|((function, _), (off, _))| *off <= real_bound(function));
    assert!(kept, "{}", table.join("\n"));
}

#[test]
fn functions_of_complex_numbers_are_close_by_their_modulus() {
    let mut worst: BTreeMap<&str, (f64, Vec<f64>)> = BTreeMap::new();
    for Line { function, numbers, .. } in lines().filter(|line| line.dtype == "c64") {
        let [re, im, exact_re, exact_im, ..] = numbers[..] else { panic!("a line without values") };
        let x = Tensor::scalar(Complex64::new(re, im)).unwrap();
        let value = value(function, DType::C64, &[x]).get::<Complex64>(&[]).unwrap();
        let exact = Complex64::new(exact_re, exact_im);
        let off = (value - exact).norm() / (f64::EPSILON * exact.norm());
        let entry = worst.entry(function).or_default();
        if off.is_nan() || off > entry.0 {
            *entry = (off, numbers);
        }
    }
    let table: Vec<String> = worst
        .iter()
        .map(|(function, (off, line))| format!("{function}: {off:.2} at {line:?}"))
        .collect();
    assert!(worst.values().all(|(off, _)| *off <= COMPLEX_BOUND), "{}", table.join("\n"));
}

/// How far a function of C64 may be off, in units of the last place of the modulus.
const COMPLEX_BOUND: f64 = 4.0;

/// Whether a component is what it should be: the same NaN, infinity or zero, or close.
fn same_component(actual: f64, expected: f64, signs_count: bool) -> bool {
    if expected.is_nan() {
        actual.is_nan()
    } else if expected == 0.0 || expected.is_infinite() {
        let sign = !signs_count || actual.is_sign_negative() == expected.is_sign_negative();
        sign && actual.abs() == expected.abs()
    } else {
        (actual - expected).abs() <= 4.0 * f64::EPSILON * expected.abs()
    }
}

#[test]
fn f47_complex_functions_have_the_values_of_annex_g_on_cuts_and_at_the_ends() {
    let mut wrong = Vec::new();
    for line in include_str!("fixtures/cuts.txt").lines() {
        let (function, numbers) = line.split_once(';').unwrap();
        let numbers: Vec<f64> = numbers.split(';').map(|number| number.parse().unwrap()).collect();
        let [re, im, expected_re, expected_im] = numbers[..] else { panic!("{line}") };
        let x = Tensor::scalar(Complex64::new(re, im)).unwrap();
        let actual = value(function, DType::C64, &[x]).get::<Complex64>(&[]).unwrap();
        // The annex leaves signs open beside a NaN, and those of the tangents of infinite angles.
        let open = expected_re.is_nan() || expected_im.is_nan();
        let tangent = ["tan", "tanh"].contains(&function) && re.is_infinite() && im.is_infinite();
        let (re_counts, im_counts) = match tangent {
            true => (function == "tanh", function == "tan"),
            false => (!open, !open),
        };
        let same = same_component(actual.re, expected_re, re_counts)
            && same_component(actual.im, expected_im, im_counts);
        if !same {
            wrong.push(format!("{line} is {actual:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
