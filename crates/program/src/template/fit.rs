//! Makes a template of the programs that come out at several sizes: what differs among them has to be a polynomial.

use std::sync::Arc;

use tenferro_tensor::Tensor;

use super::{Extent, Sizes, Template, Varying, VaryingStep, probes::Probes, specialised::scalar};
use crate::{
    Control, Error, Program, Result, Step, StepKind,
    identity::with_bytes,
    text::{Tree, control_tree, parameter_tree, written},
};

/// The template of the programs that `make` makes for sizes of these axes.
pub(crate) fn fit(
    axes: &Arc<[Arc<str>]>,
    mut make: impl FnMut(&Sizes) -> Result<Program>,
) -> Result<Template> {
    let probes = Probes::new(axes);
    let points = probes.points();
    let mut programs = Vec::with_capacity(points.len());
    for point in &points {
        programs.push(make(point).map_err(|source| match source {
            Error::AtSizes { .. } => source,
            source if point.is_empty() => source,
            source => Error::AtSizes { sizes: point.to_string(), source: Box::new(source) },
        })?);
    }
    let varying = varying(&probes, &programs.iter().collect::<Vec<_>>())
        .map_err(|reason| Error::NoTemplate { reason })?;
    Template::new(axes, programs.swap_remove(0), varying)
}

/// What differs among programs that have the same steps; else why there is no template of them.
fn varying(probes: &Probes, programs: &[&Program]) -> std::result::Result<Varying, String> {
    let first = programs[0];
    for other in &programs[1..] {
        let names = |program: &Program| -> Vec<&'static str> {
            program.steps().iter().map(Step::name).collect()
        };
        if names(first) != names(other) {
            return Err("the steps of the program depend on the sizes of named axes".into());
        }
        let wired = |lhs: &Step, rhs: &Step| {
            lhs.operands() == rhs.operands() && lhs.metas().len() == rhs.metas().len()
        };
        let same = first.steps().iter().zip(other.steps()).all(|(lhs, rhs)| wired(lhs, rhs));
        if !same
            || first.outputs() != other.outputs()
            || first.inputs().len() != other.inputs().len()
        {
            return Err("which values a step uses depends on the sizes of named axes".into());
        }
    }
    let mut shapes = Vec::with_capacity(first.values());
    for value in 0..first.values() {
        let metas: Vec<_> =
            programs.iter().map(|program| program.meta(crate::Value(value))).collect();
        if metas
            .iter()
            .any(|meta| meta.dtype != metas[0].dtype || meta.shape.rank() != metas[0].shape.rank())
        {
            return Err(format!(
                "the dtype or rank of value {value} depends on the sizes of named axes"
            ));
        }
        let extents = (0..metas[0].shape.rank()).map(|axis| {
            let values: Vec<i128> = metas.iter().map(|meta| meta.shape[axis] as i128).collect();
            probes.fit(&values).ok_or_else(|| {
                format!(
                    "extent {axis} of value {value} is no polynomial in the sizes of named axes"
                )
            })
        });
        shapes.push(extents.collect::<std::result::Result<Vec<Extent>, String>>()?);
    }
    let mut steps = Vec::with_capacity(first.steps().len());
    for (place, step) in first.steps().iter().enumerate() {
        let all: Vec<&Step> = programs.iter().map(|program| &program.steps()[place]).collect();
        let step = varying_step(probes, &all).map_err(|what| {
            format!("{what} of `{}` is no polynomial in the sizes of named axes", step.name())
        })?;
        steps.push(step);
    }
    Ok(Varying { shapes, steps })
}

/// What differs among steps of one name; else what of them is no polynomial.
fn varying_step(probes: &Probes, steps: &[&Step]) -> std::result::Result<VaryingStep, String> {
    match steps[0].kind() {
        StepKind::Constant(_) => {
            let tensors: Vec<&Tensor> = steps
                .iter()
                .filter_map(|step| match step.kind() {
                    StepKind::Constant(tensor) => Some(tensor),
                    _ => None,
                })
                .collect();
            if tensors.iter().all(|tensor| is_same(tensors[0], tensor)) {
                return Ok(VaryingStep::Nothing);
            }
            let number = constant(probes, &tensors).ok_or("the value")?;
            Ok(VaryingStep::Constant(number))
        }
        StepKind::Primitive(primitive) => {
            let trees: Vec<Tree> = steps
                .iter()
                .filter_map(|step| match step.kind() {
                    StepKind::Primitive(primitive) => Some(parameter_tree(primitive)),
                    _ => None,
                })
                .collect();
            if trees.iter().all(|tree| *tree == trees[0]) {
                return Ok(VaryingStep::Nothing);
            }
            debug_assert_eq!(primitive.name(), steps[0].name());
            Ok(VaryingStep::Parameters(fields(merged(probes, &trees)?)))
        }
        StepKind::Custom(custom) => {
            let same = |step: &&Step| matches!(step.kind(), StepKind::Custom(own) if Arc::ptr_eq(own, custom));
            if steps.iter().all(same) {
                Ok(VaryingStep::Nothing)
            } else {
                Err("the operation".into())
            }
        }
        StepKind::Control(_) => {
            let controls: Vec<&Control> = steps
                .iter()
                .filter_map(|step| match step.kind() {
                    StepKind::Control(control) => Some(control),
                    _ => None,
                })
                .collect();
            let trees: Vec<Tree> = controls.iter().map(|control| control_tree(control)).collect();
            let mut bodies = Vec::new();
            for place in 0..controls[0].bodies().len() {
                let all: Vec<&Program> =
                    controls.iter().map(|control| control.bodies()[place].1).collect();
                bodies.push(varying(probes, &all).map_err(|why| format!("a program ({why})"))?);
            }
            Ok(VaryingStep::Control(fields(merged(probes, &trees)?), bodies))
        }
    }
}

