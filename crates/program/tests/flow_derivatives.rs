//! Derivatives through calls, choices and loops: those of the steps written out, to second order, and finite differences.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod running;

use tenferro_ops::reference::Reference;
use tenferro_program::{Argument, Error, Passes, Program, Scan, Spec, Traced, trace};
use tenferro_tensor::{Comparison, DType, KeepAxes, Tensor};

use running::{real, run};

fn spec(extents: &[usize]) -> Spec {
    Spec::new(DType::F64, extents).unwrap()
}

/// Numbers that are not round, different for each seed.
fn numbers(extents: &[usize], seed: u64) -> Tensor {
    let count: usize = extents.iter().product();
    let elements = (0..count as u64).map(|i| 0.3 + ((i * 7 + seed * 13) as f64 * 0.7).sin() * 0.5);
    real(extents, &elements.collect::<Vec<_>>())
}

fn inputs_of(program: &Program) -> Vec<Tensor> {
    let specs = program.inputs().iter().enumerate();
    specs.map(|(seed, spec)| numbers(&spec.meta().shape, seed as u64)).collect()
}

fn close(lhs: &[Vec<f64>], rhs: &[Vec<f64>], bound: f64) -> bool {
    lhs.len() == rhs.len()
        && lhs.iter().zip(rhs).all(|(lhs, rhs)| {
            lhs.len() == rhs.len()
                && lhs.iter().zip(rhs).all(|(x, y)| (x - y).abs() <= bound * (1.0 + y.abs()))
        })
}

/// Two programs of the same function have the same derivatives, however they are asked for.
fn agree(flow: &Program, written_out: &Program) {
    type Transform = fn(&Program) -> Program;
    let transforms: [(&str, Transform); 8] = [
        ("itself", |p| p.clone()),
        ("jvp", |p| p.jvp().unwrap()),
        ("vjp", |p| p.vjp().unwrap()),
        ("jvp of jvp", |p| p.jvp().unwrap().jvp().unwrap()),
        ("jvp of vjp", |p| p.vjp().unwrap().jvp().unwrap()),
        ("vjp of jvp", |p| p.jvp().unwrap().vjp().unwrap()),
        ("vjp of vjp", |p| p.vjp().unwrap().vjp().unwrap()),
        ("jvp of jvp of vjp", |p| p.vjp().unwrap().jvp().unwrap().jvp().unwrap()),
    ];
    for (name, transform) in transforms {
        let (flow, written_out) = (transform(flow), transform(written_out));
        let inputs = inputs_of(&flow);
        let (lhs, rhs) = (run(&flow, &inputs), run(&written_out, &inputs));
        assert!(
            close(&lhs, &rhs, 1e-12),
            "{name}: {lhs:?}, and {rhs:?} without control flow\n{flow}"
        );
    }
    // What is linear at a point has the tangents of the jvp.
    let (known, linear) = flow.linearize().unwrap();
    let jvp = flow.jvp().unwrap();
    let inputs = inputs_of(&jvp);
    let (point, tangents) = inputs.split_at(flow.inputs().len());
    let expected = run(&jvp, &inputs);
    let prepared = known.prepare(&Passes::all()).unwrap();
    let point = prepared.run(&mut Reference, point.iter().map(Argument::from)).unwrap();
    let (results, residuals) = point.split_at(flow.outputs().len());
    let results: Vec<Vec<f64>> = results.iter().map(|x| x.to_vec_col_major().unwrap()).collect();
    assert!(close(&results, &expected[..results.len()], 1e-12));
    let tangents = run(&linear, &[residuals, tangents].concat());
    assert!(close(&tangents, &expected[results.len()..], 1e-12));
}

/// The gradient of a program's one scalar result is what differences say.
fn differs_as_its_gradient_says(loss: &Program) {
    let inputs = inputs_of(loss);
    let gradients = run(&loss.grad().unwrap(), &inputs);
    let step = 1e-6;
    for (input, gradient) in gradients.iter().enumerate() {
        for (element, &slope) in gradient.iter().enumerate() {
            let at = |by: f64| {
                let mut moved = inputs.clone();
                let mut elements = inputs[input].to_vec_col_major::<f64>().unwrap();
                elements[element] += by;
                moved[input] = real(inputs[input].shape(), &elements);
                run(loss, &moved)[0][0]
            };
            let expected = (at(step) - at(-step)) / (2.0 * step);
            assert!((slope - expected).abs() < 1e-7 * (1.0 + expected.abs()), "{slope} {expected}");
        }
    }
}

/// A turn with a matrix from around, a state that is read nonlinearly, an element, and a state of integers.
fn turn(matrix: &Traced, state: &Traced, element: &Traced) -> (Traced, Traced) {
    let next = (matrix.matmul(state) * element).tanh() + state;
    let out = (&next * state).sum([0], KeepAxes::Drop);
    (next, out)
}

const SCANNED: [&[usize]; 3] = [&[2, 2], &[2], &[3]];

