//! Which function a row has for which dtype: the one place that decides it.
//!
//! An engine implements a visitor, whose methods are loops generic over the function; the row and the dtype, known at
//! run time, pick the instance. A pair that is not here is refused with the words of the rules.

use tenferro_tensor::{
    Accepts, Analytic, Combiner, Comparison, Complex32, Complex64, DType, DTypeClass, Elementwise,
    Reduction, Scalar, Scan, Ties, Validation, dispatch,
};

use super::{
    Abs, Add, All, And, Any, Binary, Bits, Ceil, Clamp, Conj, Disjunction, Div, Equal, Extreme,
    Float, Floor, Greater, GreaterEqual, Inexact, Integer, IsFinite, IsNan, Less, LessEqual,
    Mapped, Max, Maximum, Min, Minimum, Mul, Neg, Not, NotEqual, Number, Or, Parity, Pow, Prod,
    Real, Reducer, Rem, RoundAway, RoundEven, Select, Sign, Sqrt, Sub, Sum, SumOfSquares, Ternary,
    Unary, Xor, Zipped, bitcast::check_bitcast,
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
///
///     fn convert(self, _: DType, _: DType) -> Self::Output {
///         None
///     }
///
///     fn bitcast(self, _: DType, _: DType) -> Self::Output {
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

    /// Converts one operand of the dtype `from` to `to`, any pair, as [`Cast`](super::Cast) says.
    fn convert(self, from: DType, to: DType) -> Self::Output;

    /// Gives the bits of one operand of the dtype `from` the dtype `to`, of the same size. Only bool becomes bool.
    fn bitcast(self, from: DType, to: DType) -> Self::Output;
}

/// The loops of an engine over reductions.
pub trait ReductionVisitor {
    /// As [`CombinerVisitor::BY_BITS`].
    const BY_BITS: bool = false;

    /// What a loop gives back.
    type Output;

    /// Runs a reduction of elements of `T`.
    fn reduce<T: Scalar, R: Reducer<T>>(self, reducer: R) -> Self::Output;
}

/// The loops of an engine over combiners: reducers of elements to one of their own type.
pub trait CombinerVisitor {
    /// Whether elements are handed over as what has the same bits, where a reducer makes the same of these: unsigned
    /// integers as signed ones, and truth values as `i8`; with [`Extreme`] for both extremes of integers, and
    /// [`Disjunction`] for the conjunction too. So what differs in little is compiled once.
    ///
    /// What nothing reduces to is that of the type which is handed over: all bits, where it is `true`.
    const BY_BITS: bool = false;

    /// What a loop gives back.
    type Output;

    /// Runs a combination of elements of `T`.
    fn combine<T: Scalar, R: Reducer<T, Out = T>>(self, reducer: R) -> Self::Output;
}

/// A visitor of reductions as one of combiners, which are reductions too.
struct Reducing<V>(V);

impl<V: ReductionVisitor> CombinerVisitor for Reducing<V> {
    const BY_BITS: bool = V::BY_BITS;
    type Output = V::Output;

    fn combine<T: Scalar, R: Reducer<T, Out = T>>(self, reducer: R) -> V::Output {
        self.0.reduce(reducer)
    }
}

/// Calls a visitor's method with a function for the Rust type of a dtype, if that is in the class of dtypes.
macro_rules! run {
    ($visitor:ident.$method:ident($function:expr), $dtype:ident, any) => {
        dispatch!($dtype, any T => Ok($visitor.$method::<T, _>($function)))
    };
    // Whatever has an order: real numbers and truth values.
    ($visitor:ident.$method:ident($function:expr), $dtype:ident, ordered) => {
        dispatch!($dtype, ordered T => Ok($visitor.$method::<T, _>($function)), else Err(without_order($dtype)))
    };
    // Whatever is bits to be looked at: integers and truth values.
    ($visitor:ident.$method:ident($function:expr), $dtype:ident, bits) => {
        dispatch!($dtype, integer T => Ok($visitor.$method::<T, _>($function)), else match $dtype {
            DType::Bool => {
                type T = bool;
                Ok($visitor.$method::<T, _>($function))
            }
            _ => Err(meaningless($dtype, Accepts::Bits)),
        })
    };
    ($visitor:ident.$method:ident($function:expr), $dtype:ident, $class:ident $accepts:ident) => {
        dispatch!($dtype, $class T => Ok($visitor.$method::<T, _>($function)), else {
            Err(meaningless($dtype, Accepts::$accepts))
        })
    };
}

