//! The vocabulary table: one row an operation, from which everything that lists operations is generated.
//!
//! A row reads `Variant method(operand: Type, ..) [parameter: Type, ..] -> Result, dtypes, "documentation"` (no brackets without parameters). The type
//! names are the method's generic parameters; `Result` is one of their associated types, see
//! [`Operate`](crate::Operate). An operation of any number of operands has `many operand: Type` instead. `dtypes` is a
//! variant of [`Accepts`](crate::Accepts). What an operation means for shapes, and how it is computed, is not here.

/// Hands the vocabulary table to a callback macro.
#[macro_export]
macro_rules! vocabulary {
    ($($callback:ident)::+ $(, $($args:tt)*)?) => {
        $($callback)::+! {
            $($($args)*)?

            Elementwise TensorElementwise "Operations on each element, broadcasting their operands." {
                Add add(lhs: Lhs, rhs: Rhs) -> Lhs::Same, Number,
                    "The sum of two tensors. Integers wrap.";
                Sub sub(lhs: Lhs, rhs: Rhs) -> Lhs::Same, Number,
                    "The difference of two tensors. Integers wrap.";
                Mul mul(lhs: Lhs, rhs: Rhs) -> Lhs::Same, Number,
                    "The product of two tensors, element by element. Integers wrap.";
                Div div(lhs: Lhs, rhs: Rhs) -> Lhs::Same, Number,
                    "The quotient of two tensors. Integers truncate; `MIN / -1` is `MIN`; a zero divisor of integers is a numerical failure.";
                Neg neg(x: X) -> X::Same, Number,
                    "The negative of each element. Integers wrap, unsigned ones too.";
                Abs abs(x: X) -> X::Real, Number,
                    "The magnitude of each element: real for complex operands. `MIN` of an integer stays `MIN`.";
                Sign sign(x: X) -> X::Same, Number,
                    "-1, 0 or 1 by the sign of each element; `x / |x|` for complex ones, 0 at 0. Zeros keep their sign, NaN stays NaN.";
                Conj conj(x: X) -> X::Same, Number,
                    "The complex conjugate of each element; real elements are their own.";
                Maximum maximum(lhs: Lhs, rhs: Rhs) -> Lhs::Same, Real,
                    "The larger of two elements. NaN wins, and +0 is larger than -0.";
                Minimum minimum(lhs: Lhs, rhs: Rhs) -> Lhs::Same, Real,
                    "The smaller of two elements. NaN wins, and -0 is smaller than +0.";
                Compare compare(lhs: Lhs, rhs: Rhs) [relation: $crate::Comparison] -> Lhs::Truth, Any,
                    "Whether a relation holds between two elements. Complex numbers have `Eq` and `Ne` only; false is less than true.";
                Select select(predicate: Predicate, on_true: OnTrue, on_false: OnFalse) -> OnTrue::Same, Any,
                    "`on_true` where the bool `predicate` is true, else `on_false`.";
                Convert convert(x: X) [dtype: $crate::DType] -> $crate::Tensor, Any,
                    "Each element in another dtype. Floats to integers saturate and NaN gives 0; integers wrap; complex to real drops the imaginary part; to bool asks for nonzero.";
            }

            Analytic TensorAnalytic "Transcendental and algebraic functions of each element." {
                Exp exp(x: X) -> X::Same, Inexact,
                    "The exponential of each element.";
                Log log(x: X) -> X::Same, Inexact,
                    "The natural logarithm of each element; the principal branch for complex ones.";
                Sqrt sqrt(x: X) -> X::Same, Inexact,
                    "The square root of each element; the principal branch for complex ones.";
                Tanh tanh(x: X) -> X::Same, Inexact,
                    "The hyperbolic tangent of each element.";
                Pow pow(lhs: Lhs, rhs: Rhs) -> Lhs::Same, Number,
                    "`lhs` to the power of `rhs`. Integers wrap; a negative exponent of integers is a numerical failure.";
            }

            Reduction TensorReduction "Reductions over any axes." {
                Sum sum(x: X) [axes: $crate::Indices, keep: $crate::KeepAxes] -> X::Same, Number,
                    "The sum over axes; 0 over nothing. f16 and bf16 accumulate in f32, integers wrap.";
                Prod prod(x: X) [axes: $crate::Indices, keep: $crate::KeepAxes] -> X::Same, Number,
                    "The product over axes; 1 over nothing. f16 and bf16 accumulate in f32, integers wrap.";
                Max max(x: X) [axes: $crate::Indices, keep: $crate::KeepAxes] -> X::Same, Real,
                    "The largest element over axes. NaN wins, and +0 is larger than -0; an empty axis is refused.";
                Min min(x: X) [axes: $crate::Indices, keep: $crate::KeepAxes] -> X::Same, Real,
                    "The smallest element over axes. NaN wins, and -0 is smaller than +0; an empty axis is refused.";
            }

            Structural TensorStructural "Operations that move elements without looking at them." {
                Transpose transpose(x: X) [permutation: $crate::Indices] -> X::Same, Any,
                    "The tensor with axis `permutation[i]` in place `i`.";
                Reshape reshape(x: X) [extents: $crate::Indices] -> X::Same, Any,
                    "The same elements, in column-major order, under other extents of the same product.";
                BroadcastInDim broadcast_in_dim(x: X) [extents: $crate::Indices, axes: $crate::Indices] -> X::Same, Any,
                    "The tensor stretched to `extents`: axis `i` of the operand becomes axis `axes[i]`, extent 1 and new axes stretch.";
                Concatenate concatenate(many parts: Part) [axis: usize] -> Part::Same, Any,
                    "The operands one after the other along `axis`; all other extents agree.";
                Pad pad(x: X, value: Value) [padding: $crate::Padding] -> X::Same, Any,
                    "The tensor with the scalar `value` before, after and between its elements; negative edges remove elements.";
            }

            Indexing TensorIndexing "Operations that pick or place elements by position." {
                Slice slice(x: X) [starts: $crate::Indices, limits: $crate::Indices, strides: $crate::Indices] -> X::Same, Any,
                    "Indices `start`, `start + stride`, .. below `limit` of each axis.";
                ExtractDiagonal extract_diagonal(x: X) [first: usize, second: usize] -> X::Same, Any,
                    "The elements whose indices along two axes agree: axis `first` walks the diagonal, axis `second` is gone.";
                EmbedDiagonal embed_diagonal(x: X) [axis: usize, new_axis: usize] -> X::Same, Any,
                    "A tensor of zeros with axis `axis` of the operand on the diagonal of that axis and a new one before `new_axis` of the result.";
            }

            Dot TensorDot "Contractions." {
                DotGeneral dot_general(lhs: Lhs, rhs: Rhs) [contraction: $crate::Contraction] -> Lhs::Same, Number,
                    "The sum of products over pairs of axes, for each pair of batch indices. f16 and bf16 accumulate in f32, integers wrap.";
            }
        }
    };
}
