//! What composites and derivative rules are written against: an interface that either computes or records.
//!
//! An [`Eager`] builder computes with an engine at once; autodiff's and a tracer's builders keep what they are told. The
//! vocabulary's methods are generated from the table, so that a rule reads like the eager code it stands for.
//! A builder decides nothing about an operation: dtypes and shapes are the rules' business, values the engine's.

use std::sync::LazyLock;

use smallvec::SmallVec;
use tenferro_tensor::{
    AsOperand, Contraction, Dot, Exponentials, Indices, Operand, Primitive, Result, Shape,
    Structural, Tensor, TensorView, Vocabulary, vocabulary,
};

use crate::Meta;

/// Whatever carries out or records operations on values that are, or stand for, tensors.
pub trait Builder {
    /// A tensor, or what stands for one; cheap to clone.
    type Value: Clone;

    /// The dtype and shape of a value.
    fn meta(&self, value: &Self::Value) -> Meta;

    /// Whether a value has this shape.
    fn is_of_shape(&self, value: &Self::Value, shape: &Shape) -> bool {
        self.meta(value).shape == *shape
    }

    /// A value known now.
    fn constant(&mut self, tensor: Tensor) -> Self::Value;

    /// The result of a primitive.
    ///
    /// # Errors
    /// What the primitive refuses, and what a builder that computes cannot do now.
    fn emit(&mut self, primitive: Primitive, inputs: &[&Self::Value]) -> Result<Self::Value>;

    /// The value stretched to `extents` from the right, which a builder may do without a copy.
    ///
    /// # Errors
    /// [`Validation::Broadcast`](tenferro_tensor::Validation::Broadcast) if the value does not stretch to that.
    fn stretch(&mut self, value: &Self::Value, extents: &[usize]) -> Result<Self::Value> {
        let rank = self.meta(value).shape.rank();
        self.emit(stretching(rank, extents), &[value])
    }

    /// The product of two matrices or vectors whose inner extents agree, if the builder has a way to it without a
    /// contraction of its own.
    ///
    /// # Errors
    /// As [`Builder::emit`].
    fn product(&mut self, lhs: &Self::Value, rhs: &Self::Value) -> Result<Option<Self::Value>> {
        let _ = (lhs, rhs);
        Ok(None)
    }

    /// The value without a derivative, for what of a computation has none: how it came about need not be recorded.
    fn detached(&mut self, value: &Self::Value) -> Self::Value {
        value.clone()
    }

    /// The exponentials of what `x` is above `shift`, and their sums over axes, which are kept: both in one go through
    /// memory, if the builder has a way to it.
    ///
    /// # Errors
    /// What a builder that computes cannot do now.
    fn exponentials_and_sums(
        &mut self,
        x: &Self::Value,
        shift: &Self::Value,
        axes: &Indices,
    ) -> Result<Option<[Self::Value; 2]>> {
        let _ = (x, shift, axes);
        Ok(None)
    }

    /// The value of a composite of exponentials, if the builder has a way to it that is not through primitives.
    ///
    /// A builder that records has none: derivatives and programs are made of primitives.
    ///
    /// # Errors
    /// What a builder that computes cannot do now.
    fn exponentials(
        &mut self,
        exponentials: &Exponentials,
        x: &Self::Value,
    ) -> Result<Option<Self::Value>> {
        let _ = (exponentials, x);
        Ok(None)
    }
}

macro_rules! define_build {
    ($($family:ident $trait:ident $about:literal {
        $($variant:ident $method:ident $operands:tt $([$($param:ident: $ty:ty),+])? -> $result:ty, $accepts:ident, $doc:literal;)*
    })*) => {
        /// The vocabulary on the values of a [`Builder`], a method a row.
        ///
        /// Implemented for every builder.
        pub trait Build: Builder {
            $($(define_build! {
                @method $family $variant $method $operands $([$($param: $ty),+])?, $doc
            })*)*
        }
    };
    (@method $family:ident $variant:ident $method:ident (many $operand:ident: $Type:ident)
        $([$($param:ident: $ty:ty),+])?, $doc:literal) => {
        #[doc = $doc]
        ///
        /// # Errors
        /// As [`Builder::emit`].
        fn $method(
            &mut self,
            $operand: &[Self::Value],
            $($($param: impl Into<$ty>,)+)?
        ) -> Result<Self::Value> {
            let row = tenferro_tensor::$family::$variant $({ $($param: $param.into()),+ })?;
            let inputs: SmallVec<[&Self::Value; 4]> = $operand.iter().collect();
            self.emit(row.into(), &inputs)
        }
    };
    (@method $family:ident $variant:ident $method:ident ($($operand:ident: $Type:ident),*)
        $([$($param:ident: $ty:ty),+])?, $doc:literal) => {
        #[doc = $doc]
        ///
        /// # Errors
        /// As [`Builder::emit`].
        fn $method(
            &mut self,
            $($operand: &Self::Value,)*
            $($($param: impl Into<$ty>,)+)?
        ) -> Result<Self::Value> {
            let row = tenferro_tensor::$family::$variant $({ $($param: $param.into()),+ })?;
            self.emit(row.into(), &[$($operand),*])
        }
    };
}

vocabulary!(define_build);

impl<B: Builder + ?Sized> Build for B {}

