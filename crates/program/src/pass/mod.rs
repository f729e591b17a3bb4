//! Passes: programs to programs that compute the same with less work, bit for bit unless their file says otherwise. A file
//! a pass.

mod common;
mod dead;
mod fold;
mod products;
mod scatters;
mod simplify;

use crate::{
    Program, Result, Step, StepKind, Value,
    recording::{Recording, Results},
};

/// Which passes [`Program::prepare`] runs; each can be left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passes {
    /// Steps on constants alone are computed when the program is prepared, if their results are small.
    pub constant_folding: Pass,
    /// Steps that undo each other or change nothing are left out.
    pub simplification: Pass,
    /// Transpositions of what is multiplied become part of the product; products without sums are elementwise.
    pub products: Pass,
    /// Of equal steps on the same operands one stays.
    pub common_subexpressions: Pass,
    /// What is scattered into zeros and added to something is scattered into that; where several updates go to one
    /// element, their sum is rounded otherwise.
    pub scatters: Pass,
    /// Steps that no result needs are left out.
    pub dead_code: Pass,
    /// Elementwise steps, and a reduction at their end, run together in one loop; what only changes extents is read where
    /// it lies.
    pub fusion: Pass,
    /// Values are given up after their last use, and results are written over them.
    pub buffers: Pass,
    /// What does not depend on each other runs at once, over lanes, where it is long enough for that.
    pub lanes: Pass,
}

/// Whether a pass runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pass {
    /// It runs.
    On,
    /// It is left out.
    Off,
}

impl Passes {
    /// Every pass.
    #[must_use]
    pub const fn all() -> Self {
        Self {
            constant_folding: Pass::On,
            simplification: Pass::On,
            products: Pass::On,
            common_subexpressions: Pass::On,
            scatters: Pass::On,
            dead_code: Pass::On,
            fusion: Pass::On,
            buffers: Pass::On,
            lanes: Pass::On,
        }
    }

    /// No pass: the program as it was traced.
    #[must_use]
    pub const fn none() -> Self {
        Self {
            constant_folding: Pass::Off,
            simplification: Pass::Off,
            products: Pass::Off,
            common_subexpressions: Pass::Off,
            scatters: Pass::Off,
            dead_code: Pass::Off,
            fusion: Pass::Off,
            buffers: Pass::Off,
            lanes: Pass::Off,
        }
    }
}

impl Default for Passes {
    /// [`Passes::all`].
    fn default() -> Self {
        Self::all()
    }
}

impl Program {
    /// The program after these passes.
    ///
    /// # Errors
    /// [`Error::Tensor`](crate::Error::Tensor) if there is no memory for a folded constant.
    pub fn optimised(&self, passes: &Passes) -> Result<Program> {
        // Bodies first: what is left of them decides what is left around them.
        let mut program = rewritten(self, |recording, step, operands| {
            let StepKind::Control(control) = step.kind() else {
                return Ok(recording.repeat(step, operands));
            };
            let control = control.mapped(|body| body.optimised(passes))?;
            Ok(recording.push(StepKind::Control(control), operands, step.metas().into()))
        })?;
        for (pass, run) in [
            (passes.simplification, simplify::run as fn(&Program) -> Result<Program>),
            (passes.products, products::run),
            (passes.constant_folding, fold::run),
            (passes.common_subexpressions, common::run),
            (passes.scatters, scatters::run),
            (passes.dead_code, dead::run),
        ] {
            if pass == Pass::On {
                program = run(&program)?;
            }
        }
        Ok(program)
    }
}

/// Rewrites a program step by step: `rewrite` says what stands for the results of a step, given its operands in the new
/// program.
fn rewritten(
    program: &Program,
    mut rewrite: impl FnMut(&mut Recording, &Step, &[Value]) -> Result<Results>,
) -> Result<Program> {
    let mut recording = Recording::new(program.inputs().to_vec());
    let mut values = recording.inputs();
    for step in program.steps() {
        let operands: Vec<Value> =
            step.operands().iter().map(|operand| values[operand.0]).collect();
        let results = rewrite(&mut recording, step, &operands)?;
        debug_assert_eq!(results.len(), step.metas().len());
        values.extend(results);
    }
    let outputs = program.outputs().iter().map(|output| values[output.0]).collect();
    Ok(recording.finish(outputs))
}

/// One value, as the results of a step.
fn one(value: Value) -> Results {
    Results::from_elem(value, 1)
}

/// The constant that a step is.
fn constant(step: Option<&Step>) -> Option<&tenferro_tensor::Tensor> {
    match step?.kind() {
        StepKind::Constant(tensor) => Some(tensor),
        _ => None,
    }
}
