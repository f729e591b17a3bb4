//! Which elementwise steps run together: groups of one shape, each of which becomes a fused region.
//!
//! Every step has a rank: how often, on the longest way to it from the inputs, something lies between that is no
//! elementwise step of its shape. Steps of one shape and rank that read each other, or a value that all read, make a
//! group. No way leaves a group and comes back, since ranks only grow on the way and an edge within a rank stays within
//! a shape: groups can run one after the other.

use std::collections::HashMap;

use tenferro_tensor::{Elementwise, Primitive, Shape};

use super::seen::{Seen, Views};
use crate::{Program, Step, StepKind, Value};

/// The most steps of a group: what a region keeps in the first-level cache has an end.
const MOST: usize = 512;
/// Up to so many elements a shape's steps of one rank are one group even if they have nothing in common: there, a
/// region costs more than its elements.
const FEW: usize = 2048;
/// Up to so many elements a step and a reduction run one after the other.
const FEW_OF_TWO: usize = 512;

/// Steps that run together.
#[derive(Debug, Default)]
pub(super) struct Group {
    /// The numbers of the elementwise steps, in order.
    pub(super) steps: Vec<usize>,
    /// The number of a step that reduces one of their values.
    pub(super) reduction: Option<usize>,
}

/// The groups of a program that have more than one step.
pub(super) fn groups(program: &Program, views: &Views) -> Vec<Group> {
    let ranks = Ranks::of(program, views);
    let mut sets = Sets::new(program.steps().len());
    // A class's first step, if it is one of few elements; and who reads what in a class.
    let mut classes: HashMap<(usize, &Shape), usize> = HashMap::new();
    let mut readers: HashMap<(usize, &Shape, Value), usize> = HashMap::new();
    for (number, step) in program.steps().iter().enumerate() {
        let Some(shape) = fusable(step) else { continue };
        let rank = ranks.of_steps[number];
        if shape.elements() <= FEW {
            let first = *classes.entry((rank, shape)).or_insert(number);
            sets.unite(first, number);
        }
        for &operand in step.operands() {
            let seen = views.broadcasts(operand);
            if !is_whole(program, &seen, shape) {
                continue;
            }
            if let Some(origin) = ranks.origins[seen.origin.0]
                && ranks.of_steps[origin] == rank
                && fusable(&program.steps()[origin]) == Some(shape)
            {
                sets.unite(origin, number);
            }
            let first = *readers.entry((rank, shape, seen.origin)).or_insert(number);
            sets.unite(first, number);
        }
    }
    let mut groups: Vec<Group> = Vec::new();
    // The group that a set's steps go to now.
    let mut open: HashMap<usize, usize> = HashMap::new();
    let mut group_of: Vec<Option<usize>> = vec![None; program.steps().len()];
    for (number, step) in program.steps().iter().enumerate() {
        if fusable(step).is_none() {
            continue;
        }
        let root = sets.root(number);
        let group = match open.get(&root) {
            Some(&group) if groups[group].steps.len() < MOST => group,
            _ => {
                groups.push(Group::default());
                open.insert(root, groups.len() - 1);
                groups.len() - 1
            }
        };
        groups[group].steps.push(number);
        group_of[number] = Some(group);
    }
    let uses = uses(program);
    for (number, step) in program.steps().iter().enumerate() {
        let StepKind::Primitive(Primitive::Reduction(_)) = step.kind() else { continue };
        let operand = step.operands()[0];
        let Some(origin) = ranks.origins[operand.0] else { continue };
        let Some(group) = group_of[origin] else { continue };
        // The one that spares a result comes first.
        let spares = uses[operand.0] == 1;
        let group = &mut groups[group];
        match group.reduction {
            Some(other) if !spares || uses[program.steps()[other].operands()[0].0] == 1 => {}
            _ => group.reduction = Some(number),
        }
    }
    groups.retain(|group| match (&group.steps[..], group.reduction) {
        ([_], None) => false,
        ([step], Some(_)) => pays(&program.steps()[*step]),
        _ => true,
    });
    groups
}

/// Whether a step and the reduction of its result are better off in one loop: where elements are few, a loop over both
/// costs more than both. A square is one with its sum.
fn pays(step: &Step) -> bool {
    let is_square =
        matches!(step.kind(), StepKind::Primitive(Primitive::Elementwise(Elementwise::Mul)))
            && step.operands()[0] == step.operands()[1];
    is_square || step.meta().shape.elements() > FEW_OF_TWO
}

/// The shape of an elementwise step.
pub(super) fn fusable(step: &Step) -> Option<&Shape> {
    match step.kind() {
        StepKind::Primitive(Primitive::Elementwise(_) | Primitive::Analytic(_)) => {
            Some(&step.meta().shape)
        }
        _ => None,
    }
}

