//! The order of units, and which of them run at once.
//!
//! Units run one by one, near the order of the program. Where several can run next, each begins a branch: the units that
//! need nothing but it. Branches that are long enough to pay for a thread, and in which no unit would use all threads by
//! itself, run at once. All is judged by the cost that a program tells of its steps, so that the answer does not depend on
//! the machine.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet, BinaryHeap},
};

use super::{Border, Draft, Work, seen::Seen, slots};
use crate::{Pass, Program, Value, cost::size};

/// Nanoseconds that an operation of a product, one on an element in the cache, and a byte take on one CPU, about.
const FLOP: f64 = 0.025;
const ELEMENT: f64 = 0.25;
const BYTE: f64 = 0.1;
/// The least time, in nanoseconds, of a branch that runs beside another: several times what it costs to start a thread.
const LEAST: f64 = 200_000.0;
/// From so many operations or bytes on an engine divides a single step among its threads.
const MANY_FLOPS: f64 = (1_u64 << 22) as f64;
const MANY_BYTES: f64 = (1_u64 << 19) as f64;

/// The units one by one.
pub(super) fn one_by_one(program: &Program, drafts: Vec<Draft>) -> Vec<Vec<Draft>> {
    let mut graph = Units::new(program, drafts);
    let mut order = Vec::with_capacity(graph.drafts.len());
    while let Some(next) = graph.next() {
        order.push(vec![graph.take(next)]);
    }
    order
}

/// The units in order; those of one list run at once.
pub(super) fn ordered(program: &Program, drafts: Vec<Draft>, buffers: Pass) -> Vec<Vec<Draft>> {
    let times: Vec<Option<f64>> = drafts.iter().map(|draft| narrow_time(program, draft)).collect();
    if times.iter().flatten().sum::<f64>() < 2.0 * LEAST {
        return one_by_one(program, drafts);
    }
    let mut graph = Units::new(program, drafts);
    let mut order = Vec::with_capacity(graph.drafts.len());
    while let Some(next) = graph.next() {
        let mut branches: Vec<Vec<usize>> = Vec::new();
        if times[next].is_some() && !graph.ready.is_empty() {
            let ready = std::iter::once(next).chain(graph.ready.iter().map(|ready| ready.0.1));
            branches = ready.map(|first| graph.branch(first, &times)).collect();
            branches.retain(|branch| {
                branch.iter().filter_map(|&unit| times[unit]).sum::<f64>() >= LEAST
            });
        }
        let begins_one = branches.iter().any(|branch| branch[0] == next);
        if branches.len() < 2 || !begins_one {
            order.push(vec![graph.take(next)]);
            continue;
        }
        branches.sort_unstable();
        let firsts: BTreeSet<usize> = branches.iter().map(|branch| branch[0]).collect();
        graph.ready.retain(|ready| !firsts.contains(&ready.0.1));
        let stage = branches.into_iter().map(|branch| {
            let drafts = branch.iter().map(|&unit| graph.take(unit)).collect();
            // What a unit of the branch has made ready is a part of it, or waits for another.
            let inside: BTreeSet<usize> = branch.into_iter().collect();
            graph.ready.retain(|ready| !inside.contains(&ready.0.1));
            drafts
        });
        let stage: Vec<Vec<Draft>> = stage.collect();
        let stage = stage.into_iter().map(|drafts| joined(program, &graph, drafts, buffers));
        order.push(stage.collect());
    }
    order
}

/// The time of a unit on one CPU, unless it would use more, or nothing is known of it.
fn narrow_time(program: &Program, draft: &Draft) -> Option<f64> {
    let (mut flops, mut bytes) = (0.0, 0.0);
    for &number in &draft.steps {
        let cost = program.step_cost(&program.steps()[number]);
        flops += cost.flops;
        bytes += cost.bytes;
    }
    match draft.work {
        Work::Custom(_) => return None,
        // Its steps run one by one, however many.
        Work::Control(..) | Work::Branch(_) => {}
        Work::Region(_) => {
            // What lies between its steps stays in the cache, and its operations are not those of products.
            let values = draft.reads.iter().map(|seen| seen.origin).chain(draft.writes.clone());
            bytes = values.map(|value| size(program.meta(value)) as f64).sum();
            flops *= ELEMENT / FLOP;
            if bytes >= MANY_BYTES {
                return None;
            }
        }
        Work::Primitive(_) => {
            if flops >= MANY_FLOPS || bytes >= MANY_BYTES {
                return None;
            }
        }
    }
    Some(f64::max(flops * FLOP, bytes * BYTE))
}

