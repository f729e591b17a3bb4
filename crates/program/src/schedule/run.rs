//! How a schedule runs: operands are looked up, units run, results are put into their slots.

use std::sync::{Mutex, PoisonError};

use smallvec::SmallVec;
use tenferro_ops::{Engine, Input, Inputs};
use tenferro_tensor::{AsOperand, Indices, Operand, OperandMut, Primitive, Structural, Tensor};

use super::{Place, Read, Schedule, Stage, Unit, Work};
use crate::{Argument, Error, Result, prepared::Outputs, running};

/// The tensors of a run, by slot; so many need no memory of their own.
type Slots = SmallVec<[Option<Tensor>; 32]>;

/// What a unit is given, by operand; nothing at all for a unit that is given nothing.
type Taken = SmallVec<[Option<Tensor>; 8]>;

/// A unit that runs in a lane.
enum Job<'s> {
    Waiting(Vec<Input<'s>>),
    Gone,
    Done(Outputs),
    /// Failed with an error that is no engine's.
    Failed(Error),
}

/// Where the values of a run are.
struct Frame<'f, 'a> {
    arguments: &'f mut [Option<Argument<'a>>],
    constants: &'f [Tensor],
    slots: Slots,
}

impl Schedule {
    /// Runs all units. The arguments are as many as the program has inputs, of their dtypes and shapes.
    pub(crate) fn run(
        &self,
        engine: &mut dyn Engine,
        arguments: &mut [Option<Argument<'_>>],
    ) -> Result<Outputs> {
        self.prepare(engine, arguments)?;
        // Filled where it stays: a list that is made and moved takes as long as a small operation.
        let mut frame = Frame { arguments, constants: &self.constants, slots: Slots::new() };
        frame.slots.resize_with(self.slots, || None);
        self.run_units(engine, &mut frame, &self.units)?;
        let mut results = Outputs::new();
        for output in &self.outputs {
            results.push(frame.result(output.place, output.again)?);
        }
        Ok(results)
    }

    /// Runs all units and writes the results into outputs of their dtypes and shapes: the last units do so themselves, what
    /// is not theirs is copied.
    pub(crate) fn run_into(
        &self,
        engine: &mut dyn Engine,
        arguments: &mut [Option<Argument<'_>>],
        outputs: &mut [OperandMut<'_>],
    ) -> Result<()> {
        self.prepare(engine, arguments)?;
        let mut frame = Frame { arguments, constants: &self.constants, slots: Slots::new() };
        frame.slots.resize_with(self.slots, || None);
        let (units, last) = self.units.split_at(self.units.len() - self.last.len());
        self.run_units(engine, &mut frame, units)?;
        let mut is_written: SmallVec<[bool; 8]> = SmallVec::from_elem(false, outputs.len());
        for (unit, places) in last.iter().zip(&self.last) {
            frame.run_into(engine, unit, places, outputs)?;
            places.iter().for_each(|&place| is_written[place] = true);
        }
        for (place, output) in self.outputs.iter().enumerate() {
            if !is_written[place] {
                let result = frame.result(output.place, output.again)?;
                let row = Structural::Reshape { extents: Indices::from(&result.shape()[..]) };
                let out = outputs[place].reborrow();
                engine.apply_into(&Primitive::from(row), &[result.as_operand()], out)?;
            }
        }
        Ok(())
    }

    /// Makes arguments what units expect.
    fn prepare(
        &self,
        engine: &mut dyn Engine,
        arguments: &mut [Option<Argument<'_>>],
    ) -> Result<()> {
        for &input in &self.viewed {
            make_dense(engine, &mut arguments[input])?;
        }
        for &input in &self.unread {
            arguments[input] = None;
        }
        Ok(())
    }

    /// Runs the first units.
    fn run_units(
        &self,
        engine: &mut dyn Engine,
        frame: &mut Frame<'_, '_>,
        mut units: &[Unit],
    ) -> Result<()> {
        for &stage in &self.stages {
            let (Stage::InOrder(count) | Stage::AtOnce(count)) = stage;
            let (now, later) = units.split_at(count.min(units.len()));
            units = later;
            match stage {
                Stage::InOrder(_) => {
                    for unit in now {
                        frame.run(engine, unit)?;
                    }
                }
                Stage::AtOnce(_) => frame.run_at_once(engine, now)?,
            }
        }
        Ok(())
    }
}

/// The results of a unit on these operands.
fn perform(engine: &mut dyn Engine, work: &Work, mut inputs: Vec<Input<'_>>) -> Result<Outputs> {
    let one = |result: Tensor| Outputs::from_iter([result]);
    match work {
        Work::Primitive(primitive) => {
            Ok(one(engine.donate(primitive, inputs.into_iter().collect::<Inputs<'_>>())?))
        }
        Work::Custom(op) => {
            let operands: SmallVec<[Operand<'_>; 4]> =
                inputs.iter().map(AsOperand::as_operand).collect();
            Ok(one(engine.execute(op, &operands)?))
        }
        Work::Region(region) => Ok(engine.run_region(region, &mut inputs)?.into_iter().collect()),
        Work::Control(control, bodies) => {
            running::run(engine, control, bodies, inputs.into_iter().map(argument).collect())
        }
        Work::Branch(schedule) => {
            let mut operands: Vec<_> = inputs.into_iter().map(argument).map(Some).collect();
            schedule.run(engine, &mut operands)
        }
    }
}

fn argument(input: Input<'_>) -> Argument<'_> {
    match input {
        Input::Owned(tensor) => Argument::Given(tensor),
        Input::Borrowed(operand) => Argument::Lent(operand),
    }
}

/// Copies a strided argument that is read under other extents.
fn make_dense(engine: &mut dyn Engine, argument: &mut Option<Argument<'_>>) -> Result<()> {
    let Some(Argument::Lent(operand)) = argument else { return Ok(()) };
    if operand.strides().is_some() {
        let extents = Indices::from(&operand.shape()[..]);
        let copy = engine.apply(&Primitive::from(Structural::Reshape { extents }), &[*operand])?;
        *argument = Some(Argument::Given(copy));
    }
    Ok(())
}

impl Frame<'_, '_> {
    fn run(&mut self, engine: &mut dyn Engine, unit: &Unit) -> Result<()> {
        match &unit.work {
            Work::Primitive(primitive) => {
                let result = if unit.gives {
                    let inputs: Inputs<'_> = self.inputs(unit).collect();
                    engine.donate(primitive, inputs)?
                } else {
                    // A list that is made and returned takes as long as what else there is to do here.
                    match &unit.reads[..] {
                        [x] => engine.apply(primitive, &[self.operand(x)])?,
                        [x, y] => engine.apply(primitive, &[self.operand(x), self.operand(y)])?,
                        _ => engine.apply(primitive, &self.operands(unit))?,
                    }
                };
                self.keep(unit, [result]);
            }
            Work::Custom(op) => {
                let result = engine.execute(op, &self.operands(unit))?;
                self.keep(unit, [result]);
            }
            Work::Region(region) => {
                let results = {
                    // One by one into place: a list that is collected is moved, which takes as long as a small region.
                    let mut inputs: SmallVec<[Input<'_>; 8]> = SmallVec::new();
                    if unit.gives {
                        inputs.extend(self.inputs(unit));
                    } else {
                        for read in &unit.reads {
                            inputs.push(Input::Borrowed(self.operand(read)));
                        }
                    }
                    engine.run_region(region, &mut inputs)?
                };
                self.keep(unit, results);
            }
            Work::Control(control, bodies) => {
                let operands = self.inputs(unit).map(argument).collect();
                let results = running::run(engine, control, bodies, operands)?;
                self.keep(unit, results);
            }
            Work::Branch(schedule) => {
                let mut operands: Vec<_> = self.inputs(unit).map(argument).map(Some).collect();
                let results = schedule.run(engine, &mut operands)?;
                self.keep(unit, results);
            }
        }
        Ok(())
    }

    /// Runs a unit whose results are the outputs at these places. It is given nothing: its results have memory.
    fn run_into(
        &mut self,
        engine: &mut dyn Engine,
        unit: &Unit,
        places: &[usize],
        outputs: &mut [OperandMut<'_>],
    ) -> Result<()> {
        match &unit.work {
            Work::Primitive(primitive) => {
                let out = outputs[places[0]].reborrow();
                engine.apply_into(primitive, &self.operands(unit), out)?;
            }
            Work::Region(region) => {
                let mut inputs: SmallVec<[Input<'_>; 8]> = SmallVec::new();
                inputs.extend(self.operands(unit).into_iter().map(Input::Borrowed));
                let mut outs: SmallVec<[(usize, OperandMut<'_>); 2]> = SmallVec::new();
                for (place, output) in outputs.iter_mut().enumerate() {
                    if let Some(result) = places.iter().position(|&own| own == place) {
                        outs.push((result, output.reborrow()));
                    }
                }
                outs.sort_by_key(|(result, _)| *result);
                let mut outs: SmallVec<[OperandMut<'_>; 2]> =
                    outs.into_iter().map(|(_, out)| out).collect();
                engine.run_region_into(region, &mut inputs, &mut outs)?;
            }
            _ => unreachable!("invariant: others have no given outputs"),
        }
        self.keep(unit, []);
        Ok(())
    }

    /// Runs units that do not depend on each other over the lanes of the engine.
    fn run_at_once(&mut self, engine: &mut dyn Engine, units: &[Unit]) -> Result<()> {
        // What is given is taken out of its place first: the frame is shared by the lanes then.
        let taken: Vec<_> = units.iter().map(|unit| self.taken(unit)).collect();
        let frame = &*self;
        let jobs: Vec<Mutex<Job<'_>>> = units
            .iter()
            .zip(taken)
            .map(|(unit, taken)| Mutex::new(Job::Waiting(frame.with_taken(unit, taken).collect())))
            .collect();
        let lock = |number: usize| jobs[number].lock().unwrap_or_else(PoisonError::into_inner);
        engine.run_lanes(units.len(), &|engine, number| {
            let Job::Waiting(inputs) = std::mem::replace(&mut *lock(number), Job::Gone) else {
                unreachable!("invariant: a job runs once")
            };
            // No lock is held while it runs.
            *lock(number) = match perform(engine, &units[number].work, inputs) {
                Ok(results) => Job::Done(results),
                Err(Error::Tensor(error)) => return Err(error),
                Err(error) => Job::Failed(error),
            };
            Ok(())
        })?;
        let results: Vec<Outputs> = jobs
            .into_iter()
            .map(|job| match job.into_inner().unwrap_or_else(PoisonError::into_inner) {
                Job::Done(results) => Ok(results),
                Job::Failed(error) => Err(error),
                _ => unreachable!("invariant: lanes return when all jobs have ended"),
            })
            .collect::<Result<_>>()?;
        for (unit, results) in units.iter().zip(results) {
            self.keep(unit, results);
        }
        Ok(())
    }

    /// Puts results into their slots and gives up what was read for the last time.
    #[inline]
    fn keep(&mut self, unit: &Unit, results: impl IntoIterator<Item = Tensor>) {
        for &place in &unit.frees {
            match place {
                Place::Argument(input) => self.arguments[input] = None,
                Place::Slot(slot) => self.slots[slot] = None,
                Place::Constant(_) => {}
            }
        }
        for (result, slot) in results.into_iter().zip(&unit.writes) {
            if let Some(slot) = *slot {
                self.slots[slot] = Some(result);
            }
        }
    }

    /// The operands of a unit; what it is given is taken out of its place.
    fn inputs<'s>(&'s mut self, unit: &'s Unit) -> impl Iterator<Item = Input<'s>> {
        let taken = self.taken(unit);
        self.with_taken(unit, taken)
    }

    /// What a unit is given, by operand.
    fn taken(&mut self, unit: &Unit) -> Taken {
        if !unit.gives {
            return Taken::new();
        }
        let given = |read: &Read| if read.given { self.take(read.place) } else { None };
        unit.reads.iter().map(given).collect()
    }

    fn with_taken<'s>(
        &'s self,
        unit: &'s Unit,
        mut taken: Taken,
    ) -> impl Iterator<Item = Input<'s>> {
        unit.reads.iter().enumerate().map(move |(number, read)| {
            match taken.get_mut(number).and_then(Option::take) {
                Some(tensor) => Input::Owned(tensor),
                None => Input::Borrowed(self.operand(read)),
            }
        })
    }

    /// The operands of a unit that is given none of them.
    fn operands<'s>(&'s self, unit: &'s Unit) -> SmallVec<[Operand<'s>; 4]> {
        let mut operands = SmallVec::new();
        for read in &unit.reads {
            operands.push(self.operand(read));
        }
        operands
    }

    fn operand<'s>(&'s self, read: &'s Read) -> Operand<'s> {
        let operand = match read.place {
            Place::Argument(input) => match &self.arguments[input] {
                Some(argument) => argument.operand(),
                None => unreachable!("invariant: an argument stays until its last use"),
            },
            Place::Constant(constant) => self.constants[constant].as_operand(),
            Place::Slot(slot) => match &self.slots[slot] {
                Some(tensor) => tensor.as_operand(),
                None => unreachable!("invariant: a value stays until its last use"),
            },
        };
        match &read.shape {
            None => operand,
            Some(shape) => operand.reshaped(shape).expect("invariant: what is viewed is dense"),
        }
    }

    /// A tensor that is given away; `None` for an argument that was only lent.
    fn take(&mut self, place: Place) -> Option<Tensor> {
        match place {
            Place::Slot(slot) => self.slots[slot].take(),
            Place::Argument(input) => match self.arguments[input].take() {
                Some(Argument::Given(tensor)) => Some(tensor),
                lent => {
                    self.arguments[input] = lent;
                    None
                }
            },
            Place::Constant(_) => None,
        }
    }

    /// A result of the program; `again` says that it is asked for once more.
    fn result(&mut self, place: Place, again: bool) -> tenferro_tensor::Result<Tensor> {
        if again {
            return match place {
                Place::Slot(slot) => Ok(self.slots[slot].clone()),
                Place::Constant(constant) => Ok(Some(self.constants[constant].clone())),
                Place::Argument(input) => match &self.arguments[input] {
                    Some(Argument::Lent(operand)) => operand.view().to_tensor().map(Some),
                    Some(Argument::Given(tensor)) => Ok(Some(tensor.clone())),
                    None => Ok(None),
                },
            }
            .map(returned);
        }
        match place {
            Place::Slot(slot) => Ok(returned(self.slots[slot].take())),
            Place::Constant(constant) => Ok(self.constants[constant].clone()),
            Place::Argument(input) => match self.arguments[input].take() {
                Some(argument) => argument.into_tensor(),
                None => Ok(returned(None)),
            },
        }
    }
}

fn returned(tensor: Option<Tensor>) -> Tensor {
    tensor.expect("invariant: a result is kept until it is returned")
}
