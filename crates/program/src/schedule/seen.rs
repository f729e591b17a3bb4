//! What needs no step of its own: values that are the elements of another under other extents.
//!
//! A reshape, a transposition that only moves axes of extent 1, and what stretches into an elementwise step are read
//! where their operand lies.

use tenferro_tensor::{Primitive, Shape, Structural};

use crate::{Program, Step, StepKind, Value};

/// A value as its readers may see it: the elements of `origin` in column-major order.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    pub(super) origin: Value,
    /// The extents, if they are not those of the origin.
    pub(super) shape: Option<Shape>,
    /// Whether axes of extent 1, or missing ones, stand for longer ones: only what broadcasts can read that.
    pub(super) stretched: bool,
}

impl Seen {
    /// A value as it is.
    pub(super) fn itself(value: Value) -> Self {
        Self { origin: value, shape: None, stretched: false }
    }

    /// Whether this is another value than the one that is seen.
    fn is_other(&self, value: Value) -> bool {
        self.origin != value
    }
}

/// For each value, what its readers can look at instead.
pub(super) struct Views(Vec<Seen>);

impl Views {
    /// Every value as it is.
    pub(super) fn none(program: &Program) -> Self {
        Self((0..program.values()).map(|value| Seen::itself(Value(value))).collect())
    }

    /// The views of a program.
    pub(super) fn of(program: &Program) -> Self {
        let mut views = Self::none(program);
        for step in program.steps() {
            if let Some(seen) = views.through(program, step) {
                views.0[step.first.0] = seen;
            }
        }
        views
    }

    /// What a step of another kind than [`Views::broadcasts`] reads for an operand.
    pub(super) fn read(&self, value: Value) -> Seen {
        let seen = &self.0[value.0];
        if seen.stretched { Seen::itself(value) } else { seen.clone() }
    }

    /// What an elementwise step reads for an operand.
    pub(super) fn broadcasts(&self, value: Value) -> Seen {
        self.0[value.0].clone()
    }

    /// Whether a step only makes what can be seen elsewhere.
    pub(super) fn is_view(&self, step: &Step) -> bool {
        step.metas.len() == 1 && self.0[step.first.0].is_other(step.first)
    }

    fn through(&self, program: &Program, step: &Step) -> Option<Seen> {
        let StepKind::Primitive(Primitive::Structural(row)) = step.kind() else { return None };
        let &[operand] = step.operands() else { return None };
        let before = self.read(operand);
        let own = before.shape.as_ref().unwrap_or(&program.meta(operand).shape);
        let (shape, stretched) = match row {
            Structural::Reshape { .. } => (step.meta().shape.clone(), false),
            Structural::Transpose { permutation } => {
                let moved = permutation.iter().filter(|&&axis| own[axis] != 1);
                if !moved.is_sorted() {
                    return None;
                }
                (step.meta().shape.clone(), false)
            }
            Structural::BroadcastInDim { extents, axes } => {
                if !axes.is_sorted() {
                    return None;
                }
                let mut placed = vec![1; extents.len()];
                for (place, &axis) in axes.iter().enumerate() {
                    placed[axis] = own[place];
                }
                (Shape::new(&placed).ok()?, placed[..] != extents[..])
            }
            _ => return None,
        };
        let shape = (shape != program.meta(before.origin).shape).then_some(shape);
        Some(Seen { origin: before.origin, shape, stretched })
    }
}
