//! Control flow: a choice or a loop whose parts are programs.
//!
//! A body reads its inputs only: what a closure took from the trace around it is an operand of the step. What each kind
//! means for operands and results is said here, once; tracing, parsing and transformations ask.

use smallvec::SmallVec;
use tenferro_ops::Meta;
use tenferro_tensor::{DType, Direction, Shape};

use crate::{Program, error::describe};

/// The dtypes and shapes of results.
pub(super) type Metas = SmallVec<[Meta; 1]>;

/// Programs that run as a choice or a loop says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Control {
    /// The body, once: its inputs are the operands, its results those of the step.
    Call {
        /// What runs.
        body: Program,
    },
    /// One of two programs: the first operand is a truth value, the others are the inputs of both.
    Cond {
        /// What runs if it is true.
        on_true: Program,
        /// What runs if it is false; its results have the dtypes and shapes of the other's.
        on_false: Program,
    },
    /// The body as long as the condition holds, which is tested first.
    ///
    /// The operands are the state, then constants; both programs have them all as inputs. The results are the last state.
    WhileLoop {
        /// Gives one truth value.
        condition: Program,
        /// Gives the next state.
        body: Program,
        /// How many operands are the state.
        carries: usize,
    },
    /// The body once for each element of sequences, which lie along their last axis.
    ///
    /// The operands are the state, then sequences, then constants. The inputs of the body are the state, an element of each
    /// sequence, and the constants; it gives the next state, then what is stacked along a new last axis. The results are the
    /// last state, then the stacks.
    Scan {
        /// What runs.
        body: Program,
        /// How many operands are the state.
        carries: usize,
        /// How many operands are sequences.
        sequences: usize,
        /// How often the body runs: the last extent of the sequences and of the stacks.
        length: usize,
        /// From which end of the sequences; stacks are filled from the same end.
        direction: Direction,
    },
}

/// What does not fit about the parts of a control flow step.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Misfit {
    /// A value has not the dtype and shape that another part asks for.
    #[error("{part} {place} is {} and has to be {}", describe(actual), describe(expected))]
    Meta {
        /// Which values are counted, such as "result of the body".
        part: &'static str,
        /// The number of the value among them.
        place: usize,
        /// What it has to be.
        expected: Box<Meta>,
        /// What it is.
        actual: Box<Meta>,
    },
    /// There are more or fewer values than another part asks for.
    #[error("there are {actual} of {part}, and there have to be {expected}")]
    Count {
        /// Which values are counted.
        part: &'static str,
        /// How many there have to be.
        expected: usize,
        /// How many there are.
        actual: usize,
    },
    /// What runs along sequences is given one without axes.
    #[error("sequence {place} has no axis to run along")]
    NoAxis {
        /// The number of the sequence.
        place: usize,
    },
    /// The results, stacked as often as the loop runs, cannot be addressed.
    #[error(
        "result {place} of the body, stacked {length} times, has more elements than can be addressed"
    )]
    Size {
        /// The number of the result.
        place: usize,
        /// How often the body runs.
        length: usize,
    },
}

