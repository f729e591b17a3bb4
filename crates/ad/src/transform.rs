//! Transformations: functions of variables to functions that compute derivatives.
//!
//! Each opens a level of its own, so that they nest: what is returned is a variable of the levels around, and can be
//! differentiated there.

use std::sync::Arc;

use smallvec::SmallVec;
use tenferro_ops::derivative::scalar;
use tenferro_tensor::{Result, Tensor, Validation};

use crate::{
    Variable,
    emit::node,
    level::Level,
    node::Node,
    sweep::{self, Leaves},
    variable::{Derivative, check_inexact, check_like, check_loss, rule},
};

/// The transpose of a function's derivative at a point: from cotangents of the results to those of the operands.
///
/// May be asked any number of times.
pub struct Pullback {
    level: Level,
    inputs: Vec<(Option<Arc<Node>>, Variable)>,
    outputs: Vec<(Option<Arc<Node>>, Variable)>,
}

impl Pullback {
    /// The cotangent of each operand: `None` where it is no float, zeros where the results do not depend on it.
    ///
    /// # Errors
    /// [`Validation::WrongLength`] unless there is one cotangent a result; mismatched dtypes and shapes;
    /// [`Error::Unsupported`](tenferro_tensor::Error::Unsupported) naming a primitive without a derivative; what the
    /// engine refuses.
    pub fn pull(&self, cotangents: &[&Variable]) -> Result<Vec<Option<Variable>>> {
        let cotangents: Vec<Option<Variable>> =
            cotangents.iter().map(|&cotangent| Some(cotangent.clone())).collect();
        self.pull_some(&cotangents)
    }

    pub(super) fn pull_some(
        &self,
        cotangents: &[Option<Variable>],
    ) -> Result<Vec<Option<Variable>>> {
        const OP: &str = "vjp";
        let (expected, actual) = (self.outputs.len(), cotangents.len());
        if expected != actual {
            return Err(Validation::WrongLength { what: "cotangents", expected, actual }.of(OP));
        }
        let mut seeds = Vec::new();
        for ((node, output), cotangent) in self.outputs.iter().zip(cotangents) {
            let Some(cotangent) = cotangent else { continue };
            check_like(OP, output.value(), cotangent)?;
            if let Some(node) = node {
                seeds.push((Arc::clone(node), cotangent));
            }
        }
        let leaves = match seeds.first() {
            None => Leaves::new(),
            Some((_, first)) => {
                let autodiff = first.autodiff();
                let known =
                    |(node, seed): (_, &Variable)| (node, seed.clone().without(self.level).into());
                sweep::leaves(autodiff, self.level, seeds.into_iter().map(known))?
            }
        };
        let found = |node: &Arc<Node>| {
            leaves.iter().find(|(leaf, _)| Arc::ptr_eq(leaf, node)).map(|(_, found)| found.clone())
        };
        let cotangent = |(node, input): &(Option<Arc<Node>>, Variable)| match node {
            None => Ok(None),
            Some(node) => found(node).map_or_else(|| zeros_like(input), Ok).map(Some),
        };
        self.inputs.iter().map(cotangent).collect()
    }
}

/// The results of `f` and the pullback of cotangents through it.
///
/// # Errors
/// What `f` returns.
pub fn vjp(
    f: impl FnOnce(&[Variable]) -> Result<Vec<Variable>>,
    inputs: &[&Variable],
) -> Result<(Vec<Variable>, Pullback)> {
    let level = Level::fresh();
    let leaves: Vec<Variable> = inputs.iter().map(|&x| leaf(x, level)).collect();
    let traced = f(&leaves)?;
    let nodes = |variables: Vec<Variable>| {
        let known = variables.into_iter().map(|x| x.up_to(level));
        known.map(|x| (node(&x, level).cloned(), x.below(level))).collect::<Vec<_>>()
    };
    let pullback = Pullback { level, inputs: nodes(leaves), outputs: nodes(traced) };
    let outputs = pullback.outputs.iter().map(|(_, output)| output.clone()).collect();
    Ok((outputs, pullback))
}

