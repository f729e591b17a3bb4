//! The backward sweep: from results to leaves, each step transposed once.

use std::{
    cmp::Ordering,
    collections::{BinaryHeap, HashMap},
    sync::Arc,
};

use smallvec::SmallVec;
use tenferro_ops::derivative::{self, Place};
use tenferro_tensor::{Primitive, Result};

use crate::{
    Variable,
    node::{Edge, Node, Step},
    variable::check_like,
};

/// A node that gradients have reached, deepest first.
struct Reached(Arc<Node>);

impl PartialEq for Reached {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Reached {}

impl PartialOrd for Reached {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Reached {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.depth().cmp(&other.0.depth())
    }
}

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
    while let Some(Reached(node)) = sweep.queue.pop() {
        let mut gradients = sweep
            .gradients
            .remove(&Arc::as_ptr(&node))
            .expect("invariant: a node is queued when a gradient reaches it");
        match node.step() {
            Step::Function(applied) => {
                for (parent, gradient) in applied.pulled_back(&gradients)? {
                    sweep.reach(parent, 0, gradient)?;
                }
            }
            step => {
                let gradient = gradients.pop().flatten();
                let gradient = node.hooked(gradient.expect("invariant: its one gradient"))?;
                // A hook may have made something else of it.
                check_like("gradient", node.meta(), &gradient)?;
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

/// The gradients that have reached a node: one, or one for each result of a function.
type Gradients = SmallVec<[Option<Variable>; 1]>;

#[derive(Default)]
struct Sweep {
    queue: BinaryHeap<Reached>,
    gradients: HashMap<*const Node, Gradients>,
}

impl Sweep {
    /// Adds a gradient to those of a node.
    fn reach(&mut self, node: Arc<Node>, place: usize, gradient: Variable) -> Result<()> {
        let key = Arc::as_ptr(&node);
        let gradients = self.gradients.entry(key).or_insert_with(|| {
            self.queue.push(Reached(node));
            Gradients::new()
        });
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

    /// Passes a gradient on to the operands of a linear step.
    fn turn_around(
        &mut self,
        primitive: &Primitive,
        edges: &[Edge],
        gradient: &Variable,
    ) -> Result<()> {
        let places: SmallVec<[Place<'_, Variable>; 3]> = edges
            .iter()
            .map(|edge| match edge {
                Edge::Known(variable) => Place::Known(variable),
                Edge::Linear(node) => Place::Linear(node.meta()),
            })
            .collect();
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
