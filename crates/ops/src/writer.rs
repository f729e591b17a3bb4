//! The vocabulary with results written to a given place: a method a row, generated from the table.
//!
//! The place is borrowed for writing while the operands are borrowed for reading, so that an operation cannot overwrite
//! what it has yet to read: Rust refuses it.

use smallvec::SmallVec;
use tenferro_tensor::{AsOperand, Operand, OperandMut, Primitive, Result, vocabulary};

use crate::Engine;

/// An engine with the place that its next result is written to.
///
/// Made by [`WriteTo::write_to`]; its methods are those of the operation traits.
///
/// ```
/// use tenferro_ops::{WriteTo, reference::Reference};
/// use tenferro_tensor::{DType, Tensor};
///
/// let x = Tensor::from_vec_col_major([2], vec![1.0_f64, 3.0])?;
/// let mut table = Tensor::zeros(DType::F64, [2, 3])?;
/// let mut column = table.view_mut()?.slice(1, 2.., 1)?.reshape(&[2])?;
/// Reference.write_to(column.as_operand_mut()).add(&x, &x)?;
/// assert_eq!(table.to_vec_row_major::<f64>()?, [0.0, 0.0, 2.0, 0.0, 0.0, 6.0]);
/// # Ok::<(), tenferro_tensor::Error>(())
/// ```
///
/// What is written cannot be read by the same operation, in whatever view:
///
/// ```compile_fail,E0502
/// # use tenferro_ops::{WriteTo, reference::Reference};
/// # use tenferro_tensor::{DType, Tensor};
/// # let mut x = Tensor::zeros(DType::F64, [3, 3]).unwrap();
/// let out = x.as_operand_mut().unwrap();
/// Reference.write_to(out).add(&x, &x.view().transpose()).unwrap();
/// ```
pub struct Writer<'w, E: ?Sized> {
    engine: &'w mut E,
    out: OperandMut<'w>,
}

/// Whatever carries out operations, and can write their results to a given place.
pub trait WriteTo: Engine {
    /// This engine, whose next result goes to `out`: a tensor, or a view of any strides in which no two indices share
    /// an element.
    ///
    /// Nothing is written if the operation is refused, or if `out` has not the dtype and shape of the result.
    fn write_to<'w>(&'w mut self, out: OperandMut<'w>) -> Writer<'w, Self> {
        Writer { engine: self, out }
    }
}

impl<E: Engine + ?Sized> WriteTo for E {}

macro_rules! define_writer {
    ($($family:ident $trait:ident $about:literal {
        $($variant:ident $method:ident $operands:tt $([$($param:ident: $ty:ty),+])? -> $result:ty, $accepts:ident, $doc:literal;)*
    })*) => {
        impl<E: Engine + ?Sized> Writer<'_, E> {
            $($(define_writer! {
                @method $family $variant $method $operands $([$($param: $ty),+])?, $doc
            })*)*
        }
    };
    (@method $family:ident $variant:ident $method:ident (many $operand:ident: $Type:ident)
        $([$($param:ident: $ty:ty),+])?, $doc:literal) => {
        #[doc = $doc]
        ///
        /// # Errors
        /// As [`Engine::apply_into`].
        pub fn $method<$Type: AsOperand>(
            self,
            $operand: &[$Type],
            $($($param: impl Into<$ty>,)+)?
        ) -> Result<()> {
            let row = tenferro_tensor::$family::$variant $({ $($param: $param.into()),+ })?;
            let inputs: SmallVec<[Operand<'_>; 4]> = $operand.iter().map(AsOperand::as_operand).collect();
            self.engine.apply_into(&Primitive::from(row), &inputs, self.out)
        }
    };
    (@method $family:ident $variant:ident $method:ident ($($operand:ident: $Type:ident),*)
        $([$($param:ident: $ty:ty),+])?, $doc:literal) => {
        #[doc = $doc]
        ///
        /// # Errors
        /// As [`Engine::apply_into`].
        pub fn $method<$($Type: AsOperand),*>(
            self,
            $($operand: &$Type,)*
            $($($param: impl Into<$ty>,)+)?
        ) -> Result<()> {
            let row = tenferro_tensor::$family::$variant $({ $($param: $param.into()),+ })?;
            self.engine.apply_into(&Primitive::from(row), &[$($operand.as_operand()),*], self.out)
        }
    };
}

vocabulary!(define_writer);