fn fields(tree: Tree) -> Vec<(String, Tree)> {
    match tree {
        Tree::Fields(fields) => fields,
        _ => unreachable!("invariant: parameters are fields"),
    }
}

/// One tree for all, with polynomials where numbers differ.
fn merged(probes: &Probes, trees: &[Tree]) -> std::result::Result<Tree, String> {
    let refused = || "a parameter".to_owned();
    match &trees[0] {
        Tree::Word(_) | Tree::Extent(_) => {
            if trees.iter().all(|tree| *tree == trees[0]) {
                Ok(trees[0].clone())
            } else {
                Err(refused())
            }
        }
        Tree::Number(_) => {
            let numbers = trees.iter().map(|tree| match tree {
                Tree::Number(number) => Some(*number),
                _ => None,
            });
            let numbers: Vec<i128> = numbers.collect::<Option<_>>().ok_or_else(refused)?;
            let extent = probes.fit(&numbers).ok_or_else(refused)?;
            Ok(extent.as_number().map_or(Tree::Extent(extent), Tree::Number))
        }
        Tree::List(items) => {
            let lists = trees.iter().map(|tree| match tree {
                Tree::List(list) if list.len() == items.len() => Some(list),
                _ => None,
            });
            let lists: Vec<&Vec<Tree>> = lists.collect::<Option<_>>().ok_or_else(refused)?;
            let items = (0..items.len()).map(|place| {
                merged(probes, &lists.iter().map(|list| list[place].clone()).collect::<Vec<_>>())
            });
            Ok(Tree::List(items.collect::<std::result::Result<_, _>>()?))
        }
        Tree::Fields(first) => {
            let names = |fields: &[(String, Tree)]| -> Vec<String> {
                fields.iter().map(|(name, _)| name.clone()).collect()
            };
            let all = trees.iter().map(|tree| match tree {
                Tree::Fields(fields) if names(fields) == names(first) => Some(fields),
                _ => None,
            });
            let all: Vec<&Vec<(String, Tree)>> = all.collect::<Option<_>>().ok_or_else(refused)?;
            let fields = first.iter().enumerate().map(|(place, (name, _))| {
                let trees: Vec<Tree> = all.iter().map(|fields| fields[place].1.clone()).collect();
                let tree = merged(probes, &trees);
                tree.map(|tree| (name.clone(), tree)).map_err(|_| format!("parameter `{name}`"))
            });
            Ok(Tree::Fields(fields.collect::<std::result::Result<_, _>>()?))
        }
    }
}

/// The number that scalar constants are, as a polynomial that gives their very bits.
fn constant(probes: &Probes, tensors: &[&Tensor]) -> Option<Extent> {
    let mut numbers = Vec::with_capacity(tensors.len());
    for tensor in tensors {
        let number = (tensor.rank() == 0).then(|| whole(tensor)).flatten()?;
        is_same(&scalar(tensor.dtype(), number)?, tensor).then(|| numbers.push(number))?;
    }
    probes.fit(&numbers)
}

/// The whole number that a scalar is.
fn whole(tensor: &Tensor) -> Option<i128> {
    let text = written(tensor);
    // Of a complex number the real part; that the other is zero, the comparison of bits tells.
    let number: f64 = text.trim_start_matches('(').split(',').next()?.parse().ok()?;
    // Beyond, neighbouring numbers are one float.
    (number.fract() == 0.0 && number.abs() < 9e15).then_some(number as i128)
}

fn is_same(lhs: &Tensor, rhs: &Tensor) -> bool {
    lhs.dtype() == rhs.dtype()
        && lhs.shape() == rhs.shape()
        && with_bytes(lhs, |lhs| with_bytes(rhs, |rhs| lhs == rhs))
}
