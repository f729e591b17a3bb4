//! Tracing: running a closure on values that only stand for tensors, and keeping what it did.
//!
//! Traces nest: the closure of a loop or a choice is traced by itself, and what it uses of the traces around it becomes an
//! input of its program. An operation is recorded in the innermost trace that one of its operands belongs to.

use std::{cell::RefCell, panic::Location, rc::Rc, sync::Arc};

use smallvec::SmallVec;
use tenferro_ops::{
    Builder, CustomOp, Meta,
    derivative::{Handle, Steps, compose},
};
use tenferro_tensor::{DType, Primitive, Shape, Tensor};

use crate::{Error, Program, Result, Spec, StepKind, Value, recording::Recording};

/// A value of a trace: what an operation on it would give, without computing anything.
///
/// Operations chain without `?`: one that does not fit gives a value that everything made of it shares the fate of, and
/// [`trace`] reports the first such operation with its operands and where it was called.
#[derive(Clone)]
pub struct Traced {
    pub(super) trace: Rc<Trace>,
    /// `None` for a value that does not exist, since a step before did not fit.
    pub(super) value: Option<Value>,
}

/// A running trace.
pub(super) struct Trace {
    /// The trace around it, for the closure of a loop or a choice.
    around: Option<Rc<Trace>>,
    state: RefCell<State>,
}

struct State {
    recording: Recording,
    error: Option<Error>,
    /// Whether its closure has returned: its values cannot be used any more.
    ended: bool,
    /// What was used of the trace around it, and the input that it became.
    captured: Vec<(Value, Value)>,
}

/// Records what `f` does with inputs of these dtypes and shapes.
///
/// `f` returns a value or a vector of them.
///
/// # Errors
/// [`Error::Step`] for the first operation that does not fit; [`Error::ForeignValue`].
///
/// ```
/// use tenferro_program::{Error, Spec, trace};
/// use tenferro_tensor::DType;
///
/// let specs = [Spec::new(DType::F32, [2])?, Spec::new(DType::F32, [3])?];
/// let error = trace(&specs, |xs| (&xs[0] * &xs[1]).exp()).unwrap_err();
/// assert!(matches!(error, Error::Step { op: "mul", .. }));
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn trace<R: Into<Vec<Traced>>>(
    specs: &[Spec],
    f: impl FnOnce(&[Traced]) -> R,
) -> Result<Program> {
    let trace = Trace::new(None, specs, &[]);
    let outputs = f(&trace.inputs()).into();
    let program = trace.finished("trace", &outputs, Location::caller());
    let state = &mut *trace.state.borrow_mut();
    match (state.error.take(), program) {
        (Some(error), _) => Err(error),
        (None, Some(program)) => Ok(program),
        (None, None) => unreachable!("invariant: a value that does not exist has an error"),
    }
}

impl From<Traced> for Vec<Traced> {
    fn from(traced: Traced) -> Self {
        vec![traced]
    }
}

impl Trace {
    /// A trace with these inputs, and after them what an earlier part of the same step took from around.
    pub(super) fn new(around: Option<Rc<Trace>>, specs: &[Spec], captured: &[Value]) -> Rc<Self> {
        let mut recording = Recording::new(specs.to_vec());
        let captured = captured
            .iter()
            .map(|&value| {
                let around = around.as_ref().expect("invariant: it was taken from around");
                (value, recording.late_input(Spec::of(&around.meta(value))))
            })
            .collect();
        let state = RefCell::new(State { recording, error: None, ended: false, captured });
        Rc::new(Self { around, state })
    }

    pub(super) fn inputs(self: &Rc<Self>) -> Vec<Traced> {
        let values = self.state.borrow().recording.inputs();
        values.into_iter().map(|value| self.value(Some(value))).collect()
    }

    pub(super) fn value(self: &Rc<Self>, value: Option<Value>) -> Traced {
        Traced { trace: Rc::clone(self), value }
    }

    pub(super) fn meta(&self, value: Value) -> Meta {
        self.state.borrow().recording.meta_of(value).clone()
    }

