//! Functions with derivatives of their own: closures for the value, and for what becomes of tangents and cotangents.

use std::{fmt, sync::Arc};

use tenferro_ops::Meta;
use tenferro_tensor::{Error, Result, Validation};

use crate::{
    Variable,
    emit::{highest, node},
    level::Level,
    node::Node,
    variable::{self, Derivative, check_like},
};

type Forward = dyn Fn(&[Variable]) -> Result<Vec<Variable>> + Send + Sync;
type Rule = dyn Fn(&Call, &[Option<Variable>]) -> Result<Vec<Option<Variable>>> + Send + Sync;

/// A function of variables with any number of results, and its derivative rules.
///
/// Rules compute with variables, so that what they return can be differentiated again. They may run transformations
/// themselves; no lock is held.
///
/// ```
/// use tenferro_ad::{Autodiff, Function, grad};
/// use tenferro_ops::reference::Reference;
/// use tenferro_tensor::Tensor;
///
/// // The identity, which lets gradients through only up to 1.
/// let clip = Function::new("clip_gradient", |inputs| Ok(inputs.to_vec())).with_pullback(
///     |call, cotangents| {
///         let one = call.inputs[0].autodiff().constant(Tensor::scalar(1.0_f64)?);
///         Ok(vec![cotangents[0].as_ref().map(|ct| ct.minimum(&one)).transpose()?])
///     },
/// );
/// let ad = Autodiff::new(Reference);
/// let x = ad.constant(Tensor::from_vec_col_major(vec![2], vec![0.25_f64, 3.0])?);
/// let loss = |x: &tenferro_ad::Variable| {
///     let clipped = clip.apply(&[x])?.remove(0);
///     clipped.mul(&clipped)?.sum([0], tenferro_tensor::KeepAxes::Drop)
/// };
/// assert_eq!(grad(loss, &x)?.value().as_slice::<f64>()?, &[0.5, 1.0]);
/// # Ok::<(), tenferro_tensor::Error>(())
/// ```
#[derive(Clone)]
pub struct Function {
    name: &'static str,
    forward: Arc<Forward>,
    pullback: Option<Arc<Rule>>,
    pushforward: Option<Arc<Rule>>,
}

/// One application of a [`Function`], as its rules see it.
#[derive(Clone, Debug)]
pub struct Call {
    /// The operands.
    pub inputs: Vec<Variable>,
    /// The results.
    pub outputs: Vec<Variable>,
}

impl Function {
    /// A function that is computed by `forward` and has no derivatives yet.
    pub fn new(
        name: &'static str,
        forward: impl Fn(&[Variable]) -> Result<Vec<Variable>> + Send + Sync + 'static,
    ) -> Self {
        Self { name, forward: Arc::new(forward), pullback: None, pushforward: None }
    }

    /// The function with a rule for reverse mode: from the cotangent of each result, `None` where it has none, to that of
    /// each operand.
    #[must_use]
    pub fn with_pullback(
        mut self,
        rule: impl Fn(&Call, &[Option<Variable>]) -> Result<Vec<Option<Variable>>>
        + Send
        + Sync
        + 'static,
    ) -> Self {
        self.pullback = Some(Arc::new(rule));
        self
    }

    /// The function with a rule for forward mode: from the tangent of each operand, `None` where it has none, to that
    /// of each result.
    #[must_use]
    pub fn with_pushforward(
        mut self,
        rule: impl Fn(&Call, &[Option<Variable>]) -> Result<Vec<Option<Variable>>>
        + Send
        + Sync
        + 'static,
    ) -> Self {
        self.pushforward = Some(Arc::new(rule));
        self
    }

    /// The results for these operands.
    ///
    /// # Errors
    /// What the function returns; [`Error::Unsupported`] if an operand is differentiated in a mode without a rule;
    /// [`Validation::Rule`] if the function computes with a variable that is differentiated like its operands and is none.
    pub fn apply(&self, inputs: &[&Variable]) -> Result<Vec<Variable>> {
        let Some(level) = highest(inputs) else {
            let inputs: Vec<Variable> = inputs.iter().map(|x| x.detach()).collect();
            return (self.forward)(&inputs);
        };
        let below: Vec<Variable> = inputs.iter().map(|x| x.below(level)).collect();
        let outputs = self.apply(&below.iter().collect::<Vec<_>>())?;
        let is_lost = |output: &Variable| output.track().is_some_and(|track| track.level >= level);
        if outputs.iter().any(is_lost) {
            return Err(variable::rule(
                self.name,
                "it computes with a variable that is being differentiated by and is no operand, so that its gradient would be lost; make it an operand, or detach it",
            ));
        }
        let call = Call { inputs: below, outputs };
        let is_forward = |x: &&Variable| matches!(x.at(level), Some(Derivative::Tangent(_)));
        if inputs.iter().any(is_forward) {
            self.push(call, inputs, level)
        } else {
            self.record(call, inputs, level)
        }
    }