/// The results of `f`, and their tangents for these tangents of the operands: one pass, forward.
///
/// A tangent is zeros where a result does not depend on the operands, and `None` where it is no float.
///
/// # Errors
/// [`Validation::WrongLength`] unless there is one tangent an operand; mismatched dtypes and shapes; what `f` returns.
pub fn jvp(
    f: impl FnOnce(&[Variable]) -> Result<Vec<Variable>>,
    inputs: &[&Variable],
    tangents: &[&Variable],
) -> Result<Vec<(Variable, Option<Variable>)>> {
    let tangents: Vec<Option<Variable>> = tangents.iter().map(|&t| Some(t.clone())).collect();
    let mut results = pushed(f, inputs, &tangents)?;
    for (value, tangent) in &mut results {
        if tangent.is_none() && value.dtype().is_inexact() {
            *tangent = Some(zeros_like(value)?);
        }
    }
    Ok(results)
}

/// As [`jvp`], with absent tangents on either side.
pub(super) fn pushed(
    f: impl FnOnce(&[Variable]) -> Result<Vec<Variable>>,
    inputs: &[&Variable],
    tangents: &[Option<Variable>],
) -> Result<Vec<(Variable, Option<Variable>)>> {
    const OP: &str = "jvp";
    let (expected, actual) = (inputs.len(), tangents.len());
    if expected != actual {
        return Err(Validation::WrongLength { what: "tangents", expected, actual }.of(OP));
    }
    let level = Level::fresh();
    let mut moving = Vec::with_capacity(inputs.len());
    for (&input, tangent) in inputs.iter().zip(tangents) {
        moving.push(match tangent {
            None => input.clone(),
            Some(tangent) => {
                check_inexact(OP, input.dtype())?;
                check_like(OP, input.value(), tangent)?;
                input.clone().tracked(level, Derivative::Tangent(Arc::new(tangent.clone())))
            }
        });
    }
    let results = f(&moving)?.into_iter().map(|result| {
        let result = result.up_to(level);
        let tangent = match result.at(level) {
            Some(Derivative::Tangent(tangent)) => Some(Variable::clone(tangent)),
            _ => None,
        };
        (result.below(level), tangent)
    });
    Ok(results.collect())
}

/// The gradient of a real scalar function.
///
/// Zeros where the value does not depend on `x`. For complex `x` it points along steepest ascent in the real and
/// imaginary parts.
///
/// # Errors
/// [`Validation::MeaninglessDType`] unless `x` holds floats; [`Validation::Rule`] unless `f` returns a real scalar; what `f`
/// returns.
pub fn grad(f: impl FnOnce(&Variable) -> Result<Variable>, x: &Variable) -> Result<Variable> {
    value_and_grad(f, x).map(|(_, gradient)| gradient)
}

/// The value and the gradient of a real scalar function; see [`grad`].
///
/// # Errors
/// As [`grad`].
pub fn value_and_grad(
    f: impl FnOnce(&Variable) -> Result<Variable>,
    x: &Variable,
) -> Result<(Variable, Variable)> {
    let (value, mut gradients) = value_and_grads(|xs| f(&xs[0]), &[x])?;
    Ok((value, gradients.remove(0)))
}

/// The value of a real scalar function, and its gradient by each operand; see [`grad`].
///
/// # Errors
/// As [`grad`].
pub fn value_and_grads(
    f: impl FnOnce(&[Variable]) -> Result<Variable>,
    xs: &[&Variable],
) -> Result<(Variable, Vec<Variable>)> {
    const OP: &str = "grad";
    for x in xs {
        check_inexact(OP, x.dtype())?;
    }
    let level = Level::fresh();
    let mut leaves: SmallVec<[Variable; 4]> = SmallVec::new();
    for x in xs {
        leaves.push(leaf(x, level));
    }
    let loss = f(&leaves)?.up_to(level);
    check_loss(OP, &loss)?;
    // What only the graph keeps alive is freed while the sweep passes.
    let (root, value) = loss.into_node_and_below(level);
    let mut found = match root {
        None => Leaves::new(),
        Some(root) => {
            let one = scalar(value.dtype(), 1.0)?.into();
            sweep::leaves(value.autodiff(), level, [(root, one)])?
        }
    };
    let mut gradients = Vec::with_capacity(leaves.len());
    for leaf in &leaves {
        let own = node(leaf, level).expect("invariant: an operand of floats is a leaf");
        gradients.push(match found.iter().position(|(node, _)| Arc::ptr_eq(node, own)) {
            Some(place) => found.swap_remove(place).1,
            None => zeros_like(leaf)?,
        });
    }
    Ok((value, gradients))
}

