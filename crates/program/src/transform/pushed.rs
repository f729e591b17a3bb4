//! Forward mode: programs that carry tangents along with values.

use smallvec::SmallVec;
use tenferro_ops::{Builder, derivative::Point};

use super::{
    moving::{control_results, moving_outputs, only, settled},
    tape::jvp,
    zeros,
};
use crate::{
    Control, Program, Result, Spec, Step, StepKind, Value,
    recording::{Recording, Results},
};

/// The program that computes the results, then the tangents of the `forced` ones.
///
/// Its inputs are those of the program, then a tangent for each of them that moves.
pub(super) fn pushed(program: &Program, moving: &[bool], forced: &[bool]) -> Result<Program> {
    let mut specs = program.inputs().to_vec();
    specs.extend(only(program.inputs(), moving).map(|spec| Spec::of(spec.meta())));
    let mut recording = Recording::new(specs);
    let inputs = recording.inputs();
    let (inputs, mut tangents_in) = (&inputs[..moving.len()], inputs[moving.len()..].iter());
    let mut values = inputs.to_vec();
    let mut tangents: Vec<Option<Value>> = moving
        .iter()
        .map(|moves| moves.then(|| *tangents_in.next().expect("invariant: one a moving input")))
        .collect();
    for step in program.steps() {
        let operands: SmallVec<[Value; 3]> = step.operands().iter().map(|x| values[x.0]).collect();
        let moved: SmallVec<[Option<Value>; 3]> =
            step.operands().iter().map(|x| tangents[x.0]).collect();
        let (results, moved) = push_step(&mut recording, step, &operands, &moved)?;
        values.extend(results);
        tangents.extend(moved);
    }
    let mut outputs: Vec<Value> = program.outputs().iter().map(|x| values[x.0]).collect();
    for output in only(program.outputs(), forced) {
        outputs.push(match tangents[output.0] {
            Some(tangent) => tangent,
            None => zeros(&mut recording, program.meta(*output))?,
        });
    }
    Ok(recording.finish(outputs))
}

type Tangents = SmallVec<[Option<Value>; 1]>;

/// Records a step and its tangent.
fn push_step(
    recording: &mut Recording,
    step: &Step,
    operands: &[Value],
    moved: &[Option<Value>],
) -> Result<(Results, Tangents)> {
    if moved.iter().all(Option::is_none) {
        let results = recording.repeat(step, operands);
        let still = results.iter().map(|_| None).collect();
        return Ok((results, still));
    }
    match step.kind() {
        StepKind::Control(control) => push_control(recording, control, operands, moved),
        StepKind::Primitive(_) | StepKind::Custom(_) => {
            let results = recording.repeat(step, operands);
            let moved: SmallVec<[Option<&Value>; 3]> = moved.iter().map(Option::as_ref).collect();
            let inputs: SmallVec<[&Value; 3]> = operands.iter().collect();
            let point = Point { inputs: &inputs, output: &results[0], tangents: &moved };
            let tangent = jvp(recording, step, &point)?;
            Ok((results, Tangents::from_elem(tangent, 1)))
        }
        StepKind::Constant(_) => unreachable!("invariant: a constant has no operands that move"),
    }
}

/// Records control flow whose bodies carry tangents.
fn push_control(
    recording: &mut Recording,
    control: &Control,
    operands: &[Value],
    tangents: &[Option<Value>],
) -> Result<(Results, Tangents)> {
    let moving: Vec<bool> = tangents.iter().map(Option::is_some).collect();
    let given: Vec<Value> = tangents.iter().copied().flatten().collect();
    let (control, operands, moved) = match control {
        Control::Call { body } => {
            let moved = moving_outputs(body, &moving);
            let body = pushed(body, &moving, &moved)?;
            (Control::Call { body }, [operands, &given].concat(), moved)
        }
        Control::Cond { on_true, on_false } => {
            let moved = control_results(control, &moving);
            let [on_true, on_false] =
                [on_true, on_false].map(|branch| pushed(branch, &moving[1..], &moved));
            let control = Control::Cond { on_true: on_true?, on_false: on_false? };
            (control, [operands, &given].concat(), moved)
        }
        Control::WhileLoop { condition, body, carries } => {
            let n = *carries;
            let (moving, moved) = settled(body, n, &moving);
            let given = started(recording, operands, tangents, &moving)?;
            let order = Order::new(&moving, &[n]);
            let body = pushed(body, &moving, &moved)?.with_inputs(&order.places(), None);
            let condition = ignoring(condition, &moving).with_inputs(&order.places(), None);
            let carries = n + only(&moving[..n], &moving[..n]).count();
            (Control::WhileLoop { condition, body, carries }, order.merged(operands, &given), moved)
        }
        Control::Scan { body, carries, sequences, length, direction } => {
            let (n, m) = (*carries, *sequences);
            let (moving, moved) = settled(body, n, &moving);
            let given = started(recording, operands, tangents, &moving)?;
            let order = Order::new(&moving, &[n, m]);
            let results = Order::new(&moved, &[n]);
            let body = pushed(body, &moving, &moved)?
                .with_inputs(&order.places(), Some(&results.places()));
            let count = |range: &[bool]| range.iter().filter(|&&moves| moves).count();
            let control = Control::Scan {
                body,
                carries: n + count(&moving[..n]),
                sequences: m + count(&moving[n..n + m]),
                length: *length,
                direction: *direction,
            };
            let results_of = recording
                .control(control, &order.merged(operands, &given))
                .expect("invariant: tangents are like values");
            return Ok(results.parted(&results_of));
        }
    };
    let results =
        recording.control(control, &operands).expect("invariant: tangents are like values");
    Ok(Order::new(&moved, &[moved.len()]).parted(&results))
}

