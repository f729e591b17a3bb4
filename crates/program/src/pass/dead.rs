//! Leaves out steps that no result needs.

use crate::{Program, Result, Value, recording::Recording};

pub(super) fn run(program: &Program) -> Result<Program> {
    let mut needed = vec![false; program.values()];
    for output in program.outputs() {
        needed[output.0] = true;
    }
    for step in program.steps().iter().rev() {
        if step.results().any(|result| needed[result.0]) {
            step.operands().iter().for_each(|operand| needed[operand.0] = true);
        }
    }
    let mut recording = Recording::new(program.inputs().to_vec());
    let mut values: Vec<Option<Value>> = recording.inputs().into_iter().map(Some).collect();
    let kept = |values: &[Option<Value>], value: &Value| {
        values[value.0].expect("invariant: what is needed is kept")
    };
    for step in program.steps() {
        if step.results().any(|result| needed[result.0]) {
            let operands: Vec<Value> =
                step.operands().iter().map(|operand| kept(&values, operand)).collect();
            values.extend(recording.repeat(step, &operands).into_iter().map(Some));
        } else {
            values.resize(values.len() + step.metas().len(), None);
        }
    }
    let outputs = program.outputs().iter().map(|output| kept(&values, output)).collect();
    Ok(recording.finish(outputs))
}
