//! Keeps one of equal steps: the same row with the same parameters on the same operands, or the same constant.

use std::collections::HashMap;

use tenferro_ops::Meta;
use tenferro_tensor::{Primitive, Tensor};

use super::rewritten;
use crate::{Program, Result, StepKind, Value, identity::with_bytes, recording::Results};

/// Constants up to so many bytes are compared.
const SMALL: usize = 256;

pub(super) fn run(program: &Program) -> Result<Program> {
    let mut steps: HashMap<(Primitive, Vec<Value>), Results> = HashMap::new();
    let mut constants: HashMap<(Meta, Vec<u8>), Results> = HashMap::new();
    rewritten(program, |recording, step, operands| {
        Ok(match step.kind() {
            StepKind::Primitive(primitive) => steps
                .entry((primitive.clone(), operands.to_vec()))
                .or_insert_with(|| recording.repeat(step, operands))
                .clone(),
            StepKind::Constant(tensor) => match bytes(tensor) {
                Some(bytes) => constants
                    .entry((step.meta().clone(), bytes))
                    .or_insert_with(|| recording.repeat(step, operands))
                    .clone(),
                None => recording.repeat(step, operands),
            },
            StepKind::Custom(_) | StepKind::Control(_) => recording.repeat(step, operands),
        })
    })
}

/// What tells a small constant from others: its bits.
fn bytes(tensor: &Tensor) -> Option<Vec<u8>> {
    let is_small = tensor.elements() * tensor.dtype().size() <= SMALL;
    is_small.then(|| with_bytes(tensor, <[u8]>::to_vec))
}