/// The program with inputs for tangents, which it does not read.
fn ignoring(program: &Program, moving: &[bool]) -> Program {
    let mut specs = program.inputs().to_vec();
    specs.extend(only(program.inputs(), moving).map(|spec| Spec::of(spec.meta())));
    let mut recording = Recording::new(specs);
    let inputs = recording.inputs();
    let outputs = recording.inline(program, &inputs[..moving.len()]);
    recording.finish(outputs)
}

/// The tangents of those operands that move in some turn of a loop: zeros for what does not move at first.
fn started(
    recording: &mut Recording,
    operands: &[Value],
    tangents: &[Option<Value>],
    moving: &[bool],
) -> Result<Vec<Value>> {
    let pairs: Vec<(Value, Option<Value>)> =
        operands.iter().copied().zip(tangents.iter().copied()).collect();
    only(&pairs, moving)
        .map(|(operand, tangent)| match tangent {
            Some(tangent) => Ok(*tangent),
            None => {
                let meta = recording.meta(operand);
                zeros(recording, &meta)
            }
        })
        .collect()
}

/// Values in groups, each followed by the tangents of its members that move.
struct Order {
    moving: Vec<bool>,
    /// Where groups end; the last ends with the values.
    ends: Vec<usize>,
}

impl Order {
    fn new(moving: &[bool], ends: &[usize]) -> Self {
        let mut sum = 0;
        let mut ends: Vec<usize> = ends
            .iter()
            .map(|count| {
                sum += count;
                sum
            })
            .collect();
        if sum < moving.len() {
            ends.push(moving.len());
        }
        Self { moving: moving.to_vec(), ends }
    }

    /// For each place of this order, the place in the order of all values, then all tangents.
    fn places(&self) -> Vec<usize> {
        let mut places = Vec::new();
        let (mut start, mut tangents) = (0, self.moving.len());
        for &end in &self.ends {
            places.extend(start..end);
            let moving = self.moving[start..end].iter().filter(|&&moves| moves).count();
            places.extend(tangents..tangents + moving);
            tangents += moving;
            start = end;
        }
        places
    }

    fn merged(&self, values: &[Value], tangents: &[Value]) -> Vec<Value> {
        let all = [values, tangents].concat();
        self.places().into_iter().map(|place| all[place]).collect()
    }

    /// Values and tangents out of this order.
    fn parted(&self, all: &[Value]) -> (Results, Tangents) {
        let mut back = vec![None; all.len()];
        for (value, place) in all.iter().zip(self.places()) {
            back[place] = Some(*value);
        }
        let mut back = back.into_iter().map(|value| value.expect("invariant: a permutation"));
        let values: Results = back.by_ref().take(self.moving.len()).collect();
        let tangents = self
            .moving
            .iter()
            .map(|moves| moves.then(|| back.next().expect("invariant: one a moving value")))
            .collect();
        (values, tangents)
    }
}

impl Program {
    /// The program with its inputs, and its results, in another order: for each place, the place it had before.
    pub(super) fn with_inputs(&self, inputs: &[usize], outputs: Option<&[usize]>) -> Program {
        let specs = inputs.iter().map(|&place| self.inputs()[place].clone()).collect();
        let mut recording = Recording::new(specs);
        let mut values = recording.inputs();
        for (place, &before) in inputs.iter().enumerate() {
            values[before] = Value(place);
        }
        let results = recording.inline(self, &values);
        let results = match outputs {
            Some(outputs) => outputs.iter().map(|&place| results[place]).collect(),
            None => results,
        };
        recording.finish(results)
    }
}
