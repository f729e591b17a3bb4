//! Programs made of programs: derivatives, forward and reverse, to any order.

use smallvec::SmallVec;
use tenferro_ops::{
    Builder, Meta,
    derivative::{self, Point},
};
use tenferro_tensor::Tensor;

use crate::{
    Error, Program, Result, Spec, StepKind, Value,
    linear::{Tangent, Tape, without_rule},
    recording::Recording,
};

impl Program {
    /// The program that computes the results, then the tangents of those that hold floats.
    ///
    /// Its inputs are those of this program, then a tangent for each of them that holds floats.
    ///
    /// # Errors
    /// [`Error::Tensor`] naming an operation without a derivative.
    pub fn jvp(&self) -> Result<Program> {
        let mut inputs = self.inputs().to_vec();
        let moving: Vec<usize> = self.inexact_inputs();
        inputs.extend(moving.iter().map(|&input| Spec::of(self.inputs()[input].meta())));
        let mut recording = Recording::new(inputs);
        let mut values: Vec<Value> =
            (0..self.inputs().len()).map(|input| recording.input(input)).collect();
        let mut tangents: Vec<Option<Value>> = vec![None; values.len()];
        for (place, &input) in moving.iter().enumerate() {
            tangents[input] = Some(recording.input(self.inputs().len() + place));
        }
        for step in self.steps() {
            let operands = picked(&values, step.operands());
            if matches!(step.kind(), StepKind::Control(_)) {
                let reason = "control flow has no derivative yet".into();
                return Err(tenferro_tensor::Error::Unsupported { op: step.name(), reason }.into());
            }
            let output = recording.repeat(step, &operands)[0];
            let moved: SmallVec<[Option<Value>; 3]> =
                step.operands().iter().map(|operand| tangents[operand.0]).collect();
            let moved: SmallVec<[Option<&Value>; 3]> = moved.iter().map(Option::as_ref).collect();
            let tangent = match step.kind() {
                StepKind::Primitive(primitive) => {
                    let inputs: SmallVec<[&Value; 3]> = operands.iter().collect();
                    let point = Point { inputs: &inputs, output: &output, tangents: &moved };
                    derivative::jvp(&mut recording, primitive, &point)?
                }
                _ => without_rule(step, moved.iter().any(Option::is_some))?,
            };
            values.push(output);
            tangents.push(tangent);
        }
        let mut outputs = picked(&values, self.outputs()).to_vec();
        for output in self.inexact_outputs() {
            outputs.push(match tangents[output.0] {
                Some(tangent) => tangent,
                None => zeros(&mut recording, self.meta(output))?,
            });
        }
        Ok(recording.finish(outputs))
    }

    /// The program that computes the results, then the cotangents of those inputs that hold floats.
    ///
    /// Its inputs are those of this program, then a cotangent for each result that holds floats.
    ///
    /// # Errors
    /// [`Error::Tensor`] naming an operation without a derivative.
    pub fn vjp(&self) -> Result<Program> {
        let mut inputs = self.inputs().to_vec();
        inputs.extend(self.inexact_outputs().map(|output| Spec::of(self.meta(output))));
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

    /// Records this program and its transpose; `seed` gives the cotangent of the float result of that number. Returns all
    /// values, and the cotangents of the inputs that hold floats.
    fn pulled_back(
        &self,
        recording: &mut Recording,
        seed: impl Fn(&mut Recording, usize) -> Result<Value>,
    ) -> Result<(Vec<Value>, Vec<Value>)> {
        let mut values: Vec<Value> =
            (0..self.inputs().len()).map(|input| recording.input(input)).collect();
        let mut tape = Tape::new(recording);
        let mut tangents: Vec<Option<Tangent>> = self
            .inputs()
            .iter()
            .map(|spec| spec.meta().dtype.is_inexact().then(|| tape.leaf(spec.meta().clone())))
            .collect();
        for step in self.steps() {
            let operands = picked(&values, step.operands());
            if matches!(step.kind(), StepKind::Control(_)) {
                let reason = "control flow has no derivative yet".into();
                return Err(tenferro_tensor::Error::Unsupported { op: step.name(), reason }.into());
            }
            let output = tape.recording.repeat(step, &operands)[0];
            let moved: SmallVec<[Option<Tangent>; 3]> =
                step.operands().iter().map(|operand| tangents[operand.0]).collect();
            let tangent = tape.follow(step, &operands, output, &moved)?;
            values.push(output);
            tangents.push(tangent);
        }
        let mut seeds = Vec::new();
        for (place, output) in self.inexact_outputs().enumerate() {
            if let Some(tangent) = tangents[output.0] {
                seeds.push((tangent, seed(tape.recording, place)?));
            }
        }
        let cotangents = tape.turned_around(&seeds)?;
        let mut gradients = Vec::new();
        for input in self.inexact_inputs() {
            let leaf = tangents[input].expect("invariant: an input that holds floats is a leaf");
            gradients.push(match cotangents[leaf.index()] {
                Some(cotangent) => cotangent,
                None => zeros(recording, self.inputs()[input].meta())?,
            });
        }
        Ok((values, gradients))
    }

    fn inexact_inputs(&self) -> Vec<usize> {
        let inexact = |&input: &usize| self.inputs()[input].meta().dtype.is_inexact();
        (0..self.inputs().len()).filter(inexact).collect()
    }

    fn inexact_outputs(&self) -> impl Iterator<Item = Value> {
        self.outputs().iter().copied().filter(|&output| self.meta(output).dtype.is_inexact())
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
