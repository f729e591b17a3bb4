//! A recording with a tape: what is known is recorded as steps, what is linear in tangents is kept to be turned around.

use smallvec::SmallVec;
use tenferro_ops::{
    Builder, Meta,
    derivative::{self, Place, Point},
    infer,
};
use tenferro_tensor::{Elementwise, Primitive, Tensor};

use super::flow;
use crate::{
    Result, Step, StepKind, Value,
    control::Metas,
    recording::{Recording, Results},
};

/// A place on the tape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tangent(pub(super) usize);

/// A value of a [`Tape`]: known, or linear in what is differentiated.
#[derive(Clone, Copy)]
pub(super) enum Edge {
    Known(Value),
    Linear(Tangent),
}

impl Edge {
    /// The value, if it is known.
    pub(super) fn known(&self) -> Option<Value> {
        match self {
            Edge::Known(value) => Some(*value),
            Edge::Linear(_) => None,
        }
    }

    /// The tangent, if it is linear.
    pub(super) fn linear(&self) -> Option<Tangent> {
        match self {
            Edge::Linear(tangent) => Some(*tangent),
            Edge::Known(_) => None,
        }
    }
}

/// The tangents of a step's results; `None` for what does not move.
pub(super) type Tangents = SmallVec<[Option<Tangent>; 1]>;

/// A recording, and the linear steps beside it.
pub(super) struct Tape<'r> {
    pub(super) recording: &'r mut Recording,
    /// Of each tangent.
    metas: Vec<Meta>,
    pub(super) steps: Vec<LinearStep>,
}

/// A step that is linear in those of its operands that are.
pub(super) struct LinearStep {
    pub(super) kind: StepKind,
    pub(super) operands: SmallVec<[Edge; 3]>,
    /// The tangent of the first result; the others follow.
    pub(super) first: usize,
    pub(super) metas: Metas,
}

impl LinearStep {
    pub(super) fn results(&self) -> std::ops::Range<usize> {
        self.first..self.first + self.metas.len()
    }
}

impl<'r> Tape<'r> {
    pub(super) fn new(recording: &'r mut Recording) -> Self {
        Self { recording, metas: Vec::new(), steps: Vec::new() }
    }

    /// A tangent that is given from outside.
    pub(super) fn leaf(&mut self, meta: Meta) -> Tangent {
        self.metas.push(meta);
        Tangent(self.metas.len() - 1)
    }

    /// A step that is linear in those operands that are; the tangents of its results.
    pub(super) fn linear(&mut self, kind: StepKind, operands: &[Edge], metas: Metas) -> Tangents {
        let first = self.metas.len();
        self.metas.extend_from_slice(&metas);
        let step = LinearStep { kind, operands: SmallVec::from_slice(operands), first, metas };
        let results = step.results();
        self.steps.push(step);
        results.map(|tangent| Some(Tangent(tangent))).collect()
    }

    /// Records a step; its results and their tangents.
    pub(super) fn follow(
        &mut self,
        step: &Step,
        operands: &[Value],
        tangents: &[Option<Tangent>],
    ) -> Result<(Results, Tangents)> {
        if tangents.iter().all(Option::is_none) {
            let results = self.recording.repeat(step, operands);
            return Ok((results, Tangents::from_elem(None, step.metas().len())));
        }
        if let StepKind::Control(control) = step.kind() {
            return flow::follow(self, control, operands, tangents);
        }
        let results = self.recording.repeat(step, operands);
        let known: SmallVec<[Edge; 3]> = operands.iter().map(|&x| Edge::Known(x)).collect();
        let known: SmallVec<[&Edge; 3]> = known.iter().collect();
        let edges: SmallVec<[Option<Edge>; 3]> =
            tangents.iter().map(|tangent| tangent.map(Edge::Linear)).collect();
        let edges: SmallVec<[Option<&Edge>; 3]> = edges.iter().map(Option::as_ref).collect();
        let point = Point { inputs: &known, output: &Edge::Known(results[0]), tangents: &edges };
        let tangent = match jvp(self, step, &point)? {
            Some(Edge::Linear(tangent)) => Some(tangent),
            Some(Edge::Known(_)) | None => None,
        };
        Ok((results, Tangents::from_elem(tangent, 1)))
    }