/// As [`run!`], for reducers that make the same of all elements with the same bits.
macro_rules! run_by_bits {
    ($visitor:ident.$method:ident($reducer:expr), $dtype:ident, number) => {{
        let handed_over = if V::BY_BITS { signed($dtype) } else { $dtype };
        dispatch!(handed_over, number T => run_by_bits!(@once $visitor.$method::<T>($reducer)), else {
            Err(meaningless($dtype, Accepts::Number))
        })
    }};
    // What is never handed over must not be compiled.
    (@once $visitor:ident.$method:ident::<$T:ty>($reducer:expr)) => {
        if const { V::BY_BITS && has_other_name(<$T as Scalar>::DTYPE) } {
            unreachable!("invariant: another type with the same bits is handed over")
        } else {
            Ok($visitor.$method::<$T, _>($reducer))
        }
    };
}

/// As [`run!`], for an extreme of real numbers.
macro_rules! run_extreme {
    ($visitor:ident, $dtype:ident, $Reducer:ident, $by_bits:ident) => {{
        if V::BY_BITS && $dtype.is_integer() {
            let (handed_over, is_signed) = (signed($dtype), $dtype.class() == DTypeClass::Signed);
            return dispatch!(handed_over, integer T => {
                run_by_bits!(@once $visitor.combine::<T>(Extreme::$by_bits(is_signed)))
            }, else unreachable!("invariant: an integer was asked for"));
        }
        dispatch!($dtype, real T => {
            if const { V::BY_BITS && T::DTYPE.is_integer() } {
                unreachable!("invariant: integers have been handed over")
            } else {
                Ok($visitor.combine::<T, _>($Reducer))
            }
        }, else Err(meaningless($dtype, Accepts::Real)))
    }};
}

/// As [`run!`], for a function of bits; the second reducer is for visitors by bits.
macro_rules! run_bitwise {
    ($visitor:ident, $dtype:ident, $reducer:expr, $by_bits:expr) => {{
        if !V::BY_BITS {
            return run!($visitor.combine($reducer), $dtype, bits);
        }
        let handed_over = if $dtype == DType::Bool { DType::I8 } else { signed($dtype) };
        dispatch!(handed_over, integer T => {
            run_by_bits!(@once $visitor.combine::<T>($by_bits))
        }, else Err(meaningless($dtype, Accepts::Bits)))
    }};
}

/// Whether visitors by bits get another type for this one.
const fn has_other_name(dtype: DType) -> bool {
    matches!(dtype, DType::U8 | DType::U16 | DType::U32 | DType::U64 | DType::Bool)
}

/// The signed integers with the bits of unsigned ones; others as they are.
fn signed(dtype: DType) -> DType {
    match dtype {
        DType::U8 => DType::I8,
        DType::U16 => DType::I16,
        DType::U32 => DType::I32,
        DType::U64 => DType::I64,
        _ => dtype,
    }
}

