//! Prepared programs against the operations themselves, on backends: the whole vocabulary, bit for bit.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../../ops/tests/calls/mod.rs"]
mod calls;

use std::thread;

use calls::{Call, Dice, ROWS, Row, call};
use proptest::prelude::*;
use tenferro::{
    CpuBackend, DType, Tensor,
    ops::{Meta, infer, scalar::Cast},
    program::{Argument, Error, Passes, Program, Spec, Traced, trace},
    tensor::{AsOperand, KeepAxes, Operand, Vocabulary, dispatch},
};

/// Small numbers, halves and zeros of both signs among them where the dtype has them.
fn numbers(dtype: DType, extents: &[usize], dice: &mut Dice) -> Tensor {
    let elements = extents.iter().product::<usize>();
    let whole = dispatch!(dtype, any T => {
        let values = (0..elements).map(|_| <T as Cast>::from_i64(dice.roll(9) as i64 - 4)).collect();
        Tensor::from_vec_col_major(extents.to_vec(), values).unwrap()
    });
    if !dtype.is_inexact() {
        return whole;
    }
    let mut backend = CpuBackend::with_threads(1).unwrap();
    let factor = dispatch!(dtype, any T => Tensor::scalar(<T as Cast>::from_i64(-2)).unwrap());
    let row = tenferro::tensor::Elementwise::Div;
    backend.apply(&row.into(), &[whole.as_operand(), factor.as_operand()]).unwrap()
}

/// Whole numbers that are mostly below another.
fn indices(dtype: DType, extents: &[usize], below: usize, dice: &mut Dice) -> Tensor {
    let elements = extents.iter().product::<usize>();
    dispatch!(dtype, any T => {
        let values = (0..elements).map(|_| <T as Cast>::from_i64(dice.index(below))).collect();
        Tensor::from_vec_col_major(extents.to_vec(), values).unwrap()
    })
}

fn inputs(operands: &[calls::Wanted], dtype: DType, dice: &mut Dice) -> Vec<Tensor> {
    operands
        .iter()
        .map(|wanted| match wanted.below {
            Some(below) => indices(wanted.dtype.unwrap_or(dtype), &wanted.extents, below, dice),
            None => numbers(wanted.dtype.unwrap_or(dtype), &wanted.extents, dice),
        })
        .collect()
}

/// Dtype, extents and the bits of all elements; or the text of the error.
type Outcome = Result<(DType, Vec<usize>, Vec<u8>), String>;

fn outcome(result: Result<Tensor, String>) -> Outcome {
    let tensor = result?;
    let bytes = dispatch!(tensor.dtype(), any T => {
        bytemuck::cast_slice(tensor.as_slice::<T>().unwrap()).to_vec()
    });
    Ok((tensor.dtype(), tensor.shape().to_vec(), bytes))
}

/// What follows a row: a chain that passes may fuse, reorder and write in place.
fn after(y: &Traced) -> Vec<Traced> {
    let rank = y.shape().unwrap().rank();
    if y.dtype() == Some(DType::Bool) {
        return vec![y.clone()];
    }
    let sum = y + y;
    let back: Vec<usize> = (0..rank).rev().collect();
    let turned = (&sum * y).transpose(back.clone()).transpose(back);
    let folded = turned.sum((0..rank).collect::<Vec<_>>(), KeepAxes::Drop);
    vec![y.clone(), sum - turned, folded]
}

/// The same, operation by operation.
fn after_eagerly(backend: &mut CpuBackend, y: Tensor) -> tenferro::Result<Vec<Tensor>> {
    use tenferro::tensor::{TensorElementwise, TensorReduction, TensorStructural};
    let rank = y.rank();
    if y.dtype() == DType::Bool {
        return Ok(vec![y]);
    }
    let sum = backend.add(&y, &y)?;
    let back: Vec<usize> = (0..rank).rev().collect();
    let product = backend.mul(&sum, &y)?;
    let turned = backend.transpose(&product, back.clone())?;
    let turned = backend.transpose(&turned, back)?;
    let folded = backend.sum(&turned, (0..rank).collect::<Vec<_>>(), KeepAxes::Drop)?;
    let difference = backend.sub(&sum, &turned)?;
    Ok(vec![y, difference, folded])
}

fn run(
    backend: &CpuBackend,
    program: &Program,
    passes: &Passes,
    inputs: &[Tensor],
    given: bool,
) -> Vec<Outcome> {
    let prepared = program.prepare(passes).unwrap();
    let arguments = inputs.iter().map(|input| match given {
        true => Argument::Given(input.duplicate().unwrap()),
        false => Argument::from(input),
    });
    let arguments: Vec<Argument<'_>> = arguments.collect();
    let mut operations = backend.clone();
    let results =
        backend.with_execution_scope(|| prepared.run(&mut operations, arguments)).unwrap();
    match results {
        Ok(results) => results.into_iter().map(|result| outcome(Ok(result))).collect(),
        Err(error) => vec![Err(error.to_string())],
    }
}

