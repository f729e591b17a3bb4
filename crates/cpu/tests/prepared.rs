//! Prepared programs on the optimised engine: whatever passes ran, the bits of the operations one by one.

#![allow(clippy::unwrap_used, reason = "a test fails by it")]

mod common;

use std::{
    collections::HashSet,
    sync::{Arc, Mutex},
    thread,
};

use common::{CountingArbiter, calling_back};
use proptest::prelude::*;
use tenferro_ad::{Autodiff, Variable, value_and_grad};
use tenferro_cpu::CpuBackend;
use tenferro_program::{Argument, Pass, Passes, Program, Spec, Traced, trace};
use tenferro_tensor::{Comparison, DType, KeepAxes, OperandMut, Sweep, Tensor, TensorElementwise};

fn backends() -> [CpuBackend; 2] {
    [1, 2].map(|threads| CpuBackend::with_threads(threads).unwrap())
}

fn numbers(extents: &[usize], salt: usize) -> Tensor {
    let count: usize = extents.iter().product();
    let number = |place: usize| ((place * 31 + salt * 17) % 97) as f64 / 48.0 - 1.0;
    Tensor::from_vec_col_major(extents, (0..count).map(number).collect()).unwrap()
}

fn bits(tensor: &Tensor) -> (DType, Vec<usize>, Vec<u64>) {
    let bits = match tensor.dtype() {
        DType::F64 => {
            tensor.to_vec_col_major::<f64>().unwrap().iter().map(|x| x.to_bits()).collect()
        }
        DType::F32 => {
            tensor.to_vec_col_major::<f32>().unwrap().iter().map(|x| x.to_bits().into()).collect()
        }
        DType::Bool => {
            tensor.to_vec_col_major::<bool>().unwrap().iter().map(|&x| x.into()).collect()
        }
        other => panic!("no program of this test makes {other}"),
    };
    (tensor.dtype(), tensor.shape().to_vec(), bits)
}

/// Runs a program with each pass left out, on one thread and on two: all give the same bits.
fn assert_same(program: &Program, inputs: &[Tensor]) {
    let all = Passes::all();
    let settings = [
        Passes::none(),
        all,
        Passes { fusion: Pass::Off, ..all },
        Passes { buffers: Pass::Off, ..all },
        Passes { fusion: Pass::On, ..Passes::none() },
        Passes { buffers: Pass::On, ..Passes::none() },
    ];
    let mut expected = None;
    for passes in settings {
        let prepared = program.prepare(&passes).unwrap();
        for mut backend in backends() {
            for given in [false, true] {
                let arguments = inputs.iter().map(|x| match given {
                    true => Argument::Given(x.duplicate().unwrap()),
                    false => x.into(),
                });
                let results = prepared.run(&mut backend, arguments).unwrap();
                let results: Vec<_> = results.iter().map(bits).collect();
                let expected = expected.get_or_insert_with(|| results.clone());
                assert_eq!(results, *expected, "{passes:?}\n{prepared}");
            }
            let mut outputs: Vec<Tensor> = program
                .output_metas()
                .into_iter()
                .map(|meta| Tensor::ones(meta.dtype, meta.shape.to_vec()).unwrap())
                .collect();
            {
                let mut outputs: Vec<OperandMut<'_>> =
                    outputs.iter_mut().map(|output| output.as_operand_mut().unwrap()).collect();
                let arguments = inputs.iter().map(Argument::from);
                prepared.run_into(&mut backend, arguments, &mut outputs).unwrap();
            }
            let results: Vec<_> = outputs.iter().map(bits).collect();
            assert_eq!(Some(results), expected, "into given outputs, {passes:?}\n{prepared}");
        }
    }
}

fn spec(extents: &[usize]) -> Spec {
    Spec::new(DType::F64, extents).unwrap()
}

#[test]
fn a_chain_of_a_hundred_additions_has_the_bits_of_the_eager_one() {
    let chain = trace(&[spec(&[64]), spec(&[64])], |xs| {
        (0..100).fold(xs[0].clone(), |sum, _| sum + &xs[1])
    })
    .unwrap();
    let inputs = [numbers(&[64], 1), numbers(&[64], 2)];
    assert_same(&chain, &inputs);
    let [mut backend, _] = backends();
    let mut sum = inputs[0].clone();
    for _ in 0..100 {
        sum = backend.add(&sum, &inputs[1]).unwrap();
    }
    let prepared = chain.prepare(&Passes::all()).unwrap();
    let results = prepared.run(&mut backend, inputs.iter().map(Argument::from)).unwrap();
    assert_eq!(bits(&results[0]), bits(&sum));
}

