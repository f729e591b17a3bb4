//! Tracing, printing, transforming and running programs.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use insta::assert_snapshot;
use tenferro_ops::{Engine, Input, Inputs, reference::Reference};
use tenferro_program::{Argument, Error, Pass, Passes, Program, Spec, Traced, trace};
use tenferro_tensor::{
    Comparison, Contraction, DType, KeepAxes, Operand, Primitive, Result, Tensor, Vocabulary,
};

fn real(extents: &[usize], elements: &[f64]) -> Tensor {
    Tensor::from_vec_col_major(extents.to_vec(), elements.to_vec()).unwrap()
}

fn spec(name: &str, extents: &[usize]) -> Spec {
    Spec::new(DType::F64, extents).unwrap().named(name)
}

fn run(program: &Program, inputs: &[Tensor]) -> Vec<Vec<f64>> {
    let plain = results(program, &Passes::none(), inputs);
    let optimised = results(program, &Passes::all(), inputs);
    assert_eq!(plain, optimised, "passes change results:\n{program}");
    plain
}

fn results(program: &Program, passes: &Passes, inputs: &[Tensor]) -> Vec<Vec<f64>> {
    let prepared = program.prepare(passes).unwrap();
    let arguments = inputs.iter().map(Argument::from);
    let results = prepared.run(&mut Reference, arguments).unwrap();
    results.iter().map(|result| result.to_vec_col_major::<f64>().unwrap()).collect()
}

fn network() -> Program {
    trace(&[spec("w", &[2, 3]), spec("x", &[3])], |xs| {
        xs[0].matmul(&xs[1]).tanh().sum([0], KeepAxes::Drop)
    })
    .unwrap()
}

