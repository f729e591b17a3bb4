//! Which function a row has for which dtype: the one place that decides it.
//!
//! An engine implements a visitor, whose methods are loops generic over the function; the row and the dtype, known at
//! run time, pick the instance. A pair that is not here is refused with the words of the rules.

use tenferro_tensor::{
    Accepts, Analytic, Comparison, DType, Elementwise, Reduction, Scalar, Validation, dispatch,
};

use super::{
    Abs, Add, Binary, Conj, Convert, Div, Equal, Exp, Greater, GreaterEqual, Less, LessEqual, Log,
    Max, Maximum, Min, Minimum, Mul, Neg, NotEqual, Pow, Prod, Reducer, Select, Sign, Sqrt, Sub,
    Sum, Tanh, Ternary, Unary,
};

/// The loops of an engine over elementwise and analytic functions.
///
/// ```
/// use tenferro_ops::scalar::{Binary, ElementwiseVisitor, Ternary, Unary, visit_elementwise};
/// use tenferro_tensor::{DType, Elementwise, Operand, Scalar, Tensor, AsOperand};
///
/// /// Runs a function of two operands on their first elements, as a loop would on all of them.
/// struct First<'a>(Operand<'a>, Operand<'a>);
///
/// impl ElementwiseVisitor for First<'_> {
///     type Output = Option<String>;
///
///     fn unary<T: Scalar, F: Unary<T>>(self, _: F) -> Self::Output {
///         None
///     }
///
///     fn binary<T: Scalar, F: Binary<T>>(self, function: F) -> Self::Output {
///         let (lhs, rhs) = (self.0.as_slice::<T>()?, self.1.as_slice::<T>()?);
///         Some(format!("{:?}", function.call(lhs[0], rhs[0])))
///     }
///
///     fn ternary<A: Scalar, B: Scalar, C: Scalar, F: Ternary<A, B, C>>(self, _: F) -> Self::Output {
///         None
///     }
/// }
///
/// let x = Tensor::scalar(i32::MIN)?;
/// let y = Tensor::scalar(-1)?;
/// let first = First(x.as_operand(), y.as_operand());
/// let quotient = visit_elementwise(&Elementwise::Div, DType::I32, first).unwrap();
/// assert_eq!(quotient.as_deref(), Some("-2147483648"));
/// # Ok::<(), tenferro_tensor::Error>(())
/// ```
pub trait ElementwiseVisitor {
    /// What a loop gives back.
    type Output;

    /// Runs a function of one operand of `T`.
    fn unary<T: Scalar, F: Unary<T>>(self, function: F) -> Self::Output;

    /// Runs a function of two operands of `T`.
    fn binary<T: Scalar, F: Binary<T>>(self, function: F) -> Self::Output;

    /// Runs a function of three operands of `A`, `B` and `C`.
    fn ternary<A: Scalar, B: Scalar, C: Scalar, F: Ternary<A, B, C>>(
        self,
        function: F,
    ) -> Self::Output;
}

/// The loops of an engine over reductions.
pub trait ReductionVisitor {
    /// What a loop gives back.
    type Output;

    /// Runs a reduction of elements of `T`.
    fn reduce<T: Scalar, R: Reducer<T>>(self, reducer: R) -> Self::Output;
}

/// Calls a visitor's method with a function for the Rust type of a dtype, if that is in the class of dtypes.
macro_rules! run {
    ($visitor:ident.$method:ident($function:expr), $dtype:ident, any) => {
        dispatch!($dtype, any T => Ok($visitor.$method::<T, _>($function)))
    };
    // Whatever has an order: real numbers and truth values.
    ($visitor:ident.$method:ident($function:expr), $dtype:ident, ordered) => {
        dispatch!($dtype, real T => Ok($visitor.$method::<T, _>($function)), else match $dtype {
            DType::Bool => Ok($visitor.$method::<bool, _>($function)),
            _ => Err(without_order($dtype)),
        })
    };
    ($visitor:ident.$method:ident($function:expr), $dtype:ident, $class:ident $accepts:ident) => {
        dispatch!($dtype, $class T => Ok($visitor.$method::<T, _>($function)), else {
            let expected = Accepts::$accepts.description();
            Err(Validation::MeaninglessDType { dtype: $dtype, expected })
        })
    };
}