#[test]
fn large_products_and_sums_are_written_over_what_was_given() {
    let extents = [300, 400];
    let muladd = trace(&[spec(&extents), spec(&extents), spec(&extents)], |xs| {
        let product = &xs[0] * &xs[1];
        let sum = &product + &xs[2];
        vec![sum.exp(), (product * &xs[0]).sum([0], KeepAxes::Drop)]
    })
    .unwrap();
    assert_same(&muladd, &[numbers(&extents, 1), numbers(&extents, 2), numbers(&extents, 3)]);
}

/// Two parameters after a step of descent, the loss before it, and a product.
fn descent() -> Program {
    let all = [spec(&[100, 100]), spec(&[100, 100]), spec(&[100, 100])];
    let descent = trace(&all, |xs| {
        let error = xs[0].mul(&xs[2]).sub(&xs[1]);
        let loss = error.mul(&error).sum([0, 1], KeepAxes::Drop);
        let moved = |w: &Traced, slope: &Traced| w - &(slope * 0.25);
        let slope = &error * &xs[2];
        vec![moved(&xs[0], &slope), loss, moved(&xs[1], &error), xs[0].matmul(&xs[1])]
    });
    descent.unwrap()
}

#[test]
fn the_last_steps_write_into_given_outputs() {
    let program = descent();
    let inputs = [numbers(&[100, 100], 1), numbers(&[100, 100], 2), numbers(&[100, 100], 3)];
    assert_same(&program, &inputs);

    let prepared = program.prepare(&Passes::all()).unwrap();
    let mut backend = CpuBackend::with_threads(1).unwrap();
    let taken = |backend: &CpuBackend| {
        let buffers = backend.diagnostics().buffers;
        buffers.fresh + buffers.reused
    };
    let before = taken(&backend);
    let results = prepared.run(&mut backend, inputs.iter().map(Argument::from)).unwrap();
    let scratch = taken(&backend) - before - 4;
    let (mut w, mut b) = (numbers(&[100, 100], 7), numbers(&[100, 100], 8));
    let mut loss = numbers(&[], 9);
    let mut product = numbers(&[100, 200], 10);
    for stride in [1, 2] {
        let before = taken(&backend);
        // Every column of a half, then every other one.
        let mut columns = product.view_mut().unwrap().slice(1, 0..100 * stride, stride).unwrap();
        let mut outputs = [
            w.as_operand_mut().unwrap(),
            loss.as_operand_mut().unwrap(),
            b.as_operand_mut().unwrap(),
            columns.as_operand_mut(),
        ];
        let arguments = inputs.iter().map(Argument::from);
        prepared.run_into(&mut backend, arguments, &mut outputs).unwrap();
        // Only what lies between the steps has memory of the backend's.
        assert_eq!(taken(&backend) - before, scratch, "{prepared}");
        let view = product.view().slice(1, 0..100 * stride, stride).unwrap();
        let written = [bits(&w), bits(&loss), bits(&b), bits(&view.to_tensor().unwrap())];
        assert_eq!(written.to_vec(), results.iter().map(bits).collect::<Vec<_>>());
    }
}

#[test]
fn gradients_have_the_same_bits_fused() {
    let (rows, classes) = (50, 130);
    let loss = trace(&[spec(&[classes, rows]), spec(&[classes, rows])], |xs| {
        let log = xs[0].log_softmax([0]);
        -(log * &xs[1]).sum([0, 1], KeepAxes::Drop)
    })
    .unwrap();
    let inputs = [numbers(&[classes, rows], 4), numbers(&[classes, rows], 5)];
    assert_same(&loss, &inputs);
    assert_same(&loss.value_and_grad().unwrap(), &inputs);
}

