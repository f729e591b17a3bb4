//! The vocabulary and the composites as methods of traced values, and the operators of Rust.

use std::ops;

use smallvec::SmallVec;
use tenferro_ops::{Build, Builder, composite, composites};
use tenferro_tensor::{Factor, Result, Scalar, Tensor, Validation, dispatch, vocabulary};

use crate::{Traced, Value, recording::Recording};

macro_rules! define_methods {
    ($($family:ident $trait:ident $about:literal {
        $($variant:ident $method:ident $operands:tt $([$($param:ident: $ty:ty),+])? -> $result:ty, $accepts:ident, $doc:literal;)*
    })*) => {
        /// The vocabulary. What does not fit is reported by [`trace`](crate::trace).
        impl Traced {
            $($(define_methods! {
                @method $family $variant $method $operands $([$($param: $ty),+])?, $doc
            })*)*
        }
    };
    (@method $family:ident $variant:ident $method:ident (many $operand:ident: $Type:ident)
        $([$($param:ident: $ty:ty),+])?, $doc:literal) => {
        #[doc = $doc]
        ///
        /// The value is the first operand.
        #[must_use]
        #[track_caller]
        pub fn $method(&self, rest: &[Traced], $($($param: impl Into<$ty>,)+)?) -> Traced {
            let row = tenferro_tensor::$family::$variant $({ $($param: $param.into()),+ })?;
            let operands: SmallVec<[&Traced; 4]> = std::iter::once(self).chain(rest).collect();
            self.record(stringify!($method), &operands, |recording, values| {
                recording.emit(row.into(), &values.iter().collect::<SmallVec<[&Value; 4]>>())
            })
        }
    };
    (@method $family:ident $variant:ident $method:ident () $([$($param:ident: $ty:ty),+])?, $doc:literal) => {
        #[doc = $doc]
        ///
        /// The result belongs to the trace of this value.
        #[must_use]
        #[track_caller]
        pub fn $method(&self, $($($param: impl Into<$ty>,)+)?) -> Traced {
            let row = tenferro_tensor::$family::$variant $({ $($param: $param.into()),+ })?;
            self.record(stringify!($method), &[], |recording, _| recording.emit(row.into(), &[]))
        }
    };
    (@method $family:ident $variant:ident $method:ident ($first:ident: $First:ident $(, $operand:ident: $Type:ident)*)
        $([$($param:ident: $ty:ty),+])?, $doc:literal) => {
        #[doc = $doc]
        ///
        /// The value is the first operand.
        #[must_use]
        #[track_caller]
        pub fn $method(
            &self,
            $($operand: &Traced,)*
            $($($param: impl Into<$ty>,)+)?
        ) -> Traced {
            let row = tenferro_tensor::$family::$variant $({ $($param: $param.into()),+ })?;
            self.record(stringify!($method), &[self, $($operand),*], |recording, values| {
                recording.emit(row.into(), &values.iter().collect::<SmallVec<[&Value; 4]>>())
            })
        }
    };
}

vocabulary!(define_methods);

macro_rules! define_composite_methods {
    ($($function:ident ($first:ident: $First:ident $(, $operand:ident: $Type:ident)*) $([$($param:ident: $ty:ty),+])? -> $result:ty, $doc:literal;)*) => {
        /// The composites.
        impl Traced {
            $(
                #[doc = $doc]
                ///
                #[doc = concat!("The value is the first operand; see [`composite::", stringify!($function), "`].")]
                #[must_use]
                #[track_caller]
                pub fn $function(
                    &self,
                    $($operand: &Traced,)*
                    $($($param: impl Into<$ty>,)+)?
                ) -> Traced {
                    self.record(stringify!($function), &[self, $($operand),*], |recording, values| {
                        let mut values = values.iter();
                        let mut next = || values.next().expect("invariant: one an operand");
                        let $first = next();
                        $(let $operand = next();)*
                        composite::$function(recording, $first, $($operand,)* $($($param.into(),)+)?)
                    })
                }
            )*
        }
    };
}

composites!(define_composite_methods);

/// The operators of Rust on what a value and another value or a number stand for.
#[derive(Clone, Copy)]
enum Operator {
    Add,
    Sub,
    Mul,
    Div,
}

