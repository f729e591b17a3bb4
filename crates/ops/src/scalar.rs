//! What each row of the vocabulary computes for one element.
//!
//! The traits ([`Number`], [`Real`], [`Inexact`], [`Float`], [`Bits`], [`Integer`], [`Cast`]) give the arithmetic of every dtype, once for all engines. A
//! row is a function object over them ([`Unary`], [`Binary`], [`Ternary`], [`Reducer`]), and [`visit_elementwise`] and its
//! sisters are the one place that says which function a row has for which dtype. An engine brings a visitor: a loop,
//! generic over the function. So a new elementwise operation is a row of the table, a rule and a function here.
//!
//! ```
//! use tenferro_ops::scalar::{Binary, Maximum};
//!
//! assert!(Maximum.call(f64::NAN, 1.0).is_nan());
//! assert!(Maximum.call(-0.0_f64, 0.0).is_sign_positive());
//! ```

mod bitcast;
mod bits;
mod cast;
mod complex;
mod float;
mod function;
mod inexact;
mod number;
mod order;
mod real;
mod reducer;
mod special;
mod visit;

pub use bitcast::Pattern;
pub(super) use bitcast::check_bitcast;
pub use bits::{Bits, Integer};
pub use cast::{Cast, Form};
pub use float::Float;
pub use function::{
    Abs, Add, And, Binary, Ceil, Clamp, Conj, Convert, Div, Equal, Floor, Greater, GreaterEqual,
    IsFinite, IsNan, Less, LessEqual, Mapped, Maximum, Minimum, Mul, Neg, Not, NotEqual, Or, Pow,
    Rem, RoundAway, RoundEven, Select, Sign, Sqrt, Sub, Ternary, Unary, Xor, Zipped,
};
pub use inexact::Inexact;
pub use number::Number;
pub use order::{Key, Ordered};
pub use real::Real;
pub use reducer::{
    All, Any, Disjunction, Extreme, Max, Min, Parity, Prod, Reducer, Sum, SumOfSquares,
};
pub use visit::{
    CombinerVisitor, ElementwiseVisitor, ReductionVisitor, visit_analytic, visit_combiner,
    visit_elementwise, visit_reduction, visit_scan,
};
pub(super) use visit::{check_combiner, without_order};