#[test]
fn eager_gradients_of_exponentials_have_the_bits_of_prepared_ones() {
    for (extents, axes) in
        [(vec![40_000], vec![0]), (vec![200, 100], vec![1]), (vec![150, 200], vec![0])]
    {
        let x = numbers(&extents, 5);
        let weights = numbers(&extents, 6);
        let program = trace(&[spec(&extents), spec(&extents)], |xs| {
            let all = (0..extents.len()).collect::<Vec<_>>();
            let log = xs[0].logsumexp(&axes[..], KeepAxes::Drop);
            let log = log.sum((0..all.len() - axes.len()).collect::<Vec<_>>(), KeepAxes::Drop);
            log + xs[0].softmax(&axes[..]).mul(&xs[1]).sum(all, KeepAxes::Drop)
        });
        let prepared = program.unwrap().value_and_grad().unwrap();
        let prepared = prepared.with_results(&[0, 1]).prepare(&Passes::all()).unwrap();
        for mut backend in backends() {
            let ad = Autodiff::new(backend.clone());
            let [point, weights] = [&x, &weights].map(|tensor| ad.constant(tensor.clone()));
            let loss = |x: &Variable| {
                let all = (0..extents.len()).collect::<Vec<_>>();
                let log = x.logsumexp(&axes[..], KeepAxes::Drop)?;
                let log =
                    log.sum((0..all.len() - axes.len()).collect::<Vec<_>>(), KeepAxes::Drop)?;
                log.add(&x.softmax(&axes[..])?.mul(&weights)?.sum(all, KeepAxes::Drop)?)
            };
            let (value, slope) = value_and_grad(loss, &point).unwrap();
            let arguments = vec![Argument::from(&x), Argument::from(weights.value())];
            let results = prepared.run(&mut backend, arguments).unwrap();
            let eager = [bits(value.value()), bits(slope.value())];
            assert_eq!(results.iter().map(bits).collect::<Vec<_>>(), eager.to_vec());
        }
    }
}

#[test]
fn strided_arguments_are_read_under_other_extents() {
    let sum =
        trace(&[spec(&[4, 3]), spec(&[12, 2])], |xs| xs[0].reshape([12_usize, 1]) * &xs[1] + 1.0)
            .unwrap();
    let (x, y) = (numbers(&[3, 4], 1), numbers(&[12, 2], 2));
    let transposed = x.view().transpose();
    let prepared = sum.prepare(&Passes::all()).unwrap();
    let [mut backend, _] = backends();
    let strided = prepared.run(&mut backend, [(&transposed).into(), (&y).into()]).unwrap();
    let dense = transposed.to_tensor().unwrap();
    let expected = prepared.run(&mut backend, [(&dense).into(), (&y).into()]).unwrap();
    assert_eq!(bits(&strided[0]), bits(&expected[0]));
}

