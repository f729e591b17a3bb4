//! Who computes for a plan: an engine, whose operands are views, or a builder, whose values are differentiated or recorded.

use tenferro_ops::{Build, Builder, Engine, Meta};
use tenferro_tensor::{AsOperand, Operand, Primitive, Tensor, TensorView};

use crate::Result;

/// The operands of a plan, and who computes with them.
pub(super) trait Calls {
    /// An operand, or what was computed on the way.
    type Value;

    /// An operand with these extents, axes of extent 1 left out, and then with one axis for each of these pairs: the
    /// first, which walks the diagonal of both.
    fn operand(
        &mut self,
        position: usize,
        extents: &[usize],
        diagonals: &[(usize, usize)],
    ) -> Result<Self::Value>;

    fn meta(&self, value: &Self::Value) -> Meta;

    /// How far neighbours along each axis are from each other.
    fn distances(&self, value: &Self::Value) -> Vec<usize>;

    fn call(
        &mut self,
        primitive: Primitive,
        operands: &[Arranged<'_, Self::Value>],
    ) -> Result<Self::Value>;
}

/// A value with its axes in another order, and with axes of extent 1 between them.
pub(super) struct Arranged<'v, V> {
    pub(super) value: &'v V,
    /// All axes of the value, and `None` for each that it does not have.
    pub(super) axes: Vec<Option<usize>>,
}

impl<'v, V> Arranged<'v, V> {
    /// The value as it is.
    pub(super) fn plain(value: &'v V, rank: usize) -> Self {
        Self { value, axes: (0..rank).map(Some).collect() }
    }

    fn permutation(&self) -> Vec<usize> {
        self.axes.iter().flatten().copied().collect()
    }
}

/// An engine. No axis is dropped, merged or moved but by a view.
pub(super) struct OnEngine<'e, 'o, 'a> {
    pub(super) engine: &'e mut dyn Engine,
    pub(super) operands: &'o [Operand<'a>],
}

/// What an engine takes.
pub(super) enum Held<'o> {
    Given(TensorView<'o>),
    Made(Tensor),
}

impl Held<'_> {
    fn view(&self) -> TensorView<'_> {
        match self {
            Held::Given(view) => view.clone(),
            Held::Made(tensor) => tensor.view(),
        }
    }
}

impl<'o> Calls for OnEngine<'_, 'o, '_> {
    type Value = Held<'o>;

    fn operand(
        &mut self,
        position: usize,
        extents: &[usize],
        diagonals: &[(usize, usize)],
    ) -> Result<Held<'o>> {
        let mut view = self.operands[position].view();
        if view.shape()[..] != *extents {
            // An axis that is left out has extent 1, so that a view without it always exists.
            view = view.reshape(extents)?;
        }
        for &(first, second) in diagonals {
            view = view.diagonal(first, second)?;
        }
        Ok(Held::Given(view))
    }

    fn meta(&self, value: &Held<'o>) -> Meta {
        Meta::of(&value.view())
    }

    fn distances(&self, value: &Held<'o>) -> Vec<usize> {
        value.view().strides().iter().map(|stride| stride.unsigned_abs()).collect()
    }

    fn call(
        &mut self,
        primitive: Primitive,
        operands: &[Arranged<'_, Held<'o>>],
    ) -> Result<Held<'o>> {
        let mut views = Vec::with_capacity(operands.len());
        for operand in operands {
            let mut view = operand.value.view().permute(&operand.permutation())?;
            for axis in (0..operand.axes.len()).filter(|&axis| operand.axes[axis].is_none()) {
                view = view.insert_axis(axis)?;
            }
            views.push(view);
        }
        let views: Vec<Operand<'_>> = views.iter().map(AsOperand::as_operand).collect();
        Ok(Held::Made(self.engine.apply(&primitive, &views)?))
    }
}

/// A builder. Where it keeps its values is not known: as if in column-major order.
pub(super) struct OnBuilder<'b, B: Builder + ?Sized> {
    pub(super) builder: &'b mut B,
    pub(super) operands: &'b [B::Value],
}

impl<B: Builder + ?Sized> Calls for OnBuilder<'_, B> {
    type Value = B::Value;

    fn operand(
        &mut self,
        position: usize,
        extents: &[usize],
        diagonals: &[(usize, usize)],
    ) -> Result<B::Value> {
        let mut value = self.operands[position].clone();
        if self.builder.meta(&value).shape[..] != *extents {
            value = self.builder.reshape(&value, extents)?;
        }
        for &(first, second) in diagonals {
            value = self.builder.extract_diagonal(&value, first, second)?;
        }
        Ok(value)
    }

    fn meta(&self, value: &B::Value) -> Meta {
        self.builder.meta(value)
    }

    fn distances(&self, value: &B::Value) -> Vec<usize> {
        (0..self.builder.meta(value).shape.rank()).collect()
    }

    fn call(
        &mut self,
        primitive: Primitive,
        operands: &[Arranged<'_, B::Value>],
    ) -> Result<B::Value> {
        let mut values = Vec::with_capacity(operands.len());
        for operand in operands {
            let (mut value, permutation) = (operand.value.clone(), operand.permutation());
            if !permutation.is_sorted() {
                value = self.builder.transpose(&value, permutation)?;
            }
            if operand.axes.contains(&None) {
                let shape = self.builder.meta(operand.value).shape;
                let extent = |axis: &Option<usize>| axis.map_or(1, |axis| shape[axis]);
                let extents: Vec<usize> = operand.axes.iter().map(extent).collect();
                value = self.builder.reshape(&value, extents)?;
            }
            values.push(value);
        }
        Ok(self.builder.emit(primitive, &values.iter().collect::<Vec<_>>())?)
    }
}