/// A builder that computes at once, with whatever has a vocabulary.
///
/// ```
/// use tenferro_ops::{Build, Eager, Lent, reference::Reference};
/// use tenferro_tensor::{AsOperand, Tensor};
///
/// let x = Tensor::from_vec_col_major(vec![2], vec![1.0_f64, 3.0])?;
/// let mut engine = Reference;
/// let mut builder = Eager::new(&mut engine);
/// let x = Lent::from(x.as_operand());
/// let y = builder.mul(&x, &x)?.into_tensor()?;
/// assert_eq!(y.as_slice::<f64>()?, &[1.0, 9.0]);
/// # Ok::<(), tenferro_tensor::Error>(())
/// ```
pub struct Eager<'a, V: ?Sized> {
    engine: &'a mut V,
}

impl<'a, V: Vocabulary + ?Sized> Eager<'a, V> {
    /// A builder that computes with `engine`.
    pub fn new(engine: &'a mut V) -> Self {
        Self { engine }
    }
}

/// A value of an [`Eager`] builder: lent by the caller, or computed on the way.
#[derive(Clone)]
pub enum Lent<'a> {
    /// The caller's.
    Operand(Operand<'a>),
    /// The caller's, stretched.
    View(TensorView<'a>),
    /// Computed.
    Tensor(Tensor),
}

impl<'a> From<Operand<'a>> for Lent<'a> {
    fn from(operand: Operand<'a>) -> Self {
        Lent::Operand(operand)
    }
}

impl From<Tensor> for Lent<'_> {
    fn from(tensor: Tensor) -> Self {
        Lent::Tensor(tensor)
    }
}

impl AsOperand for Lent<'_> {
    fn as_operand(&self) -> Operand<'_> {
        match self {
            Lent::Operand(operand) => *operand,
            Lent::View(view) => view.as_operand(),
            Lent::Tensor(tensor) => tensor.as_operand(),
        }
    }
}

impl Lent<'_> {
    /// The value as a tensor of its own: a copy of what was lent.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](tenferro_tensor::Error::OutOfMemory).
    pub fn into_tensor(self) -> Result<Tensor> {
        match self {
            Lent::Operand(operand) => operand.view().to_tensor(),
            Lent::View(view) => view.to_tensor(),
            Lent::Tensor(tensor) => Ok(tensor),
        }
    }
}

impl<'a, V: Vocabulary + ?Sized> Builder for Eager<'a, V> {
    type Value = Lent<'a>;

    fn meta(&self, value: &Lent<'a>) -> Meta {
        Meta::of(&value.as_operand())
    }

    fn constant(&mut self, tensor: Tensor) -> Lent<'a> {
        Lent::Tensor(tensor)
    }

    fn emit(&mut self, primitive: Primitive, inputs: &[&Lent<'a>]) -> Result<Lent<'a>> {
        let operands: SmallVec<[Operand<'_>; 4]> =
            inputs.iter().map(|input| input.as_operand()).collect();
        self.engine.apply(&primitive, &operands).map(Lent::Tensor)
    }

    fn stretch(&mut self, value: &Lent<'a>, extents: &[usize]) -> Result<Lent<'a>> {
        let view = match value {
            Lent::Operand(operand) => operand.view(),
            Lent::View(view) => view.clone(),
            Lent::Tensor(tensor) => {
                return self
                    .engine
                    .apply(&stretching(tensor.rank(), extents), &[tensor.as_operand()])
                    .map(Lent::Tensor);
            }
        };
        view.broadcast(extents).map(Lent::View)
    }

    #[inline]
    fn product(&mut self, lhs: &Lent<'a>, rhs: &Lent<'a>) -> Result<Option<Lent<'a>>> {
        let (lhs, rhs) = (lhs.as_operand(), rhs.as_operand());
        let (&[ref rows @ .., terms], &[inner] | &[inner, _]) =
            (&lhs.shape()[..], &rhs.shape()[..])
        else {
            return Ok(None);
        };
        match PRODUCTS.get(rows.len()) {
            Some(product) if terms == inner => {
                self.engine.apply(product, &[lhs, rhs]).map(|result| Some(Lent::Tensor(result)))
            }
            _ => Ok(None),
        }
    }

    fn exponentials(
        &mut self,
        exponentials: &Exponentials,
        x: &Lent<'a>,
    ) -> Result<Option<Lent<'a>>> {
        Ok(self.engine.exponentials(exponentials, &x.as_operand())?.map(Lent::Tensor))
    }
}

/// The products of a vector, and of a matrix, with either: made once, because lists of axes cost more than small ones do.
static PRODUCTS: [LazyLock<Primitive>; 2] = [
    LazyLock::new(|| Dot::DotGeneral { contraction: Contraction::over([0], [0]) }.into()),
    LazyLock::new(|| Dot::DotGeneral { contraction: Contraction::over([1], [0]) }.into()),
];

/// The primitive that stretches a value of `rank` axes to `extents` from the right.
#[must_use]
pub fn stretching(rank: usize, extents: &[usize]) -> Primitive {
    let missing = extents.len().saturating_sub(rank);
    let axes: Indices = (missing..missing + rank).collect();
    Structural::BroadcastInDim { extents: extents.into(), axes }.into()
}
