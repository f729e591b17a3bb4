//! A recording with a tape: what is known is recorded as steps, what is linear in tangents is kept to be turned around.

use smallvec::SmallVec;
use tenferro_ops::{
    Builder, Meta,
    derivative::{self, Place, Point},
    infer,
};
use tenferro_tensor::{Error, Primitive, Result, Tensor};

use crate::{Step, StepKind, Value, recording::Recording};

/// A place on the tape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tangent(usize);

/// A value of a [`Tape`]: known, or linear in what is differentiated.
#[derive(Clone, Copy)]
pub(super) enum Edge {
    Known(Value),
    Linear(Tangent),
}

/// A recording, and the linear steps beside it.
pub(super) struct Tape<'r> {
    pub(super) recording: &'r mut Recording,
    entries: Vec<Entry>,
}

/// Where a tangent comes from.
struct Entry {
    meta: Meta,
    /// `None` for what is differentiated by.
    step: Option<(Primitive, SmallVec<[Edge; 3]>)>,
}

impl<'r> Tape<'r> {
    pub(super) fn new(recording: &'r mut Recording) -> Self {
        Self { recording, entries: Vec::new() }
    }

    /// A tangent that is given from outside.
    pub(super) fn leaf(&mut self, meta: Meta) -> Tangent {
        self.entry(Entry { meta, step: None })
    }

    fn entry(&mut self, entry: Entry) -> Tangent {
        self.entries.push(entry);
        Tangent(self.entries.len() - 1)
    }

    /// The tangent of a step's result.
    pub(super) fn follow(
        &mut self,
        step: &Step,
        operands: &[Value],
        output: Value,
        tangents: &[Option<Tangent>],
    ) -> Result<Option<Tangent>> {
        let StepKind::Primitive(primitive) = &step.kind else {
            return without_rule(step, tangents.iter().any(Option::is_some));
        };
        let known: SmallVec<[Edge; 3]> = operands.iter().map(|&x| Edge::Known(x)).collect();
        let known: SmallVec<[&Edge; 3]> = known.iter().collect();
        let edges: SmallVec<[Option<Edge>; 3]> =
            tangents.iter().map(|tangent| tangent.map(Edge::Linear)).collect();
        let edges: SmallVec<[Option<&Edge>; 3]> = edges.iter().map(Option::as_ref).collect();
        let point = Point { inputs: &known, output: &Edge::Known(output), tangents: &edges };
        Ok(match derivative::jvp(self, primitive, &point)? {
            Some(Edge::Linear(tangent)) => Some(tangent),
            Some(Edge::Known(_)) | None => None,
        })
    }

    /// The cotangents of all entries, from those of some; the last entry first.
    pub(super) fn turned_around(
        mut self,
        seeds: &[(Tangent, Value)],
    ) -> Result<Vec<Option<Value>>> {
        let mut cotangents: Vec<Option<Value>> = vec![None; self.entries.len()];
        for &(tangent, seed) in seeds {
            self.reach(&mut cotangents, tangent, seed)?;
        }
        while let Some(entry) = self.entries.pop() {
            let (Some(cotangent), Some((primitive, edges))) =
                (cotangents[self.entries.len()], entry.step)
            else {
                continue;
            };
            let metas: SmallVec<[Option<Meta>; 3]> = edges
                .iter()
                .map(|edge| match edge {
                    Edge::Known(_) => None,
                    Edge::Linear(tangent) => Some(self.entries[tangent.0].meta.clone()),
                })
                .collect();
            let places: SmallVec<[Place<'_, Value>; 3]> = edges
                .iter()
                .zip(&metas)
                .map(|(edge, meta)| match (edge, meta) {
                    (Edge::Known(value), _) => Place::Known(value),
                    (Edge::Linear(_), meta) => {
                        Place::Linear(meta.as_ref().expect("invariant: a tangent has a meta"))
                    }
                })
                .collect();
            let passed = derivative::transpose(self.recording, &primitive, &places, &cotangent)?;
            for (edge, passed) in edges.iter().zip(passed) {
                if let (Edge::Linear(tangent), Some(passed)) = (edge, passed) {
                    self.reach(&mut cotangents, *tangent, passed)?;
                }
            }
        }
        Ok(cotangents)
    }

    fn reach(
        &mut self,
        cotangents: &mut [Option<Value>],
        tangent: Tangent,
        value: Value,
    ) -> Result<()> {
        let sum = match cotangents[tangent.0] {
            None => value,
            Some(before) => {
                self.recording.emit(tenferro_tensor::Elementwise::Add.into(), &[&before, &value])?
            }
        };
        cotangents[tangent.0] = Some(sum);
        Ok(())
    }
}

impl Tangent {
    pub(super) fn index(self) -> usize {
        self.0
    }
}

/// A step that is not a primitive passes nothing on; that is an error where there would be something to pass.
pub(super) fn without_rule<T>(step: &Step, moves: bool) -> Result<Option<T>> {
    if moves && step.metas.iter().any(|meta| meta.dtype.is_inexact()) {
        let reason = "a custom operation has no derivative in programs".into();
        return Err(Error::Unsupported { op: step.name(), reason });
    }
    Ok(None)
}

impl Builder for Tape<'_> {
    type Value = Edge;

    fn meta(&self, value: &Edge) -> Meta {
        match value {
            Edge::Known(value) => self.recording.meta(value),
            Edge::Linear(tangent) => self.entries[tangent.0].meta.clone(),
        }
    }

    fn constant(&mut self, tensor: Tensor) -> Edge {
        Edge::Known(self.recording.constant(tensor))
    }

    fn emit(&mut self, primitive: Primitive, inputs: &[&Edge]) -> Result<Edge> {
        let known: SmallVec<[&Value; 3]> = inputs
            .iter()
            .filter_map(|edge| match edge {
                Edge::Known(value) => Some(value),
                Edge::Linear(_) => None,
            })
            .collect();
        if known.len() == inputs.len() {
            return self.recording.emit(primitive, &known).map(Edge::Known);
        }
        let metas: SmallVec<[Meta; 3]> = inputs.iter().map(|edge| self.meta(edge)).collect();
        let meta = infer(&primitive, &metas)?;
        let edges = inputs.iter().map(|&&edge| edge).collect();
        Ok(Edge::Linear(self.entry(Entry { meta, step: Some((primitive, edges)) })))
    }
}
