//! The program that a template is at given sizes. Each step is recorded as a trace records it, so that it fits.

use tenferro_ops::{Builder, Meta};
use tenferro_tensor::{DType, Factor, Scalar, Shape, Tensor, Validation, dispatch};

use super::{Extent, Sizes, Varying, VaryingStep};
use crate::{
    Control, Error, Program, Result, Spec, StepKind, Value,
    control::Metas,
    recording::{Recording, Results},
    text::{self, Tree},
};

/// The program whose sample this is, at these sizes.
pub(super) fn program(sample: &Program, varying: &Varying, sizes: &Sizes) -> Result<Program> {
    let mut specs = Vec::with_capacity(sample.inputs().len());
    for (spec, extents) in sample.inputs().iter().zip(&varying.shapes) {
        let own = Spec::new(spec.meta().dtype, shape(extents, sizes)?)?;
        specs.push(match spec.name() {
            Some(name) => own.named(name),
            None => own,
        });
    }
    let mut recording = Recording::new(specs);
    for (step, varying_step) in sample.steps().iter().zip(&varying.steps) {
        let operands = step.operands();
        let results = match (step.kind(), varying_step) {
            (StepKind::Constant(tensor), VaryingStep::Constant(number)) => {
                let number = evaluated(number, sizes)?;
                let tensor = scalar(tensor.dtype(), number as i128);
                one(recording.constant(tensor.expect("invariant: a number of this dtype")))
            }
            (StepKind::Constant(tensor), _) => one(recording.constant(tensor.clone())),
            (StepKind::Primitive(primitive), VaryingStep::Parameters(fields)) => {
                let fields = plain_fields(fields, sizes)?;
                let primitive = text::primitive(primitive.name(), &fields)
                    .expect("invariant: it is the name of a row")
                    .map_err(|reason| Error::NoTemplate { reason })?;
                emit(&mut recording, primitive, operands)?
            }
            (StepKind::Primitive(primitive), _) => {
                emit(&mut recording, primitive.clone(), operands)?
            }
            (StepKind::Custom(custom), _) => {
                let metas: Vec<Meta> =
                    operands.iter().map(|operand| recording.meta(operand)).collect();
                let meta = custom.infer(&metas)?;
                one(recording.push_one(StepKind::Custom(custom.clone()), operands, meta))
            }
            (StepKind::Control(control), VaryingStep::Control(fields, bodies)) => {
                let mut bodies = bodies.iter();
                let mut control = control.mapped(|body| {
                    program(body, bodies.next().expect("invariant: one a body"), sizes)
                })?;
                if let Control::Scan { length, .. } = &mut control {
                    let fields = plain_fields(fields, sizes)?;
                    *length = text::parameter(&fields, "length")
                        .map_err(|reason| Error::NoTemplate { reason })?;
                }
                let op = control.name();
                recording.control(control, operands).map_err(|source| Error::Control {
                    op,
                    location: None,
                    source,
                })?
            }
            (StepKind::Control(_), _) => unreachable!("invariant: control flow has bodies"),
        };
        check(&recording, &results, varying, sizes, step.name())?;
    }
    Ok(recording.finish(sample.outputs().to_vec()))
}

fn one(value: Value) -> Results {
    Results::from_elem(value, 1)
}

fn emit(
    recording: &mut Recording,
    primitive: tenferro_tensor::Primitive,
    operands: &[Value],
) -> Result<Results> {
    let operands: Vec<&Value> = operands.iter().collect();
    Ok(one(recording.emit(primitive, &operands)?))
}

/// Guards that results have the shapes that the template says.
fn check(
    recording: &Recording,
    results: &[Value],
    varying: &Varying,
    sizes: &Sizes,
    op: &'static str,
) -> Result<()> {
    let expected: Metas = results
        .iter()
        .map(|result| {
            let dtype = recording.meta(result).dtype;
            let extents = shape(&varying.shapes[result.index()], sizes)?;
            let shape = Shape::new(&extents).map_err(|problem| problem.of(op))?;
            Ok(Meta { dtype, shape })
        })
        .collect::<Result<_>>()?;
    for (result, expected) in results.iter().zip(expected) {
        let actual = recording.meta(result);
        if actual != expected {
            let (lhs, rhs) = (actual.shape[..].into(), expected.shape[..].into());
            return Err(Validation::ShapeMismatch { lhs, rhs }.of(op).into());
        }
    }
    Ok(())
}

/// The extents at these sizes.
pub(super) fn shape(extents: &[Extent], sizes: &Sizes) -> Result<Vec<usize>> {
    extents.iter().map(|extent| evaluated(extent, sizes)).collect()
}

/// The number at these sizes, which may not be negative.
fn evaluated(extent: &Extent, sizes: &Sizes) -> Result<usize> {
    let number = extent.at(sizes).and_then(|number| usize::try_from(number).ok());
    number.ok_or_else(|| Error::NoExtent { extent: extent.to_string(), sizes: sizes.to_string() })
}

/// Fields with numbers in the place of polynomials.
fn plain_fields(fields: &[(String, Tree)], sizes: &Sizes) -> Result<Vec<(String, Tree)>> {
    fields.iter().map(|(name, tree)| Ok((name.clone(), plain(tree, sizes)?))).collect()
}

fn plain(tree: &Tree, sizes: &Sizes) -> Result<Tree> {
    Ok(match tree {
        Tree::Word(_) | Tree::Number(_) => tree.clone(),
        Tree::List(items) => {
            Tree::List(items.iter().map(|item| plain(item, sizes)).collect::<Result<_>>()?)
        }
        Tree::Fields(fields) => Tree::Fields(plain_fields(fields, sizes)?),
        Tree::Extent(extent) => {
            // Padding may be negative.
            let number = extent.at(sizes);
            Tree::Number(number.ok_or_else(|| Error::NoExtent {
                extent: extent.to_string(),
                sizes: sizes.to_string(),
            })?)
        }
    })
}

/// A whole number as a scalar; `None` if the dtype cannot hold it.
pub(crate) fn scalar(dtype: DType, number: i128) -> Option<Tensor> {
    dispatch!(dtype, any T => {
        Tensor::scalar(T::from_factor(Factor::Real(number as f64))?).ok()
    })
}
