//! A program that is ready to run.

use std::sync::Arc;

use smallvec::SmallVec;
use tenferro_ops::{Engine, Meta};
use tenferro_tensor::{AsOperand, Operand, Tensor, TensorView};

use crate::{Error, Passes, Program, Result, schedule::Schedule};

/// The results of a run, in the program's order.
pub type Outputs = SmallVec<[Tensor; 4]>;

/// A program after its passes, with an order to run in and a place for every value.
///
/// Immutable, and may run on several engines at once. Results are those of the operations run one by one. `Display` prints
/// what runs.
#[derive(Clone, Debug)]
pub struct Prepared {
    program: Program,
    schedule: Arc<Schedule>,
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
        Prepared::new(self.optimised(passes)?, passes)
    }
}

impl Prepared {
    /// A program whose passes have run; its bodies too.
    pub(super) fn new(program: Program, passes: &Passes) -> Result<Self> {
        let schedule = Arc::new(Schedule::new(&program, passes)?);
        Ok(Prepared { program, schedule })
    }

    /// The program that runs.
    #[must_use]
    pub fn program(&self) -> &Program {
        &self.program
    }

    pub(super) fn schedule(&self) -> &Schedule {
        &self.schedule
    }

    /// Runs the program: inputs in order, results in order.
    ///
    /// A value is given up, or to the step that uses it last, as soon as nothing else needs it.
    ///
    /// # Errors
    /// [`Error::InputCount`] and [`Error::InputMismatch`], before anything runs; [`Error::Tensor`] if a step fails or the
    /// engine cannot run now.
    pub fn run<'a>(
        &self,
        engine: &mut dyn Engine,
        arguments: impl IntoIterator<Item = Argument<'a>>,
    ) -> Result<Outputs> {
        let mut own: SmallVec<[Option<Argument<'a>>; 8]> = SmallVec::new();
        for argument in arguments {
            own.push(Some(argument));
        }
        self.check(&own)?;
        self.schedule.run(engine, &mut own)
    }

    pub(super) fn check(&self, arguments: &[Option<Argument<'_>>]) -> Result<()> {
        let (expected, actual) = (self.program.inputs().len(), arguments.len());
        if expected != actual {
            return Err(Error::InputCount { expected, actual });
        }
        let arguments = arguments.iter().flatten().map(Argument::operand);
        for (input, (spec, operand)) in self.program.inputs().iter().zip(arguments).enumerate() {
            let expected = spec.meta();
            if operand.dtype() != expected.dtype || *operand.shape() != expected.shape {
                let (expected, actual) = (Box::new(expected.clone()), Box::new(Meta::of(&operand)));
                return Err(Error::InputMismatch { input, expected, actual });
            }
        }
        Ok(())
    }
}