fn scanned() -> Program {
    trace(&SCANNED.map(spec), |xs| {
        Scan::over(&[&xs[2]]).run(&[&xs[1]], |state, element| {
            let (next, out) = turn(&xs[0], &state[0], &element[0]);
            (vec![next], vec![out])
        })
    })
    .unwrap()
}

#[test]
fn a_scan_has_the_derivatives_of_its_turns() {
    let written_out = trace(&SCANNED.map(spec), |xs| {
        let mut state = xs[1].clone();
        let mut outs = Vec::new();
        for turn_number in 0..3 {
            let element = xs[2].slice([turn_number], [turn_number + 1], [1]).reshape([]);
            let (next, out) = turn(&xs[0], &state, &element);
            state = next;
            outs.push(out.reshape([1]));
        }
        vec![state, outs[0].concatenate(&outs[1..], 0_usize)]
    });
    agree(&scanned(), &written_out.unwrap());
}

#[test]
fn a_reversed_scan_has_the_derivatives_of_its_turns() {
    let specs = [spec(&[2]), spec(&[2, 2])];
    let flow = trace(&specs, |xs| {
        Scan::over(&[&xs[1]]).reversed().run(&[&xs[0]], |state, element| {
            let next = &state[0] * &element[0] + state[0].sin();
            (vec![next.clone()], vec![next.exp()])
        })
    });
    let written_out = trace(&specs, |xs| {
        let column = |place: usize| xs[1].slice([0, place], [2, place + 1], [1, 1]).reshape([2]);
        let last = &xs[0] * &column(1) + xs[0].sin();
        let first = &last * &column(0) + last.sin();
        let stack = first.exp().reshape([2, 1]).concatenate(&[last.exp().reshape([2, 1])], 1_usize);
        vec![first, stack]
    });
    agree(&flow.unwrap(), &written_out.unwrap());
}

#[test]
fn a_state_that_moves_only_later_has_its_derivative() {
    // The first state starts as a constant, and moves from the second turn on.
    let specs = [spec(&[2])];
    let flow = trace(&specs, |xs| {
        let (start, other) = (xs[0].constant(real(&[2], &[1.0, 2.0])), &xs[0] * 2.0);
        let results = Scan::times(3).run(&[&start, &other], |state, _| {
            (vec![&state[0] * &state[1], state[1].sin()], vec![])
        });
        results[0].clone()
    });
    let written_out = trace(&specs, |xs| {
        let (mut state, mut other) = (xs[0].constant(real(&[2], &[1.0, 2.0])), &xs[0] * 2.0);
        for _ in 0..3 {
            (state, other) = (&state * &other, other.sin());
        }
        state
    });
    agree(&flow.unwrap(), &written_out.unwrap());
}

#[test]
fn nested_loops_and_choices_have_the_derivatives_of_their_steps() {
    let specs = [spec(&[2]), spec(&[2])];
    let large = |x: &Traced| {
        let bound = x.constant(Tensor::scalar(0.9).unwrap());
        x.sum([0], KeepAxes::Drop).compare(&bound, Comparison::Gt)
    };
    let flow = trace(&specs, |xs| {
        let last = Scan::times(2).run(&[&xs[0]], |outer, _| {
            let inner = Scan::times(2).run(&[&outer[0]], |state, _| {
                let chosen = large(&state[0]).cond(
                    &[&state[0]],
                    |s| (&s[0] * &xs[1]).sin(),
                    |s| s[0].exp() * 0.5 + &outer[0],
                );
                (chosen, vec![])
            });
            (inner, vec![])
        });
        last[0].clone()
    });
    let written_out = trace(&specs, |xs| {
        let mut outer = xs[0].clone();
        for _ in 0..2 {
            let mut state = outer.clone();
            for _ in 0..2 {
                let (lhs, rhs) = ((&state * &xs[1]).sin(), state.exp() * 0.5 + &outer);
                state = large(&state).select(&lhs, &rhs);
            }
            outer = state;
        }
        outer
    });
    agree(&flow.unwrap(), &written_out.unwrap());
}

#[test]
fn both_branches_of_a_choice_have_their_derivatives() {
    for bound in [-10.0, 10.0] {
        let specs = [spec(&[3]), spec(&[3])];
        let predicate = |x: &Traced| {
            let bound = x.constant(Tensor::scalar(bound).unwrap());
            x.sum([0], KeepAxes::Drop).compare(&bound, Comparison::Gt)
        };
        let on_true = |x: &Traced, y: &Traced| vec![x * y, x.constant(real(&[], &[1.0]))];
        let on_false = |x: &Traced, y: &Traced| {
            vec![(x.exp() / y).sin(), (x * y * x).sum([0], KeepAxes::Drop)]
        };
        let flow = trace(&specs, |xs| {
            let operands = [&xs[0], &xs[1]];
            predicate(&xs[0]).cond(&operands, |s| on_true(&s[0], &s[1]), |s| on_false(&s[0], &s[1]))
        });
        let written_out = trace(&specs, |xs| {
            let (predicate, lhs, rhs) =
                (predicate(&xs[0]), on_true(&xs[0], &xs[1]), on_false(&xs[0], &xs[1]));
            lhs.iter().zip(&rhs).map(|(l, r)| predicate.select(l, r)).collect::<Vec<_>>()
        });
        agree(&flow.unwrap(), &written_out.unwrap());
    }
}

