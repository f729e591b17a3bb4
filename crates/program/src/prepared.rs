//! A program that is ready to run.

use smallvec::SmallVec;
use tenferro_ops::{Engine, Input, Inputs, Meta, Op};
use tenferro_tensor::{AsOperand, Operand, Tensor, TensorView};

use crate::{Error, Passes, Program, Result, Step, StepKind, Value, running};

/// A program after its passes, with the last use of every value.
///
/// Immutable, and may run on several engines at once. Results are those of the operations run one by one.
#[derive(Clone, Debug)]
pub struct Prepared {
    program: Program,
    /// For each step, which of its operands are not needed afterwards.
    last_uses: Vec<SmallVec<[bool; 3]>>,
    /// The values that no step uses and no result is: dropped at once.
    unused: Vec<bool>,
    /// For each step, the programs that it runs.
    bodies: Vec<Vec<Prepared>>,
}

/// An input of a run: lent, or given for its memory to be used again.
pub enum Argument<'a> {
    /// Only read.
    Lent(Operand<'a>),
    /// Given: a step may write its result over it.
    Given(Tensor),
}

impl Argument<'_> {
    /// The elements.
    pub(super) fn operand(&self) -> Operand<'_> {
        match self {
            Argument::Lent(operand) => *operand,
            Argument::Given(tensor) => tensor.as_operand(),
        }
    }

    /// The same, lent for a shorter time.
    pub(super) fn lent(&self) -> Argument<'_> {
        Argument::Lent(self.operand())
    }

    /// What was given, or a copy of what was lent.
    pub(super) fn into_tensor(self) -> tenferro_tensor::Result<Tensor> {
        match self {
            Argument::Lent(operand) => operand.view().to_tensor(),
            Argument::Given(tensor) => Ok(tensor),
        }
    }
}

impl<'a> From<&'a Tensor> for Argument<'a> {
    fn from(tensor: &'a Tensor) -> Self {
        Argument::Lent(tensor.as_operand())
    }
}

impl<'a> From<&'a TensorView<'_>> for Argument<'a> {
    fn from(view: &'a TensorView<'_>) -> Self {
        Argument::Lent(view.as_operand())
    }
}

impl From<Tensor> for Argument<'_> {
    fn from(tensor: Tensor) -> Self {
        Argument::Given(tensor)
    }
}

impl Program {
    /// The program after these passes, ready to run.
    ///
    /// # Errors
    /// As [`Program::optimised`].
    pub fn prepare(&self, passes: &Passes) -> Result<Prepared> {
        Ok(Prepared::new(self.optimised(passes)?))
    }
}

impl Prepared {
    /// A program as it is; its bodies too.
    fn new(program: Program) -> Self {
        let mut used = vec![false; program.values()];
        for output in program.outputs() {
            used[output.0] = true;
        }
        let mut last_uses: Vec<SmallVec<[bool; 3]>> = Vec::with_capacity(program.steps().len());
        for step in program.steps().iter().rev() {
            // Of two places of one value in a step, the last gives it away.
            let mut places: SmallVec<[bool; 3]> = step
                .operands()
                .iter()
                .rev()
                .map(|operand| !std::mem::replace(&mut used[operand.0], true))
                .collect();
            places.reverse();
            last_uses.push(places);
        }
        last_uses.reverse();
        let unused = used.iter().map(|used| !used).collect();
        let bodies = program.steps().iter().map(|step| match step.kind() {
            StepKind::Control(control) => {
                control.bodies().into_iter().map(|(_, body)| Self::new(body.clone())).collect()
            }
            _ => Vec::new(),
        });
        let bodies = bodies.collect();
        Prepared { program, last_uses, unused, bodies }
    }

    /// The program that runs.
    #[must_use]
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// Runs the program: inputs in order, results in order.
    ///
    /// A value is dropped, or given to the step that uses it last, as soon as nothing else needs it.
    ///
    /// # Errors
    /// [`Error::InputCount`] and [`Error::InputMismatch`], before anything runs; [`Error::Tensor`] if a step fails or the
    /// engine cannot run now.
    pub fn run(
        &self,
        engine: &mut dyn Engine,
        arguments: Vec<Argument<'_>>,
    ) -> Result<Vec<Tensor>> {
        self.check(&arguments)?;
        let mut values: Vec<Slot<'_>> = arguments.into_iter().map(Slot::from).collect();
        values.reserve(self.program.values() - values.len());
        for (number, step) in self.program.steps().iter().enumerate() {
            let last_uses = &self.last_uses[number];
            let keep = |values: &mut Vec<Slot<'_>>, result: Tensor| {
                let unused = self.unused[values.len()];
                values.push(if unused { Slot::Gone } else { Slot::Own(result) });
            };
            match step.kind() {
                StepKind::Control(control) => {
                    let operands = arguments_of(step, &mut values, last_uses);
                    let results = running::run(engine, control, &self.bodies[number], operands)?;
                    drop_used(step, &mut values, last_uses);
                    results.into_iter().for_each(|result| keep(&mut values, result));
                }
                _ => {
                    let result = run_step(engine, step, &mut values, last_uses)?;
                    keep(&mut values, result);
                }
            }
        }
        let outputs = self.program.outputs();
        let results = outputs.iter().enumerate().map(|(place, output)| {
            let again = outputs[place + 1..].contains(output);
            match &mut values[output.0] {
                Slot::Lent(operand) => operand.view().to_tensor(),
                Slot::Own(tensor) if again => Ok(tensor.clone()),
                slot => match std::mem::replace(slot, Slot::Gone) {
                    Slot::Own(tensor) => Ok(tensor),
                    _ => unreachable!("invariant: a result is kept until it is returned"),
                },
            }
        });
        Ok(results.collect::<tenferro_tensor::Result<_>>()?)
    }

    fn check(&self, arguments: &[Argument<'_>]) -> Result<()> {
        let (expected, actual) = (self.program.inputs().len(), arguments.len());
        if expected != actual {
            return Err(Error::InputCount { expected, actual });
        }
        for (input, (spec, argument)) in self.program.inputs().iter().zip(arguments).enumerate() {
            let actual = Meta::of(&argument.operand());
            if actual != *spec.meta() {
                let (expected, actual) = (Box::new(spec.meta().clone()), Box::new(actual));
                return Err(Error::InputMismatch { input, expected, actual });
            }
        }
        Ok(())
    }
}