/// One step on values so far, chosen by three numbers.
fn step(
    values: &[Traced],
    shapes: &[Vec<usize>],
    [kind, a, b]: [usize; 3],
) -> (Traced, Vec<usize>) {
    let (a, b) = (a % values.len(), b % values.len());
    let (x, y) = (&values[a], &values[b]);
    let shape = shapes[a].clone();
    let fits = shapes[a] == shapes[b];
    match kind % 12 {
        0 if fits => (x + y, shape),
        1 if fits => (x * y, shape),
        2 if fits => (x - y, shape),
        3 if fits => (x.compare(y, Comparison::Gt).select(x, y), shape),
        4 => (x.tanh(), shape),
        5 => (-x, shape),
        6 => (x.convert(DType::F32).exp().convert(DType::F64), shape),
        7 if !shape.is_empty() => {
            let axis = b % shape.len();
            let mut kept = shape.clone();
            kept[axis] = 1;
            let sum = x.sum([axis], KeepAxes::Keep);
            // Stretched back, so that there is something to go on with.
            (sum.broadcast_in_dim(shape.clone(), (0..shape.len()).collect::<Vec<_>>()), shape)
        }
        8 if !shape.is_empty() => {
            let axis = b % shape.len();
            (x - x.max([axis], KeepAxes::Keep), shape)
        }
        9 => {
            let count = shape.iter().product::<usize>();
            (x.reshape([count]), vec![count])
        }
        10 if shape.len() == 1 && shape[0] < 400 => {
            (x.broadcast_in_dim(vec![shape[0], 3], [0_usize]), vec![shape[0], 3])
        }
        11 if shape.len() == 2 => (x.transpose([1_usize, 0]), vec![shape[1], shape[0]]),
        _ => (x * 0.5, shape),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn programs_of_all_kinds_have_the_same_bits_fused(
        steps in prop::collection::vec(any::<[u16; 3]>(), 1..40),
        wanted in prop::collection::vec(any::<u16>(), 1..4),
        extents in (1_usize..9, 1_usize..9),
        scale in prop::sample::select(vec![1_usize, 30]),
    ) {
        let extents = [extents.0 * scale, extents.1];
        let program = trace(&[spec(&extents), spec(&extents)], |xs| {
            let mut values = xs.to_vec();
            let mut shapes = vec![extents.to_vec(); 2];
            for numbers in &steps {
                let (value, shape) = step(&values, &shapes, numbers.map(usize::from));
                values.push(value);
                shapes.push(shape);
            }
            wanted.iter().map(|&place| values[usize::from(place) % values.len()].clone()).collect::<Vec<_>>()
        }).unwrap();
        assert_same(&program, &[numbers(&extents, 1), numbers(&extents, 2)]);
    }
}

/// Two chains of products that do not depend on each other, each product too short for two threads, and their sum.
fn branches(extent: usize) -> Program {
    trace(&[spec(&[extent, extent]), spec(&[extent, extent])], |xs| {
        let chain = |x: &Traced, y: &Traced| (0..5).fold(x.clone(), |x, _| x.matmul(y) * 0.01);
        chain(&xs[0], &xs[1]) + chain(&xs[1], &xs[0])
    })
    .unwrap()
}

#[test]
fn independent_branches_run_over_lanes_where_they_are_long_enough() {
    for (extent, budget, threads) in [(112, 2, 2), (112, 1, 1), (16, 2, 1)] {
        let arbiter = CountingArbiter::new(2);
        let seen = Arc::new(Mutex::new(HashSet::new()));
        let watched = Arc::clone(&seen);
        let owner = calling_back(budget, &arbiter, move |_, _| {
            watched.lock().unwrap().insert(thread::current().id());
        });
        let inputs = [numbers(&[extent, extent], 1), numbers(&[extent, extent], 2)];
        let run = |passes: Passes| {
            let prepared = branches(extent).prepare(&passes).unwrap();
            let mut operations = owner.clone();
            let run = || prepared.run(&mut operations, inputs.iter().map(Argument::from));
            let results = owner.with_execution_scope(run).unwrap().unwrap();
            (bits(&results[0]), std::mem::take(&mut *seen.lock().unwrap()).len())
        };
        let one_by_one = run(Passes { lanes: Pass::Off, ..Passes::all() });
        let at_once = run(Passes::all());
        assert_eq!((one_by_one.1, at_once.1), (1, threads), "{extent} on {budget}");
        assert_eq!(one_by_one.0, at_once.0);
        assert_eq!(arbiter.requests(), 2);
    }
}

#[test]
fn the_error_of_lanes_is_that_of_the_first_branch() {
    let spec = Spec::new(DType::I64, [20_000]).unwrap();
    let divided = trace(&[spec.clone(), spec.clone(), spec], |xs| {
        let chain = |by: fn(&Traced, &Traced) -> Traced, divisor: &Traced| {
            let turn = |x: Traced, _| by(&x.cumsum(0_usize, Sweep::default()), divisor);
            (0..4).fold(xs[0].clone(), turn)
        };
        vec![chain(|x, y| x.rem(y), &xs[1]), chain(|x, y| x / y, &xs[2])]
    })
    .unwrap();
    let prepared = divided.prepare(&Passes::all()).unwrap();
    assert!(prepared.to_string().contains("at once"), "{prepared}");
    for mut backend in backends() {
        let mut run = |divisors: [i64; 2]| {
            let inputs = [7, divisors[0], divisors[1]].map(|n| Tensor::full([20_000], n).unwrap());
            prepared.run(&mut backend, inputs.iter().map(Argument::from))
        };
        assert_eq!(run([2, 2]).unwrap().len(), 2);
        for (divisors, name) in [([0, 2], "rem"), ([2, 0], "div"), ([0, 0], "rem")] {
            let error = run(divisors).unwrap_err().to_string();
            assert!(error.contains(name), "{error}");
        }
    }
}
