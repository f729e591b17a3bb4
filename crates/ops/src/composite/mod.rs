//! Operations that are functions of primitives, each a row of a table.
//!
//! A composite is written once, over a [`Builder`](crate::Builder), and so serves eager calls, autodiff and traced programs alike. The
//! table below lists them; [`TensorComposite`] is generated from it.

mod accumulate;
mod activation;
mod arrange;
mod float;
mod matmul;
mod mean;
mod norm;
mod normalisation;
mod product;
mod ranking;
mod softmax;
mod taking;

use tenferro_tensor::{FromTensor, Operate, Result, Vocabulary};

use crate::{Eager, Lent};

pub use accumulate::{cumprod_as, cumsum_as, prod_as, sum_as};
pub use activation::{gelu, silu};
pub use arrange::{one_hot, split, stack, tile};
pub use matmul::matmul;
pub use mean::{mean, std, var};
pub use norm::norm;
pub use normalisation::{layer_norm, rms_norm};
pub use product::{kron, outer, tensordot, trace};
pub use ranking::{TensorRanking, sort_by_keys, top_k};
pub use softmax::{log_softmax, logsumexp, softmax};
pub use taking::{take, take_along_axis};

/// Hands the table of composites to a callback macro.
///
/// A row reads `function(operand: Type, ..) [parameter: Type, ..] -> Result, "documentation"`, with the types of the
/// [vocabulary table](tenferro_tensor::vocabulary). The function is the one of that name in
/// [`composite`](crate::composite).
#[macro_export]
macro_rules! composites {
    ($($callback:ident)::+ $(, $($args:tt)*)?) => {
        $($callback)::+! {
            $($($args)*)?

            matmul(lhs: Lhs, rhs: Rhs) -> Lhs::Same,
                "The matrix product, as NumPy's `matmul` has it.";
            mean(x: X) [axes: $crate::composite::Indices, keep: $crate::composite::KeepAxes] -> X::Same,
                "The mean over axes. NaN over nothing; f16 and bf16 are summed and divided in f32.";
            var(x: X) [axes: $crate::composite::Indices, keep: $crate::composite::KeepAxes, correction: usize] -> X::Real,
                "The variance over axes: squared distances from the mean, by the number of elements less `correction`. Never negative, NaN over nothing.";
            std(x: X) [axes: $crate::composite::Indices, keep: $crate::composite::KeepAxes, correction: usize] -> X::Real,
                "The square root of the variance over axes.";
            logsumexp(x: X) [axes: $crate::composite::Indices, keep: $crate::composite::KeepAxes] -> X::Same,
                "The logarithm of the sum of exponentials over axes. -inf over nothing and over -inf alone, where the gradient is 0.";
            softmax(x: X) [axes: $crate::composite::Indices] -> X::Same,
                "The exponentials divided by their sum over axes. NaN where all are -inf, and where one is +inf.";
            log_softmax(x: X) [axes: $crate::composite::Indices] -> X::Same,
                "The logarithm of `softmax`, which does not underflow.";
            norm(x: X) [axes: $crate::composite::Indices, keep: $crate::composite::KeepAxes] -> X::Real,
                "The Euclidean norm over axes, which overflows only where the result does. 0 over nothing; the gradient at 0 is 0.";
            layer_norm(x: X, scale: Factors, shift: Terms) [axes: $crate::composite::Indices, epsilon: f64] -> X::Same,
                "`(x - mean) / sqrt(var + epsilon) * scale + shift`, with the mean and the variance over axes.";
            rms_norm(x: X, scale: Factors) [axes: $crate::composite::Indices, epsilon: f64] -> X::Same,
                "`x / sqrt(mean of squares + epsilon) * scale`, with the mean over axes.";
            gelu(x: X) -> X::Same,
                "`x / 2 * erfc(-x / sqrt(2))`.";
            silu(x: X) -> X::Same,
                "`x * sigmoid(x)`.";
            one_hot(x: X) [axis: usize, extent: usize, dtype: $crate::composite::DType] -> $crate::composite::Tensor,
                "One where the index along a new axis is the operand's integer, else 0.";
            tile(x: X) [repetitions: $crate::composite::Indices] -> X::Same,
                "The tensor repeated along each axis, as NumPy's `tile` has it.";
            outer(lhs: Lhs, rhs: Rhs) -> Lhs::Same,
                "The products of each element of the left operand with each of the right one.";
            kron(lhs: Lhs, rhs: Rhs) -> Lhs::Same,
                "The Kronecker product, as NumPy's `kron` has it.";
            trace(x: X) [first: usize, second: usize] -> X::Same,
                "The sum of the elements whose indices along two axes agree.";
            tensordot(lhs: Lhs, rhs: Rhs) [lhs_axes: $crate::composite::Indices, rhs_axes: $crate::composite::Indices] -> Lhs::Same,
                "The sums of products over pairs of axes.";
            sum_as(x: X) [dtype: $crate::composite::DType, axes: $crate::composite::Indices, keep: $crate::composite::KeepAxes] -> $crate::composite::Tensor,
                "The sum over axes, accumulated in another dtype.";
            prod_as(x: X) [dtype: $crate::composite::DType, axes: $crate::composite::Indices, keep: $crate::composite::KeepAxes] -> $crate::composite::Tensor,
                "The product over axes, accumulated in another dtype.";
            cumsum_as(x: X) [dtype: $crate::composite::DType, axis: usize, sweep: $crate::composite::Sweep] -> $crate::composite::Tensor,
                "The sums so far along an axis in another dtype.";
            cumprod_as(x: X) [dtype: $crate::composite::DType, axis: usize, sweep: $crate::composite::Sweep] -> $crate::composite::Tensor,
                "The products so far along an axis in another dtype.";
            take(x: X, indices: Index) [axis: usize, mode: $crate::composite::GatherMode] -> X::Same,
                "Slices across an axis, one for each index; the axes of the indices take its place.";
            take_along_axis(x: X, indices: Index) [axis: usize, mode: $crate::composite::GatherMode] -> X::Same,
                "The elements whose place along an axis an index says, and whose other places are the index's own.";
        }
    };
}

