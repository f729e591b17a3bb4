//! The operation traits and the primitives behind them, generated from the vocabulary table.
//!
//! A trait method wraps its arguments into a [`Primitive`] and hands it to [`Vocabulary::apply`]; nothing here knows
//! what an operation computes. The traits are sealed: whatever has a vocabulary has all of them, and nobody else can.

use smallvec::SmallVec;

use crate::{
    AsOperand, DType, DTypeClass, Exponentials, FromTensor, Operand, Operate, Result, Tensor,
};

/// Whatever can carry out the vocabulary: engines, backends, sessions.
///
/// Implement [`Vocabulary::apply`] to have every operation trait.
pub trait Vocabulary {
    /// Carries out one primitive.
    ///
    /// # Errors
    /// What the primitive refuses, and what the engine cannot do now; nothing is computed then.
    fn apply(&mut self, primitive: &Primitive, inputs: &[Operand<'_>]) -> Result<Tensor>;

    /// Carries out at once what else takes many primitives, if there is a shorter way for this operand.
    ///
    /// The result is what the primitives make, bit for bit; `None` says that they have to do, which is also the answer
    /// to whatever they refuse.
    ///
    /// # Errors
    /// What the engine cannot do now.
    fn exponentials(
        &mut self,
        exponentials: &Exponentials,
        x: &Operand<'_>,
    ) -> Result<Option<Tensor>> {
        let _ = (exponentials, x);
        Ok(None)
    }
}

/// The dtypes for which a primitive has a meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accepts {
    /// Every dtype.
    Any,
    /// Every dtype but bool.
    Number,
    /// Numbers that are not complex.
    Real,
    /// Real and complex floats.
    Inexact,
    /// Real floats.
    Float,
    /// The parts of complex numbers: f32 and f64.
    Component,
    /// Integers.
    Integer,
    /// Integers and bool.
    Bits,
    /// Whatever has an order: every dtype but complex ones.
    Ordered,
    /// Truth values.
    Boolean,
}

impl Accepts {
    /// Whether the dtype is one of these.
    #[must_use]
    #[inline]
    pub fn contains(self, dtype: DType) -> bool {
        match self {
            Accepts::Any => true,
            Accepts::Number => dtype != DType::Bool,
            Accepts::Real => !matches!(dtype.class(), DTypeClass::Complex | DTypeClass::Boolean),
            Accepts::Inexact => dtype.is_inexact(),
            Accepts::Float => dtype.class() == DTypeClass::Float,
            Accepts::Component => matches!(dtype, DType::F32 | DType::F64),
            Accepts::Integer => dtype.is_integer(),
            Accepts::Bits => dtype.is_integer() || dtype == DType::Bool,
            Accepts::Ordered => !dtype.is_complex(),
            Accepts::Boolean => dtype == DType::Bool,
        }
    }

    /// What a refusal says is needed.
    #[must_use]
    pub fn description(self) -> &'static str {
        match self {
            Accepts::Any => "any dtype will do",
            Accepts::Number => "it needs numbers",
            Accepts::Real => "it needs integers or real floats",
            Accepts::Inexact => "it needs real or complex floats",
            Accepts::Float => "it needs real floats",
            Accepts::Component => "it needs f32 or f64, the parts of complex numbers",
            Accepts::Integer => "it needs integers",
            Accepts::Bits => "it needs integers or bool",
            Accepts::Ordered => "complex numbers have no order",
            Accepts::Boolean => "it needs truth values; compare or convert first",
        }
    }
}