    /// The values of the trace around it that became inputs, in the order of these.
    pub(super) fn captured(&self) -> Vec<Value> {
        self.state.borrow().captured.iter().map(|&(outer, _)| outer).collect()
    }

    /// The program with these results; `None` if a step did not fit.
    pub(super) fn finished(
        self: &Rc<Self>,
        op: &'static str,
        outputs: &[Traced],
        location: &'static Location<'static>,
    ) -> Option<Program> {
        let results: Vec<Option<Value>> =
            outputs.iter().map(|output| self.lifted(op, output, location)).collect();
        let state = &mut *self.state.borrow_mut();
        let results: Option<Vec<Value>> = results.into_iter().collect();
        match (&state.error, results) {
            (None, Some(results)) => {
                state.ended = true;
                Some(std::mem::take(&mut state.recording).finish(results))
            }
            _ => None,
        }
    }

    /// Keeps the first error.
    pub(super) fn fail(&self, error: Error) {
        self.state.borrow_mut().error.get_or_insert(error);
    }

    /// Takes over the error of a trace inside.
    pub(super) fn fail_as(&self, inner: &Trace) {
        if let Some(error) = inner.state.borrow_mut().error.take() {
            self.fail(error);
        }
    }

    pub(super) fn record<T>(&self, step: impl FnOnce(&mut Recording) -> T) -> T {
        step(&mut self.state.borrow_mut().recording)
    }

    /// A value as one of this trace: one of a trace around it becomes an input. `None` if it does not exist, or is of
    /// another trace, which is then this trace's error.
    pub(super) fn lifted(
        self: &Rc<Self>,
        op: &'static str,
        traced: &Traced,
        location: &'static Location<'static>,
    ) -> Option<Value> {
        if Rc::ptr_eq(self, &traced.trace) && !self.has_ended() {
            return traced.value;
        }
        if self.has_ended() || !traced.trace.is_around(self) {
            self.fail(Error::ForeignValue { op, location });
            return None;
        }
        let around = self.around.as_ref().expect("invariant: there is a trace around");
        let Some(outer) = around.lifted(op, traced, location) else {
            self.fail_as(around);
            return None;
        };
        let meta = around.meta(outer);
        let state = &mut *self.state.borrow_mut();
        if let Some(&(_, input)) = state.captured.iter().find(|(value, _)| *value == outer) {
            return Some(input);
        }
        let input = state.recording.late_input(Spec::of(&meta));
        state.captured.push((outer, input));
        Some(input)
    }

    fn has_ended(&self) -> bool {
        self.state.borrow().ended
    }

    /// Whether this trace is `inner` or around it.
    fn is_around(&self, inner: &Trace) -> bool {
        let mut next = Some(inner);
        while let Some(trace) = next {
            if std::ptr::eq(self, trace) {
                return true;
            }
            next = trace.around.as_deref();
        }
        false
    }
}

impl Traced {
    /// The dtype and shape; `None` for a value that does not exist, since a step before did not fit or the closure that
    /// it belongs to has returned.
    #[must_use]
    pub fn meta(&self) -> Option<Meta> {
        self.value.filter(|_| !self.trace.has_ended()).map(|value| self.trace.meta(value))
    }

    /// The element type, if the value exists.
    #[must_use]
    pub fn dtype(&self) -> Option<DType> {
        self.meta().map(|meta| meta.dtype)
    }

    /// The extents, if the value exists.
    #[must_use]
    pub fn shape(&self) -> Option<Shape> {
        self.meta().map(|meta| meta.shape)
    }

    /// A tensor as a constant of the same trace.
    #[must_use]
    pub fn constant(&self, tensor: Tensor) -> Traced {
        let value = self.trace.record(|recording| recording.constant(tensor));
        self.trace.value(Some(value))
    }

