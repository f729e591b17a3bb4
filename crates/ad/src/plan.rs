//! What becomes of gradients in one operation: its rule, carried out once on symbols.
//!
//! A plan knows the operation, the dtypes and shapes of its operands and which of them have tangents, and nothing else, so
//! that all operations that agree in this share it. It says what is computed ahead, while the operation
//! is recorded, what of that and of the operands and the result the tape keeps, and by which primitives a gradient of the
//! result becomes gradients of the operands.

use smallvec::SmallVec;
use tenferro_ops::Meta;
use tenferro_tensor::{AsOperand, Operand, Primitive, Result};

use crate::{
    Autodiff, Variable,
    emit::{Input, Operation, emit},
    fused::Fused,
    known::Known,
};

/// The derivative of an operation, linearised and turned around.
pub(super) struct Plan {
    /// Of the result.
    pub(super) meta: Meta,
    /// Whether a gradient that is the same along axes need not be stretched: it only passes, or a factor stretches it.
    pub(super) takes_narrow: bool,
    pub(super) constants: Vec<Known<'static>>,
    /// What is computed while the operation is recorded.
    pub(super) ahead: Vec<Step>,
    /// What the tape keeps.
    pub(super) kept: Vec<Register>,
    /// What is computed from a gradient.
    pub(super) back: Vec<Step>,
    /// The same in one go, where no level below differentiates.
    pub(super) fused: Option<Fused>,
    pub(super) gradients: Gradients,
}

/// The gradients of the operands that have tangents, by their number among these, in the order in which they are added.
pub(super) type Gradients = Vec<(usize, Register)>;

/// The application of a primitive.
pub(super) struct Step {
    pub(super) primitive: Primitive,
    pub(super) operands: SmallVec<[Register; 2]>,
}

/// Where a plan finds a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Register {
    /// An operand.
    Input(usize),
    /// The result.
    Output,
    Constant(usize),
    /// Computed ahead by the step of that place.
    Ahead(usize),
    /// Kept by the tape.
    Kept(usize),
    /// The gradient of the result.
    Gradient,
    /// Computed from a gradient by the step of that place.
    Back(usize),
}

/// What the tape keeps of an operation.
pub(super) type Kept = SmallVec<[Known<'static>; 2]>;

/// What steps have computed; `None` once it is handed on.
pub(super) type Computed = SmallVec<[Option<Known<'static>>; 3]>;

const BEFORE: &str = "invariant: a plan asks for what is there, and hands each on once";

impl Plan {
    /// Adds to `kept` what the tape keeps of the operation.
    pub(super) fn keep(
        &self,
        autodiff: &Autodiff,
        inputs: &[Input<'_>],
        output: &Known<'_>,
        kept: &mut Kept,
    ) -> Result<()> {
        let mut ahead = Computed::new();
        for step in &self.ahead {
            let value = step.run(autodiff, |register| match register {
                Register::Input(place) => &inputs[place].0,
                Register::Output => output,
                Register::Constant(place) => &self.constants[place],
                Register::Ahead(place) => ahead[place].as_ref().expect(BEFORE),
                _ => unreachable!("{BEFORE}"),
            })?;
            ahead.push(Some(value));
        }
        for register in &self.kept {
            kept.push(match *register {
                Register::Input(place) => inputs[place].0.clone().into_owned(),
                Register::Output => output.clone().into_owned(),
                Register::Ahead(place) => ahead[place].take().expect(BEFORE),
                _ => unreachable!("{BEFORE}"),
            });
        }
        Ok(())
    }

    /// Hands the gradients of the operands to `reach`, given that of the result, and whether each is the operand's last.
    pub(super) fn turn_around(
        &self,
        autodiff: &Autodiff,
        kept: &Kept,
        gradient: &Known<'static>,
        mut reach: impl FnMut(usize, bool, Known<'static>) -> Result<()>,
    ) -> Result<()> {
        let before = |register| match register {
            Register::Constant(place) => &self.constants[place],
            Register::Kept(place) => &kept[place],
            Register::Gradient => gradient,
            _ => unreachable!("{BEFORE}"),
        };
        let mut gradients = &self.gradients;
        let mut back = Computed::new();
        if let Some(fused) = &self.fused
            && let Some(results) = fused.run(autodiff, before)?
        {
            (back, gradients) = (results, &fused.gradients);
        } else {
            for step in &self.back {
                let value = step.run(autodiff, |register| match register {
                    Register::Back(place) => back[place].as_ref().expect(BEFORE),
                    before_it => before(before_it),
                })?;
                back.push(Some(value));
            }
        }
        for (at, &(operand, register)) in gradients.iter().enumerate() {
            let later = &gradients[at + 1..];
            let value = match register {
                Register::Constant(place) => self.constants[place].clone(),
                Register::Kept(place) => kept[place].clone(),
                Register::Gradient => gradient.clone(),
                Register::Back(place) => {
                    let is_last = later.iter().all(|next| next.1 != register);
                    let value = &mut back[place];
                    if is_last { value.take() } else { value.clone() }.expect(BEFORE)
                }
                _ => unreachable!("{BEFORE}"),
            };
            reach(operand, later.iter().all(|next| next.0 != operand), value)?;
        }
        Ok(())
    }
}

impl Step {
    fn run<'v>(
        &self,
        autodiff: &Autodiff,
        value: impl Fn(Register) -> &'v Known<'v>,
    ) -> Result<Known<'static>> {
        // Nearly all have one operand or two.
        match self.operands[..] {
            [x] => apply(autodiff, &self.primitive, &[value(x)]),
            [x, y] => apply(autodiff, &self.primitive, &[value(x), value(y)]),
            _ => {
                let inputs: SmallVec<[&Known<'_>; 4]> =
                    self.operands.iter().map(|&register| value(register)).collect();
                apply(autodiff, &self.primitive, &inputs)
            }
        }
    }
}

/// The result of a primitive on what is known.
#[inline]
pub(super) fn apply(
    autodiff: &Autodiff,
    primitive: &Primitive,
    inputs: &[&Known<'_>],
) -> Result<Known<'static>> {
    match inputs {
        [Known::Plain(x)] => return autodiff.apply(primitive, &[x.as_operand()]).map(Known::from),
        [Known::Plain(x), Known::Plain(y)] => {
            let operands = [x.as_operand(), y.as_operand()];
            return autodiff.apply(primitive, &operands).map(Known::from);
        }
        _ => {}
    }
    let mut operands: SmallVec<[Operand<'_>; 4]> = SmallVec::new();
    for input in inputs {
        if let Known::Plain(tensor) = input {
            operands.push(tensor.as_operand());
        }
    }
    if operands.len() == inputs.len() {
        return autodiff.apply(primitive, &operands).map(Known::from);
    }
    let variables: SmallVec<[Variable; 4]> =
        inputs.iter().map(|&input| input.clone().into_variable(autodiff)).collect();
    let variables: SmallVec<[&Variable; 4]> = variables.iter().collect();
    emit(autodiff, Operation::Primitive(primitive), &variables).map(Known::from)
}