#[doc(no_inline)]
pub use tenferro_tensor::{DType, GatherMode, Indices, KeepAxes, Sweep, Tensor};

macro_rules! define_composites {
    ($($function:ident ($($operand:ident: $Type:ident),*) $([$($param:ident: $ty:ty),+])? -> $result:ty, $doc:literal;)*) => {
        /// Operations that are functions of primitives, such as `matmul`.
        ///
        /// Implemented for everything that has a [`Vocabulary`], `dyn Engine` included.
        pub trait TensorComposite: Vocabulary {
            $(
                #[doc = $doc]
                ///
                #[doc = concat!("See [`composite::", stringify!($function), "`](crate::composite::", stringify!($function), ").")]
                ///
                /// # Errors
                /// What the function refuses, and what the engine cannot do now.
                fn $function<$($Type: Operate),*>(
                    &mut self,
                    $($operand: &$Type,)*
                    $($($param: impl Into<$ty>,)+)?
                ) -> Result<$result> {
                    let mut builder = Eager::new(self);
                    let result = $function(
                        &mut builder,
                        $(&Lent::from($operand.as_operand()),)*
                        $($($param.into(),)+)?
                    )?;
                    FromTensor::from_tensor(stringify!($function), result.into_tensor()?)
                }
            )*

            /// The operands side by side along a new axis. See [`composite::stack`](crate::composite::stack).
            ///
            /// # Errors
            /// What the function refuses, and what the engine cannot do now.
            fn stack<Part: Operate>(&mut self, parts: &[Part], axis: usize) -> Result<Part::Same> {
                let parts: Vec<Lent<'_>> =
                    parts.iter().map(|part| Lent::from(part.as_operand())).collect();
                let result = stack(&mut Eager::new(self), &parts, axis)?;
                FromTensor::from_tensor("stack", result.into_tensor()?)
            }

            /// The operand cut along an axis into parts of these extents. See
            /// [`composite::split`](crate::composite::split).
            ///
            /// # Errors
            /// What the function refuses, and what the engine cannot do now.
            fn split<X: Operate>(
                &mut self,
                x: &X,
                axis: usize,
                extents: &[usize],
            ) -> Result<Vec<X::Same>> {
                let parts = split(&mut Eager::new(self), &x.as_operand().into(), axis, extents)?;
                let owned = |part: Lent<'_>| FromTensor::from_tensor("split", part.into_tensor()?);
                parts.into_iter().map(owned).collect()
            }
        }
    };
}

composites!(define_composites);

impl<V: Vocabulary + ?Sized> TensorComposite for V {}
