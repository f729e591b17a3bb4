//! Where values lie: which slot a result goes to, which operand it is written over, and when each is given up.
//!
//! A slot holds one tensor at a time. Its memory is the engine's pool's: what is given up is what the next result is made
//! of. A result is written over an operand only by a step that reads the elements in the order in which it writes them,
//! and only over one that nobody reads later.

use smallvec::SmallVec;
use tenferro_ops::Meta;
use tenferro_tensor::{Indexing, Primitive, Tensor};

use super::{Border, Draft, Names, Output, Place, Read, Schedule, Stage, Unit, Work, seen::Seen};
use crate::{Pass, Program, StepKind, Value};

/// The fewest elements of a result that is written over an operand: smaller ones lie in the cache wherever they are.
const FEWEST: usize = 4096;

/// The schedule of units in order, of which those of one list run at once. Without buffer assignment every value has a slot
/// of its own, to the end.
pub(super) fn placed(
    program: &Program,
    border: &Border,
    order: Vec<Vec<Draft>>,
    buffers: Pass,
) -> Schedule {
    let mut values = Values::of(program, border, &order, buffers);
    let mut places = Places::of(program, border, &values);
    let mut viewed = Vec::new();
    let mut units = Vec::with_capacity(order.len());
    let mut stages: Vec<Stage> = Vec::new();
    for (number, drafts) in order.into_iter().enumerate() {
        values.now = number;
        match stages.last_mut() {
            _ if drafts.len() > 1 => stages.push(Stage::AtOnce(drafts.len())),
            Some(Stage::InOrder(count)) => *count += 1,
            _ => stages.push(Stage::InOrder(1)),
        }
        // What is given up within a stage is there until it ends, since its units run at once.
        let first = units.len();
        for draft in drafts {
            units.push(unit(program, &values, &mut places, draft));
        }
        for unit in &mut units[first..] {
            for read in &unit.reads {
                if let (Place::Argument(input), Some(_)) = (read.place, &read.shape)
                    && !viewed.contains(&input)
                {
                    viewed.push(input);
                }
            }
        }
        values.free(&mut units[first..], &mut places);
    }
    let last = last(border, &units, &stages);
    let outputs = &border.outputs;
    let output = |(number, value): (usize, &Value)| Output {
        place: places.of[value.0].expect("invariant: a result is an input or is written"),
        again: outputs[number + 1..].contains(value),
    };
    let outputs = outputs.iter().enumerate().map(output).collect();
    let unread = (0..border.inputs.len())
        .filter(|&input| buffers == Pass::On && !values.is_wanted(border.inputs[input]))
        .collect();
    let Places { slots, constants, .. } = places;
    Schedule { units, stages, slots, constants, outputs, last, viewed, unread }
}

/// The outputs that the results of the last units are.
fn last(border: &Border, units: &[Unit], stages: &[Stage]) -> Vec<SmallVec<[usize; 2]>> {
    let Some(&Stage::InOrder(count)) = stages.last() else { return Vec::new() };
    let mut last = Vec::new();
    let mut read: Vec<Value> = Vec::new();
    for unit in units.iter().rev().take(count) {
        let output = |value: &Value| {
            let mut places = (0..border.outputs.len()).filter(|&at| border.outputs[at] == *value);
            // A result that is asked for twice has two places.
            places.next().filter(|_| places.next().is_none() && !read.contains(value))
        };
        let is_written = matches!(unit.work, Work::Primitive(_) | Work::Region(_));
        let Some(outputs) = unit.names.writes.iter().map(output).collect() else { break };
        if !is_written {
            break;
        }
        last.push(outputs);
        read.extend(&unit.names.reads);
    }
    last.reverse();
    last
}

/// A unit with places for its results.
fn unit(program: &Program, values: &Values, places: &mut Places, draft: Draft) -> Unit {
    let mut reads: SmallVec<[Read; 4]> = draft
        .reads
        .iter()
        .map(|seen| Read {
            place: places.of[seen.origin.0]
                .expect("invariant: a value is written before it is read"),
            shape: seen.shape.clone(),
            given: false,
        })
        .collect();
    let mut writes: SmallVec<[Option<usize>; 2]> = SmallVec::from_elem(None, draft.writes.len());
    // Results that are written over operands first: they have no choice.
    for (result, slot) in overwritten(program, values, &draft, &mut reads) {
        if values.is_wanted(draft.writes[result]) {
            writes[result] = slot;
        }
    }
    for (&value, write) in draft.writes.iter().zip(&mut writes) {
        if values.is_wanted(value) {
            let slot = *write.get_or_insert_with(|| places.free_slot());
            places.of[value.0] = Some(Place::Slot(slot));
        }
    }
    let names =
        Names { reads: draft.reads.iter().map(|seen| seen.origin).collect(), writes: draft.writes };
    Unit {
        gives: reads.iter().any(|read| read.given),
        work: draft.work,
        reads,
        writes,
        frees: SmallVec::new(),
        steps: draft.steps,
        names,
    }
}

