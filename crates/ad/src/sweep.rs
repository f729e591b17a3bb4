//! The backward sweep: from results to leaves, each operation turned around once.

use std::{collections::BTreeMap, sync::Arc};

use smallvec::SmallVec;
use tenferro_ops::{Described, Meta, stretching};
use tenferro_tensor::{AsOperand, Elementwise, Primitive, Result};

use crate::{
    Autodiff, Variable,
    known::Known,
    level::Level,
    node::{Node, Recorded, Source},
    plan::apply,
    variable::check_like,
};

/// Adds the gradients of a result to the leaves below it.
pub(super) fn accumulate(root: Arc<Node>, seed: Variable) -> Result<()> {
    let autodiff = seed.autodiff().clone();
    for (leaf, gradient) in leaves(&autodiff, Level::BASE, [(root, seed)])? {
        let gradient = gradient.into_value();
        // The sum stays there while another is made, and another sweep may be faster.
        loop {
            let before = leaf.accumulated();
            let sum = match &before.sum {
                None => gradient.clone(),
                Some(sum) => autodiff.apply(&ADD, &[sum.as_operand(), gradient.as_operand()])?,
            };
            if leaf.replace_gradient(&before, sum) {
                break;
            }
        }
    }
    Ok(())
}

/// The gradients that a level's nodes `seeds` have by the leaves below them, hooks applied.
pub(super) fn leaves(
    autodiff: &Autodiff,
    level: Level,
    seeds: impl IntoIterator<Item = (Arc<Node>, Variable)>,
) -> Result<Leaves> {
    let mut sweep = Sweep { autodiff, level, near: SmallVec::new(), far: BTreeMap::new() };
    for (node, seed) in seeds {
        sweep.reach(node, 0, seed.without(level).into())?;
    }
    sweep.run()
}

/// A gradient on its way.
type Gradient = Known<'static>;

/// The gradients that have reached a node: one, or one for each result of a function.
type Gradients = SmallVec<[Option<Gradient>; 1]>;

/// The leaves that a sweep has reached, with their gradients.
pub(super) type Leaves = SmallVec<[(Arc<Node>, Variable); 4]>;

/// How many nodes are kept in a list, in which a node is found faster than in a tree.
const NEAR: usize = 6;

/// The nodes that gradients have reached, by their numbers: the last one has no more to come.
struct Sweep<'a> {
    autodiff: &'a Autodiff,
    /// The level of the nodes. User code may use what it differentiates, but gradients are of the levels below.
    level: Level,
    /// The last of all, by rising numbers. In most sweeps there are no others.
    near: SmallVec<[Reached; NEAR]>,
    /// Those before them.
    far: BTreeMap<u64, Reached>,
}

type Reached = (Arc<Node>, Gradients);

const ADD: Primitive = Primitive::Elementwise(Elementwise::Add);

impl Sweep<'_> {
    /// Passes all gradients on until they have reached the leaves.
    fn run(&mut self) -> Result<Leaves> {
        let mut leaves = Leaves::new();
        while let Some((node, mut gradients)) = self.pop() {
            if let Source::Function(applied, _) = node.source() {
                let gradients: Vec<Option<Variable>> = gradients
                    .into_iter()
                    .map(|gradient| Some(gradient?.into_variable(self.autodiff)))
                    .collect();
                for (parent, gradient) in applied.pulled_back(gradients)? {
                    self.reach(parent, 0, gradient.without(self.level).into())?;
                }
                continue;
            }
            let gradient = gradients.pop().flatten().expect("invariant: its one gradient");
            let gradient = self.seen(&node, gradient)?;
            match node.source() {
                Source::Operation(_) => self.turn_around(node, &gradient)?,
                Source::Result(of, place, _) => self.reach(Arc::clone(of), *place, gradient)?,
                Source::Leaf(..) | Source::Function(..) => {
                    let gradient = gradient.into_variable(self.autodiff);
                    leaves.push((node, gradient));
                }
            }
        }
        Ok(leaves)
    }

    /// The gradient of a node after its hooks. One that is the same along axes is stretched, unless nobody sees it and the
    /// operation does not need that.
    fn seen(&self, node: &Node, mut gradient: Gradient) -> Result<Gradient> {
        let meta = node.meta();
        if *gradient.shape() != meta.shape {
            if let Source::Operation(recorded) = node.source()
                && recorded.plan.takes_narrow
                && !node.has_hooks()
            {
                return Ok(gradient);
            }
            gradient = self.stretched(gradient, meta)?;
        }
        for hook in node.hooks() {
            let seen = hook.call(&gradient.into_variable(self.autodiff))?;
            // A hook may have made something else of it.
            check_like("gradient", meta, &seen)?;
            gradient = seen.without(self.level).into();
        }
        Ok(gradient)
    }

    fn stretched(&self, gradient: Gradient, meta: &Meta) -> Result<Gradient> {
        let stretching = stretching(gradient.shape().rank(), &meta.shape);
        apply(self.autodiff, &stretching, &[&gradient])
    }

    /// Takes the last node.
    fn pop(&mut self) -> Option<Reached> {
        self.near.pop().or_else(|| self.far.pop_last().map(|(_, reached)| reached))
    }

    /// Adds a gradient to those of a node.
    fn reach(&mut self, node: Arc<Node>, place: usize, gradient: Gradient) -> Result<()> {
        let autodiff = self.autodiff;
        let (_, gradients) = self.reached(node);
        while gradients.len() <= place {
            gradients.push(None);
        }
        let sum = match gradients[place].take() {
            None => gradient,
            Some(before) => apply(autodiff, &ADD, &[&before, &gradient])?,
        };
        gradients[place] = Some(sum);
        Ok(())
    }

    /// What has reached a node, which has its place among the others then.
    fn reached(&mut self, node: Arc<Node>) -> &mut Reached {
        let number = node.number();
        let is_far = self.far.last_key_value().is_some_and(|(last, _)| number <= *last);
        if is_far {
            return self.far.entry(number).or_insert_with(|| (node, Gradients::new()));
        }
        // What was reached just now is mostly among the last.
        let before = self.near.iter().rposition(|(other, _)| other.number() <= number);
        let mut place = match before {
            Some(place) if self.near[place].0.number() == number => return &mut self.near[place],
            before => before.map_or(0, |place| place + 1),
        };
        if self.near.len() == NEAR {
            if place == 0 {
                return self.far.entry(number).or_insert_with(|| (node, Gradients::new()));
            }
            let first = self.near.remove(0);
            self.far.insert(first.0.number(), first);
            place -= 1;
        }
        self.near.insert(place, (node, Gradients::new()));
        &mut self.near[place]
    }

    /// Passes a gradient on to the operands of an operation.
    fn turn_around(&mut self, mut node: Arc<Node>, gradient: &Gradient) -> Result<()> {
        // Where nobody comes again, the operation has its operands no longer.
        let own = Arc::get_mut(&mut node).and_then(Node::recorded);
        let taken = own.map(|recorded| std::mem::take(&mut recorded.operands));
        let Source::Operation(Recorded { plan, operands, kept }) = node.source() else {
            return Ok(());
        };
        let mut operands = taken.unwrap_or_else(|| operands.clone());
        plan.turn_around(self.autodiff, kept, gradient, |operand, is_last, gradient| {
            let operand = &mut operands[operand];
            let node = if is_last { operand.take() } else { operand.clone() };
            self.reach(node.expect("invariant: taken with its last gradient"), 0, gradient)
        })
    }
}