    /// The result of a row of the vocabulary that is only known now; the rows are methods, too.
    ///
    /// # Panics
    /// Without operands: nothing would say which trace it belongs to.
    #[must_use]
    #[track_caller]
    pub fn apply(primitive: Primitive, operands: &[&Traced]) -> Traced {
        let first = operands.first().expect("a step of a trace that is applied has an operand");
        first.record(primitive.name(), operands, |recording, values| {
            recording.emit(primitive, &values.iter().collect::<SmallVec<[&Value; 4]>>())
        })
    }

    /// The result of an operation that is not in the vocabulary.
    ///
    /// # Panics
    /// Without operands: nothing would say which trace it belongs to.
    #[must_use]
    #[track_caller]
    pub fn custom(op: Arc<dyn CustomOp>, operands: &[&Traced]) -> Traced {
        let first = operands.first().expect("a custom operation of a trace has an operand");
        first.record(op.name(), operands, |recording, values| {
            let metas: Vec<Meta> = values.iter().map(|value| recording.meta(value)).collect();
            let meta = op.infer(&metas)?;
            Ok(recording.push_one(StepKind::Custom(op), values, meta))
        })
    }

    /// The result of an operation of your own, called `op`, that is made of those of the vocabulary.
    ///
    /// ```
    /// use tenferro_ops::Build;
    /// use tenferro_program::{Spec, Traced, trace};
    /// use tenferro_tensor::DType;
    ///
    /// let program = trace(&[Spec::new(DType::F64, [2])?.named("x")], |xs| {
    ///     Traced::compose("cube", &[&xs[0]], |steps, x| {
    ///         let square = steps.mul(&x[0], &x[0])?;
    ///         steps.mul(&square, &x[0])
    ///     })
    /// })?;
    /// assert_eq!(program.to_string().matches("mul").count(), 2);
    /// # Ok::<(), tenferro_program::Error>(())
    /// ```
    ///
    /// # Panics
    /// Without operands: nothing would say which trace it belongs to.
    #[must_use]
    #[track_caller]
    pub fn compose(
        op: &'static str,
        operands: &[&Traced],
        f: impl FnOnce(&mut Steps<'_>, &[Handle]) -> tenferro_tensor::Result<Handle>,
    ) -> Traced {
        let first = operands.first().expect("an operation that is composed has an operand");
        first.record(op, operands, |recording, values| compose(recording, values, f))
    }

    /// Records what `step` says, unless an operand does not exist.
    #[track_caller]
    pub(super) fn record(
        &self,
        op: &'static str,
        operands: &[&Traced],
        step: impl FnOnce(&mut Recording, &[Value]) -> tenferro_tensor::Result<Value>,
    ) -> Traced {
        let location = Location::caller();
        let trace = self.innermost(operands);
        let Some(values) = lifted(&trace, op, operands, location) else {
            return trace.value(None);
        };
        match trace.record(|recording| step(recording, &values)) {
            Ok(value) => trace.value(Some(value)),
            Err(source) => {
                let operands = values.iter().map(|&value| trace.meta(value)).collect();
                trace.fail(Error::Step { op, operands, location, source });
                trace.value(None)
            }
        }
    }

    /// The trace that an operation on these is recorded in.
    pub(super) fn innermost(&self, operands: &[&Traced]) -> Rc<Trace> {
        let mut innermost: Option<&Rc<Trace>> = None;
        for trace in operands.iter().map(|operand| &operand.trace).chain([&self.trace]) {
            if !trace.has_ended() && innermost.is_none_or(|outer| outer.is_around(trace)) {
                innermost = Some(trace);
            }
        }
        Rc::clone(innermost.unwrap_or(&self.trace))
    }
}

/// Operands as values of a trace; `None` if one does not exist.
pub(super) fn lifted(
    trace: &Rc<Trace>,
    op: &'static str,
    operands: &[&Traced],
    location: &'static Location<'static>,
) -> Option<SmallVec<[Value; 3]>> {
    let values: SmallVec<[Option<Value>; 3]> =
        operands.iter().map(|operand| trace.lifted(op, operand, location)).collect();
    values.into_iter().collect()
}
