//! The vocabulary: its table, and that typed operands give typed results.

#![allow(clippy::unwrap_used, reason = "a test unwraps what it expects to be there")]

use tenferro_tensor::{
    Accepts, Comparison, Complex32, Contraction, DType, Elementwise, KeepAxes, Operand, Primitive,
    Result, Tensor, TensorAnalytic, TensorDot, TensorElementwise, TensorIndexing, TensorReduction,
    TensorStructural, TypedTensor, Validation, Vocabulary,
};

macro_rules! rows {
    ($($family:ident $trait:ident $about:literal {
        $($variant:ident $method:ident $operands:tt $([$($param:ident: $ty:ty),+])? -> $result:ty, $accepts:ident, $doc:literal;)*
    })*) => {
        &[$($((
            stringify!($trait),
            stringify!($method),
            stringify!($operands),
            stringify!($($($param),+)?),
            stringify!($result),
            Accepts::$accepts,
        ),)*)*]
    };
}

type Row = (&'static str, &'static str, &'static str, &'static str, &'static str, Accepts);

/// The vocabulary table, read by the same kind of callback as every other reader.
const ROWS: &[Row] = tenferro_tensor::vocabulary!(rows);

#[test]
fn the_table_changes_on_purpose_only() {
    let mut family = "";
    let mut text = String::new();
    for &(owner, method, operands, parameters, result, accepts) in ROWS {
        if owner != family {
            text.push_str(&format!("{owner}\n"));
            family = owner;
        }
        let line = format!("  {method}{operands} [{parameters}] -> {result}, {accepts:?}");
        // How tokens are spaced is the compiler's choice.
        let spaced = line.replace(" : ", ": ").replace(" :: ", "::");
        text.push_str(&spaced.replace(" []", "").replace("$crate::", ""));
        text.push('\n');
    }
    insta::assert_snapshot!(text, @r"
    TensorElementwise
      add(lhs: Lhs, rhs: Rhs) -> Lhs::Same, Number
      sub(lhs: Lhs, rhs: Rhs) -> Lhs::Same, Number
      mul(lhs: Lhs, rhs: Rhs) -> Lhs::Same, Number
      div(lhs: Lhs, rhs: Rhs) -> Lhs::Same, Number
      rem(lhs: Lhs, rhs: Rhs) -> Lhs::Same, Real
      neg(x: X) -> X::Same, Number
      abs(x: X) -> X::Real, Number
      sign(x: X) -> X::Same, Number
      conj(x: X) -> X::Same, Number
      real(x: X) -> X::Real, Number
      imag(x: X) -> X::Real, Number
      complex(re: Re, im: Im) -> Re::Complex, Component
      maximum(lhs: Lhs, rhs: Rhs) -> Lhs::Same, Real
      minimum(lhs: Lhs, rhs: Rhs) -> Lhs::Same, Real
      clamp(x: X, lo: Lo, hi: Hi) -> X::Same, Real
      and(lhs: Lhs, rhs: Rhs) -> Lhs::Same, Bits
      or(lhs: Lhs, rhs: Rhs) -> Lhs::Same, Bits
      xor(lhs: Lhs, rhs: Rhs) -> Lhs::Same, Bits
      not(x: X) -> X::Same, Bits
      shift_left(lhs: Lhs, rhs: Rhs) -> Lhs::Same, Integer
      shift_right_arithmetic(lhs: Lhs, rhs: Rhs) -> Lhs::Same, Integer
      shift_right_logical(lhs: Lhs, rhs: Rhs) -> Lhs::Same, Integer
      popcount(x: X) -> X::Same, Integer
      leading_zeros(x: X) -> X::Same, Integer
      floor(x: X) -> X::Same, Real
      ceil(x: X) -> X::Same, Real
      round(x: X) [ties] -> X::Same, Real
      is_finite(x: X) -> X::Truth, Number
      is_nan(x: X) -> X::Truth, Number
      next_after(x: X, toward: Toward) -> X::Same, Float
      compare(lhs: Lhs, rhs: Rhs) [relation] -> Lhs::Truth, Any
      select(predicate: Predicate, on_true: OnTrue, on_false: OnFalse) -> OnTrue::Same, Any
      convert(x: X) [dtype] -> Tensor, Any
      bitcast(x: X) [dtype] -> Tensor, Any
    TensorAnalytic
      exp(x: X) -> X::Same, Inexact
      exp2(x: X) -> X::Same, Inexact
      expm1(x: X) -> X::Same, Inexact
      log(x: X) -> X::Same, Inexact
      log2(x: X) -> X::Same, Inexact
      log1p(x: X) -> X::Same, Inexact
      sqrt(x: X) -> X::Same, Inexact
      rsqrt(x: X) -> X::Same, Inexact
      cbrt(x: X) -> X::Same, Float
      sin(x: X) -> X::Same, Inexact
      cos(x: X) -> X::Same, Inexact
      tan(x: X) -> X::Same, Inexact
      asin(x: X) -> X::Same, Inexact
      acos(x: X) -> X::Same, Inexact
      atan(x: X) -> X::Same, Inexact
      atan2(y: Y, x: X) -> Y::Same, Float
      sinh(x: X) -> X::Same, Inexact
      cosh(x: X) -> X::Same, Inexact
      tanh(x: X) -> X::Same, Inexact
      asinh(x: X) -> X::Same, Inexact
      acosh(x: X) -> X::Same, Inexact
      atanh(x: X) -> X::Same, Inexact
      sigmoid(x: X) -> X::Same, Inexact
      erf(x: X) -> X::Same, Float
      erfc(x: X) -> X::Same, Float
      erf_inv(x: X) -> X::Same, Float
      lgamma(x: X) -> X::Same, Float
      digamma(x: X) -> X::Same, Float
      pow(lhs: Lhs, rhs: Rhs) -> Lhs::Same, Number
    TensorReduction
      sum(x: X) [axes, keep] -> X::Same, Number
      prod(x: X) [axes, keep] -> X::Same, Number
      max(x: X) [axes, keep] -> X::Same, Real
      min(x: X) [axes, keep] -> X::Same, Real
      all(x: X) [axes, keep] -> X::Same, Boolean
      any(x: X) [axes, keep] -> X::Same, Boolean
      argmax(x: X) [axes, keep] -> X::Index, Real
      argmin(x: X) [axes, keep] -> X::Index, Real
      sum_of_squares(x: X) [axes, keep] -> X::Real, Number
      reduce(x: X) [combiner, axes, keep] -> X::Same, Any
    TensorScan
      cumsum(x: X) [axis, sweep] -> X::Same, Number
      cumprod(x: X) [axis, sweep] -> X::Same, Number
      cummax(x: X) [axis, sweep] -> X::Same, Real
      cummin(x: X) [axis, sweep] -> X::Same, Real
    TensorWindowed
      reduce_window(x: X) [combiner, window] -> X::Same, Any
    TensorStructural
      transpose(x: X) [permutation] -> X::Same, Any
      reshape(x: X) [extents] -> X::Same, Any
      broadcast_in_dim(x: X) [extents, axes] -> X::Same, Any
      concatenate(many parts: Part) [axis] -> Part::Same, Any
      pad(x: X, value: Value) [padding] -> X::Same, Any
      reverse(x: X) [axes] -> X::Same, Any
      tril(x: X) [rows, columns, offset] -> X::Same, Any
      triu(x: X) [rows, columns, offset] -> X::Same, Any
      iota() [dtype, extents, axis] -> Tensor, Number
    TensorIndexing
      slice(x: X) [starts, limits, strides] -> X::Same, Any
      extract_diagonal(x: X) [first, second] -> X::Same, Any
      embed_diagonal(x: X) [axis, new_axis] -> X::Same, Any
      dynamic_slice(x: X, starts: Starts) [extents, mode] -> X::Same, Any
      dynamic_update(x: X, update: Update, starts: Starts) [mode] -> X::Same, Any
      gather(x: X, indices: Index) [gathering, mode] -> X::Same, Any
      scatter(x: X, indices: Index, updates: Updates) [gathering, placement, mode] -> X::Same, Any
    TensorSorting
      sort(x: X) [axis, order] -> X::Same, Ordered
      argsort(x: X) [axis, order] -> X::Index, Ordered
      arg_top(x: X) [axis, count, order] -> X::Index, Ordered
    TensorDot
      dot_general(lhs: Lhs, rhs: Rhs) [contraction] -> Lhs::Same, Number
      convolve(x: X, kernel: Kernel) [convolution] -> X::Same, Number
    ");
}

#[test]
fn what_a_primitive_accepts_is_said_by_class() {
    let all = [
        Accepts::Any,
        Accepts::Number,
        Accepts::Real,
        Accepts::Inexact,
        Accepts::Float,
        Accepts::Component,
        Accepts::Integer,
        Accepts::Bits,
        Accepts::Ordered,
        Accepts::Boolean,
    ];
    for accepts in all {
        for &dtype in DType::ALL {
            let expected = match accepts {
                Accepts::Any => true,
                Accepts::Number => dtype.is_inexact() || dtype.is_integer(),
                Accepts::Real => !dtype.is_complex() && dtype != DType::Bool,
                Accepts::Inexact => dtype.is_inexact(),
                Accepts::Float => dtype.is_inexact() && !dtype.is_complex(),
                Accepts::Component => dtype.complex() != dtype,
                Accepts::Integer => dtype.is_integer(),
                Accepts::Bits => !dtype.is_inexact(),
                Accepts::Ordered => !dtype.is_complex(),
                Accepts::Boolean => dtype == DType::Bool,
            };
            assert_eq!(accepts.contains(dtype), expected, "{accepts:?} {dtype}");
        }
    }
}

/// Gives back a copy of the first operand in the dtype that the primitive promises, and notes the call.
#[derive(Default)]
struct Echo {
    calls: Vec<(String, usize)>,
    lies: bool,
}

impl Vocabulary for Echo {
    fn apply(&mut self, primitive: &Primitive, inputs: &[Operand<'_>]) -> Result<Tensor> {
        assert!(primitive.arity().is_none_or(|arity| arity == inputs.len()));
        self.calls.push((primitive.name().to_owned(), inputs.len()));
        let shape = &inputs[0].shape()[..];
        match primitive {
            _ if self.lies => Tensor::zeros(DType::I8, shape),
            Primitive::Elementwise(Elementwise::Compare { .. }) => {
                Tensor::zeros(DType::Bool, shape)
            }
            Primitive::Elementwise(Elementwise::Abs) => {
                Tensor::zeros(inputs[0].dtype().real(), shape)
            }
            Primitive::Elementwise(Elementwise::Select) => Tensor::zeros(inputs[1].dtype(), shape),
            Primitive::Elementwise(Elementwise::Convert { dtype }) => Tensor::zeros(*dtype, shape),
            _ => inputs[0].view().to_tensor(),
        }
    }
}

fn typed<T: tenferro_tensor::Scalar>(elements: Vec<T>) -> TypedTensor<T> {
    TypedTensor::from_vec_col_major([elements.len()], elements).unwrap()
}

#[test]
fn typed_operands_give_typed_results() {
    let mut echo = Echo::default();
    let x = typed(vec![1.0_f32, 2.0]);
    let z = typed(vec![Complex32::ONE; 2]);
    let sum: TypedTensor<f32> = echo.add(&x, &x).unwrap();
    assert_eq!(sum.as_slice(), [1.0, 2.0]);
    let mixed: TypedTensor<f32> = echo.mul(&x, x.as_tensor()).unwrap();
    assert_eq!(mixed.as_slice(), [1.0, 2.0]);
    let size: TypedTensor<f32> = echo.abs(&z).unwrap();
    assert_eq!(size.as_slice(), [0.0, 0.0]);
    let less: TypedTensor<bool> = echo.compare(&x, &x, Comparison::Lt).unwrap();
    let picked: TypedTensor<f32> = echo.select(&less, &x, &x).unwrap();
    let exp: TypedTensor<f32> = echo.exp(&picked).unwrap();
    let total: TypedTensor<f32> = echo.sum(&exp, [0], KeepAxes::Drop).unwrap();
    let turned: TypedTensor<f32> = echo.transpose(&total, [0]).unwrap();
    let both: TypedTensor<f32> = echo.concatenate(&[turned.clone(), turned], 0_usize).unwrap();
    let part: TypedTensor<f32> = echo.slice(&both, [0], [1], [1]).unwrap();
    let dot: TypedTensor<f32> =
        echo.dot_general(&part, &part, Contraction::over([0], [0])).unwrap();
    let wide: Tensor = echo.convert(&dot, DType::F64).unwrap();
    assert_eq!(wide.dtype(), DType::F64);
    let called: Vec<_> = echo.calls.iter().map(|(name, n)| format!("{name}/{n}")).collect();
    insta::assert_snapshot!(called.join(" "), @"add/2 mul/2 abs/1 compare/2 select/3 exp/1 sum/1 transpose/1 concatenate/2 slice/1 dot_general/2 convert/1");
}

#[test]
fn run_time_typed_operands_give_run_time_typed_results() {
    let mut echo = Echo::default();
    let x = Tensor::from_vec_col_major([2], vec![3_i32, 4]).unwrap();
    let negative: Tensor = echo.neg(&x).unwrap();
    let through_a_view: Tensor = echo.add(&negative.view().reverse(0).unwrap(), &x).unwrap();
    assert_eq!(through_a_view.as_slice::<i32>().unwrap(), [4, 3]);
    let none: &[Tensor] = &[];
    struct Refuses;
    impl Vocabulary for Refuses {
        fn apply(&mut self, primitive: &Primitive, inputs: &[Operand<'_>]) -> Result<Tensor> {
            assert!(inputs.is_empty());
            Err(Validation::NoOperands.of(primitive.name()))
        }
    }
    let engine: &mut dyn Vocabulary = &mut Refuses;
    assert_eq!(engine.concatenate(none, 0_usize).unwrap_err().op(), "concatenate");
}

#[test]
fn a_result_of_another_dtype_than_promised_is_an_error() {
    let mut echo = Echo { lies: true, ..Echo::default() };
    let x = typed(vec![1.0_f64]);
    let error = echo.add(&x, &x).unwrap_err();
    assert_eq!(error.op(), "add");
    let wrong = Validation::WrongDType { actual: DType::I8, requested: DType::F64 };
    assert_eq!(error.validation(), Some(&wrong));
}
