//! How a region is run: the loop of each step, and which register or result each value is written to.
//!
//! Made once a region and kept with it. A register is never an operand of the step that writes it: loops may assume
//! that their output overlaps nothing they read.

use tenferro_ops::{Region, RegionPlace, RegionResult};
use tenferro_tensor::{Elementwise, Primitive, Reduction, Result};

use crate::kernel::{function::Kernel, reduce, stream::CHUNK};

/// What the registers of a chunk and the copies of operands should fit in: half of a first-level cache.
const CACHE: usize = 16 << 10;
/// The fewest elements of a chunk; a multiple of the blocks of vectorised functions.
const FEWEST: usize = 64;
/// Registers start at different lines of the cache's sets.
const STAGGER: usize = 64;

/// A slot: operands first, then results that are written as a whole, what is reduced, and the registers.
pub(super) type Slot = u16;

/// A step with its loop.
pub(super) struct PlannedStep {
    pub(super) kernel: Kernel,
    pub(super) from: [Slot; 3],
    pub(super) to: Slot,
    name: &'static str,
}

/// How a region is run.
pub(crate) struct Plan {
    pub(super) steps: Vec<PlannedStep>,
    inputs: usize,
    wholes: usize,
    /// The sizes of the elements of operands and registers.
    input_sizes: Vec<usize>,
    registers: Vec<usize>,
    /// The value that is reduced, its slot, and the size of its elements.
    reduced: Option<(RegionPlace, Slot, usize)>,
    /// The operand whose square is summed, if the region does nothing else.
    square: Option<usize>,
    cost: usize,
}

impl Plan {
    /// The plan of a region.
    pub(crate) fn new(region: &Region) -> Self {
        let inputs = region.inputs().len();
        let wholes = region
            .results()
            .iter()
            .filter(|result| matches!(result, RegionResult::Value(_)))
            .count();
        let mut plan = Self {
            steps: Vec::with_capacity(region.steps().len()),
            inputs,
            wholes,
            input_sizes: region.inputs().iter().map(|meta| meta.dtype.size()).collect(),
            registers: Vec::new(),
            reduced: None,
            square: square(region),
            cost: region.inputs().iter().map(|meta| meta.dtype.size()).sum(),
        };
        let fixed = plan.place_results(region);
        let last_uses = last_uses(region);
        let first = inputs + wholes + 1;
        let mut slots: Vec<Slot> = (0..inputs).map(narrow).collect();
        let mut free: Vec<usize> = Vec::new();
        for (number, step) in region.steps().iter().enumerate() {
            let value = inputs + number;
            let meta = region.meta(narrow(value));
            let to = match fixed[number] {
                Some(slot) => slot,
                None => narrow(first + plan.register(&mut free, meta.dtype.size())),
            };
            let mut from = [0; 3];
            for (from, &operand) in from.iter_mut().zip(&step.operands) {
                *from = slots[usize::from(operand)];
            }
            slots.push(to);
            for &operand in &step.operands {
                let operand = usize::from(operand);
                if operand >= inputs && last_uses[operand - inputs] == Some(number) {
                    let slot = usize::from(slots[operand]);
                    if slot >= first && !free.contains(&(slot - first)) {
                        free.push(slot - first);
                    }
                }
            }
            if last_uses[number].is_none() && usize::from(to) >= first {
                free.push(usize::from(to) - first);
            }
            // The branches of a select say its dtype, not the predicate.
            let judged = step.operands.last().map(|&place| region.meta(place).dtype);
            let judged = judged.expect("invariant: an elementwise row has operands");
            let mut kernel = Kernel::empty();
            let found = match &step.primitive {
                Primitive::Elementwise(row) => kernel.elementwise(row, judged),
                Primitive::Analytic(row) => kernel.analytic(row, judged),
                _ => unreachable!("invariant: the steps of a region are elementwise"),
            };
            found.expect("invariant: the rules have accepted the step");
            plan.cost += kernel.extra_cost;
            plan.steps.push(PlannedStep { kernel, from, to, name: step.primitive.name() });
        }
        plan
    }

    /// The slots of values that leave the region.
    fn place_results(&mut self, region: &Region) -> Vec<Option<Slot>> {
        let mut fixed = vec![None; region.steps().len()];
        let mut next = self.inputs;
        for result in region.results() {
            if let RegionResult::Value(place) = result {
                fixed[usize::from(*place) - self.inputs] = Some(narrow(next));
                self.cost += region.meta(*place).dtype.size();
                next += 1;
            }
        }
        for result in region.results() {
            if let RegionResult::Reduced(place, _) = result {
                let slot = &mut fixed[usize::from(*place) - self.inputs];
                let slot = *slot.get_or_insert(narrow(self.inputs + self.wholes));
                self.reduced = Some((*place, slot, region.meta(*place).dtype.size()));
            }
        }
        fixed
    }