impl Operator {
    fn name(self) -> &'static str {
        match self {
            Operator::Add => "add",
            Operator::Sub => "sub",
            Operator::Mul => "mul",
            Operator::Div => "div",
        }
    }

    fn record(self, recording: &mut Recording, lhs: &Value, rhs: &Value) -> Result<Value> {
        match self {
            Operator::Add => recording.add(lhs, rhs),
            Operator::Sub => recording.sub(lhs, rhs),
            Operator::Mul => recording.mul(lhs, rhs),
            Operator::Div => recording.div(lhs, rhs),
        }
    }

    #[track_caller]
    fn of(self, lhs: &Traced, rhs: &Traced) -> Traced {
        lhs.record(self.name(), &[lhs, rhs], |recording, values| {
            self.record(recording, &values[0], &values[1])
        })
    }

    /// With a number on the right, which adopts the dtype of the value.
    #[track_caller]
    fn with_number(self, lhs: &Traced, rhs: f64) -> Traced {
        lhs.record(self.name(), &[lhs], |recording, values| {
            let rhs = number(recording, self.name(), &values[0], rhs)?;
            self.record(recording, &values[0], &rhs)
        })
    }

    /// With a number on the left.
    #[track_caller]
    fn of_number(self, lhs: f64, rhs: &Traced) -> Traced {
        rhs.record(self.name(), &[rhs], |recording, values| {
            let lhs = number(recording, self.name(), &values[0], lhs)?;
            self.record(recording, &lhs, &values[0])
        })
    }
}

/// A number of the dtype of `like`.
fn number(recording: &mut Recording, op: &'static str, like: &Value, number: f64) -> Result<Value> {
    let rule = "the dtype of the tensor cannot hold the number; convert the tensor first";
    let dtype = recording.meta(like).dtype;
    let tensor = dispatch!(dtype, any T => match T::from_factor(Factor::Real(number)) {
        Some(number) => Tensor::scalar(number),
        None => Err(Validation::Rule { rule }.of(op)),
    })?;
    Ok(recording.constant(tensor))
}

macro_rules! define_operators {
    ($($Trait:ident $method:ident;)*) => {
        $(
            define_operators!(@pair $Trait $method &Traced, &Traced);
            define_operators!(@pair $Trait $method &Traced, Traced);
            define_operators!(@pair $Trait $method Traced, &Traced);
            define_operators!(@pair $Trait $method Traced, Traced);
            define_operators!(@number $Trait $method &Traced);
            define_operators!(@number $Trait $method Traced);
        )*
    };
    (@pair $Trait:ident $method:ident $Lhs:ty, $Rhs:ty) => {
        impl ops::$Trait<$Rhs> for $Lhs {
            type Output = Traced;

            #[track_caller]
            fn $method(self, rhs: $Rhs) -> Traced {
                #[allow(clippy::needless_borrow, reason = "one body for values and references")]
                Operator::$Trait.of(&self, &rhs)
            }
        }
    };
    (@number $Trait:ident $method:ident $Lhs:ty) => {
        impl ops::$Trait<f64> for $Lhs {
            type Output = Traced;

            #[track_caller]
            fn $method(self, rhs: f64) -> Traced {
                #[allow(clippy::needless_borrow, reason = "one body for values and references")]
                Operator::$Trait.with_number(&self, rhs)
            }
        }

        impl ops::$Trait<$Lhs> for f64 {
            type Output = Traced;

            #[track_caller]
            fn $method(self, rhs: $Lhs) -> Traced {
                #[allow(clippy::needless_borrow, reason = "one body for values and references")]
                Operator::$Trait.of_number(self, &rhs)
            }
        }
    };
}

define_operators! {
    Add add;
    Sub sub;
    Mul mul;
    Div div;
}

impl ops::Neg for &Traced {
    type Output = Traced;

    #[track_caller]
    fn neg(self) -> Traced {
        Traced::neg(self)
    }
}

impl ops::Neg for Traced {
    type Output = Traced;

    #[track_caller]
    fn neg(self) -> Traced {
        Traced::neg(&self)
    }
}
