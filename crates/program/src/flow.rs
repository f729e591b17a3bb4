//! Control flow of traces: closures that become the bodies of loops and choices.

use std::{panic::Location, rc::Rc};

use tenferro_ops::Meta;
use tenferro_tensor::{Direction, Shape};

use crate::{
    Control, Error, Program, Spec, Traced, Value,
    control::Misfit,
    recording::Recording,
    trace::{Trace, lifted},
};

/// A loop over the elements of sequences, or a number of times, that carries a state along.
///
/// Sequences lie along their last axis, where column-major order keeps an element in one piece, and so do the results that
/// are stacked.
///
/// ```
/// use tenferro_ops::reference::Reference;
/// use tenferro_program::{Passes, Scan, Spec, trace};
/// use tenferro_tensor::{DType, Tensor};
///
/// // Running sums, and the whole one.
/// let specs = [Spec::new(DType::F64, [])?, Spec::new(DType::F64, [4])?];
/// let sums = trace(&specs, |xs| {
///     Scan::over(&[&xs[1]]).run(&[&xs[0]], |state, element| {
///         let sum = &state[0] + &element[0];
///         (vec![sum.clone()], vec![sum])
///     })
/// })?;
/// let start = Tensor::scalar(10.0)?;
/// let x = Tensor::from_vec_col_major([4], vec![1.0, 2.0, 3.0, 4.0])?;
/// let results = sums.prepare(&Passes::all())?.run(&mut Reference, vec![(&start).into(), (&x).into()])?;
/// assert_eq!(results[0].as_slice::<f64>()?, [20.0]);
/// assert_eq!(results[1].as_slice::<f64>()?, [11.0, 13.0, 16.0, 20.0]);
/// # Ok::<(), tenferro_program::Error>(())
/// ```
#[derive(Clone)]
pub struct Scan<'s> {
    sequences: Vec<&'s Traced>,
    times: Option<usize>,
    direction: Direction,
}

impl<'s> Scan<'s> {
    /// A loop over the elements of sequences, which have one last extent.
    #[must_use]
    pub fn over(sequences: &[&'s Traced]) -> Self {
        Self { sequences: sequences.to_vec(), times: None, direction: Direction::Forward }
    }

    /// A loop that runs so many times.
    #[must_use]
    pub fn times(times: usize) -> Self {
        Self { sequences: Vec::new(), times: Some(times), direction: Direction::Forward }
    }

    /// The loop from the last element to the first, which fills stacks from their ends.
    #[must_use]
    pub fn reversed(mut self) -> Self {
        self.direction = match self.direction {
            Direction::Forward => Direction::Reverse,
            Direction::Reverse => Direction::Forward,
        };
        self
    }

    /// Runs `body` on the state and an element of each sequence; it gives the next state, and results to stack.
    ///
    /// Returns the last state, then the stacks. What does not fit is reported by [`trace`](crate::trace()).
    ///
    /// # Panics
    /// Without a state and a sequence: nothing would say which trace the loop belongs to.
    #[track_caller]
    pub fn run(
        &self,
        state: &[&Traced],
        body: impl FnOnce(&[Traced], &[Traced]) -> (Vec<Traced>, Vec<Traced>),
    ) -> Vec<Traced> {
        const OP: &str = "scan";
        let location = Location::caller();
        let operands: Vec<&Traced> = state.iter().chain(&self.sequences).copied().collect();
        let first = operands.first().expect("a scan has a state or a sequence");
        let trace = first.innermost(&operands);
        let Some(mut values) = lifted(&trace, OP, &operands, location) else {
            return nothing(&trace, state.len());
        };
        let metas: Vec<Meta> = values.iter().map(|&value| trace.meta(value)).collect();
        let mut specs: Vec<Spec> = metas[..state.len()].iter().map(Spec::of).collect();
        let mut length = self.times;
        for (place, sequence) in metas[state.len()..].iter().enumerate() {
            let Some((&last, rest)) = sequence.shape.split_last() else {
                let source = Misfit::NoAxis { place };
                trace.fail(Error::Control { op: OP, location: Some(location), source });
                return nothing(&trace, state.len());
            };
            length.get_or_insert(last);
            let shape = Shape::new(rest).expect("invariant: it is a part of what can be addressed");
            specs.push(Spec::of(&Meta { dtype: sequence.dtype, shape }));
        }
        let inner = Trace::new(Some(Rc::clone(&trace)), &specs, &[]);
        let inputs = inner.inputs();
        let (next, stacks) = body(&inputs[..state.len()], &inputs[state.len()..]);
        let carries = next.len();
        let outputs: Vec<Traced> = next.into_iter().chain(stacks).collect();
        let Some(body) = inner.finished(OP, &outputs, location) else {
            trace.fail_as(&inner);
            return nothing(&trace, outputs.len());
        };
        if carries != state.len() {
            let part = "next states";
            let source = Misfit::Count { part, expected: state.len(), actual: carries };
            trace.fail(Error::Control { op: OP, location: Some(location), source });
            return nothing(&trace, outputs.len());
        }
        let control = Control::Scan {
            body,
            carries,
            sequences: self.sequences.len(),
            length: length.unwrap_or(0),
            direction: self.direction,
        };
        values.extend(inner.captured());
        step(&trace, control, &values, outputs.len(), location)
    }
}

impl Traced {
    /// One of two closures' results, as this truth value says; only that closure is computed.
    ///
    /// Both are given the operands, and give results of the same dtypes and shapes. An operation on values of the trace
    /// around alone is not part of a closure: it is computed in any case.
    #[track_caller]
    pub fn cond<R: Into<Vec<Traced>>, S: Into<Vec<Traced>>>(
        &self,
        operands: &[&Traced],
        on_true: impl FnOnce(&[Traced]) -> R,
        on_false: impl FnOnce(&[Traced]) -> S,
    ) -> Vec<Traced> {
        const OP: &str = "cond";
        let location = Location::caller();
        let operands: Vec<&Traced> =
            std::iter::once(self).chain(operands.iter().copied()).collect();
        let trace = self.innermost(&operands);
        let Some(mut values) = lifted(&trace, OP, &operands, location) else {
            return nothing(&trace, 1);
        };
        let specs: Vec<Spec> =
            values[1..].iter().map(|&value| Spec::of(&trace.meta(value))).collect();
        let Some(first) = traced(&trace, OP, &specs, &[], location, on_true) else {
            return nothing(&trace, 1);
        };
        // The second closure has the inputs that the first took from around, and its own.
        let Some(second) = traced(&trace, OP, &specs, &first.captured, location, on_false) else {
            return nothing(&trace, first.body.outputs().len());
        };
        let on_true = first.body.with_more_inputs(&second.body);
        values.extend_from_slice(&second.captured);
        let results = on_true.outputs().len();
        let control = Control::Cond { on_true, on_false: second.body };
        step(&trace, control, &values, results, location)
    }

