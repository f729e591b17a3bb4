//! The derivative of control flow in reverse: the known part keeps what the linear part needs, and that is turned around.
//!
//! A body is split and turned around as a program is, so that no rule is said again here; what remains is which values go
//! where. The linear part of a choice is a choice, that of a scan a scan over what each turn kept, whose transpose runs
//! the other way.

use smallvec::SmallVec;
use tenferro_ops::{Builder, Meta};
use tenferro_tensor::{Direction, Elementwise, Error};

use super::{
    moving::{control_results, only, settled},
    split::{Residual, Split, transposed},
    tape::{Edge, LinearStep, Tangent, Tangents, Tape},
    zeros,
};
use crate::{
    Control, Program, Result, Spec, StepKind, Value,
    recording::{Recording, Results},
};

/// Records control flow, some of whose operands move; its results and their tangents.
pub(super) fn follow(
    tape: &mut Tape<'_>,
    control: &Control,
    operands: &[Value],
    tangents: &[Option<Tangent>],
) -> Result<(Results, Tangents)> {
    let moving: Vec<bool> = tangents.iter().map(Option::is_some).collect();
    let moved = control_results(control, &moving);
    match control {
        Control::Call { body } => {
            let split = Split::of(body, &moving, &moved)?;
            let control = Control::Call { body: split.known.clone() };
            let all = known_step(tape, control, operands);
            let (results, computed) = all.split_at(body.outputs().len());
            let mut edges: Vec<Edge> = split
                .residuals
                .iter()
                .map(|residual| match residual {
                    Residual::Input(input) => Edge::Known(operands[*input]),
                    Residual::Computed(number) => Edge::Known(computed[*number]),
                })
                .collect();
            edges.extend(tangents.iter().flatten().map(|tangent| Edge::Linear(*tangent)));
            let linear = Control::Call { body: split.linear };
            Ok((results.into(), linear_step(tape, linear, &edges, &moved)))
        }
        Control::Cond { on_true, on_false } => {
            let splits = [
                Split::of(on_true, &moving[1..], &moved)?,
                Split::of(on_false, &moving[1..], &moved)?,
            ];
            follow_cond(tape, splits, operands, tangents, &moved)
        }
        Control::WhileLoop { .. } => {
            let reason = "a loop whose turns nobody counted has no derivative in reverse, since what each turn needs cannot be kept; use `Scan`, or `jvp`";
            Err(Error::Unsupported { op: control.name(), reason: reason.into() }.into())
        }
        Control::Scan { .. } => follow_scan(tape, control, operands, tangents),
    }
}

/// Records control flow that was made of a step that fits.
fn known_step(tape: &mut Tape<'_>, control: Control, operands: &[Value]) -> Results {
    tape.recording.control(control, operands).expect("invariant: it is made of a step that fits")
}

/// A linear step whose results are the tangents of those that moved.
fn linear_step(tape: &mut Tape<'_>, control: Control, edges: &[Edge], moved: &[bool]) -> Tangents {
    let metas: Vec<Meta> = edges.iter().map(|edge| tape.meta(edge)).collect();
    let metas = control.infer(&metas).expect("invariant: tangents are like values");
    let mut results = tape.linear(StepKind::Control(control), edges, metas).into_iter();
    moved.iter().map(|moves| if *moves { results.next().flatten() } else { None }).collect()
}