#[test]
fn a_program_prints_what_it_does() {
    assert_snapshot!(network(), @r"
    program(w: f64[2, 3], x: f64[3]) {
        %2: f64[2] = dot_general(w, x) { contraction: { lhs_contracting: [1], rhs_contracting: [0] } }
        %3: f64[2] = tanh(%2)
        %4: f64[] = sum(%3) { axes: [0], keep: Drop }
        return %4
    }
    ");
    assert!(network().to_dot().contains("v2 -> v3;"));
}

#[test]
fn a_program_tells_its_cost() {
    let cost = network().cost();
    assert_eq!((cost.steps, cost.flops), (3, 2.0 * 2.0 * 3.0 + 2.0 + 2.0));
    assert_eq!(cost.peak_bytes, 2 * 2 * 8);
}

#[test]
fn a_step_that_does_not_fit_is_reported_with_its_place() {
    let error = trace(&[spec("a", &[2]), spec("b", &[3])], |xs| (&xs[0] + &xs[1]).exp() * 2.0);
    let error = error.unwrap_err();
    let Error::Step { op, operands, location, .. } = &error else { panic!("{error}") };
    assert_eq!((*op, operands.len()), ("add", 2));
    assert!(location.file().ends_with("programs.rs"));
    let text = error.to_string();
    assert!(text.contains("f64[2], f64[3]"), "{text}");
}

#[test]
fn values_of_another_trace_are_refused() {
    let mut kept: Option<Traced> = None;
    trace(&[spec("a", &[2])], |xs| {
        kept = Some(xs[0].clone());
        xs[0].exp()
    })
    .unwrap();
    let error = trace(&[spec("a", &[2])], |xs| &xs[0] + kept.as_ref().unwrap()).unwrap_err();
    assert!(matches!(error, Error::ForeignValue { op: "add", .. }), "{error}");
}

#[test]
fn inputs_are_checked_before_anything_runs() {
    let prepared = network().prepare(&Passes::all()).unwrap();
    let w = real(&[2, 3], &[0.0; 6]);
    let error = prepared.run(&mut Reference, vec![(&w).into()]).unwrap_err();
    assert_snapshot!(error, @"the program has 2 inputs and was given 1");
    let error = prepared.run(&mut Reference, vec![(&w).into(), (&w).into()]).unwrap_err();
    assert_snapshot!(error, @"input 1 is f64[2, 3] and the program was traced for f64[3]; trace it again for these shapes");
}

#[test]
fn gradients_are_programs() {
    let loss = trace(&[spec("x", &[3])], |xs| (&xs[0] * &xs[0] * &xs[0]).sum([0], KeepAxes::Drop));
    let loss = loss.unwrap();
    let x = [real(&[3], &[1.0, 2.0, -3.0])];
    assert_eq!(run(&loss, &x), [[-18.0]]);
    assert_eq!(run(&loss.grad().unwrap(), &x), [[3.0, 12.0, 27.0]]);
    let both = loss.value_and_grad().unwrap();
    assert_eq!(run(&both, &x), [vec![-18.0], vec![3.0, 12.0, 27.0]]);
    // Second order: the transpose of the gradient, and its tangent.
    let v = [x[0].clone(), real(&[3], &[1.0, 1.0, 2.0])];
    let expected = [6.0, 12.0, -36.0];
    assert_eq!(run(&loss.grad().unwrap().jvp().unwrap(), &v)[1], expected);
    assert_eq!(run(&loss.grad().unwrap().vjp().unwrap(), &v)[1], expected);
}

#[test]
fn gradients_are_those_of_a_scalar() {
    let vector = trace(&[spec("x", &[3])], |xs| xs[0].exp()).unwrap();
    let error = vector.grad().unwrap_err();
    assert_snapshot!(error, @"a gradient is that of one real scalar result, and the program has f64[3]; sum the result, or use `vjp`");
}

#[test]
fn what_a_result_does_not_depend_on_has_gradient_zero() {
    let loss = trace(&[spec("x", &[2]), spec("y", &[2])], |xs| xs[0].sum([0], KeepAxes::Drop));
    let slope = loss.unwrap().grad().unwrap();
    let inputs = [real(&[2], &[1.0, 2.0]), real(&[2], &[3.0, 4.0])];
    assert_eq!(run(&slope, &inputs), [[1.0, 1.0], [0.0, 0.0]]);
}

#[test]
fn passes_leave_out_what_changes_nothing() {
    let program = trace(&[spec("a", &[2, 3]), spec("b", &[2, 3])], |xs| {
        let (a, b) = (&xs[0], &xs[1]);
        let unused = a.exp();
        drop(unused);
        let one = a.constant(Tensor::scalar(1.0_f64).unwrap());
        let two = &one + &one;
        let back = a.transpose([1, 0]).transpose([1, 0]);
        let product = back.transpose([1, 0]).dot_general(b, Contraction::over([1], [0]));
        let same = back.transpose([1, 0]).dot_general(b, Contraction::over([1], [0]));
        (product + same) * &one * two
    })
    .unwrap();
    let optimised = program.optimised(&Passes::all()).unwrap();
    assert_snapshot!(optimised, @r"
    program(a: f64[2, 3], b: f64[2, 3]) {
        %2: f64[] = constant 2.0
        %3: f64[3, 3] = dot_general(a, b) { contraction: { lhs_contracting: [0], rhs_contracting: [0] } }
        %4: f64[3, 3] = add(%3, %3)
        %5: f64[3, 3] = mul(%4, %2)
        return %5
    }
    ");
    let inputs = [real(&[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]), real(&[2, 3], &[0.5; 6])];
    run(&program, &inputs);
    let only_dead = Passes { dead_code: Pass::On, ..Passes::none() };
    assert_eq!(program.optimised(&only_dead).unwrap().steps().len(), program.steps().len() - 1);
}

#[test]
fn a_sum_with_zero_stays_since_it_changes_the_sign_of_zero() {
    let program = trace(&[spec("x", &[1])], |xs| &xs[0] + 0.0).unwrap();
    let result = run(&program, &[real(&[1], &[-0.0])]);
    assert!(result[0][0].is_sign_positive());
}

#[test]
fn results_may_be_inputs_constants_and_each_other() {
    let program = trace(&[spec("x", &[1])], |xs| {
        let y = &xs[0] * 2.0;
        let c = y.constant(real(&[1], &[5.0]));
        vec![xs[0].clone(), y.clone(), c, y]
    })
    .unwrap();
    assert_eq!(run(&program, &[real(&[1], &[3.0])]), [[3.0], [6.0], [5.0], [6.0]]);
}

/// Counts operands that are given away.
#[derive(Clone, Default)]
struct Counting {
    given: Arc<AtomicUsize>,
}

impl Vocabulary for Counting {
    fn apply(&mut self, primitive: &Primitive, inputs: &[Operand<'_>]) -> Result<Tensor> {
        Reference.apply(primitive, inputs)
    }
}

impl Engine for Counting {
    fn donate(&mut self, primitive: &Primitive, inputs: Inputs<'_>) -> Result<Tensor> {
        let given = inputs.iter().filter(|input| matches!(input, Input::Owned(_))).count();
        self.given.fetch_add(given, Ordering::Relaxed);
        Reference.donate(primitive, inputs)
    }
}

#[test]
fn intermediate_results_are_given_to_their_last_use() {
    let squared = |extent: usize| {
        trace(&[spec("x", &[extent])], |xs| {
            let y = xs[0].exp();
            let z = &y * &y;
            z + y
        })
        .unwrap()
    };
    let given = |program: &Program, passes: &Passes, argument: Argument<'_>| {
        let mut engine = Counting::default();
        program.prepare(passes).unwrap().run(&mut engine, [argument]).unwrap();
        engine.given.load(Ordering::Relaxed)
    };
    let unfused = Passes { fusion: Pass::Off, ..Passes::all() };
    let (large, x) = (squared(5000), real(&[5000], &[0.5; 5000]));
    // y * y reads y twice, and the sum is written over that; exp is written over what was given.
    assert_eq!(given(&large, &unfused, (&x).into()), 1);
    assert_eq!(given(&large, &unfused, x.clone().into()), 2);
    let kept = Passes { buffers: Pass::Off, ..unfused };
    assert_eq!(given(&large, &kept, x.into()), 0);
    // What is small lies in the cache wherever it is.
    assert_eq!(given(&squared(2), &unfused, real(&[2], &[0.0, 1.0]).into()), 0);
}

#[test]
fn a_prepared_program_runs_on_several_threads() {
    let prepared = network().grad().unwrap().prepare(&Passes::all()).unwrap();
    let (w, x) = (real(&[2, 3], &[0.1; 6]), real(&[3], &[1.0, 2.0, 3.0]));
    let expected = prepared.run(&mut Reference, vec![(&w).into(), (&x).into()]).unwrap();
    std::thread::scope(|threads| {
        for _ in 0..4 {
            threads.spawn(|| {
                let results = prepared.run(&mut Reference, vec![(&w).into(), (&x).into()]).unwrap();
                assert_eq!(
                    results[0].as_slice::<f64>().unwrap(),
                    expected[0].as_slice::<f64>().unwrap()
                );
            });
        }
    });
}

#[test]
fn f19_a_copy_between_overlapping_parts_is_kept() {
    // x[1:] = copy of x[:-1]
    let program = trace(&[spec("x", &[5])], |xs| {
        let x = &xs[0];
        let copy = x.slice([0], [4], [1]);
        let start = x.constant(Tensor::from_vec_col_major([1], vec![1_i64]).unwrap());
        x.dynamic_update(&copy, &start, tenferro_tensor::GatherMode::Refuse)
    })
    .unwrap();
    let x = real(&[5], &[1.0, 2.0, 3.0, 4.0, 5.0]);
    assert_eq!(run(&program, std::slice::from_ref(&x)), [[1.0, 1.0, 2.0, 3.0, 4.0]]);
    let given =
        program.prepare(&Passes::all()).unwrap().run(&mut Reference, vec![x.into()]).unwrap();
    assert_eq!(given[0].as_slice::<f64>().unwrap(), [1.0, 1.0, 2.0, 3.0, 4.0]);
}

#[test]
fn choices_and_custom_numbers_are_traced() {
    let relu = trace(&[spec("x", &[3])], |xs| {
        let x = &xs[0];
        let zero = x * 0.0;
        x.compare(&zero, Comparison::Gt).select(x, &zero)
    })
    .unwrap();
    let x = [real(&[3], &[-1.0, 0.0, 2.0])];
    assert_eq!(run(&relu, &x), [[0.0, 0.0, 2.0]]);
    let seeds = [x[0].clone(), real(&[3], &[1.0; 3])];
    assert_eq!(run(&relu.vjp().unwrap(), &seeds)[1], [0.0, 0.0, 1.0]);
}