/// Whether what is seen has the whole shape, so that a step of that shape reads each element once.
pub(super) fn is_whole(program: &Program, seen: &Seen, shape: &Shape) -> bool {
    seen.shape.is_none() && program.meta(seen.origin).shape == *shape
}

/// How often each value is read or returned.
fn uses(program: &Program) -> Vec<usize> {
    let mut uses = vec![0; program.values()];
    let read = program.steps().iter().flat_map(Step::operands);
    for value in read.chain(program.outputs()) {
        uses[value.0] += 1;
    }
    uses
}

struct Ranks {
    /// For each step its rank.
    of_steps: Vec<usize>,
    /// For each value the number of its step.
    origins: Vec<Option<usize>>,
}

impl Ranks {
    fn of(program: &Program, views: &Views) -> Self {
        let mut ranks = Self { of_steps: Vec::new(), origins: vec![None; program.inputs().len()] };
        for (number, step) in program.steps().iter().enumerate() {
            let shape = fusable(step);
            let from = |&operand: &Value| {
                let seen = match shape {
                    Some(_) => views.broadcasts(operand),
                    None => views.read(operand),
                };
                let Some(origin) = ranks.origins[seen.origin.0] else { return 0 };
                let same = shape.is_some_and(|shape| {
                    fusable(&program.steps()[origin]).is_some() && is_whole(program, &seen, shape)
                });
                let is_constant = matches!(program.steps()[origin].kind(), StepKind::Constant(_));
                ranks.of_steps[origin] + usize::from(!same && !is_constant)
            };
            let rank = step.operands().iter().map(from).max().unwrap_or(0);
            ranks.of_steps.push(rank);
            ranks.origins.extend(step.results().map(|_| Some(number)));
        }
        ranks.sink(program, views);
        ranks
    }

    /// Steps whose result is read in a later group only move there, if no more values have to be kept for that.
    fn sink(&mut self, program: &Program, views: &Views) {
        // For each value the lowest rank of a group that reads it, and whether it has to exist for someone else.
        let mut first: Vec<Option<usize>> = vec![None; program.values()];
        let mut kept = vec![false; program.values()];
        for output in program.outputs() {
            kept[views.read(*output).origin.0] = true;
        }
        for (number, step) in program.steps().iter().enumerate().rev() {
            let shape = fusable(step);
            if let Some(shape) = shape
                && let Some(later) = first[step.first.0]
                && !kept[step.first.0]
                && later > self.of_steps[number]
            {
                // What would have to be kept for the move, and is not anyway.
                let mut more: Vec<Value> = Vec::new();
                for &operand in step.operands() {
                    let seen = views.broadcasts(operand);
                    let Some(origin) = self.origins[seen.origin.0] else { continue };
                    let is_member = fusable(&program.steps()[origin]).is_some()
                        && is_whole(program, &seen, shape);
                    let is_read_there = first[seen.origin.0].is_some_and(|first| first >= later);
                    if is_member
                        && !kept[seen.origin.0]
                        && !is_read_there
                        && !more.contains(&seen.origin)
                    {
                        more.push(seen.origin);
                    }
                }
                if more.len() <= 1 {
                    self.of_steps[number] = later;
                }
            }
            let rank = self.of_steps[number];
            for &operand in step.operands() {
                let seen = match shape {
                    Some(_) => views.broadcasts(operand),
                    None => views.read(operand),
                };
                let value = seen.origin.0;
                if shape.is_some_and(|shape| is_whole(program, &seen, shape)) {
                    first[value] = Some(first[value].map_or(rank, |first| first.min(rank)));
                } else if !is_reduction(step) {
                    kept[value] = true;
                } else if let Some(origin) = self.origins[value] {
                    // A reduction belongs to the group of what it reduces.
                    first[value] =
                        Some(first[value].unwrap_or(usize::MAX).min(self.of_steps[origin]));
                }
            }
        }
    }
}

fn is_reduction(step: &Step) -> bool {
    matches!(step.kind(), StepKind::Primitive(Primitive::Reduction(_)))
}

/// Sets that are united, by number.
struct Sets(Vec<usize>);

impl Sets {
    fn new(count: usize) -> Self {
        Self((0..count).collect())
    }

    fn root(&mut self, mut of: usize) -> usize {
        while self.0[of] != of {
            self.0[of] = self.0[self.0[of]];
            of = self.0[of];
        }
        of
    }

    fn unite(&mut self, one: usize, other: usize) {
        let (one, other) = (self.root(one), self.root(other));
        self.0[one.max(other)] = one.min(other);
    }
}
