//! Tracing: running a closure on values that only stand for tensors, and keeping what it did.

use std::{cell::RefCell, panic::Location, rc::Rc, sync::Arc};

use smallvec::SmallVec;
use tenferro_ops::{Builder, CustomOp, Meta};
use tenferro_tensor::{DType, Shape, Tensor};

use crate::{Error, Program, Result, Spec, StepKind, Value, recording::Recording};

/// A value of a trace: what an operation on it would give, without computing anything.
///
/// Operations chain without `?`: one that does not fit gives a value that everything made of it shares the fate of, and
/// [`trace`] reports the first such operation with its operands and where it was called.
#[derive(Clone)]
pub struct Traced {
    trace: Rc<RefCell<Trace>>,
    /// `None` for a value that does not exist, since a step before did not fit.
    value: Option<Value>,
}

/// A running trace.
struct Trace {
    recording: Recording,
    error: Option<Error>,
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
pub fn trace<R: Into<Vec<Traced>>>(
    specs: &[Spec],
    f: impl FnOnce(&[Traced]) -> R,
) -> Result<Program> {
    let recording = Recording::new(specs.to_vec());
    let values: Vec<Value> = (0..specs.len()).map(|number| recording.input(number)).collect();
    let trace = Rc::new(RefCell::new(Trace { recording, error: None }));
    let inputs: Vec<Traced> = values
        .into_iter()
        .map(|value| Traced { trace: Rc::clone(&trace), value: Some(value) })
        .collect();
    let outputs = f(&inputs).into();
    let location = Location::caller();
    let mut results = Vec::with_capacity(outputs.len());
    for output in &outputs {
        if !Rc::ptr_eq(&output.trace, &trace) {
            return Err(Error::ForeignValue { op: "trace", location });
        }
        results.extend(output.value);
    }
    let mut trace = trace.borrow_mut();
    if let Some(error) = trace.error.take() {
        return Err(error);
    }
    Ok(std::mem::take(&mut trace.recording).finish(results))
}

impl From<Traced> for Vec<Traced> {
    fn from(traced: Traced) -> Self {
        vec![traced]
    }
}

impl Traced {
    /// The dtype and shape; `None` for a value that does not exist, since a step before did not fit.
    #[must_use]
    pub fn meta(&self) -> Option<Meta> {
        self.value.map(|value| self.trace.borrow().recording.meta_of(value).clone())
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
        let value = self.trace.borrow_mut().recording.constant(tensor);
        self.like(Some(value))
    }

    /// The result of an operation that is not in the vocabulary.
    #[must_use]
    #[track_caller]
    pub fn custom(op: Arc<dyn CustomOp>, operands: &[&Traced]) -> Traced {
        let first = operands.first().expect("a custom operation of a trace has an operand");
        first.record(op.name(), operands, |recording, values| {
            let metas: Vec<Meta> = values.iter().map(|value| recording.meta(value)).collect();
            let meta = op.infer(&metas)?;
            Ok(recording.push(StepKind::Custom(op), values, meta))
        })
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
        let mut trace = self.trace.borrow_mut();
        if operands.iter().any(|operand| !Rc::ptr_eq(&operand.trace, &self.trace)) {
            trace.error.get_or_insert(Error::ForeignValue { op, location });
            return self.like(None);
        }
        let values: SmallVec<[Value; 3]> =
            operands.iter().filter_map(|operand| operand.value).collect();
        if values.len() < operands.len() {
            return self.like(None);
        }
        match step(&mut trace.recording, &values) {
            Ok(value) => self.like(Some(value)),
            Err(source) => {
                let recording = &trace.recording;
                let operands =
                    values.iter().map(|&value| recording.meta_of(value).clone()).collect();
                trace.error.get_or_insert(Error::Step { op, operands, location, source });
                self.like(None)
            }
        }
    }

    fn like(&self, value: Option<Value>) -> Traced {
        Traced { trace: Rc::clone(&self.trace), value }
    }
}