    fn push(&self, call: Call, inputs: &[&Variable], level: Level) -> Result<Vec<Variable>> {
        let rule = self.rule(&self.pushforward, "with_pushforward")?;
        let tangents: Vec<Option<Variable>> = inputs
            .iter()
            .map(|x| match x.at(level) {
                Some(Derivative::Tangent(tangent)) => Some(Variable::clone(tangent)),
                _ => None,
            })
            .collect();
        let pushed = rule(&call, &tangents)?;
        counted(self.name, "tangents", call.outputs.len(), pushed.len())?;
        let results = call.outputs.into_iter().zip(pushed).map(|(output, tangent)| match tangent {
            Some(tangent) => {
                check_like(self.name, output.value(), &tangent)?;
                let tangent = Arc::new(tangent.without(level));
                Ok(output.tracked(level, Derivative::Tangent(tangent)))
            }
            None => Ok(output),
        });
        results.collect()
    }

    fn record(&self, call: Call, inputs: &[&Variable], level: Level) -> Result<Vec<Variable>> {
        let rule = self.rule(&self.pullback, "with_pullback")?;
        let nodes = inputs.iter().map(|x| node(x, level).cloned()).collect();
        let outputs = call.outputs.clone();
        let metas: Vec<Meta> = outputs.iter().map(|output| Meta::of(output.value())).collect();
        let applied = Applied { name: self.name, call, rule, nodes };
        let function = Arc::new(Node::function(applied, metas[0].clone()));
        let results = outputs.into_iter().zip(metas).enumerate().map(|(place, (output, meta))| {
            if !meta.dtype.is_inexact() {
                return output;
            }
            let node = Arc::new(Node::result(Arc::clone(&function), place, meta));
            output.tracked(level, Derivative::Node(node))
        });
        Ok(results.collect())
    }

    fn rule(&self, rule: &Option<Arc<Rule>>, method: &str) -> Result<Arc<Rule>> {
        rule.clone().ok_or_else(|| {
            let reason = format!("it has no derivative in this mode; give it one by `Function::{method}`, or detach its operands").into();
            Error::Unsupported { op: self.name, reason }
        })
    }
}

impl fmt::Debug for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Function").field("name", &self.name).finish_non_exhaustive()
    }
}

/// An application of a function on the tape.
pub(super) struct Applied {
    name: &'static str,
    call: Call,
    rule: Arc<Rule>,
    nodes: Vec<Option<Arc<Node>>>,
}

impl Applied {
    /// The nodes of the operands that have one.
    pub(super) fn nodes(&self) -> impl Iterator<Item = &Node> {
        self.nodes.iter().flatten().map(|node| &**node)
    }

    /// The operands' nodes with their cotangents, from those of the results.
    pub(super) fn pulled_back(
        &self,
        mut cotangents: Vec<Option<Variable>>,
    ) -> Result<Vec<(Arc<Node>, Variable)>> {
        cotangents.resize(self.call.outputs.len(), None);
        let pulled = (self.rule)(&self.call, &cotangents)?;
        counted(self.name, "cotangents", self.call.inputs.len(), pulled.len())?;
        let mut reached = Vec::new();
        for ((node, input), cotangent) in self.nodes.iter().zip(&self.call.inputs).zip(pulled) {
            if let (Some(node), Some(cotangent)) = (node, cotangent) {
                check_like(self.name, input.value(), &cotangent)?;
                reached.push((Arc::clone(node), cotangent));
            }
        }
        Ok(reached)
    }
}

fn counted(op: &'static str, what: &'static str, expected: usize, actual: usize) -> Result<()> {
    if expected == actual {
        return Ok(());
    }
    Err(Validation::WrongLength { what, expected, actual }.of(op))
}
