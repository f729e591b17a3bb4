//! Programs made of programs: derivatives, forward and reverse, to any order.

mod flow;
mod moving;
mod pushed;
mod split;
mod tape;

use smallvec::SmallVec;
use tenferro_ops::{Builder, Meta};
use tenferro_tensor::Tensor;

use self::{
    moving::{is_inexact, only},
    pushed::pushed,
    split::{Residual, Split},
    tape::{Tangent, Tape},
};
use crate::{Error, Program, Result, Spec, Value, recording::Recording};

impl Program {
    /// The program that computes the results, then the tangents of those that hold floats.
    ///
    /// Its inputs are those of this program, then a tangent for each of them that holds floats.
    ///
    /// # Errors
    /// [`Error::Tensor`] naming an operation without a derivative.
    pub fn jvp(&self) -> Result<Program> {
        pushed(self, &self.inexact_inputs(), &self.inexact_outputs())
    }

    /// The program at a point, and its derivative there, which runs for many tangents.
    ///
    /// The first program has the inputs of this one and computes its results, then what the second needs of the point. The
    /// inputs of the second are those values, then a tangent for each input that holds floats; it computes the tangents of
    /// the results that do.
    ///
    /// # Errors
    /// [`Error::Tensor`] naming an operation without a derivative, or a loop that only has one forward.
    pub fn linearize(&self) -> Result<(Program, Program)> {
        let split = Split::of(self, &self.inexact_inputs(), &self.inexact_outputs())?;
        let results = self.outputs().len();
        let outputs = split.known.outputs();
        let kept = split.residuals.iter().map(|residual| match residual {
            Residual::Input(input) => Value(*input),
            Residual::Computed(number) => outputs[results + number],
        });
        let outputs = outputs[..results].iter().copied().chain(kept).collect();
        Ok((split.known.with_outputs(outputs), split.linear))
    }

    /// The program that computes the results, then the cotangents of those inputs that hold floats.
    ///
    /// Its inputs are those of this program, then a cotangent for each result that holds floats.
    ///
    /// # Errors
    /// [`Error::Tensor`] naming an operation without a derivative.
    pub fn vjp(&self) -> Result<Program> {
        let mut inputs = self.inputs().to_vec();
        inputs.extend(
            only(self.outputs(), &self.inexact_outputs())
                .map(|&output| Spec::of(self.meta(output))),
        );
        let seeds = self.inputs().len();
        let mut recording = Recording::new(inputs);
        let (values, cotangents) = self
            .pulled_back(&mut recording, |recording, place| Ok(recording.input(seeds + place)))?;
        let mut outputs = picked(&values, self.outputs()).to_vec();
        outputs.extend(cotangents);
        Ok(recording.finish(outputs))
    }

    /// The program that computes the gradient of its one real scalar result by each input that holds floats.
    ///
    /// # Errors
    /// [`Error::NoScalar`]; [`Error::Tensor`] naming an operation without a derivative.
    pub fn grad(&self) -> Result<Program> {
        self.check_scalar()?;
        let mut recording = Recording::new(self.inputs().to_vec());
        let (_, gradients) =
            self.pulled_back(&mut recording, |recording, _| self.one(recording))?;
        Ok(recording.finish(gradients))
    }

    /// The program that computes its one real scalar result, then the gradients of [`Program::grad`].
    ///
    /// # Errors
    /// As [`Program::grad`].
    pub fn value_and_grad(&self) -> Result<Program> {
        self.check_scalar()?;
        let mut recording = Recording::new(self.inputs().to_vec());
        let (values, gradients) =
            self.pulled_back(&mut recording, |recording, _| self.one(recording))?;
        let mut outputs = picked(&values, self.outputs()).to_vec();
        outputs.extend(gradients);
        Ok(recording.finish(outputs))
    }

    /// The program that returns only these of its results, counted from 0, in this order.
    ///
    /// What no result needs any more is left out when the program is prepared.
    ///
    /// # Panics
    /// If the program has no such result.
    #[must_use]
    pub fn with_results(&self, places: &[usize]) -> Program {
        self.with_outputs(places.iter().map(|&place| self.outputs()[place]).collect())
    }

    /// Records this program and its transpose; `seed` gives the cotangent of the float result of that number. Returns all
    /// values, and the cotangents of the inputs that hold floats.
    fn pulled_back(
        &self,
        recording: &mut Recording,
        seed: impl Fn(&mut Recording, usize) -> Result<Value>,
    ) -> Result<(Vec<Value>, Vec<Value>)> {
        let mut values = recording.inputs();
        values.truncate(self.inputs().len());
        let mut tape = Tape::new(recording);
        let moving = self.inexact_inputs();
        let mut tangents: Vec<Option<Tangent>> = self
            .inputs()
            .iter()
            .zip(&moving)
            .map(|(spec, moves)| moves.then(|| tape.leaf(spec.meta().clone())))
            .collect();
        for step in self.steps() {
            let operands = picked(&values, step.operands());
            let moved: SmallVec<[Option<Tangent>; 3]> =
                step.operands().iter().map(|operand| tangents[operand.0]).collect();
            let (results, moved) = tape.follow(step, &operands, &moved)?;
            values.extend(results);
            tangents.extend(moved);
        }
        let mut seeds = Vec::new();
        for (place, output) in only(self.outputs(), &self.inexact_outputs()).enumerate() {
            if let Some(tangent) = tangents[output.0] {
                seeds.push((tangent, seed(tape.recording, place)?));
            }
        }
        let cotangents = tape.turned_around(&seeds)?;
        let mut gradients = Vec::new();
        for (spec, leaf) in self.inputs().iter().zip(&tangents) {
            let Some(leaf) = leaf else { continue };
            gradients.push(match cotangents[leaf.0] {
                Some(cotangent) => cotangent,
                None => zeros(recording, spec.meta())?,
            });
        }
        Ok((values, gradients))
    }

    /// For each input, whether it holds floats.
    fn inexact_inputs(&self) -> Vec<bool> {
        self.inputs().iter().map(|spec| is_inexact(spec.meta())).collect()
    }

    /// For each result, whether it holds floats.
    fn inexact_outputs(&self) -> Vec<bool> {
        self.outputs().iter().map(|&output| is_inexact(self.meta(output))).collect()
    }

    fn check_scalar(&self) -> Result<()> {
        let outputs = self.output_metas();
        match &outputs[..] {
            [loss]
                if loss.shape.rank() == 0
                    && loss.dtype.is_inexact()
                    && !loss.dtype.is_complex() =>
            {
                Ok(())
            }
            _ => Err(Error::NoScalar { outputs }),
        }
    }

    /// The cotangent of a loss.
    fn one(&self, recording: &mut Recording) -> Result<Value> {
        let dtype = self.meta(self.outputs()[0]).dtype;
        Ok(recording.constant(Tensor::ones(dtype, [])?))
    }
}

fn picked(values: &[Value], which: &[Value]) -> SmallVec<[Value; 3]> {
    which.iter().map(|value| values[value.0]).collect()
}

fn zeros(recording: &mut Recording, meta: &Meta) -> Result<Value> {
    let zero = recording.constant(Tensor::zeros(meta.dtype, [])?);
    Ok(recording.stretch(&zero, &meta.shape)?)
}