    /// The cotangents of all tangents, from those of some; the last step first.
    pub(super) fn turned_around(
        mut self,
        seeds: &[(Tangent, Value)],
    ) -> Result<Vec<Option<Value>>> {
        let mut cotangents: Vec<Option<Value>> = vec![None; self.metas.len()];
        for &(tangent, seed) in seeds {
            self.reach(&mut cotangents, tangent, seed)?;
        }
        while let Some(step) = self.steps.pop() {
            let own = &cotangents[step.results()];
            if own.iter().all(Option::is_none) {
                continue;
            }
            let passed: SmallVec<[Option<Value>; 3]> = match &step.kind {
                StepKind::Primitive(primitive) => {
                    let cotangent = own[0].expect("invariant: it was just looked at");
                    self.transposed(primitive, &step, &cotangent)?
                }
                StepKind::Control(control) => {
                    let own = own.to_vec();
                    flow::transpose(self.recording, control, &step, &own)?
                }
                StepKind::Constant(_) | StepKind::Custom(_) => {
                    unreachable!("invariant: no rule gives such a step for linear")
                }
            };
            for (edge, passed) in step.operands.iter().zip(passed) {
                if let (Edge::Linear(tangent), Some(passed)) = (edge, passed) {
                    self.reach(&mut cotangents, *tangent, passed)?;
                }
            }
        }
        Ok(cotangents)
    }

    /// The cotangents of a primitive's operands.
    fn transposed(
        &mut self,
        primitive: &Primitive,
        step: &LinearStep,
        cotangent: &Value,
    ) -> Result<SmallVec<[Option<Value>; 3]>> {
        let places: SmallVec<[Place<'_, Value>; 3]> = step
            .operands
            .iter()
            .map(|edge| match edge {
                Edge::Known(value) => Place::Known(value),
                Edge::Linear(tangent) => Place::Linear(&self.metas[tangent.0]),
            })
            .collect();
        Ok(derivative::transpose(self.recording, primitive, &places, cotangent)?)
    }

    fn reach(
        &mut self,
        cotangents: &mut [Option<Value>],
        tangent: Tangent,
        value: Value,
    ) -> Result<()> {
        let sum = match cotangents[tangent.0] {
            None => value,
            Some(before) => self.recording.emit(Elementwise::Add.into(), &[&before, &value])?,
        };
        cotangents[tangent.0] = Some(sum);
        Ok(())
    }

    pub(super) fn meta_of(&self, tangent: Tangent) -> &Meta {
        &self.metas[tangent.0]
    }
}

/// The tangent of the one result of a primitive or a custom operation.
pub(super) fn jvp<B: Builder>(
    builder: &mut B,
    step: &Step,
    point: &Point<'_, B::Value>,
) -> Result<Option<B::Value>> {
    Ok(match step.kind() {
        StepKind::Primitive(primitive) => derivative::jvp(builder, primitive, point)?,
        StepKind::Custom(op) => derivative::custom_jvp(builder, &**op, point)?,
        StepKind::Constant(_) | StepKind::Control(_) => {
            unreachable!("invariant: such a step has its own way")
        }
    })
}

impl Builder for Tape<'_> {
    type Value = Edge;

    fn meta(&self, value: &Edge) -> Meta {
        match value {
            Edge::Known(value) => self.recording.meta(value),
            Edge::Linear(tangent) => self.meta_of(*tangent).clone(),
        }
    }

    fn constant(&mut self, tensor: Tensor) -> Edge {
        Edge::Known(self.recording.constant(tensor))
    }

    fn emit(&mut self, primitive: Primitive, inputs: &[&Edge]) -> tenferro_tensor::Result<Edge> {
        let known: Option<SmallVec<[Value; 3]>> = inputs.iter().map(|edge| edge.known()).collect();
        if let Some(known) = known {
            let known: SmallVec<[&Value; 3]> = known.iter().collect();
            return self.recording.emit(primitive, &known).map(Edge::Known);
        }
        let metas: SmallVec<[Meta; 3]> = inputs.iter().map(|edge| self.meta(edge)).collect();
        let meta = infer(&primitive, &metas)?;
        let edges: SmallVec<[Edge; 3]> = inputs.iter().map(|&&edge| edge).collect();
        let results =
            self.linear(StepKind::Primitive(primitive), &edges, Metas::from_elem(meta, 1));
        Ok(Edge::Linear(results[0].expect("invariant: a linear step has tangents")))
    }
}