/// Each branch keeps what it needs in slots, which branches share where dtypes and shapes agree; zeros fill the others.
fn follow_cond(
    tape: &mut Tape<'_>,
    splits: [Split; 2],
    operands: &[Value],
    tangents: &[Option<Tangent>],
    moved: &[bool],
) -> Result<(Results, Tangents)> {
    let results = moved.len();
    // Of each slot what it holds, and for each branch the residual that it keeps there.
    let mut slots: Vec<(Meta, [Option<usize>; 2])> = Vec::new();
    for (branch, split) in splits.iter().enumerate() {
        for (number, output) in split.known.outputs()[results..].iter().enumerate() {
            let meta = split.known.meta(*output);
            let free = slots.iter_mut().find(|(held, kept)| held == meta && kept[branch].is_none());
            match free {
                Some((_, kept)) => kept[branch] = Some(number),
                None => {
                    let mut kept = [None; 2];
                    kept[branch] = Some(number);
                    slots.push((meta.clone(), kept));
                }
            }
        }
    }
    let mut known = Vec::new();
    for (branch, split) in splits.iter().enumerate() {
        let mut recording = Recording::new(split.known.inputs().to_vec());
        let inputs = recording.inputs();
        let all = recording.inline(&split.known, &inputs);
        let mut outputs = all[..results].to_vec();
        for (meta, kept) in &slots {
            outputs.push(match kept[branch] {
                Some(number) => all[results + number],
                None => zeros(&mut recording, meta)?,
            });
        }
        known.push(recording.finish(outputs));
    }
    // The linear branches have the inputs that one of them needs, the slots, and the tangents.
    let mut inputs: Vec<usize> = splits
        .iter()
        .flat_map(|split| &split.residuals)
        .filter_map(|residual| match residual {
            Residual::Input(input) => Some(*input),
            Residual::Computed(_) => None,
        })
        .collect();
    inputs.sort_unstable();
    inputs.dedup();
    let given: Vec<Tangent> = tangents.iter().copied().flatten().collect();
    let mut specs: Vec<Spec> =
        inputs.iter().map(|&input| splits[0].known.inputs()[input].clone()).collect();
    specs.extend(slots.iter().map(|(meta, _)| Spec::of(meta)));
    specs.extend(given.iter().map(|tangent| Spec::of(tape.meta_of(*tangent))));
    let mut linear = Vec::new();
    for (branch, split) in splits.iter().enumerate() {
        let mut recording = Recording::new(specs.clone());
        let all = recording.inputs();
        let mut values: Vec<Value> = Vec::new();
        for residual in &split.residuals {
            let place = match residual {
                Residual::Input(input) => inputs.binary_search(input).ok(),
                Residual::Computed(number) => slots
                    .iter()
                    .position(|(_, kept)| kept[branch] == Some(*number))
                    .map(|slot| inputs.len() + slot),
            };
            values.push(all[place.expect("invariant: every residual has a place")]);
        }
        values.extend_from_slice(&all[inputs.len() + slots.len()..]);
        let outputs = recording.inline(&split.linear, &values);
        linear.push(recording.finish(outputs));
    }
    let pair = |mut branches: Vec<Program>| {
        let on_false = branches.pop().expect("invariant: there are two");
        let on_true = branches.pop().expect("invariant: there are two");
        Control::Cond { on_true, on_false }
    };
    let all = known_step(tape, pair(known), operands);
    let mut edges = vec![Edge::Known(operands[0])];
    edges.extend(inputs.iter().map(|input| Edge::Known(operands[1 + input])));
    edges.extend(all[results..].iter().map(|value| Edge::Known(*value)));
    edges.extend(given.iter().map(|tangent| Edge::Linear(*tangent)));
    Ok((all[..results].into(), linear_step(tape, pair(linear), &edges, moved)))
}

/// What a turn computes and the derivative needs is stacked; sequences and constants are there already.
fn follow_scan(
    tape: &mut Tape<'_>,
    control: &Control,
    operands: &[Value],
    tangents: &[Option<Tangent>],
) -> Result<(Results, Tangents)> {
    let Control::Scan { body, carries, sequences, length, direction } = control else {
        unreachable!("invariant: it was asked for a scan")
    };
    let (n, m, length, direction) = (*carries, *sequences, *length, *direction);
    let first: Vec<bool> = tangents.iter().map(Option::is_some).collect();
    let (moving, moved) = settled(body, n, &first);
    let mut split = Split::of(body, &moving, &moved)?;
    // A state is not there afterwards: what is needed of it is stacked as well.
    let mut outputs = split.known.outputs().to_vec();
    for residual in &mut split.residuals {
        if let Residual::Input(input) = *residual
            && input < n
        {
            outputs.push(Value(input));
            *residual = Residual::Computed(outputs.len() - 1 - moved.len());
        }
    }
    let known = split.known.with_outputs(outputs);
    let scan = |body: Program, carries: usize, sequences: usize| Control::Scan {
        body,
        carries,
        sequences,
        length,
        direction,
    };
    let all = known_step(tape, scan(known, n, m), operands);
    let (results, stacks) = all.split_at(moved.len());

    // The linear body's inputs are residuals, then tangents; a scan wants states, sequences, constants.
    let mut groups: [Vec<(usize, Edge)>; 3] = Default::default();
    for (place, residual) in split.residuals.iter().enumerate() {
        let (group, value) = match residual {
            Residual::Input(input) => (if *input < n + m { 1 } else { 2 }, operands[*input]),
            Residual::Computed(number) => (1, stacks[*number]),
        };
        groups[group].push((place, Edge::Known(value)));
    }
    let mut place = split.residuals.len();
    for (input, moves) in moving.iter().enumerate() {
        if !moves {
            continue;
        }
        let group = usize::from(input >= n) + usize::from(input >= n + m);
        let edge = match tangents[input] {
            Some(tangent) => Edge::Linear(tangent),
            None => {
                let meta = tape.recording.meta(&operands[input]);
                Edge::Known(zeros(tape.recording, &meta)?)
            }
        };
        groups[group].push((place, edge));
        place += 1;
    }
    let (carries, sequences) = (groups[0].len(), groups[1].len());
    let (places, edges): (Vec<usize>, Vec<Edge>) = groups.into_iter().flatten().unzip();
    let linear = split.linear.with_inputs(&places, None);
    let linear = scan(linear, carries, sequences);
    Ok((results.into(), linear_step(tape, linear, &edges, &moved)))
}

