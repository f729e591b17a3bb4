//! Splitting the derivative of a program: what is computed at a point, and what is linear in tangents; and turning the
//! linear part around.

use std::collections::{HashMap, HashSet};

use smallvec::SmallVec;
use tenferro_ops::{Builder, Meta};

use super::{
    moving::only,
    tape::{Edge, LinearStep, Tangent, Tape},
    zeros,
};
use crate::{Program, Result, Spec, StepKind, Value, recording::Recording};

/// A program at a point, and its derivative there.
pub(super) struct Split {
    /// Computes the results, then those residuals that are not inputs.
    pub(super) known: Program,
    /// What the derivative needs, in the order of its inputs.
    pub(super) residuals: Vec<Residual>,
    /// Computes the tangents of the forced results from the residuals, then the tangents of the inputs that move.
    pub(super) linear: Program,
}

/// Something that a derivative needs of the point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Residual {
    /// An input of the program.
    Input(usize),
    /// A further result of the known part, by its number among those.
    Computed(usize),
}

impl Split {
    /// Splits the derivative of a program by those inputs that move.
    pub(super) fn of(program: &Program, moving: &[bool], forced: &[bool]) -> Result<Self> {
        let mut recording = Recording::new(program.inputs().to_vec());
        let mut values = recording.inputs();
        let mut tape = Tape::new(&mut recording);
        let mut tangents: Vec<Option<Tangent>> = program
            .inputs()
            .iter()
            .zip(moving)
            .map(|(spec, moves)| moves.then(|| tape.leaf(spec.meta().clone())))
            .collect();
        for step in program.steps() {
            let operands: SmallVec<[Value; 3]> =
                step.operands().iter().map(|x| values[x.0]).collect();
            let moved: SmallVec<[Option<Tangent>; 3]> =
                step.operands().iter().map(|x| tangents[x.0]).collect();
            let (results, moved) = tape.follow(step, &operands, &moved)?;
            values.extend(results);
            tangents.extend(moved);
        }
        let outputs: Vec<Value> = program.outputs().iter().map(|x| values[x.0]).collect();
        let wanted: Vec<(&Meta, Option<Tangent>)> = only(program.outputs(), forced)
            .map(|output| (program.meta(*output), tangents[output.0]))
            .collect();
        let leaves: Vec<(Tangent, &Meta)> = tangents
            .iter()
            .zip(program.inputs())
            .filter_map(|(tangent, spec)| Some(((*tangent)?, spec.meta())))
            .collect();
        let Tape { steps, .. } = tape;
        let (needed, linear) = replayed(&recording, &steps, &leaves, &wanted)?;
        let mut computed = Vec::new();
        let residuals = needed.iter().map(|value| match value.0 {
            input if input < program.inputs().len() => Residual::Input(input),
            _ => {
                computed.push(*value);
                Residual::Computed(computed.len() - 1)
            }
        });
        let residuals = residuals.collect();
        let known = recording.finish(outputs.into_iter().chain(computed).collect());
        Ok(Self { known, residuals, linear })
    }
}