/// Calls a visitor with a function that is as cheap as the loop around it: inlined for the dtypes in common use, by a
/// pointer for the others.
macro_rules! cheap {
    ($visitor:ident.unary($Name:ident, $function:expr), $dtype:ident, $class:ident $accepts:ident) => {
        match $dtype {
            DType::F64 => Ok($visitor.unary::<f64, _>($Name)),
            DType::F32 => Ok($visitor.unary::<f32, _>($Name)),
            _ => run!($visitor.unary(Mapped::new($function)), $dtype, $class $accepts),
        }
    };
    ($visitor:ident.binary($Name:ident, $function:expr), $dtype:ident, bits) => {
        match $dtype {
            DType::Bool => Ok($visitor.binary::<bool, _>($Name)),
            _ => run!($visitor.binary(Zipped::new($function)), $dtype, bits),
        }
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
        Elementwise::Rem => dispatch!(dtype, integer T => Ok(visitor.binary::<T, _>(Rem)), else {
            run!(visitor.binary(Zipped::new(<T as Real>::rem)), dtype, float Real)
        }),
        Elementwise::Neg => run!(visitor.unary(Neg), dtype, number Number),
        Elementwise::Abs => run!(visitor.unary(Abs), dtype, number Number),
        Elementwise::Sign => {
            cheap!(visitor.unary(Sign, <T as Number>::sign), dtype, number Number)
        }
        Elementwise::Conj => run!(visitor.unary(Conj), dtype, number Number),
        Elementwise::Real => {
            run!(visitor.unary(Mapped::new(<T as Number>::re)), dtype, number Number)
        }
        Elementwise::Imag => {
            run!(visitor.unary(Mapped::new(<T as Number>::im)), dtype, number Number)
        }
        Elementwise::Complex => match dtype {
            DType::F32 => Ok(visitor.binary::<f32, _>(Zipped::new(Complex32::new))),
            DType::F64 => Ok(visitor.binary::<f64, _>(Zipped::new(Complex64::new))),
            _ => Err(meaningless(dtype, Accepts::Component)),
        },
        Elementwise::Maximum => run!(visitor.binary(Maximum), dtype, real Real),
        Elementwise::Minimum => run!(visitor.binary(Minimum), dtype, real Real),
        Elementwise::Clamp => {
            dispatch!(dtype, real T => Ok(visitor.ternary::<T, T, T, _>(Clamp)), else {
                Err(meaningless(dtype, Accepts::Real))
            })
        }
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
        Elementwise::And => cheap!(visitor.binary(And, <T as Bits>::and), dtype, bits),
        Elementwise::Or => cheap!(visitor.binary(Or, <T as Bits>::or), dtype, bits),
        Elementwise::Xor => cheap!(visitor.binary(Xor, <T as Bits>::xor), dtype, bits),
        Elementwise::Not => match dtype {
            DType::Bool => Ok(visitor.unary::<bool, _>(Not)),
            _ => run!(visitor.unary(Mapped::new(<T as Bits>::not)), dtype, bits),
        },
        Elementwise::ShiftLeft => {
            run!(visitor.binary(Zipped::new(<T as Integer>::shift_left)), dtype, integer Integer)
        }
        Elementwise::ShiftRightArithmetic => {
            run!(visitor.binary(Zipped::new(<T as Integer>::shift_right_arithmetic)), dtype, integer Integer)
        }
        Elementwise::ShiftRightLogical => {
            run!(visitor.binary(Zipped::new(<T as Integer>::shift_right_logical)), dtype, integer Integer)
        }
        Elementwise::Popcount => {
            run!(visitor.unary(Mapped::new(<T as Integer>::popcount)), dtype, integer Integer)
        }
        Elementwise::LeadingZeros => {
            run!(visitor.unary(Mapped::new(<T as Integer>::leading_zeros)), dtype, integer Integer)
        }
        Elementwise::Floor => {
            cheap!(visitor.unary(Floor, <T as Real>::floor), dtype, real Real)
        }
        Elementwise::Ceil => cheap!(visitor.unary(Ceil, <T as Real>::ceil), dtype, real Real),
        Elementwise::Round { ties } => match ties {
            Ties::Even => {
                cheap!(visitor.unary(RoundEven, <T as Real>::round_even), dtype, real Real)
            }
            Ties::Away => {
                cheap!(visitor.unary(RoundAway, <T as Real>::round_away), dtype, real Real)
            }
        },
        Elementwise::IsFinite => {
            cheap!(visitor.unary(IsFinite, <T as Number>::finite), dtype, number Number)
        }
        Elementwise::IsNan => {
            cheap!(visitor.unary(IsNan, <T as Number>::nan), dtype, number Number)
        }
        Elementwise::NextAfter => {
            run!(visitor.binary(Zipped::new(<T as Float>::next_after)), dtype, float Float)
        }
        Elementwise::Convert { dtype: target } => Ok(visitor.convert(dtype, *target)),
        Elementwise::Bitcast { dtype: target } => {
            check_bitcast(dtype, *target)?;
            Ok(visitor.bitcast(dtype, *target))
        }
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
    macro_rules! map {
        ($function:ident, inexact) => {
            run!(visitor.unary(Mapped::new(<T as Inexact>::$function)), dtype, inexact Inexact)
        };
        ($function:ident, float) => {
            run!(visitor.unary(Mapped::new(<T as Float>::$function)), dtype, float Float)
        };
    }
    match row {
        Analytic::Exp => map!(exp, inexact),
        Analytic::Exp2 => map!(exp2, inexact),
        Analytic::Expm1 => map!(expm1, inexact),
        Analytic::Log => map!(log, inexact),
        Analytic::Log2 => map!(log2, inexact),
        Analytic::Log1p => map!(log1p, inexact),
        Analytic::Sqrt => run!(visitor.unary(Sqrt), dtype, inexact Inexact),
        Analytic::Rsqrt => map!(rsqrt, inexact),
        Analytic::Cbrt => map!(cbrt, float),
        Analytic::Sin => map!(sin, inexact),
        Analytic::Cos => map!(cos, inexact),
        Analytic::Tan => map!(tan, inexact),
        Analytic::Asin => map!(asin, inexact),
        Analytic::Acos => map!(acos, inexact),
        Analytic::Atan => map!(atan, inexact),
        Analytic::Atan2 => {
            run!(visitor.binary(Zipped::new(<T as Float>::atan2)), dtype, float Float)
        }
        Analytic::Sinh => map!(sinh, inexact),
        Analytic::Cosh => map!(cosh, inexact),
        Analytic::Tanh => map!(tanh, inexact),
        Analytic::Asinh => map!(asinh, inexact),
        Analytic::Acosh => map!(acosh, inexact),
        Analytic::Atanh => map!(atanh, inexact),
        Analytic::Sigmoid => map!(sigmoid, inexact),
        Analytic::Erf => map!(erf, float),
        Analytic::Erfc => map!(erfc, float),
        Analytic::ErfInv => map!(erf_inv, float),
        Analytic::Lgamma => map!(lgamma, float),
        Analytic::Digamma => map!(digamma, float),
        Analytic::Pow => dispatch!(dtype, integer T => Ok(visitor.binary::<T, _>(Pow)), else {
            run!(visitor.binary(Zipped::new(<T as Number>::pow)), dtype, inexact Number)
        }),
    }
}

/// Calls the visitor with the reducer of a reduction's row for an operand of `dtype`; `None` for those that look for a
/// place, which no reducer can.
///
/// # Errors
/// As [`visit_elementwise`].
pub fn visit_reduction<V: ReductionVisitor>(
    row: &Reduction,
    dtype: DType,
    visitor: V,
) -> Result<Option<V::Output>, Validation> {
    let output = match row {
        Reduction::Sum { .. } => visit_combiner(Combiner::Sum, dtype, Reducing(visitor)),
        Reduction::Prod { .. } => visit_combiner(Combiner::Prod, dtype, Reducing(visitor)),
        Reduction::Max { .. } => visit_combiner(Combiner::Max, dtype, Reducing(visitor)),
        Reduction::Min { .. } => visit_combiner(Combiner::Min, dtype, Reducing(visitor)),
        Reduction::All { .. } => match dtype {
            DType::Bool => visit_combiner(Combiner::And, dtype, Reducing(visitor)),
            _ => Err(meaningless(dtype, Accepts::Boolean)),
        },
        Reduction::Any { .. } => match dtype {
            DType::Bool => visit_combiner(Combiner::Or, dtype, Reducing(visitor)),
            _ => Err(meaningless(dtype, Accepts::Boolean)),
        },
        Reduction::SumOfSquares { .. } => {
            run_by_bits!(visitor.reduce(SumOfSquares), dtype, number)
        }
        Reduction::Reduce { combiner, .. } => visit_combiner(*combiner, dtype, Reducing(visitor)),
        Reduction::Argmax { .. } | Reduction::Argmin { .. } => {
            check_accepted(Accepts::Real, dtype)?;
            return Ok(None);
        }
    };
    output.map(Some)
}

/// Calls the visitor with the reducer that a combiner is for elements of `dtype`.
///
/// # Errors
/// As [`visit_elementwise`].
pub fn visit_combiner<V: CombinerVisitor>(
    combiner: Combiner,
    dtype: DType,
    visitor: V,
) -> Result<V::Output, Validation> {
    match combiner {
        Combiner::Sum => run_by_bits!(visitor.combine(Sum), dtype, number),
        Combiner::Prod => run_by_bits!(visitor.combine(Prod), dtype, number),
        Combiner::Max => run_extreme!(visitor, dtype, Max, largest),
        Combiner::Min => run_extreme!(visitor, dtype, Min, smallest),
        Combiner::And => run_bitwise!(visitor, dtype, All, Disjunction::all()),
        Combiner::Or => run_bitwise!(visitor, dtype, Any, Disjunction::any()),
        Combiner::Xor => run_bitwise!(visitor, dtype, Parity, Parity),
    }
}

/// The refusal of a dtype for which a row has no function.
fn meaningless(dtype: DType, accepts: Accepts) -> Validation {
    Validation::MeaninglessDType { dtype, expected: accepts.description() }
}

/// Refuses a dtype for which a combiner has no reducer.
pub(crate) fn check_combiner(combiner: Combiner, dtype: DType) -> Result<(), Validation> {
    match combiner {
        Combiner::Sum | Combiner::Prod => check_accepted(Accepts::Number, dtype),
        Combiner::Max | Combiner::Min => check_accepted(Accepts::Real, dtype),
        Combiner::And | Combiner::Or | Combiner::Xor => check_accepted(Accepts::Bits, dtype),
    }
}

/// Calls the visitor with the reducer of which a scan is the running reduction.
///
/// # Errors
/// As [`visit_elementwise`].
pub fn visit_scan<V: CombinerVisitor>(
    row: &Scan,
    dtype: DType,
    visitor: V,
) -> Result<V::Output, Validation> {
    match row {
        Scan::Cumsum { .. } => run_by_bits!(visitor.combine(Sum), dtype, number),
        Scan::Cumprod { .. } => run_by_bits!(visitor.combine(Prod), dtype, number),
        Scan::Cummax { .. } => run_extreme!(visitor, dtype, Max, largest),
        Scan::Cummin { .. } => run_extreme!(visitor, dtype, Min, smallest),
    }
}

fn check_accepted(accepts: Accepts, dtype: DType) -> Result<(), Validation> {
    if accepts.contains(dtype) { Ok(()) } else { Err(meaningless(dtype, accepts)) }
}

/// The refusal of an order relation between complex numbers.
pub(crate) fn without_order(dtype: DType) -> Validation {
    let expected = "complex numbers have no order, compare them with eq or ne";
    Validation::MeaninglessDType { dtype, expected }
}