/// The cotangents of a linear step's operands, from those that its results have.
pub(super) fn transpose(
    recording: &mut Recording,
    control: &Control,
    step: &LinearStep,
    cotangents: &[Option<Value>],
) -> Result<SmallVec<[Option<Value>; 3]>> {
    let mut given = Vec::with_capacity(cotangents.len());
    for (cotangent, meta) in cotangents.iter().zip(&step.metas) {
        given.push(match cotangent {
            Some(cotangent) => *cotangent,
            None => zeros(recording, meta)?,
        });
    }
    let linear: Vec<bool> = step.operands.iter().map(|edge| edge.linear().is_some()).collect();
    let known: Vec<Value> = step.operands.iter().filter_map(Edge::known).collect();
    let results = match control {
        Control::Call { body } => {
            let control = Control::Call { body: transposed(body, &linear)? };
            turned(recording, control, &[&known[..], &given].concat())
        }
        Control::Cond { on_true, on_false } => {
            let control = Control::Cond {
                on_true: transposed(on_true, &linear[1..])?,
                on_false: transposed(on_false, &linear[1..])?,
            };
            turned(recording, control, &[&known[..], &given].concat())
        }
        Control::Scan { body, carries, sequences, length, direction } => {
            let shape = Turns {
                carries: *carries,
                sequences: *sequences,
                length: *length,
                direction: *direction,
            };
            return transpose_scan(recording, body, &shape, step, &given);
        }
        Control::WhileLoop { .. } => {
            unreachable!("invariant: a loop without a known end is never part of a tape")
        }
    };
    let mut results = results.into_iter();
    Ok(linear.iter().map(|linear| if *linear { results.next() } else { None }).collect())
}

fn turned(recording: &mut Recording, control: Control, operands: &[Value]) -> Results {
    recording.control(control, operands).expect("invariant: cotangents are like tangents")
}

/// How a scan runs.
struct Turns {
    carries: usize,
    sequences: usize,
    length: usize,
    direction: Direction,
}

/// A scan the other way, which carries the cotangents of the state and sums those of the constants.
fn transpose_scan(
    recording: &mut Recording,
    body: &Program,
    turns: &Turns,
    step: &LinearStep,
    cotangents: &[Value],
) -> Result<SmallVec<[Option<Value>; 3]>> {
    let (n, m) = (turns.carries, turns.sequences);
    // A state that starts as known zeros is linear all the same.
    let linear: Vec<bool> = step
        .operands
        .iter()
        .enumerate()
        .map(|(place, edge)| place < n || edge.linear().is_some())
        .collect();
    let inner = transposed(body, &linear)?;
    let known = |range: std::ops::Range<usize>| -> Vec<Value> {
        step.operands[range].iter().filter_map(Edge::known).collect()
    };
    let (sequences, constants) = (known(n..n + m), known(n + m..step.operands.len()));
    let summed: Vec<Meta> =
        only(&body.inputs()[n + m..], &linear[n + m..]).map(|spec| spec.meta().clone()).collect();
    let (sums, stacks) = (summed.len(), cotangents.len() - n);

    // `inner` has known elements, known constants, cotangents of the state and of what was stacked; and gives cotangents
    // of the state, of elements, of constants.
    let (k, c) = (sequences.len(), constants.len());
    let specs = inner.inputs();
    let (elements, rest) = specs.split_at(k);
    let (fixed, rest) = rest.split_at(c);
    let (state, outer) = rest.split_at(n);
    let sum_specs: Vec<Spec> = summed.iter().map(Spec::of).collect();
    let mut turn = Recording::new([state, &sum_specs, elements, outer, fixed].concat());
    let inputs = turn.inputs();
    let (state, rest) = inputs.split_at(n);
    let (so_far, rest) = rest.split_at(sums);
    let (elements, rest) = rest.split_at(k);
    let (outer, fixed) = rest.split_at(stacks);
    let passed = turn.inline(&inner, &[elements, fixed, state, outer].concat());
    let moving_elements = passed.len() - n - sums;
    let mut outputs = passed[..n].to_vec();
    for (so_far, more) in so_far.iter().zip(&passed[n + moving_elements..]) {
        outputs.push(turn.emit(Elementwise::Add.into(), &[so_far, more])?);
    }
    outputs.extend_from_slice(&passed[n..n + moving_elements]);
    let control = Control::Scan {
        body: turn.finish(outputs),
        carries: n + sums,
        sequences: k + stacks,
        length: turns.length,
        direction: match turns.direction {
            Direction::Forward => Direction::Reverse,
            Direction::Reverse => Direction::Forward,
        },
    };
    let mut operands = cotangents[..n].to_vec();
    for meta in &summed {
        operands.push(zeros(recording, meta)?);
    }
    operands.extend_from_slice(&sequences);
    operands.extend_from_slice(&cotangents[n..]);
    operands.extend_from_slice(&constants);
    let results = turned(recording, control, &operands);
    let (state, rest) = results.split_at(n);
    let (sums, elements) = rest.split_at(sums);
    let mut passed = [state, elements, sums].concat().into_iter();
    Ok(linear.iter().map(|linear| if *linear { passed.next() } else { None }).collect())
}
