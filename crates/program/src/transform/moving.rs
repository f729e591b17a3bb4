//! Which values move when inputs do: those that hold floats and depend on one that moves.
//!
//! Said from the steps alone, without rules, so that a loop knows which part of its state moves before its body is
//! differentiated. A value that is said to move may still have a tangent of zeros.

use tenferro_ops::Meta;

use crate::{Control, Program, Step, StepKind};

/// For each result of a program, whether it moves.
pub(super) fn moving_outputs(program: &Program, inputs: &[bool]) -> Vec<bool> {
    let mut moving = inputs.to_vec();
    for step in program.steps() {
        let operands: Vec<bool> = step.operands().iter().map(|operand| moving[operand.0]).collect();
        moving.extend(moving_results(step, &operands));
    }
    program.outputs().iter().map(|output| moving[output.0]).collect()
}

/// For each result of a step, whether it moves.
fn moving_results(step: &Step, operands: &[bool]) -> Vec<bool> {
    match step.kind() {
        StepKind::Control(control) => control_results(control, operands),
        _ => {
            let any = operands.contains(&true);
            step.metas().iter().map(|meta| any && is_inexact(meta)).collect()
        }
    }
}

/// For each result of control flow, whether it moves.
pub(super) fn control_results(control: &Control, operands: &[bool]) -> Vec<bool> {
    match control {
        Control::Call { body } => moving_outputs(body, operands),
        Control::Cond { on_true, on_false } => {
            let (lhs, rhs) =
                (moving_outputs(on_true, &operands[1..]), moving_outputs(on_false, &operands[1..]));
            lhs.iter().zip(rhs).map(|(lhs, rhs)| *lhs || rhs).collect()
        }
        Control::WhileLoop { body, carries, .. } => settled(body, *carries, operands).1,
        Control::Scan { body, carries, .. } => settled(body, *carries, operands).1,
    }
}

/// What moves in a loop: its operands, with all of the state that moves in some turn, and the results of its body.
pub(super) fn settled(body: &Program, carries: usize, operands: &[bool]) -> (Vec<bool>, Vec<bool>) {
    let mut inputs = operands.to_vec();
    loop {
        let mut outputs = moving_outputs(body, &inputs);
        let before = inputs.clone();
        for (input, output) in inputs[..carries].iter_mut().zip(&outputs) {
            *input |= output;
        }
        if inputs == before {
            // A state that moves at first but not later is said to move throughout.
            outputs[..carries].copy_from_slice(&inputs[..carries]);
            return (inputs, outputs);
        }
    }
}

pub(super) fn is_inexact(meta: &Meta) -> bool {
    meta.dtype.is_inexact()
}

/// What of these moves.
pub(super) fn only<'a, T>(
    items: &'a [T],
    moving: &'a [bool],
) -> impl Iterator<Item = &'a T> + Clone {
    items.iter().zip(moving).filter(|(_, moves)| **moves).map(|(item, _)| item)
}