/// Compares a row on drawn operands; whether it fitted.
fn compare(backend: &CpuBackend, row: Row, dtype: DType, extents: &[usize], seed: u64) -> bool {
    let mut dice = Dice(seed);
    let Call { primitive, operands } = call(row, extents, &mut dice);
    let mut inputs = inputs(&operands, dtype, &mut dice);
    let metas: Vec<Meta> = inputs.iter().map(Meta::of).collect();
    let mut specs: Vec<Spec> = metas.iter().map(Spec::of).collect();
    // A row without operands needs a trace all the same.
    let count = specs.len();
    specs.push(Spec::new(DType::F64, []).unwrap());
    let traced = trace(&specs, |xs| {
        let y = match (count, &primitive) {
            (
                0,
                tenferro::tensor::Primitive::Structural(tenferro::tensor::Structural::Iota {
                    dtype,
                    extents,
                    axis,
                }),
            ) => xs[0].iota(*dtype, extents.clone(), *axis),
            _ => Traced::apply(primitive.clone(), &xs[..count].iter().collect::<Vec<_>>()),
        };
        if y.meta().is_some() { after(&y) } else { vec![y] }
    });
    let program = match (infer(&primitive, &metas), traced) {
        (Ok(_), Ok(program)) => program,
        (Err(rule), Err(Error::Step { source, .. })) => {
            assert_eq!(rule.to_string(), source.to_string());
            return false;
        }
        (rule, traced) => panic!("{primitive:?}: {rule:?}, {traced:?}"),
    };
    inputs.push(Tensor::scalar(0.0).unwrap());
    let mut operations = backend.clone();
    let eager = backend
        .with_execution_scope(|| {
            let operands: Vec<Operand<'_>> =
                inputs[..count].iter().map(AsOperand::as_operand).collect();
            let y = operations.apply(&primitive, &operands)?;
            after_eagerly(&mut operations, y)
        })
        .unwrap();
    let eager: Vec<Outcome> = match eager {
        Ok(results) => results.into_iter().map(|result| outcome(Ok(result))).collect(),
        Err(error) => vec![Err(error.to_string())],
    };
    for passes in [Passes::none(), Passes::all()] {
        for given in [false, true] {
            let prepared = run(backend, &program, &passes, &inputs, given);
            assert_eq!(prepared, eager, "{passes:?}, given: {given}\n{program}");
        }
    }
    true
}

#[test]
fn every_row_prepared_equals_the_operation_itself_bit_for_bit() {
    let backend = CpuBackend::with_threads(1).unwrap();
    for (number, &row) in ROWS.iter().enumerate() {
        let mut fitted = 0;
        for seed in 0..80 {
            let seed = 1000 * number as u64 + seed;
            let mut dice = Dice(seed ^ 0xd1ce);
            let dtype = dice.pick(DType::ALL);
            let extents: Vec<usize> = (0..dice.roll(4)).map(|_| dice.roll(4)).collect();
            fitted += usize::from(compare(&backend, row, dtype, &extents, seed));
        }
        assert!(fitted > 0, "no call of {row:?} fitted");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn larger_operands_on_two_threads_agree_too(
        row in proptest::sample::select(ROWS),
        dtype in proptest::sample::select(DType::ALL),
        extents in prop::collection::vec(0..40_usize, 0..4),
        seed: u64,
    ) {
        let backend = CpuBackend::with_threads(2).unwrap();
        compare(&backend, row, dtype, &extents, seed);
    }
}

/// `tanh(w x)`, and how its sum changes with `w`.
fn network() -> Program {
    let specs = [Spec::new(DType::F64, [20, 30]).unwrap(), Spec::new(DType::F64, [30, 5]).unwrap()];
    let loss = trace(&specs, |xs| xs[0].matmul(&xs[1]).tanh().sum([0, 1], KeepAxes::Drop));
    loss.unwrap().value_and_grad().unwrap()
}

#[test]
fn one_prepared_program_runs_on_several_backends_at_once() {
    fn is_shared<T: Send + Sync>(_: &T) {}
    let prepared = network().prepare(&Passes::all()).unwrap();
    is_shared(&prepared);
    let mut dice = Dice(5);
    let inputs =
        [numbers(DType::F64, &[20, 30], &mut dice), numbers(DType::F64, &[30, 5], &mut dice)];
    let run = |backend: &CpuBackend| {
        let mut operations = backend.clone();
        let results = backend.with_execution_scope(|| {
            prepared.run(&mut operations, inputs.iter().map(Argument::from))
        });
        let results = results.unwrap().unwrap();
        results.into_iter().map(|result| outcome(Ok(result))).collect::<Vec<_>>()
    };
    let expected = run(&CpuBackend::with_threads(1).unwrap());
    let backends = [1, 2, 1].map(|threads| CpuBackend::with_threads(threads).unwrap());
    thread::scope(|scope| {
        let runs: Vec<_> = backends
            .iter()
            .map(|backend| scope.spawn(|| (0..50).map(|_| run(backend)).collect::<Vec<_>>()))
            .collect();
        for results in runs.into_iter().flat_map(|run| run.join().unwrap()) {
            assert_eq!(results, expected);
        }
    });
}
