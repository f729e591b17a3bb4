//! Memory for time: a part of a computation of which only the operands are kept.

use tenferro_tensor::Result;

use crate::{Function, Variable, transform};

/// The results of `f`, whose steps are not recorded but run again when gradients pass.
///
/// Derivatives are those of `f`, to any order.
///
/// # Errors
/// What `f` returns, now or when it runs again; [`Validation::Rule`](tenferro_tensor::Validation::Rule) if `f` computes with
/// a variable that is being differentiated by and is not among `inputs`.
pub fn checkpoint(
    f: impl Fn(&[Variable]) -> Result<Vec<Variable>> + Clone + Send + Sync + 'static,
    inputs: &[&Variable],
) -> Result<Vec<Variable>> {
    let (again, pushed) = (f.clone(), f.clone());
    Function::new("checkpoint", f)
        .with_pullback(move |call, cotangents| {
            let (_, pullback) = transform::vjp(&again, &call.inputs.iter().collect::<Vec<_>>())?;
            pullback.pull_some(cotangents)
        })
        .with_pushforward(move |call, tangents| {
            let inputs: Vec<&Variable> = call.inputs.iter().collect();
            let results = transform::pushed(&pushed, &inputs, tangents)?;
            Ok(results.into_iter().map(|(_, tangent)| tangent).collect())
        })
        .apply(inputs)
}
