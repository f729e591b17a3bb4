//! Leaves out steps that no result needs.

use crate::{Program, Result, Value, recording::Recording};

pub(super) fn run(program: &Program) -> Result<Program> {
    let first = program.inputs().len();
    let mut needed = vec![false; first + program.steps().len()];
    for output in program.outputs() {
        needed[output.0] = true;
    }
    for (place, step) in program.steps().iter().enumerate().rev() {
        if needed[first + place] {
            step.operands().iter().for_each(|operand| needed[operand.0] = true);
        }
    }
    let mut recording = Recording::new(program.inputs().to_vec());
    let mut values: Vec<Option<Value>> =
        (0..first).map(|input| Some(recording.input(input))).collect();
    let kept = |values: &[Option<Value>], value: &Value| {
        values[value.0].expect("invariant: what is needed is kept")
    };
    for (place, step) in program.steps().iter().enumerate() {
        values.push(needed[first + place].then(|| {
            let operands: Vec<Value> =
                step.operands().iter().map(|operand| kept(&values, operand)).collect();
            recording.repeat(step, &operands)
        }));
    }
    let outputs = program.outputs().iter().map(|output| kept(&values, output)).collect();
    Ok(recording.finish(outputs))
}
