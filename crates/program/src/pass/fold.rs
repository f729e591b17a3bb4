//! Computes steps on constants alone, by the reference engine, where the result is small.

use tenferro_ops::reference::Reference;
use tenferro_tensor::{AsOperand, Operand, Tensor, Vocabulary};

use super::rewritten;
use crate::{Program, Result, StepKind};

/// Results up to so many elements are folded: larger ones cost memory for as long as the program lives.
const SMALL: usize = 1024;

pub(super) fn run(program: &Program) -> Result<Program> {
    let mut known: Vec<Option<Tensor>> = vec![None; program.inputs().len()];
    rewritten(program, |recording, step, operands| {
        let folded = match step.kind() {
            StepKind::Constant(tensor) => Some(tensor.clone()),
            StepKind::Primitive(primitive) if step.meta().shape.elements() <= SMALL => {
                let constants: Option<Vec<&Tensor>> =
                    step.operands().iter().map(|operand| known[operand.0].as_ref()).collect();
                constants.and_then(|constants| {
                    let inputs: Vec<Operand<'_>> =
                        constants.iter().map(|tensor| tensor.as_operand()).collect();
                    // What fails here, as a division by zero does, is left to fail when the program runs.
                    Reference.apply(primitive, &inputs).ok()
                })
            }
            _ => None,
        };
        match folded {
            Some(tensor) => {
                let kind = StepKind::Constant(tensor.clone());
                known.push(Some(tensor));
                Ok(recording.push(kind, &[], step.metas().into()))
            }
            None => {
                known.resize(known.len() + step.metas().len(), None);
                Ok(recording.repeat(step, operands))
            }
        }
    })
}