    /// The state after `body` was applied as long as `condition` holds, which is asked first.
    ///
    /// Derivatives of such a loop run forward only; [`Scan`] has both.
    ///
    /// # Panics
    /// Without a state: nothing would say which trace the loop belongs to.
    #[track_caller]
    pub fn while_loop<R: Into<Vec<Traced>>>(
        state: &[&Traced],
        condition: impl FnOnce(&[Traced]) -> Traced,
        body: impl FnOnce(&[Traced]) -> R,
    ) -> Vec<Traced> {
        const OP: &str = "while_loop";
        let location = Location::caller();
        let trace = state.first().expect("a loop has a state").innermost(state);
        let Some(mut values) = lifted(&trace, OP, state, location) else {
            return nothing(&trace, state.len());
        };
        let specs: Vec<Spec> = values.iter().map(|&value| Spec::of(&trace.meta(value))).collect();
        let Some(test) = traced(&trace, OP, &specs, &[], location, condition) else {
            return nothing(&trace, state.len());
        };
        let Some(next) = traced(&trace, OP, &specs, &test.captured, location, body) else {
            return nothing(&trace, state.len());
        };
        let condition = test.body.with_more_inputs(&next.body);
        values.extend_from_slice(&next.captured);
        let control = Control::WhileLoop { condition, body: next.body, carries: state.len() };
        step(&trace, control, &values, state.len(), location)
    }
}

impl Program {
    /// The program as a step of a trace, on these operands.
    ///
    /// # Panics
    /// Without operands: nothing would say which trace it belongs to.
    #[track_caller]
    pub fn call(&self, operands: &[&Traced]) -> Vec<Traced> {
        const OP: &str = "call";
        let location = Location::caller();
        let trace = operands.first().expect("a call has an operand").innermost(operands);
        match lifted(&trace, OP, operands, location) {
            None => nothing(&trace, self.outputs().len()),
            Some(values) => {
                let control = Control::Call { body: self.clone() };
                step(&trace, control, &values, self.outputs().len(), location)
            }
        }
    }

    /// The program with the further inputs that another has, which it does not read.
    fn with_more_inputs(&self, other: &Program) -> Program {
        let mut recording = Recording::new(other.inputs().to_vec());
        let inputs = recording.inputs();
        let outputs = recording.inline(self, &inputs[..self.inputs().len()]);
        recording.finish(outputs)
    }
}

/// A closure's program, and what it took from the trace around it.
struct Part {
    body: Program,
    captured: Vec<Value>,
}

/// The program of a closure inside a trace; `None` if it does not fit.
fn traced<R: Into<Vec<Traced>>>(
    trace: &Rc<Trace>,
    op: &'static str,
    specs: &[Spec],
    captured: &[Value],
    location: &'static Location<'static>,
    f: impl FnOnce(&[Traced]) -> R,
) -> Option<Part> {
    let inner = Trace::new(Some(Rc::clone(trace)), specs, captured);
    let outputs = f(&inner.inputs()).into();
    let body = inner.finished(op, &outputs, location);
    trace.fail_as(&inner);
    Some(Part { body: body?, captured: inner.captured() })
}

/// Records a step of control flow.
fn step(
    trace: &Rc<Trace>,
    control: Control,
    operands: &[Value],
    results: usize,
    location: &'static Location<'static>,
) -> Vec<Traced> {
    let op = control.name();
    match trace.record(|recording| recording.control(control, operands)) {
        Ok(results) => results.into_iter().map(|result| trace.value(Some(result))).collect(),
        Err(source) => {
            trace.fail(Error::Control { op, location: Some(location), source });
            nothing(trace, results)
        }
    }
}

/// Values that do not exist.
fn nothing(trace: &Rc<Trace>, results: usize) -> Vec<Traced> {
    (0..results).map(|_| trace.value(None)).collect()
}
