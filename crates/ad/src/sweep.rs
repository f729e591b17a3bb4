//! The backward sweep: from results to leaves, each step transposed once.

use std::{collections::BTreeMap, sync::Arc};

use smallvec::SmallVec;
use tenferro_ops::{
    Builder,
    derivative::{self, Place},
};
use tenferro_tensor::{Primitive, Reduction, Result};

use crate::{
    Variable,
    node::{Edge, Node, Step},
    variable::check_like,
};

/// Adds gradients to the leaves below `seeds`.
pub(super) fn accumulate(seeds: Vec<(Arc<Node>, Variable)>) -> Result<()> {
    for (leaf, gradient) in leaves(seeds)? {
        let (autodiff, mut sum) = (gradient.autodiff().clone(), gradient.value().clone());
        while let Some([lhs, rhs]) = leaf.put_gradient(sum) {
            let lhs = autodiff.constant(lhs);
            sum = lhs.add(&autodiff.constant(rhs))?.value().clone();
        }
    }
    Ok(())
}

/// The gradients of the leaves below `seeds`, hooks applied.
pub(super) fn leaves(seeds: Vec<(Arc<Node>, Variable)>) -> Result<Vec<(Arc<Node>, Variable)>> {
    let mut sweep = Sweep::default();
    for (node, seed) in seeds {
        sweep.reach(node, 0, seed)?;
    }
    let mut leaves = Vec::new();
    while let Some((node, mut gradients)) = sweep.pop() {
        match node.step() {
            Step::Function(applied) => {
                for (parent, gradient) in applied.pulled_back(&gradients)? {
                    sweep.reach(parent, 0, gradient)?;
                }
            }
            step => {
                let gradient = gradients.pop().flatten().expect("invariant: its one gradient");
                let gradient = whole(&node, gradient)?;
                match step {
                    Step::Linear(primitive, edges) => {
                        sweep.turn_around(primitive, edges, &gradient)?;
                    }
                    Step::Result(of, place) => sweep.reach(Arc::clone(of), *place, gradient)?,
                    Step::Leaf(_) | Step::Function(_) => leaves.push((node, gradient)),
                }
            }
        }
    }
    Ok(leaves)
}

/// The gradient of a node after its hooks; a number for all elements is stretched where the step does not do that.
fn whole(node: &Node, mut gradient: Variable) -> Result<Variable> {
    let shape = &node.meta().shape;
    if gradient.shape().rank() == 0 && shape.rank() != 0 {
        if node.takes_number() {
            return Ok(gradient);
        }
        gradient = gradient.autodiff().clone().stretch(&gradient, shape)?;
    }
    let hooks = node.hooks();
    for hook in &hooks {
        gradient = hook.call(&gradient)?;
    }
    if !hooks.is_empty() {
        // A hook may have made something else of it.
        check_like("gradient", node.meta(), &gradient)?;
    }
    Ok(gradient)
}

/// The gradients that have reached a node: one, or one for each result of a function.
type Gradients = SmallVec<[Option<Variable>; 1]>;

/// The nodes that gradients have reached, by their numbers: the last one has no more to come.
#[derive(Default)]
struct Sweep {
    /// The last of all, in most steps the one that was just reached: on a chain the others need not be searched.
    last: Option<Reached>,
    others: BTreeMap<u64, Reached>,
}

type Reached = (Arc<Node>, Gradients);

impl Sweep {
    /// Takes the last node.
    fn pop(&mut self) -> Option<Reached> {
        self.last.take().or_else(|| self.others.pop_last().map(|(_, reached)| reached))
    }

    /// Adds a gradient to those of a node.
    fn reach(&mut self, node: Arc<Node>, place: usize, gradient: Variable) -> Result<()> {
        let (_, gradients) = self.reached(node);
        if gradients.len() <= place {
            gradients.resize(place + 1, None);
        }
        let sum = match gradients[place].take() {
            None => gradient,
            Some(before) => before.add(&gradient)?,
        };
        gradients[place] = Some(sum);
        Ok(())
    }

    /// What has reached a node, which has its place among the others then.
    fn reached(&mut self, node: Arc<Node>) -> &mut Reached {
        let number = node.number();
        let is_among_others = match &self.last {
            Some((last, _)) => number < last.number(),
            None => self.others.last_key_value().is_some_and(|(other, _)| number <= *other),
        };
        if is_among_others {
            return self.others.entry(number).or_insert_with(|| (node, Gradients::new()));
        }
        if let Some(other) = self.last.take_if(|(last, _)| last.number() < number) {
            self.others.insert(other.0.number(), other);
        }
        self.last.get_or_insert_with(|| (node, Gradients::new()))
    }

    /// Passes a gradient on to the operands of a linear step.
    fn turn_around(
        &mut self,
        primitive: &Primitive,
        edges: &[Edge],
        gradient: &Variable,
    ) -> Result<()> {
        // The transpose of a sum to one number stretches it, which is left to the step before: it may not have to.
        if let (Primitive::Reduction(Reduction::Sum { .. }), [Edge::Linear(node)]) =
            (primitive, edges)
            && gradient.shape().rank() == 0
        {
            return self.reach(Arc::clone(node), 0, gradient.clone());
        }
        let mut places: SmallVec<[Place<'_, Variable>; 3]> = SmallVec::new();
        for edge in edges {
            places.push(match edge {
                Edge::Known(variable) => Place::Known(variable),
                Edge::Linear(node) => Place::Linear(node.meta()),
            });
        }
        let mut builder = gradient.autodiff().clone();
        let cotangents = derivative::transpose(&mut builder, primitive, &places, gradient)?;
        for (edge, cotangent) in edges.iter().zip(cotangents) {
            if let (Edge::Linear(node), Some(cotangent)) = (edge, cotangent) {
                self.reach(Arc::clone(node), 0, cotangent)?;
            }
        }
        Ok(())
    }
}
