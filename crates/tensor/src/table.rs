//! The vocabulary table: one row an operation, from which everything that lists operations is generated.
//!
//! A row reads `Variant method(operand: Type, ..) [parameter: Type, ..] -> Result, dtypes, "documentation"` (no brackets without parameters). The type
//! names are the method's generic parameters; `Result` is one of their associated types, see
//! [`Operate`](crate::Operate). An operation of any number of operands has `many operand: Type` instead; one that makes
//! its result of parameters alone has none. `dtypes` is a
//! variant of [`Accepts`](crate::Accepts). What an operation means for shapes, and how it is computed, is not here.

/// Hands the vocabulary table to a callback macro.
#[macro_export]
macro_rules! vocabulary {
    ($($callback:ident)::+ $(, $($args:tt)*)?) => {
        $($callback)::+! {
            $($($args)*)?

            Elementwise TensorElementwise "Operations on each element, broadcasting their operands.\n\nShapes are aligned from the right; extent 1 and missing axes stretch, and 0 and 1 give 0." {
                Add add(lhs: Lhs, rhs: Rhs) -> Lhs::Same, Number,
                    "The sum of two tensors. Integers wrap.";
                Sub sub(lhs: Lhs, rhs: Rhs) -> Lhs::Same, Number,
                    "The difference of two tensors. Integers wrap.";
                Mul mul(lhs: Lhs, rhs: Rhs) -> Lhs::Same, Number,
                    "The product of two tensors, element by element. Integers wrap.";
                Div div(lhs: Lhs, rhs: Rhs) -> Lhs::Same, Number,
                    "The quotient of two tensors. Integers truncate; `MIN / -1` is `MIN`; a zero divisor of integers is a numerical failure.\n\nComplex quotients after M. Baudin and R. L. Smith, \"A Robust Complex Division in Scilab\" (2012).";
                Rem rem(lhs: Lhs, rhs: Rhs) -> Lhs::Same, Real,
                    "The remainder of the truncated quotient, with the sign of `lhs`. `MIN % -1` is 0; a zero divisor of integers is a numerical failure, of floats NaN.";
                Neg neg(x: X) -> X::Same, Number,
                    "The negative of each element. Integers wrap, unsigned ones too.";
                Abs abs(x: X) -> X::Real, Number,
                    "The magnitude of each element: real for complex operands. `MIN` of an integer stays `MIN`.";
                Sign sign(x: X) -> X::Same, Number,
                    "-1, 0 or 1 by the sign of each element; `x / |x|` for complex ones, 0 at 0. Zeros keep their sign, NaN stays NaN.";
                Conj conj(x: X) -> X::Same, Number,
                    "The complex conjugate of each element; real elements are their own.";
                Real real(x: X) -> X::Real, Number,
                    "The real part of each element; real elements are their own.";
                Imag imag(x: X) -> X::Real, Number,
                    "The imaginary part of each element; 0 for real elements.";
                Complex complex(re: Re, im: Im) -> Re::Complex, Component,
                    "The complex numbers with these real and imaginary parts: C32 of f32, C64 of f64.";
                Maximum maximum(lhs: Lhs, rhs: Rhs) -> Lhs::Same, Real,
                    "The larger of two elements. NaN wins, and +0 is larger than -0.";
                Minimum minimum(lhs: Lhs, rhs: Rhs) -> Lhs::Same, Real,
                    "The smaller of two elements. NaN wins, and -0 is smaller than +0.";
                Clamp clamp(x: X, lo: Lo, hi: Hi) -> X::Same, Real,
                    "`min(max(x, lo), hi)`, with the NaN and the zeros of `maximum` and `minimum`; `hi` wins where it is below `lo`.";
                And and(lhs: Lhs, rhs: Rhs) -> Lhs::Same, Bits,
                    "The conjunction of two truth values, or of the bits of two integers.";
                Or or(lhs: Lhs, rhs: Rhs) -> Lhs::Same, Bits,
                    "The disjunction of two truth values, or of the bits of two integers.";
                Xor xor(lhs: Lhs, rhs: Rhs) -> Lhs::Same, Bits,
                    "The exclusive disjunction of two truth values, or of the bits of two integers.";
                Not not(x: X) -> X::Same, Bits,
                    "The negation of each truth value, or of the bits of each integer.";
                ShiftLeft shift_left(lhs: Lhs, rhs: Rhs) -> Lhs::Same, Integer,
                    "The bits of `lhs` moved up by `rhs` places, zeros following. By the width or more, or by a negative number, gives 0.";
                ShiftRightArithmetic shift_right_arithmetic(lhs: Lhs, rhs: Rhs) -> Lhs::Same, Integer,
                    "The bits of `lhs` moved down by `rhs` places, copies of the sign bit following, zeros in unsigned integers. By the width or more, or by a negative number, gives the sign: 0 or -1.";
                ShiftRightLogical shift_right_logical(lhs: Lhs, rhs: Rhs) -> Lhs::Same, Integer,
                    "The bits of `lhs` moved down by `rhs` places, zeros following. By the width or more, or by a negative number, gives 0.";
                Popcount popcount(x: X) -> X::Same, Integer,
                    "The number of ones among the bits of each element.";
                LeadingZeros leading_zeros(x: X) -> X::Same, Integer,
                    "The number of zeros above the highest one of each element's bits; the width for 0.";
                Floor floor(x: X) -> X::Same, Real,
                    "The largest whole number that is not larger. Integers are their own; zeros keep their sign, NaN stays NaN.";
                Ceil ceil(x: X) -> X::Same, Real,
                    "The smallest whole number that is not smaller. Integers are their own; zeros keep their sign, NaN stays NaN.";
                Round round(x: X) [ties: $crate::Ties] -> X::Same, Real,
                    "The nearest whole number; `ties` says which one halfway between two. Integers are their own; zeros keep their sign, NaN stays NaN.";
                IsFinite is_finite(x: X) -> X::Truth, Number,
                    "Whether each element is neither infinite nor NaN; of a complex number, whether both parts are. Integers are finite.";
                IsNan is_nan(x: X) -> X::Truth, Number,
                    "Whether each element is NaN; of a complex number, whether a part is. Integers are not.";
                NextAfter next_after(x: X, toward: Toward) -> X::Same, Float,
                    "The next number of the dtype after `x` on the way to `toward`; `toward` where they are equal. NaN wins.";
                Compare compare(lhs: Lhs, rhs: Rhs) [relation: $crate::Comparison] -> Lhs::Truth, Any,
                    "Whether a relation holds between two elements. Complex numbers have `Eq` and `Ne` only; false is less than true.";
                Select select(predicate: Predicate, on_true: OnTrue, on_false: OnFalse) -> OnTrue::Same, Any,
                    "`on_true` where the bool `predicate` is true, else `on_false`.";
                Convert convert(x: X) [dtype: $crate::DType] -> $crate::Tensor, Any,
                    "Each element in another dtype. Floats to integers saturate and NaN gives 0; integers wrap; complex to real drops the imaginary part; to bool asks for nonzero.";
                Bitcast bitcast(x: X) [dtype: $crate::DType] -> $crate::Tensor, Any,
                    "The bits of each element as another dtype of the same size. Only bool has the bits of a bool.";
            }

            Analytic TensorAnalytic "Transcendental and algebraic functions of each element.\n\nShapes broadcast as for elementwise operations. f64 and f32 are within 2 units of the last place unless the operation says otherwise; f16 and bf16 are computed in f32 and c32 in c64, and rounded. Complex values are within 4 units of the last place of the modulus, and at signed zeros, on branch cuts, at infinities and NaN those of Annex G of the C standard." {
                Exp exp(x: X) -> X::Same, Inexact,
                    "The exponential of each element.";
                Exp2 exp2(x: X) -> X::Same, Inexact,
                    "Two to the power of each element.";
                Expm1 expm1(x: X) -> X::Same, Inexact,
                    "`exp(x) - 1`, precise for small elements.";
                Log log(x: X) -> X::Same, Inexact,
                    "The natural logarithm of each element; the principal branch for complex ones.";
                Log2 log2(x: X) -> X::Same, Inexact,
                    "The logarithm to base 2 of each element; the principal branch for complex ones.";
                Log1p log1p(x: X) -> X::Same, Inexact,
                    "`log(1 + x)`, precise for small elements.";
                Sqrt sqrt(x: X) -> X::Same, Inexact,
                    "The square root of each element; the principal branch for complex ones.";
                Rsqrt rsqrt(x: X) -> X::Same, Inexact,
                    "One divided by the square root of each element; infinite with its sign at a zero.";
                Cbrt cbrt(x: X) -> X::Same, Float,
                    "The real cube root of each element, negative for negative ones.\n\nAfter the CORE-MATH project, through the crate `libm`.";
                Sin sin(x: X) -> X::Same, Inexact,
                    "The sine of each element, in radians.";
                Cos cos(x: X) -> X::Same, Inexact,
                    "The cosine of each element, in radians.";
                Tan tan(x: X) -> X::Same, Inexact,
                    "The tangent of each element, in radians.";
                Asin asin(x: X) -> X::Same, Inexact,
                    "The inverse sine; cuts of complex ones along the real axis beyond -1 and 1, where the sign of a zero imaginary part says the side.\n\nComplex ones after T. E. Hull, T. F. Fairgrieve and P. T. P. Tang (1997).";
                Acos acos(x: X) -> X::Same, Inexact,
                    "The inverse cosine, from 0 to pi; cuts as those of `asin`.\n\nAs `asin`.";
                Atan atan(x: X) -> X::Same, Inexact,
                    "The inverse tangent; cuts of complex ones along the imaginary axis beyond -i and i, where the sign of a zero real part says the side.";
                Atan2 atan2(y: Y, x: X) -> Y::Same, Float,
                    "The angle of the point `(x, y)` from the positive axis, from -pi to pi; signed zeros say the quadrant.";
                Sinh sinh(x: X) -> X::Same, Inexact,
                    "The hyperbolic sine of each element.";
                Cosh cosh(x: X) -> X::Same, Inexact,
                    "The hyperbolic cosine of each element.";
                Tanh tanh(x: X) -> X::Same, Inexact,
                    "The hyperbolic tangent of each element.\n\nComplex ones after W. Kahan, \"Branch Cuts for Complex Elementary Functions\" (1987).";
                Asinh asinh(x: X) -> X::Same, Inexact,
                    "The inverse hyperbolic sine; cuts as those of `atan`.";
                Acosh acosh(x: X) -> X::Same, Inexact,
                    "The inverse hyperbolic cosine; the cut of complex ones runs along the real axis below 1.";
                Atanh atanh(x: X) -> X::Same, Inexact,
                    "The inverse hyperbolic tangent; cuts as those of `asin`.";
                Sigmoid sigmoid(x: X) -> X::Same, Inexact,
                    "`1 / (1 + exp(-x))`, without overflow.";
                Erf erf(x: X) -> X::Same, Float,
                    "The error function of each element.\n\nAfter the msun library of FreeBSD, through the crate `libm`.";
                Erfc erfc(x: X) -> X::Same, Float,
                    "`1 - erf(x)`, precise where that is small.\n\nAs `erf`.";
                ErfInv erf_inv(x: X) -> X::Same, Float,
                    "The inverse of the error function: infinite at -1 and 1, NaN beyond.\n\nHalley's method from the approximation of S. Winitzki (2008).";
                Lgamma lgamma(x: X) -> X::Same, Float,
                    "The logarithm of the magnitude of the gamma function; infinite at 0 and negative whole numbers.\n\nAfter the msun library of FreeBSD, through the crate `libm`. Of negative elements, within 2 units of the last place of the larger of the value and 1.";
                Digamma digamma(x: X) -> X::Same, Float,
                    "The derivative of `lgamma`; infinite against the sign of a zero, NaN at negative whole numbers.\n\nM. Abramowitz and I. A. Stegun (1964), 6.3.5, 6.3.7 and 6.3.18, with a polynomial between 1 and 2. Within 4 units of the last place; of negative elements, of the larger of the value and 2.";
                Pow pow(lhs: Lhs, rhs: Rhs) -> Lhs::Same, Number,
                    "`lhs` to the power of `rhs`; 1 for an exponent of 0. Integers wrap; a negative exponent of integers is a numerical failure.";
            }

            Reduction TensorReduction "Reductions over any axes.\n\nThe axes are gone from the result, or have extent 1 if they are kept." {
                Sum sum(x: X) [axes: $crate::Indices, keep: $crate::KeepAxes] -> X::Same, Number,
                    "The sum over axes; 0 over nothing. f16 and bf16 accumulate in f32, integers wrap.";
                Prod prod(x: X) [axes: $crate::Indices, keep: $crate::KeepAxes] -> X::Same, Number,
                    "The product over axes; 1 over nothing. f16 and bf16 accumulate in f32, integers wrap.";
                Max max(x: X) [axes: $crate::Indices, keep: $crate::KeepAxes] -> X::Same, Real,
                    "The largest element over axes. NaN wins, and +0 is larger than -0; an empty axis is refused.";
                Min min(x: X) [axes: $crate::Indices, keep: $crate::KeepAxes] -> X::Same, Real,
                    "The smallest element over axes. NaN wins, and -0 is smaller than +0; an empty axis is refused.";
                All all(x: X) [axes: $crate::Indices, keep: $crate::KeepAxes] -> X::Same, Boolean,
                    "Whether every element over axes is true; true over nothing.";
                Any any(x: X) [axes: $crate::Indices, keep: $crate::KeepAxes] -> X::Same, Boolean,
                    "Whether an element over axes is true; false over nothing.";
                Argmax argmax(x: X) [axes: $crate::Indices, keep: $crate::KeepAxes] -> X::Index, Real,
                    "Where the largest element over axes is, as i64: the first NaN, else the first of the largest; -0 and +0 tie. Several axes count in column-major order; an empty axis is refused.";
                Argmin argmin(x: X) [axes: $crate::Indices, keep: $crate::KeepAxes] -> X::Index, Real,
                    "Where the smallest element over axes is, as i64: the first NaN, else the first of the smallest; -0 and +0 tie. Several axes count in column-major order; an empty axis is refused.";
                SumOfSquares sum_of_squares(x: X) [axes: $crate::Indices, keep: $crate::KeepAxes] -> X::Real, Number,
                    "The sum of squared magnitudes over axes, real for complex operands; 0 over nothing. f16 and bf16 accumulate in f32, integers wrap.";
                Reduce reduce(x: X) [combiner: $crate::Combiner, axes: $crate::Indices, keep: $crate::KeepAxes] -> X::Same, Any,
                    "The elements over axes gathered by a named combiner, each with its dtypes; over nothing what is neutral in it.";
            }

            Scan TensorScan "Running reductions along an axis." {
                Cumsum cumsum(x: X) [axis: usize, sweep: $crate::Sweep] -> X::Same, Number,
                    "The sums of the elements so far along an axis. f16 and bf16 accumulate in f32, integers wrap.";
                Cumprod cumprod(x: X) [axis: usize, sweep: $crate::Sweep] -> X::Same, Number,
                    "The products of the elements so far along an axis. f16 and bf16 accumulate in f32, integers wrap.";
                Cummax cummax(x: X) [axis: usize, sweep: $crate::Sweep] -> X::Same, Real,
                    "The largest of the elements so far along an axis; a NaN stays to the end. Before the first element stands the lowest number.";
                Cummin cummin(x: X) [axis: usize, sweep: $crate::Sweep] -> X::Same, Real,
                    "The smallest of the elements so far along an axis; a NaN stays to the end. Before the first element stands the highest number.";
            }

            Windowed TensorWindowed "Reductions over windows that slide along the axes." {
                ReduceWindow reduce_window(x: X) [combiner: $crate::Combiner, window: $crate::Window] -> X::Same, Any,
                    "The elements of each window gathered by a named combiner. Padding counts as what is neutral in it.";
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
                Reverse reverse(x: X) [axes: $crate::Indices] -> X::Same, Any,
                    "The elements in reverse order along each of the axes.";
                Tril tril(x: X) [rows: usize, columns: usize, offset: isize] -> X::Same, Any,
                    "The lower triangle over two axes: elements whose column is at most their row plus `offset`; zeros (false) elsewhere.";
                Triu triu(x: X) [rows: usize, columns: usize, offset: isize] -> X::Same, Any,
                    "The upper triangle over two axes: elements whose column is at least their row plus `offset`; zeros (false) elsewhere.";
                Iota iota() [dtype: $crate::DType, extents: $crate::Indices, axis: usize] -> $crate::Tensor, Number,
                    "A tensor whose elements are their own index along `axis`. Integers wrap, floats round.";
            }

            Indexing TensorIndexing "Operations that pick or place elements by position." {
                Slice slice(x: X) [starts: $crate::Indices, limits: $crate::Indices, strides: $crate::Indices] -> X::Same, Any,
                    "Indices `start`, `start + stride`, .. below `limit` of each axis.";
                ExtractDiagonal extract_diagonal(x: X) [first: usize, second: usize] -> X::Same, Any,
                    "The elements whose indices along two axes agree: axis `first` walks the diagonal, axis `second` is gone.";
                EmbedDiagonal embed_diagonal(x: X) [axis: usize, new_axis: usize] -> X::Same, Any,
                    "A tensor of zeros with axis `axis` of the operand on the diagonal of that axis and a new one before `new_axis` of the result.";
                DynamicSlice dynamic_slice(x: X, starts: Starts) [extents: $crate::Indices, mode: $crate::GatherMode] -> X::Same, Any,
                    "`extents` elements of each axis from where `starts`, one integer an axis, says. A negative start is an error; past the last place it is clamped or refused.";
                DynamicUpdate dynamic_update(x: X, update: Update, starts: Starts) [mode: $crate::GatherMode] -> X::Same, Any,
                    "`x` with `update` written over it from where `starts`, one integer an axis, says. A negative start is an error; past the last place it is clamped or refused.";
                Gather gather(x: X, indices: Index) [gathering: Box<$crate::Gathering>, mode: $crate::GatherMode] -> X::Same, Any,
                    "Slices of `x` from where integer indices say. A negative index is an error; past the last place it is clamped or refused, axis by axis.";
                Scatter scatter(x: X, indices: Index, updates: Updates) [gathering: Box<$crate::Gathering>, placement: $crate::Placement, mode: $crate::ScatterMode] -> X::Same, Any,
                    "`x` with slices of `updates`, which has the shape of the same gather's result, placed where integer indices say, in column-major order of the indices. A negative index is an error; a slice that leaves an axis is dropped or refused.";
            }

            Sorting TensorSorting "Putting the elements along an axis in order." {
                Sort sort(x: X) [axis: usize, order: $crate::SortOrder] -> X::Same, Ordered,
                    "The elements along an axis in order. Stable; NaN is the greatest, -0 and +0 tie, false is less than true.";
                Argsort argsort(x: X) [axis: usize, order: $crate::SortOrder] -> X::Index, Ordered,
                    "Where the elements of the sorted axis come from, as i64. Stable; NaN is the greatest, -0 and +0 tie.";
                ArgTop arg_top(x: X) [axis: usize, count: usize, order: $crate::SortOrder] -> X::Index, Ordered,
                    "The first `count` places of `argsort`, without sorting the rest.";
            }

            Dot TensorDot "Contractions." {
                DotGeneral dot_general(lhs: Lhs, rhs: Rhs) [contraction: $crate::Contraction] -> Lhs::Same, Number,
                    "The sum of products over pairs of axes, for each pair of batch indices. f16 and bf16 accumulate in f32, integers wrap.";
                Convolve convolve(x: X, kernel: Kernel) [convolution: $crate::Convolution] -> X::Same, Number,
                    "The sums of products of a kernel with windows of `x`, without turning the kernel. `x` has spatial axes, channels, batch; `kernel` spatial axes, channels of a group, results; the result spatial axes, results, batch. f16 and bf16 accumulate in f32, integers wrap.";
            }
        }
    };
}