/// A branch as one unit.
fn joined(program: &Program, graph: &Units<'_>, mut drafts: Vec<Draft>, buffers: Pass) -> Draft {
    if drafts.len() == 1 {
        return drafts.remove(0);
    }
    let written: BTreeSet<Value> = drafts.iter().flat_map(|draft| draft.writes.clone()).collect();
    let mut inputs: Vec<Value> = Vec::new();
    for seen in drafts.iter().flat_map(|draft| &draft.reads) {
        let is_constant = graph.is_constant(seen.origin);
        if !written.contains(&seen.origin) && !is_constant && !inputs.contains(&seen.origin) {
            inputs.push(seen.origin);
        }
    }
    let outputs: Vec<Value> =
        written.into_iter().filter(|&value| graph.is_read_later(value)).collect();
    let mut steps: Vec<usize> = drafts.iter().flat_map(|draft| draft.steps.clone()).collect();
    steps.sort_unstable();
    let reads = inputs.iter().map(|&input| Seen::itself(input)).collect();
    let border = Border { inputs, outputs: outputs.clone() };
    let order = drafts.into_iter().map(|draft| vec![draft]).collect();
    let schedule = slots::placed(program, &border, order, buffers);
    Draft { work: Work::Branch(Box::new(schedule)), reads, writes: outputs, steps }
}

/// Units and what each waits for.
struct Units<'p> {
    program: &'p Program,
    drafts: Vec<Option<Draft>>,
    /// For each unit those that read its results, as often as they do.
    readers: Vec<Vec<usize>>,
    /// For each unit how many of its operands are not computed yet.
    missing: Vec<usize>,
    /// For each unit the number of its last step.
    lasts: Vec<usize>,
    /// What can run, the unit whose last step comes first on top.
    ready: BinaryHeap<Reverse<(usize, usize)>>,
}

impl<'p> Units<'p> {
    fn new(program: &'p Program, drafts: Vec<Draft>) -> Self {
        let mut writer: Vec<Option<usize>> = vec![None; program.values()];
        for (number, draft) in drafts.iter().enumerate() {
            draft.writes.iter().for_each(|value| writer[value.0] = Some(number));
        }
        let mut readers: Vec<Vec<usize>> = vec![Vec::new(); drafts.len()];
        let mut missing = vec![0_usize; drafts.len()];
        for (number, draft) in drafts.iter().enumerate() {
            for writer in draft.reads.iter().filter_map(|seen| writer[seen.origin.0]) {
                readers[writer].push(number);
                missing[number] += 1;
            }
        }
        let lasts: Vec<usize> = drafts
            .iter()
            .map(|draft| *draft.steps.last().expect("invariant: a unit has steps"))
            .collect();
        let is_ready = |number: &usize| missing[*number] == 0;
        let ready =
            (0..drafts.len()).filter(is_ready).map(|number| Reverse((lasts[number], number)));
        let ready = ready.collect();
        let drafts = drafts.into_iter().map(Some).collect();
        Self { program, drafts, readers, missing, lasts, ready }
    }

    /// The next unit, which is not ready any more but has not run.
    fn next(&mut self) -> Option<usize> {
        let next = self.ready.pop().map(|Reverse((_, number))| number);
        debug_assert!(
            next.is_some() || self.drafts.iter().all(Option::is_none),
            "units wait for each other in a circle"
        );
        next
    }

    /// A unit that runs now; what only waited for it is ready.
    fn take(&mut self, unit: usize) -> Draft {
        for place in 0..self.readers[unit].len() {
            let reader = self.readers[unit][place];
            self.missing[reader] -= 1;
            if self.missing[reader] == 0 {
                self.ready.push(Reverse((self.lasts[reader], reader)));
            }
        }
        self.drafts[unit].take().expect("invariant: a unit runs once")
    }

    /// The units that need a unit that can run, and nothing else that has not run, in order; as far as they are narrow.
    fn branch(&self, first: usize, times: &[Option<f64>]) -> Vec<usize> {
        if times[first].is_none() {
            return vec![first];
        }
        let mut missing: BTreeMap<usize, usize> = BTreeMap::new();
        let mut ready: BinaryHeap<Reverse<(usize, usize)>> =
            [Reverse((self.lasts[first], first))].into();
        let mut branch = Vec::new();
        while let Some(Reverse((_, unit))) = ready.pop() {
            branch.push(unit);
            for &reader in &self.readers[unit] {
                let left = missing.entry(reader).or_insert(self.missing[reader]);
                *left -= 1;
                if *left == 0 && times[reader].is_some() {
                    ready.push(Reverse((self.lasts[reader], reader)));
                }
            }
        }
        branch
    }

    fn is_constant(&self, value: Value) -> bool {
        let step = self.program.origin(value);
        step.is_some_and(|step| matches!(step.kind(), crate::StepKind::Constant(_)))
    }

    /// Whether a unit that has not run, or the caller, reads a value.
    fn is_read_later(&self, value: Value) -> bool {
        let mut later = self.drafts.iter().flatten();
        self.program.outputs().contains(&value)
            || later.any(|draft| draft.reads.iter().any(|seen| seen.origin == value))
    }
}
