//! Operations that are functions of primitives, a row and a file each.
//!
//! A composite is written once, over a [`Builder`](crate::Builder), and so serves eager calls, autodiff and traced programs alike. The
//! table below lists them; [`TensorComposite`] is generated from it.

mod matmul;
mod mean;

use tenferro_tensor::{FromTensor, Operate, Result, Vocabulary};

use crate::{Eager, Lent};

pub use matmul::matmul;
pub use mean::mean;

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
        }
    };
}

#[doc(no_inline)]
pub use tenferro_tensor::{Indices, KeepAxes};

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
        }
    };
}

composites!(define_composites);

impl<V: Vocabulary + ?Sized> TensorComposite for V {}