/// A value during a run.
enum Slot<'a> {
    Lent(Operand<'a>),
    Own(Tensor),
    Gone,
}

impl<'a> From<Argument<'a>> for Slot<'a> {
    fn from(argument: Argument<'a>) -> Self {
        match argument {
            Argument::Lent(operand) => Slot::Lent(operand),
            Argument::Given(tensor) => Slot::Own(tensor),
        }
    }
}

impl Slot<'_> {
    fn operand(&self) -> Operand<'_> {
        match self {
            Slot::Lent(operand) => *operand,
            Slot::Own(tensor) => tensor.as_operand(),
            Slot::Gone => unreachable!("invariant: a value stays until its last use"),
        }
    }
}

fn run_step(
    engine: &mut dyn Engine,
    step: &Step,
    values: &mut [Slot<'_>],
    last_uses: &[bool],
) -> tenferro_tensor::Result<Tensor> {
    let primitive = match step.kind() {
        StepKind::Control(_) => unreachable!("invariant: control flow has a way of its own"),
        StepKind::Constant(tensor) => return Ok(tensor.clone()),
        StepKind::Custom(custom) => {
            let result = {
                let operands = borrowed(step, values);
                engine.execute(&Op::Custom(custom.clone()), &operands)?
            };
            drop_used(step, values, last_uses);
            return Ok(result);
        }
        StepKind::Primitive(primitive) => primitive,
    };
    let own = taken(step, values, last_uses);
    let result = if own.iter().any(Option::is_some) {
        let inputs: Inputs<'_> = own
            .into_iter()
            .zip(step.operands())
            .map(|(own, operand)| match own {
                Some(tensor) => Input::Owned(tensor),
                None => Input::Borrowed(values[operand.0].operand()),
            })
            .collect();
        engine.donate(primitive, inputs)?
    } else {
        engine.apply(primitive, &borrowed(step, values))?
    };
    drop_used(step, values, last_uses);
    Ok(result)
}

/// Of each operand of a step the tensor, if it is used last here and not lent: to be given away. One that the step reads in
/// another place too is not.
fn taken(
    step: &Step,
    values: &mut [Slot<'_>],
    last_uses: &[bool],
) -> SmallVec<[Option<Tensor>; 4]> {
    let given = |place: usize, operand: Value| {
        last_uses[place] && step.operands().iter().filter(|&&other| other == operand).count() == 1
    };
    let mut own = SmallVec::new();
    for (place, &operand) in step.operands().iter().enumerate() {
        let is_own = matches!(values[operand.0], Slot::Own(_));
        own.push(if is_own && given(place, operand) {
            match std::mem::replace(&mut values[operand.0], Slot::Gone) {
                Slot::Own(tensor) => Some(tensor),
                _ => unreachable!("invariant: it was just looked at"),
            }
        } else {
            None
        });
    }
    own
}

/// The operands of control flow: given where they are used last.
fn arguments_of<'v>(
    step: &Step,
    values: &'v mut [Slot<'_>],
    last_uses: &[bool],
) -> Vec<Argument<'v>> {
    let own = taken(step, values, last_uses);
    let values = &*values;
    own.into_iter()
        .zip(step.operands())
        .map(|(own, operand)| match own {
            Some(tensor) => Argument::Given(tensor),
            None => Argument::Lent(values[operand.0].operand()),
        })
        .collect()
}

/// The operands of a step, none of them given away.
fn borrowed<'v>(step: &Step, values: &'v [Slot<'_>]) -> SmallVec<[Operand<'v>; 4]> {
    step.operands().iter().map(|operand| values[operand.0].operand()).collect()
}

/// Drops what the step used last.
fn drop_used(step: &Step, values: &mut [Slot<'_>], last_uses: &[bool]) {
    for (&operand, &last) in step.operands().iter().zip(last_uses) {
        if last {
            values[operand.0] = Slot::Gone;
        }
    }
}