/// Who reads which value, and when.
struct Values {
    /// How often each value is read in the last stage that reads it.
    last: Vec<Option<(usize, usize)>>,
    is_output: Vec<bool>,
    buffers: Pass,
    /// The stage that is looked at.
    now: usize,
}

impl Values {
    fn of(program: &Program, border: &Border, order: &[Vec<Draft>], buffers: Pass) -> Self {
        let mut last: Vec<Option<(usize, usize)>> = vec![None; program.values()];
        for (number, drafts) in order.iter().enumerate() {
            for seen in drafts.iter().flat_map(|draft| &draft.reads) {
                let last = &mut last[seen.origin.0];
                let before = last.filter(|last| last.0 == number).map_or(0, |last| last.1);
                *last = Some((number, before + 1));
            }
        }
        let mut is_output = vec![false; program.values()];
        border.outputs.iter().for_each(|output| is_output[output.0] = true);
        Self { last, is_output, buffers, now: 0 }
    }

    fn is_wanted(&self, value: Value) -> bool {
        self.is_output[value.0] || self.last[value.0].is_some()
    }

    /// Whether nothing reads a value after this stage.
    fn is_last(&self, value: Value) -> bool {
        self.buffers == Pass::On
            && !self.is_output[value.0]
            && self.last[value.0].is_some_and(|last| last.0 == self.now)
    }

    /// Whether a value is read in one place of this stage, and not after it.
    fn is_only(&self, value: Value) -> bool {
        self.is_last(value) && self.last[value.0].is_some_and(|last| last.1 == 1)
    }

    /// Gives up what the units of this stage have read for the last time.
    fn free(&self, units: &mut [Unit], places: &mut Places) {
        let taken: Vec<usize> =
            units.iter().flat_map(|unit| unit.writes.iter().flatten().copied()).collect();
        for unit in units {
            for (&value, read) in unit.names.reads.iter().zip(&unit.reads) {
                if !self.is_last(value) || matches!(read.place, Place::Constant(_)) {
                    continue;
                }
                if let Place::Slot(slot) = read.place {
                    if taken.contains(&slot) || places.free.contains(&slot) {
                        continue;
                    }
                    places.free.push(slot);
                }
                if !read.given && !unit.frees.contains(&read.place) {
                    unit.frees.push(read.place);
                }
            }
        }
    }
}

/// Gives operands away that results can be written over: the results' places, and the slots that they take over. One over
/// an input takes none.
fn overwritten(
    program: &Program,
    values: &Values,
    draft: &Draft,
    reads: &mut [Read],
) -> SmallVec<[(usize, Option<usize>); 2]> {
    let mut taken = SmallVec::new();
    // A constant is the program's, and what is read under other extents is no tensor of its own.
    let can_give = |read: &Read, value: Value| {
        !matches!(read.place, Place::Constant(_))
            && read.shape.is_none()
            && !read.given
            && values.is_only(value)
    };
    let mut candidates = reads.len();
    match draft.work {
        Work::Region(_) | Work::Primitive(Primitive::Elementwise(_) | Primitive::Analytic(_)) => {}
        // Updates are placed into the first operand's own memory.
        Work::Primitive(Primitive::Indexing(Indexing::Scatter { .. })) => candidates = 1,
        Work::Control(..) | Work::Branch(_) => {
            // Its units judge by themselves what they write over.
            for (read, seen) in reads.iter_mut().zip(&draft.reads) {
                read.given = can_give(read, seen.origin);
            }
            return taken;
        }
        _ => return taken,
    }
    for (result, &value) in draft.writes.iter().enumerate() {
        let meta: &Meta = program.meta(value);
        if meta.shape.elements() < FEWEST {
            continue;
        }
        let fits = |(read, seen): (&Read, &Seen)| {
            can_give(read, seen.origin) && program.meta(seen.origin) == meta
        };
        if let Some(place) = reads.iter().zip(&draft.reads).take(candidates).position(fits) {
            reads[place].given = true;
            let slot = match reads[place].place {
                Place::Slot(slot) => Some(slot),
                Place::Argument(_) | Place::Constant(_) => None,
            };
            taken.push((result, slot));
        }
    }
    taken
}

/// The places of values so far.
struct Places {
    of: Vec<Option<Place>>,
    constants: Vec<Tensor>,
    slots: usize,
    free: Vec<usize>,
}

impl Places {
    fn of(program: &Program, border: &Border, values: &Values) -> Self {
        let mut of: Vec<Option<Place>> = vec![None; program.values()];
        for (number, input) in border.inputs.iter().enumerate() {
            of[input.0] = Some(Place::Argument(number));
        }
        let mut constants = Vec::new();
        for step in program.steps() {
            if let StepKind::Constant(tensor) = step.kind()
                && values.is_wanted(step.first)
            {
                of[step.first.0] = Some(Place::Constant(constants.len()));
                constants.push(tensor.clone());
            }
        }
        Self { of, constants, slots: 0, free: Vec::new() }
    }

    fn free_slot(&mut self) -> usize {
        self.free.pop().unwrap_or_else(|| {
            self.slots += 1;
            self.slots - 1
        })
    }
}