/// The linear steps that the wanted tangents need as a program, and the known values that are its first inputs; the leaves
/// follow. Constants become constants of its own.
fn replayed(
    known: &Recording,
    steps: &[LinearStep],
    leaves: &[(Tangent, &Meta)],
    wanted: &[(&Meta, Option<Tangent>)],
) -> Result<(Vec<Value>, Program)> {
    let mut needed: HashSet<usize> =
        wanted.iter().filter_map(|(_, tangent)| tangent.map(|tangent| tangent.0)).collect();
    let mut kept: Vec<&LinearStep> = Vec::new();
    for step in steps.iter().rev() {
        if step.results().any(|result| needed.contains(&result)) {
            needed.extend(step.operands.iter().filter_map(|edge| match edge {
                Edge::Linear(tangent) => Some(tangent.0),
                Edge::Known(_) => None,
            }));
            kept.push(step);
        }
    }
    kept.reverse();
    let constant = |value: Value| match known.origin(value)?.kind() {
        StepKind::Constant(tensor) => Some(tensor),
        _ => None,
    };
    let mut residuals: Vec<Value> = Vec::new();
    let mut seen: HashSet<Value> = HashSet::new();
    for edge in kept.iter().flat_map(|step| &step.operands) {
        if let Edge::Known(value) = edge
            && constant(*value).is_none()
            && seen.insert(*value)
        {
            residuals.push(*value);
        }
    }
    let mut specs: Vec<Spec> =
        residuals.iter().map(|&value| Spec::of(known.meta_of(value))).collect();
    specs.extend(leaves.iter().map(|(_, meta)| Spec::of(meta)));
    let mut recording = Recording::new(specs);
    let inputs = recording.inputs();
    let mut values: HashMap<Value, Value> =
        residuals.iter().copied().zip(inputs.iter().copied()).collect();
    let mut tangents: HashMap<usize, Value> = leaves
        .iter()
        .map(|(leaf, _)| leaf.0)
        .zip(inputs[residuals.len()..].iter().copied())
        .collect();
    for step in kept {
        let mut operands: SmallVec<[Value; 3]> = SmallVec::new();
        for edge in &step.operands {
            operands.push(match edge {
                Edge::Linear(tangent) => tangents[&tangent.0],
                Edge::Known(value) => match (values.get(value), constant(*value)) {
                    (Some(value), _) => *value,
                    (None, Some(tensor)) => {
                        let own = recording.constant(tensor.clone());
                        values.insert(*value, own);
                        own
                    }
                    (None, None) => unreachable!("invariant: what is known is a residual"),
                },
            });
        }
        let results = recording.push(step.kind.clone(), &operands, step.metas.clone());
        tangents.extend(step.results().zip(results));
    }
    let mut outputs = Vec::with_capacity(wanted.len());
    for (meta, tangent) in wanted {
        outputs.push(match tangent {
            Some(tangent) => tangents[&tangent.0],
            None => zeros(&mut recording, meta)?,
        });
    }
    Ok((residuals, recording.finish(outputs)))
}

/// A program that is linear in some of its inputs, turned around.
///
/// Its inputs are the other inputs, then cotangents of all results; its results the cotangents of the linear inputs.
pub(super) fn transposed(program: &Program, linear: &[bool]) -> Result<Program> {
    let still: Vec<bool> = linear.iter().map(|linear| !linear).collect();
    let mut specs: Vec<Spec> = only(program.inputs(), &still).cloned().collect();
    let known = specs.len();
    specs.extend(program.output_metas().iter().map(Spec::of));
    let mut recording = Recording::new(specs);
    let inputs = recording.inputs();
    let (mut given, cotangents) = (inputs[..known].iter(), &inputs[known..]);
    let mut tape = Tape::new(&mut recording);
    let mut edges: Vec<Edge> = program
        .inputs()
        .iter()
        .zip(linear)
        .map(|(spec, linear)| match linear {
            true => Edge::Linear(tape.leaf(spec.meta().clone())),
            false => Edge::Known(*given.next().expect("invariant: one a known input")),
        })
        .collect();
    for step in program.steps() {
        let operands: SmallVec<[Edge; 3]> = step.operands().iter().map(|x| edges[x.0]).collect();
        let known: Option<SmallVec<[Value; 3]>> = operands.iter().map(Edge::known).collect();
        match known {
            Some(operands) => {
                edges.extend(tape.recording.repeat(step, &operands).into_iter().map(Edge::Known));
            }
            None => {
                let results = tape.linear(step.kind.clone(), &operands, step.metas.clone());
                edges.extend(results.into_iter().flatten().map(Edge::Linear));
            }
        }
    }
    let leaves: Vec<Edge> = only(&edges[..linear.len()], linear).copied().collect();
    let seeds: Vec<(Tangent, Value)> = program
        .outputs()
        .iter()
        .zip(cotangents)
        .filter_map(|(output, cotangent)| Some((edges[output.0].linear()?, *cotangent)))
        .collect();
    let passed = tape.turned_around(&seeds)?;
    let mut outputs = Vec::with_capacity(leaves.len());
    for (leaf, spec) in leaves.iter().zip(only(program.inputs(), linear)) {
        let leaf = leaf.linear().expect("invariant: a linear input is a leaf");
        outputs.push(match passed[leaf.0] {
            Some(cotangent) => cotangent,
            None => zeros(&mut recording, spec.meta())?,
        });
    }
    Ok(recording.finish(outputs))
}