impl Control {
    /// The name of the operation.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Control::Call { .. } => "call",
            Control::Cond { .. } => "cond",
            Control::WhileLoop { .. } => "while_loop",
            Control::Scan { .. } => "scan",
        }
    }

    /// The programs, each with what it is called in the text of a program.
    #[must_use]
    pub fn bodies(&self) -> SmallVec<[(&'static str, &Program); 2]> {
        match self {
            Control::Call { body } | Control::Scan { body, .. } => {
                [("body", body)].into_iter().collect()
            }
            Control::Cond { on_true, on_false } => {
                [("on_true", on_true), ("on_false", on_false)].into_iter().collect()
            }
            Control::WhileLoop { condition, body, .. } => {
                [("condition", condition), ("body", body)].into_iter().collect()
            }
        }
    }

    /// The same control flow over other programs, given what each of them becomes.
    ///
    /// # Errors
    /// The first that `f` has.
    pub(super) fn mapped<E>(
        &self,
        mut f: impl FnMut(&Program) -> Result<Program, E>,
    ) -> Result<Control, E> {
        let mut control = self.clone();
        match &mut control {
            Control::Call { body } | Control::Scan { body, .. } => *body = f(body)?,
            Control::Cond { on_true, on_false } => {
                *on_true = f(on_true)?;
                *on_false = f(on_false)?;
            }
            Control::WhileLoop { condition, body, .. } => {
                *condition = f(condition)?;
                *body = f(body)?;
            }
        }
        Ok(control)
    }

    /// The dtypes and shapes of the results for operands of these.
    ///
    /// # Errors
    /// What does not fit.
    pub fn infer(&self, operands: &[Meta]) -> Result<SmallVec<[Meta; 1]>, Misfit> {
        match self {
            Control::Call { body } => {
                check_inputs(body, operands)?;
                Ok(body.output_metas().into())
            }
            Control::Cond { on_true, on_false } => {
                let [predicate, operands @ ..] = operands else {
                    return Err(Misfit::Count { part: "predicates", expected: 1, actual: 0 });
                };
                check(
                    "predicate",
                    std::slice::from_ref(&truth()),
                    std::slice::from_ref(predicate),
                )?;
                check_inputs(on_true, operands)?;
                check_inputs(on_false, operands)?;
                let results = on_true.output_metas();
                check("result of `on_false`", &results, &on_false.output_metas())?;
                Ok(results.into())
            }
            Control::WhileLoop { condition, body, carries } => {
                let state = first("states", operands, *carries)?;
                check_inputs(condition, operands)?;
                check_inputs(body, operands)?;
                let predicate = std::slice::from_ref(&truth()).to_vec();
                check("result of the condition", &predicate, &condition.output_metas())?;
                check("result of the body", state, &body.output_metas())?;
                Ok(state.into())
            }
            Control::Scan { body, carries, sequences, length, .. } => {
                let state = first("states", operands, *carries)?;
                let (sequences, constants) = (
                    first("sequences", &operands[*carries..], *sequences)?,
                    &operands[carries + sequences..],
                );
                let mut inputs = state.to_vec();
                for (place, sequence) in sequences.iter().enumerate() {
                    inputs.push(element(place, sequence, *length)?);
                }
                inputs.extend_from_slice(constants);
                check_inputs(body, &inputs)?;
                let results = body.output_metas();
                check("result of the body", state, &results[..results.len().min(*carries)])?;
                let mut metas = Metas::from(state);
                for (place, meta) in results.iter().enumerate().skip(*carries) {
                    metas.push(
                        stacked(meta, *length).ok_or(Misfit::Size { place, length: *length })?,
                    );
                }
                Ok(metas)
            }
        }
    }
}

/// One truth value.
fn truth() -> Meta {
    Meta {
        dtype: DType::Bool,
        shape: Shape::new(&[]).expect("invariant: a scalar can be addressed"),
    }
}

/// An element of a sequence, which lies along the last axis.
fn element(place: usize, sequence: &Meta, length: usize) -> Result<Meta, Misfit> {
    let Some((&last, rest)) = sequence.shape.split_last() else {
        return Err(Misfit::NoAxis { place });
    };
    let of = |extents: &[usize]| Meta {
        dtype: sequence.dtype,
        shape: Shape::new(extents).expect("invariant: it is a part of what can be addressed"),
    };
    if last == length {
        return Ok(of(rest));
    }
    let expected = stacked(&of(rest), length).ok_or(Misfit::Size { place, length })?;
    let (expected, actual) = (Box::new(expected), Box::new(sequence.clone()));
    Err(Misfit::Meta { part: "sequence", place, expected, actual })
}

/// As many of these along a new last axis; `None` if they cannot be addressed.
pub(super) fn stacked(meta: &Meta, length: usize) -> Option<Meta> {
    let mut extents = meta.shape.to_vec();
    extents.push(length);
    Some(Meta { dtype: meta.dtype, shape: Shape::new(&extents).ok()? })
}

fn first<'m>(part: &'static str, metas: &'m [Meta], count: usize) -> Result<&'m [Meta], Misfit> {
    metas.get(..count).ok_or(Misfit::Count { part, expected: count, actual: metas.len() })
}

fn check_inputs(program: &Program, operands: &[Meta]) -> Result<(), Misfit> {
    let inputs: Vec<Meta> = program.inputs().iter().map(|spec| spec.meta().clone()).collect();
    check("operand", &inputs, operands)
}

fn check(part: &'static str, expected: &[Meta], actual: &[Meta]) -> Result<(), Misfit> {
    if expected.len() != actual.len() {
        return Err(Misfit::Count { part, expected: expected.len(), actual: actual.len() });
    }
    match expected.iter().zip(actual).position(|(expected, actual)| expected != actual) {
        None => Ok(()),
        Some(place) => {
            let (expected, actual) =
                (Box::new(expected[place].clone()), Box::new(actual[place].clone()));
            Err(Misfit::Meta { part, place, expected, actual })
        }
    }
}