/// Calls the visitor with the function of an elementwise row for operands of `dtype`; for `select` the dtype of its
/// branches.
///
/// # Errors
/// [`Validation::MeaninglessDType`] if the row has no function for the dtype; the visitor is not called then.
pub fn visit_elementwise<V: ElementwiseVisitor>(
    row: &Elementwise,
    dtype: DType,
    visitor: V,
) -> Result<V::Output, Validation> {
    match row {
        Elementwise::Add => run!(visitor.binary(Add), dtype, number Number),
        Elementwise::Sub => run!(visitor.binary(Sub), dtype, number Number),
        Elementwise::Mul => run!(visitor.binary(Mul), dtype, number Number),
        Elementwise::Div => run!(visitor.binary(Div), dtype, number Number),
        Elementwise::Neg => run!(visitor.unary(Neg), dtype, number Number),
        Elementwise::Abs => run!(visitor.unary(Abs), dtype, number Number),
        Elementwise::Sign => run!(visitor.unary(Sign), dtype, number Number),
        Elementwise::Conj => run!(visitor.unary(Conj), dtype, number Number),
        Elementwise::Maximum => run!(visitor.binary(Maximum), dtype, real Real),
        Elementwise::Minimum => run!(visitor.binary(Minimum), dtype, real Real),
        Elementwise::Compare { relation } => match relation {
            Comparison::Eq => run!(visitor.binary(Equal), dtype, any),
            Comparison::Ne => run!(visitor.binary(NotEqual), dtype, any),
            Comparison::Lt => run!(visitor.binary(Less), dtype, ordered),
            Comparison::Le => run!(visitor.binary(LessEqual), dtype, ordered),
            Comparison::Gt => run!(visitor.binary(Greater), dtype, ordered),
            Comparison::Ge => run!(visitor.binary(GreaterEqual), dtype, ordered),
        },
        Elementwise::Select => {
            dispatch!(dtype, any T => Ok(visitor.ternary::<bool, T, T, _>(Select)))
        }
        Elementwise::Convert { dtype: target } => dispatch!(*target, any U => {
            run!(visitor.unary(Convert::<U>::new()), dtype, any)
        }),
    }
}

/// Calls the visitor with the function of an analytic row for operands of `dtype`.
///
/// # Errors
/// As [`visit_elementwise`].
pub fn visit_analytic<V: ElementwiseVisitor>(
    row: &Analytic,
    dtype: DType,
    visitor: V,
) -> Result<V::Output, Validation> {
    match row {
        Analytic::Exp => run!(visitor.unary(Exp), dtype, inexact Inexact),
        Analytic::Log => run!(visitor.unary(Log), dtype, inexact Inexact),
        Analytic::Sqrt => run!(visitor.unary(Sqrt), dtype, inexact Inexact),
        Analytic::Tanh => run!(visitor.unary(Tanh), dtype, inexact Inexact),
        Analytic::Pow => run!(visitor.binary(Pow), dtype, number Number),
    }
}

/// Calls the visitor with the reducer of a reduction's row for an operand of `dtype`.
///
/// # Errors
/// As [`visit_elementwise`].
pub fn visit_reduction<V: ReductionVisitor>(
    row: &Reduction,
    dtype: DType,
    visitor: V,
) -> Result<V::Output, Validation> {
    match row {
        Reduction::Sum { .. } => run!(visitor.reduce(Sum), dtype, number Number),
        Reduction::Prod { .. } => run!(visitor.reduce(Prod), dtype, number Number),
        Reduction::Max { .. } => run!(visitor.reduce(Max), dtype, real Real),
        Reduction::Min { .. } => run!(visitor.reduce(Min), dtype, real Real),
    }
}

/// The refusal of an order relation between complex numbers.
pub(crate) fn without_order(dtype: DType) -> Validation {
    let expected = "complex numbers have no order, compare them with eq or ne";
    Validation::MeaninglessDType { dtype, expected }
}
