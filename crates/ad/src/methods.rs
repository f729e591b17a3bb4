//! The vocabulary and the composites as methods of variables, and the operators of Rust.

use std::ops;

use smallvec::SmallVec;
use tenferro_ops::{composite, composites};
use tenferro_tensor::{Factor, Result, Scalar, Tensor, dispatch, vocabulary};

use crate::{
    Autodiff, Variable,
    emit::{Operation, emit},
    variable::rule,
};

macro_rules! define_methods {
    ($($family:ident $trait:ident $about:literal {
        $($variant:ident $method:ident $operands:tt $([$($param:ident: $ty:ty),+])? -> $result:ty, $accepts:ident, $doc:literal;)*
    })*) => {
        /// The vocabulary.
        impl Variable {
            $($(define_methods! {
                @method $family $variant $method $operands $([$($param: $ty),+])?, $doc
            })*)*
        }
    };
    (@method $family:ident $variant:ident $method:ident (many $operand:ident: $Type:ident)
        $([$($param:ident: $ty:ty),+])?, $doc:literal) => {
        #[doc = $doc]
        ///
        /// # Errors
        /// [`Error`](tenferro_tensor::Error): operands that do not fit, or none; a primitive without a derivative; an
        /// engine that cannot run now.
        pub fn $method(
            $operand: &[Variable],
            $($($param: impl Into<$ty>,)+)?
        ) -> Result<Variable> {
            let Some(first) = $operand.first() else {
                return Err(rule(stringify!($method), "it needs an operand at least"));
            };
            let row = tenferro_tensor::$family::$variant $({ $($param: $param.into()),+ })?;
            let inputs: SmallVec<[&Variable; 4]> = $operand.iter().collect();
            emit(first.autodiff(), Operation::Primitive(&row.into()), &inputs)
        }
    };
    (@method $family:ident $variant:ident $method:ident () $([$($param:ident: $ty:ty),+])?, $doc:literal) => {
        #[doc = $doc]
        ///
        /// # Errors
        /// [`Error`](tenferro_tensor::Error): parameters that do not fit; an engine that cannot run now.
        pub fn $method(autodiff: &Autodiff, $($($param: impl Into<$ty>,)+)?) -> Result<Variable> {
            let row = tenferro_tensor::$family::$variant $({ $($param: $param.into()),+ })?;
            emit(autodiff, Operation::Primitive(&row.into()), &[])
        }
    };
    (@method $family:ident $variant:ident $method:ident ($first:ident: $First:ident $(, $operand:ident: $Type:ident)*)
        $([$($param:ident: $ty:ty),+])?, $doc:literal) => {
        #[doc = $doc]
        ///
        /// The variable is the first operand.
        ///
        /// # Errors
        /// [`Error`](tenferro_tensor::Error): operands that do not fit; a primitive without a derivative; an engine that
        /// cannot run now.
        pub fn $method(
            &self,
            $($operand: &Variable,)*
            $($($param: impl Into<$ty>,)+)?
        ) -> Result<Variable> {
            let row = tenferro_tensor::$family::$variant $({ $($param: $param.into()),+ })?;
            emit(self.autodiff(), Operation::Primitive(&row.into()), &[self, $($operand),*])
        }
    };
}

vocabulary!(define_methods);

macro_rules! define_composite_methods {
    ($($function:ident ($first:ident: $First:ident $(, $operand:ident: $Type:ident)*) $([$($param:ident: $ty:ty),+])? -> $result:ty, $doc:literal;)*) => {
        /// The composites.
        impl Variable {
            $(
                #[doc = $doc]
                ///
                #[doc = concat!("The variable is the first operand; see [`composite::", stringify!($function), "`].")]
                ///
                /// # Errors
                /// What the function refuses; a primitive without a derivative; an engine that cannot run now.
                pub fn $function(
                    &self,
                    $($operand: &Variable,)*
                    $($($param: impl Into<$ty>,)+)?
                ) -> Result<Variable> {
                    composite::$function(
                        &mut self.autodiff(),
                        self,
                        $($operand,)*
                        $($($param.into(),)+)?
                    )
                }
            )*
        }
    };
}

composites!(define_composite_methods);

impl Variable {
    /// A number of this variable's dtype.
    ///
    /// # Errors
    /// [`Validation::Rule`](tenferro_tensor::Validation::Rule) if the dtype cannot hold it.
    fn number(&self, op: &'static str, number: Factor) -> Result<Variable> {
        let tensor = dispatch!(self.dtype(), any T => match T::from_factor(number) {
            Some(number) => Tensor::scalar(number),
            None => Err(rule(op, "the dtype of the tensor cannot hold the number; convert the tensor first")),
        })?;
        Ok(self.autodiff().constant(tensor))
    }
}

macro_rules! define_operators {
    ($($Trait:ident $method:ident;)*) => {
        $(
            impl ops::$Trait<&Variable> for &Variable {
                type Output = Result<Variable>;

                fn $method(self, rhs: &Variable) -> Result<Variable> {
                    Variable::$method(self, rhs)
                }
            }

            /// A number adopts the dtype of the tensor.
            impl ops::$Trait<f64> for &Variable {
                type Output = Result<Variable>;

                fn $method(self, rhs: f64) -> Result<Variable> {
                    let rhs = self.number(stringify!($method), Factor::Real(rhs))?;
                    Variable::$method(self, &rhs)
                }
            }

            impl ops::$Trait<&Variable> for f64 {
                type Output = Result<Variable>;

                fn $method(self, rhs: &Variable) -> Result<Variable> {
                    let lhs = rhs.number(stringify!($method), Factor::Real(self))?;
                    Variable::$method(&lhs, rhs)
                }
            }
        )*
    };
}

define_operators! {
    Add add;
    Sub sub;
    Mul mul;
    Div div;
}

impl ops::Neg for &Variable {
    type Output = Result<Variable>;

    fn neg(self) -> Result<Variable> {
        Variable::neg(self)
    }
}