    /// A free register for elements of a size, or a new one.
    fn register(&mut self, free: &mut Vec<usize>, size: usize) -> usize {
        match free.iter().rposition(|&register| self.registers[register] == size) {
            Some(place) => free.swap_remove(place),
            None => {
                self.registers.push(size);
                self.registers.len() - 1
            }
        }
    }

    fn element_bytes(&self) -> usize {
        self.registers.iter().chain(&self.input_sizes).sum()
    }

    /// How many elements make a chunk.
    pub(super) fn chunk(&self, elements: usize) -> usize {
        let most = CACHE / self.element_bytes().max(1);
        (most.clamp(FEWEST, CHUNK) / FEWEST * FEWEST).min(elements.max(1))
    }

    pub(super) fn slots(&self) -> usize {
        self.inputs + self.wholes + 1 + self.registers.len()
    }

    /// The slot of the first result.
    pub(super) fn first_whole(&self) -> usize {
        self.inputs
    }

    /// The slot that is fed to a reduction, unless the value is a result as well.
    pub(super) fn feed(&self) -> usize {
        self.inputs + self.wholes
    }

    /// The slot of the value that is reduced.
    pub(super) fn reduced_slot(&self) -> Option<usize> {
        self.reduced.map(|reduced| usize::from(reduced.1))
    }

    pub(super) fn reduced_place(&self) -> Option<RegionPlace> {
        self.reduced.map(|reduced| reduced.0)
    }

    /// The size of an element of the value that is reduced.
    pub(super) fn feed_size(&self) -> usize {
        self.reduced.map_or(0, |reduced| reduced.2)
    }

    /// The result that is what is reduced, if there is one.
    pub(super) fn reduced_whole(&self) -> Option<usize> {
        let slot = self.reduced_slot()?;
        (slot != self.feed()).then(|| slot - self.first_whole())
    }

    /// About the memory that a thread needs beside operands and results.
    pub(super) fn scratch_bytes(&self) -> usize {
        self.element_bytes() * CHUNK + self.feed_size() * reduce::BLOCK
    }

    pub(super) fn square(&self) -> Option<usize> {
        self.square
    }

    /// What an element costs, in bytes moved in the same time.
    pub(crate) fn cost(&self) -> usize {
        self.cost
    }

    /// The sizes of the elements of the registers.
    pub(super) fn registers(&self) -> &[usize] {
        &self.registers
    }

    pub(super) fn input_size(&self, input: usize) -> usize {
        self.input_sizes[input]
    }

    /// The error of the first step that had no value somewhere, as the step alone would give it; none if there is no such
    /// step.
    pub(crate) fn failure(&self, step: Option<usize>) -> Result<()> {
        let failure = step
            .and_then(|step| self.steps.get(step))
            .and_then(|step| Some((step.kernel.check?, step.name)));
        failure.map_or(Ok(()), |(check, name)| Err(check.failure.of(name)))
    }
}

/// The start of the next register of so many bytes, aligned to a cache line.
pub(super) fn advanced(end: &mut usize, bytes: usize) -> usize {
    let start = *end;
    *end = start + bytes.next_multiple_of(64) + STAGGER;
    start
}

/// For each step's value the last step that reads it; `None` if none does.
fn last_uses(region: &Region) -> Vec<Option<usize>> {
    let inputs = region.inputs().len();
    let mut last_uses = vec![None; region.steps().len()];
    for (number, step) in region.steps().iter().enumerate() {
        for &operand in &step.operands {
            if let Some(value) = usize::from(operand).checked_sub(inputs) {
                last_uses[value] = Some(number);
            }
        }
    }
    last_uses
}

/// The operand whose square a region sums, if that is all it does and squaring rounds as the sum's own squaring does.
fn square(region: &Region) -> Option<usize> {
    let ([step], [RegionResult::Reduced(_, Reduction::Sum { .. })]) =
        (region.steps(), region.results())
    else {
        return None;
    };
    let (Primitive::Elementwise(Elementwise::Mul), &[lhs, rhs]) =
        (&step.primitive, &step.operands[..])
    else {
        return None;
    };
    let meta = region.meta(lhs);
    let is_plain = !meta.dtype.is_complex() && (!meta.dtype.is_inexact() || meta.dtype.size() >= 4);
    (lhs == rhs && is_plain && meta.shape == *region.shape()).then_some(usize::from(lhs))
}

fn narrow(place: usize) -> Slot {
    Slot::try_from(place).expect("invariant: a region has few values, and a slot is a value's")
}
