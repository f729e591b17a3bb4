//! The backward sweep: from results to leaves, each operation turned around once.

use std::{collections::BTreeMap, sync::Arc};

use smallvec::SmallVec;
use tenferro_ops::{Described, Meta, stretching};
use tenferro_tensor::{AsOperand, Elementwise, Primitive, Result, Tensor};

use crate::{
    Autodiff, Variable,
    known::Known,
    level::Level,
    node::{Node, Operands, Recorded, Source},
    plan::apply,
    variable::check_like,
};

/// Adds the gradients of a result to the leaves below it.
pub(super) fn accumulate(autodiff: &Autodiff, root: Arc<Node>, seed: Tensor) -> Result<()> {
    for (leaf, gradient) in leaves(autodiff, Level::BASE, [(root, seed.into())])? {
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

/// The gradients that a level's nodes have by the leaves below them, hooks applied. The gradients of `seeds` are of the
/// levels below.
pub(super) fn leaves(
    autodiff: &Autodiff,
    level: Level,
    seeds: impl IntoIterator<Item = (Arc<Node>, Known<'static>)>,
) -> Result<Leaves> {
    let mut sweep = Sweep { autodiff, level, near: SmallVec::new(), far: BTreeMap::new() };
    for (node, seed) in seeds {
        sweep.reach(node, seed)?;
    }
    sweep.run()
}

/// A gradient on its way.
type Gradient = Known<'static>;

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

/// A node with what has reached it.
struct Reached {
    node: Arc<Node>,
    sum: Sum,
}

/// The sum of the gradients that have reached a node.
enum Sum {
    One(Gradient),
    /// For each result of a function that a gradient has come from.
    Results(Vec<Option<Gradient>>),
}

const ADD: Primitive = Primitive::Elementwise(Elementwise::Add);

impl Sum {
    /// Adds to the gradients of a function's result.
    fn add_result(&mut self, autodiff: &Autodiff, place: usize, gradient: Gradient) -> Result<()> {
        let Sum::Results(sums) = self else { unreachable!("{KIND}") };
        if sums.len() <= place {
            sums.resize_with(place + 1, || None);
        }
        match &mut sums[place] {
            Some(sum) => *sum = apply(autodiff, &ADD, &[sum, &gradient])?,
            empty => *empty = Some(gradient),
        }
        Ok(())
    }
}

const KIND: &str = "invariant: functions are reached by their results, other nodes are not";

impl Sweep<'_> {
    /// Passes all gradients on until they have reached the leaves.
    fn run(&mut self) -> Result<Leaves> {
        let mut leaves = Leaves::new();
        while let Some(Reached { node, sum }) = self.pop() {
            let gradient = match sum {
                Sum::One(gradient) => self.seen(&node, gradient)?,
                Sum::Results(gradients) => {
                    self.pull_back(&node, gradients)?;
                    continue;
                }
            };
            match node.source() {
                Source::Operation(_) => self.turn_around(node, &gradient)?,
                Source::Result(of, place, _) => self.reach_by_result(of, *place, gradient)?,
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
        let has_hooks = node.has_hooks();
        if *gradient.shape() != meta.shape {
            let takes_narrow = match node.source() {
                Source::Operation(recorded) => recorded.plan.takes_narrow,
                _ => false,
            };
            if takes_narrow && !has_hooks {
                return Ok(gradient);
            }
            gradient = self.stretched(gradient, meta)?;
        }
        if !has_hooks {
            return Ok(gradient);
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
    fn reach(&mut self, node: Arc<Node>, gradient: Gradient) -> Result<()> {
        let autodiff = self.autodiff;
        match self.sum(&node) {
            Some(Sum::One(sum)) => *sum = apply(autodiff, &ADD, &[sum, &gradient])?,
            Some(Sum::Results(_)) => unreachable!("{KIND}"),
            None => self.insert(Reached { node, sum: Sum::One(gradient) }),
        }
        Ok(())
    }

    /// Adds the gradient of a function's result to those of the function.
    fn reach_by_result(
        &mut self,
        function: &Arc<Node>,
        place: usize,
        gradient: Gradient,
    ) -> Result<()> {
        let autodiff = self.autodiff;
        if let Some(sum) = self.sum(function) {
            return sum.add_result(autodiff, place, gradient);
        }
        let mut sum = Sum::Results(Vec::new());
        sum.add_result(autodiff, place, gradient)?;
        self.insert(Reached { node: Arc::clone(function), sum });
        Ok(())
    }

    /// What has reached a node.
    fn sum(&mut self, node: &Node) -> Option<&mut Sum> {
        let number = node.number();
        // What was reached just now is mostly among the last.
        let near = self.near.iter_mut().rev().find(|reached| reached.node.number() == number);
        match near {
            Some(reached) => Some(&mut reached.sum),
            None if self.far.is_empty() => None,
            None => self.far.get_mut(&number).map(|reached| &mut reached.sum),
        }
    }

    /// Gives a node that is reached for the first time its place among the others.
    #[inline(always)]
    fn insert(&mut self, reached: Reached) {
        let number = reached.node.number();
        let is_last = self.near.last().is_none_or(|last| last.node.number() < number);
        if is_last && self.near.len() < NEAR && self.far.is_empty() {
            self.near.push(reached);
        } else {
            self.insert_between(number, reached);
        }
    }

    #[inline(never)]
    fn insert_between(&mut self, number: u64, reached: Reached) {
        let before = self.near.iter().rposition(|other| other.node.number() < number);
        let place = before.map_or(0, |place| place + 1);
        let is_far = || self.far.last_key_value().is_some_and(|(last, _)| number < *last);
        if place == 0 && (self.near.len() == NEAR || is_far()) {
            self.far.insert(number, reached);
        } else if self.near.len() == NEAR {
            let first = self.near.remove(0);
            self.far.insert(first.node.number(), first);
            self.near.insert(place - 1, reached);
        } else {
            self.near.insert(place, reached);
        }
    }

    /// Passes the gradients of a function's results on by its own rule.
    fn pull_back(&mut self, node: &Node, gradients: Vec<Option<Gradient>>) -> Result<()> {
        let Source::Function(applied, _) = node.source() else { unreachable!("{KIND}") };
        let gradients = gradients
            .into_iter()
            .map(|gradient| Some(gradient?.into_variable(self.autodiff)))
            .collect();
        for (parent, gradient) in applied.pulled_back(gradients)? {
            self.reach(parent, gradient.without(self.level).into())?;
        }
        Ok(())
    }

    /// Passes a gradient on to the operands of an operation.
    fn turn_around(&mut self, node: Arc<Node>, gradient: &Gradient) -> Result<()> {
        match Arc::try_unwrap(node) {
            // Nobody comes here again: the operation hands its operands on.
            Ok(mut node) => {
                let operands = node.take_operands();
                self.pass_on(&node, operands, gradient)
            }
            Err(node) => self.pass_on(&node, node.operands(), gradient),
        }
    }

    fn pass_on(&mut self, node: &Node, mut operands: Operands, gradient: &Gradient) -> Result<()> {
        let Source::Operation(Recorded { plan, kept, .. }) = node.source() else { return Ok(()) };
        plan.turn_around(self.autodiff, kept, gradient, |operand, is_last, gradient| {
            let operand = &mut operands[operand];
            let node = if is_last { operand.take() } else { operand.clone() };
            self.reach(node.expect("invariant: taken with its last gradient"), gradient)
        })
    }
}
