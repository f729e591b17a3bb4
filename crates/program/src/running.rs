//! How control flow runs: which body, how often, and on what.

use smallvec::SmallVec;
use tenferro_ops::{Engine, Meta};
use tenferro_tensor::{
    AsOperand, Direction, Indices, Operand, Primitive, Structural, Tensor, TensorView,
};

use crate::{Argument, Control, Outputs, Prepared, Result, control::stacked};

/// Runs a step of control flow whose bodies, in their order, are prepared.
pub(super) fn run(
    engine: &mut dyn Engine,
    control: &Control,
    bodies: &[Prepared],
    mut operands: Vec<Argument<'_>>,
) -> Result<Outputs> {
    match control {
        Control::Call { .. } => bodies[0].run(engine, operands),
        Control::Cond { .. } => {
            let rest = operands.split_off(1);
            let body = if truth(&operands[0].operand())? { 0 } else { 1 };
            bodies[body].run(engine, rest)
        }
        Control::WhileLoop { carries, .. } => {
            let constants = operands.split_off(*carries);
            let [condition, body] = bodies else {
                unreachable!("invariant: a loop has a condition and a body")
            };
            let mut state = operands;
            while truth(&condition.run(engine, lent(&state, &constants))?[0].as_operand())? {
                state.extend(constants.iter().map(Argument::lent));
                let next = body.run(engine, state)?;
                state = next.into_iter().map(Argument::Given).collect();
            }
            state.into_iter().map(|value| Ok(value.into_tensor()?)).collect()
        }
        Control::Scan { carries, sequences, length, direction, .. } => {
            let constants = operands.split_off(carries + sequences);
            let sequences = operands.split_off(*carries);
            let sequences: Vec<TensorView<'_>> =
                sequences.iter().map(|sequence| sequence.operand().view()).collect();
            let order = (0..*length).map(|turn| match direction {
                Direction::Forward => turn,
                Direction::Reverse => length - 1 - turn,
            });
            let mut state = operands;
            let mut stacks = stacks(engine, bodies[0].program().output_metas(), *carries, *length)?;
            for place in order {
                let elements = sequences
                    .iter()
                    .map(|sequence| element(sequence, place))
                    .collect::<tenferro_tensor::Result<Vec<TensorView<'_>>>>()?;
                state.extend(elements.iter().map(Argument::from));
                state.extend(constants.iter().map(Argument::lent));
                let mut next = bodies[0].run(engine, state)?;
                for (stack, result) in stacks.iter_mut().zip(next.drain(*carries..)) {
                    put(engine, stack, place, &result)?;
                }
                state = next.into_iter().map(Argument::Given).collect();
            }
            let mut results = state
                .into_iter()
                .map(Argument::into_tensor)
                .collect::<tenferro_tensor::Result<Outputs>>()?;
            results.append(&mut stacks);
            Ok(results)
        }
    }
}

/// State and constants, none of them given away.
fn lent<'a>(state: &'a [Argument<'_>], constants: &'a [Argument<'_>]) -> Vec<Argument<'a>> {
    state.iter().chain(constants).map(Argument::lent).collect()
}

fn truth(predicate: &Operand<'_>) -> tenferro_tensor::Result<bool> {
    predicate.view().get::<bool>(&[])
}

/// Room for the results that are stacked, from the engine's memory.
fn stacks(
    engine: &mut dyn Engine,
    results: Vec<Meta>,
    carries: usize,
    length: usize,
) -> Result<Outputs> {
    let room = |meta: &Meta| {
        let whole = stacked(meta, length).expect("invariant: it was inferred");
        let zero = Tensor::zeros(meta.dtype, [])?;
        let extents = Indices::from(&whole.shape[..]);
        let row = Structural::BroadcastInDim { extents, axes: Indices::default() };
        Ok(engine.apply(&Primitive::from(row), &[zero.as_operand()])?)
    };
    results[carries..].iter().map(room).collect()
}

/// An element of a sequence.
fn element<'a>(sequence: &TensorView<'a>, place: usize) -> tenferro_tensor::Result<TensorView<'a>> {
    let (_, extents) = sequence.shape().split_last().expect("invariant: a sequence has an axis");
    let place = place.cast_signed();
    sequence.clone().slice(extents.len(), place..place + 1, 1)?.reshape(extents)
}

/// Writes an element of a stack.
fn put(
    engine: &mut dyn Engine,
    stack: &mut Tensor,
    place: usize,
    result: &Tensor,
) -> tenferro_tensor::Result<()> {
    let extents: SmallVec<[usize; 6]> = SmallVec::from_slice(result.shape());
    let place = place.cast_signed();
    let mut room =
        stack.view_mut()?.slice(extents.len(), place..place + 1, 1)?.reshape(&extents)?;
    let row = Structural::Reshape { extents: Indices::from(&extents[..]) };
    engine.apply_into(&Primitive::from(row), &[result.as_operand()], room.as_operand_mut())
}