#[test]
fn a_call_has_the_derivatives_of_its_body() {
    let body = |x: &Traced, y: &Traced| vec![(x * y).exp(), x.sin()];
    let specs = [spec(&[2]), spec(&[2])];
    let called = trace(&specs, |xs| body(&xs[0], &xs[1])).unwrap();
    let flow = trace(&specs, |xs| {
        let once = called.call(&[&xs[0], &xs[1]]);
        called.call(&[&once[1], &once[0]])
    });
    let written_out = trace(&specs, |xs| {
        let once = body(&xs[0], &xs[1]);
        body(&once[1], &once[0])
    });
    agree(&flow.unwrap(), &written_out.unwrap());
}

#[test]
fn gradients_through_loops_agree_with_differences() {
    let loss = trace(&SCANNED.map(spec), |xs| {
        let results = scanned().call(&[&xs[0], &xs[1], &xs[2]]);
        (results[0].sum_of_squares([0], KeepAxes::Drop)) + results[1].sum([0], KeepAxes::Drop)
    })
    .unwrap();
    differs_as_its_gradient_says(&loss);
    let inputs = inputs_of(&loss);
    // A product of the Hessian is symmetric.
    let hvp = loss.grad().unwrap().jvp().unwrap();
    let direction = |seed: u64| -> Vec<Tensor> {
        SCANNED.iter().map(|extents| numbers(extents, seed + extents.len() as u64)).collect()
    };
    let (u, v) = (direction(5), direction(9));
    let along = |direction: &[Tensor]| run(&hvp, &[&inputs[..], direction].concat())[3..].to_vec();
    let dot = |lhs: &[Vec<f64>], rhs: &[Tensor]| -> f64 {
        let rhs = rhs.iter().flat_map(|x| x.to_vec_col_major::<f64>().unwrap());
        lhs.iter().flatten().zip(rhs).map(|(x, y)| x * y).sum()
    };
    let (uhv, vhu) = (dot(&along(&v), &u), dot(&along(&u), &v));
    assert!((uhv - vhu).abs() < 1e-11 * uhv.abs(), "{uhv} {vhu}");
}

#[test]
fn a_loop_of_unknown_length_has_a_derivative_forward_and_says_so_in_reverse() {
    // The square root by Newton's iteration: slope 1 / (2 sqrt(a)), and of that -1 / (4 a sqrt(a)).
    let root = trace(&[spec(&[])], |xs| {
        let a = &xs[0];
        let (start, before) = (a * 1.0, a * 0.0);
        let state = Traced::while_loop(
            &[&start, &before],
            |state| (&state[0] - &state[1]).abs().compare(&(&state[0] * 1e-12), Comparison::Gt),
            |state| vec![(&state[0] + a / &state[0]) * 0.5, state[0].clone()],
        );
        state[0].clone()
    })
    .unwrap();
    let (a, one, zero) = (real(&[], &[2.0]), real(&[], &[1.0]), real(&[], &[0.0]));
    let second = run(&root.jvp().unwrap().jvp().unwrap(), &[a, one.clone(), one, zero]);
    let exact =
        [2.0_f64.sqrt(), 1.0 / 8.0_f64.sqrt(), 1.0 / 8.0_f64.sqrt(), -1.0 / (8.0 * 2.0_f64.sqrt())];
    for (found, exact) in second.iter().zip(exact) {
        assert!((found[0] - exact).abs() < 1e-9, "{second:?}");
    }
    let error = root.grad().unwrap_err();
    let Error::Tensor(tenferro_tensor::Error::Unsupported { op: "while_loop", reason }) = &error
    else {
        panic!("{error}")
    };
    assert!(reason.contains("use `Scan`, or `jvp`"), "{reason}");
}

#[test]
fn a_loop_that_does_not_move_runs_once_in_any_derivative() {
    // The loop counts; what is differentiated only reads its result.
    let specs = [spec(&[2])];
    let program = trace(&specs, |xs| {
        let start = xs[0].constant(real(&[], &[1.0]));
        let doubled = Traced::while_loop(
            &[&start],
            |s| s[0].compare(&s[0].constant(real(&[], &[100.0])), Comparison::Lt),
            |s| &s[0] * 2.0,
        );
        (&xs[0] * &doubled[0]).sum([0], KeepAxes::Drop)
    });
    let gradient = program.unwrap().grad().unwrap();
    assert_eq!(run(&gradient, &[real(&[2], &[1.0, 2.0])]), [[128.0, 128.0]]);
    let loops = gradient.steps().iter().filter(|step| step.name() == "while_loop").count();
    assert_eq!(loops, 1);
}