/// The product of the Hessian of a real scalar function with `v`: forward over reverse.
///
/// # Errors
/// As [`grad`]; mismatched dtypes and shapes of `x` and `v`.
pub fn hvp(
    f: impl FnOnce(&Variable) -> Result<Variable>,
    x: &Variable,
    v: &Variable,
) -> Result<Variable> {
    let mut results = jvp(|xs| Ok(vec![grad(f, &xs[0])?]), &[x], &[v])?;
    let (_, tangent) = results.remove(0);
    Ok(tangent.expect("invariant: a gradient holds floats"))
}

/// All derivatives of a function's result by its operand: the axes of the result, then those of the operand.
///
/// One backward sweep an element of the result. For complex numbers `f` must be holomorphic.
///
/// # Errors
/// [`Validation::MeaninglessDType`] unless operand and result hold floats of one kind; what `f` returns.
pub fn jacobian(f: impl FnOnce(&Variable) -> Result<Variable>, x: &Variable) -> Result<Variable> {
    const OP: &str = "jacobian";
    check_inexact(OP, x.dtype())?;
    let (outputs, pullback) = vjp(|xs| Ok(vec![f(&xs[0])?]), &[x])?;
    let y = &outputs[0];
    check_inexact(OP, y.dtype())?;
    if y.dtype() != x.dtype() {
        return Err(Validation::DTypeMismatch { lhs: x.dtype(), rhs: y.dtype() }.of(OP));
    }
    let mut extents = y.shape().to_vec();
    extents.extend_from_slice(x.shape());
    let elements = y.value().elements();
    if elements == 0 {
        return Ok(x.autodiff().constant(Tensor::zeros(x.dtype(), extents)?));
    }
    let mut row_extents = vec![1];
    row_extents.extend_from_slice(x.shape());
    // Row `k` of the unit matrix is the cotangent that picks element `k`.
    let unit = x.autodiff().constant(Tensor::eye(y.dtype(), elements)?);
    let mut rows = Vec::with_capacity(elements);
    for k in 0..elements {
        let one_hot = unit.slice([0, k], [elements, k + 1], [1, 1])?.reshape(&y.shape()[..])?;
        let row = pullback.pull(&[&one_hot])?.remove(0);
        let row = row.expect("invariant: the operand holds floats");
        let row = if x.dtype().is_complex() { row.conj()? } else { row };
        rows.push(row.reshape(&row_extents[..])?);
    }
    Variable::concatenate(&rows, 0_usize)?.reshape(extents)
}

/// All second derivatives of a real scalar function of a real operand: the axes of `x` twice.
///
/// # Errors
/// As [`grad`]; [`Validation::Rule`] for a complex operand, whose gradient is not holomorphic: see [`hvp`].
pub fn hessian(f: impl Fn(&Variable) -> Result<Variable>, x: &Variable) -> Result<Variable> {
    if x.dtype().is_complex() {
        return Err(rule(
            "hessian",
            "second derivatives by complex numbers are no tensor of complex numbers; use `hvp`",
        ));
    }
    jacobian(|x| grad(&f, x), x)
}

/// A variable that a level differentiates by; one that holds no floats stays as it is.
fn leaf(x: &Variable, level: Level) -> Variable {
    if !x.dtype().is_inexact() {
        return x.clone();
    }
    let node = Arc::new(Node::leaf(x.value()));
    x.clone().tracked(level, Derivative::Node(node))
}

fn zeros_like(x: &Variable) -> Result<Variable> {
    Ok(x.autodiff().constant(Tensor::zeros(x.dtype(), x.shape().to_vec())?))
}