macro_rules! define_vocabulary {
    ($($family:ident $trait:ident $about:literal {
        $($variant:ident $method:ident $operands:tt $([$($param:ident: $ty:ty),+])? -> $result:ty, $accepts:ident, $doc:literal;)*
    })*) => {
        $(
            #[doc = $about]
            #[derive(Clone, Debug, PartialEq, Eq, Hash)]
            pub enum $family {
                $(#[doc = $doc] $variant $({
                    $(#[doc = concat!("The parameter `", stringify!($param), "`.")] $param: $ty,)+
                })?,)*
            }

            impl $family {
                /// How many rows the family has.
                pub const ROWS: usize = [$(stringify!($variant)),*].len();

                /// The number of the row in its family.
                #[must_use]
                #[inline]
                pub fn number(&self) -> usize {
                    enum Row {
                        $($variant,)*
                    }
                    match self {
                        $($family::$variant { .. } => Row::$variant as usize,)*
                    }
                }

                /// Whether the row has parameters, so that its number does not say all of it.
                #[must_use]
                pub fn has_parameters(&self) -> bool {
                    match self {
                        $($family::$variant { .. } => !<[&str]>::is_empty(&[$($(stringify!($param)),+)?]),)*
                    }
                }
            }

            impl From<$family> for Primitive {
                fn from(primitive: $family) -> Self {
                    Primitive::$family(primitive)
                }
            }

            #[doc = $about]
            ///
            /// Sealed: implemented for everything that has a [`Vocabulary`].
            pub trait $trait: Vocabulary {
                $(define_vocabulary! {
                    @method $family $variant $method $operands $([$($param: $ty),+])? -> $result, $doc
                })*
            }

            impl<V: Vocabulary + ?Sized> $trait for V {}
        )*

        /// A row of the vocabulary table with its parameters.
        #[derive(Clone, Debug, PartialEq, Eq, Hash)]
        pub enum Primitive {
            $(#[doc = $about] $family($family),)*
        }

        impl Primitive {
            /// The name of the method, such as `add`.
            #[must_use]
            #[inline]
            pub fn name(&self) -> &'static str {
                match self {
                    $($(Primitive::$family($family::$variant { .. }) => stringify!($method),)*)*
                }
            }

            /// The dtypes for which the primitive has a meaning.
            #[must_use]
            #[inline]
            pub fn accepts(&self) -> Accepts {
                match self {
                    $($(Primitive::$family($family::$variant { .. }) => Accepts::$accepts,)*)*
                }
            }

            /// How many operands the primitive takes; `None` for any number from one. Those that take none make their result of
            /// parameters alone.
            #[must_use]
            #[inline]
            pub fn arity(&self) -> Option<usize> {
                match self {
                    $($(Primitive::$family($family::$variant { .. }) => define_vocabulary!(@arity $operands),)*)*
                }
            }
        }
    };
    (@method $family:ident $variant:ident $method:ident (many $operand:ident: $Type:ident)
        $([$($param:ident: $ty:ty),+])? -> $result:ty, $doc:literal) => {
        #[doc = $doc]
        ///
        /// # Errors
        /// [`Error`](crate::Error): dtypes and shapes that do not fit; no memory; an engine that cannot run now.
        fn $method<$Type: Operate>(
            &mut self,
            $operand: &[$Type],
            $($($param: impl Into<$ty>,)+)?
        ) -> Result<$result> {
            let primitive = Primitive::$family($family::$variant $({ $($param: $param.into()),+ })?);
            let inputs: SmallVec<[Operand<'_>; 4]> = $operand.iter().map(AsOperand::as_operand).collect();
            FromTensor::from_tensor(stringify!($method), self.apply(&primitive, &inputs)?)
        }
    };
    (@method $family:ident $variant:ident $method:ident ($($operand:ident: $Type:ident),*)
        $([$($param:ident: $ty:ty),+])? -> $result:ty, $doc:literal) => {
        #[doc = $doc]
        ///
        /// # Errors
        /// [`Error`](crate::Error): dtypes and shapes that do not fit; no memory; an engine that cannot run now.
        #[inline]
        fn $method<$($Type: Operate),*>(
            &mut self,
            $($operand: &$Type,)*
            $($($param: impl Into<$ty>,)+)?
        ) -> Result<$result> {
            define_vocabulary!(@primitive primitive $family $variant $($($param)+)?);
            let result = self.apply(primitive, &[$($operand.as_operand()),*])?;
            FromTensor::from_tensor(stringify!($method), result)
        }
    };
    // A row without parameters is a static: nothing is built, and nothing dropped.
    (@primitive $primitive:ident $family:ident $variant:ident) => {
        static PRIMITIVE: Primitive = Primitive::$family($family::$variant);
        let $primitive = &PRIMITIVE;
    };
    (@primitive $primitive:ident $family:ident $variant:ident $($param:ident)+) => {
        let $primitive = &Primitive::$family($family::$variant { $($param: $param.into()),+ });
    };
    (@arity (many $operand:ident: $Type:ident)) => { None };
    (@arity ($($operand:ident: $Type:ident),*)) => { Some(<[&str]>::len(&[$(stringify!($operand)),*])) };
}

crate::vocabulary!(define_vocabulary);
