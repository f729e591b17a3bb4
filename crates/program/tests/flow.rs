//! Choices and loops of programs: traced, printed, run.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod running;

use insta::assert_snapshot;
use tenferro_program::{Error, Misfit, Program, Scan, Spec, Traced, trace};
use tenferro_tensor::{Comparison, DType, KeepAxes, Tensor};

use running::{real, run};

fn spec(name: &str, extents: &[usize]) -> Spec {
    Spec::new(DType::F64, extents).unwrap().named(name)
}

fn choice() -> Program {
    trace(&[spec("x", &[2]), spec("y", &[2])], |xs| {
        let (x, y) = (&xs[0], &xs[1]);
        let positive =
            x.sum([0], KeepAxes::Drop).compare(&(y.sum([0], KeepAxes::Drop)), Comparison::Gt);
        let outer = x * 2.0;
        positive.cond(&[x], |xs| &xs[0] * &outer, |xs| vec![&xs[0] + y])
    })
    .unwrap()
}

#[test]
fn a_choice_computes_one_branch_and_takes_what_it_needs_from_around() {
    let program = choice();
    let (small, large) = (real(&[2], &[1.0, 2.0]), real(&[2], &[10.0, 20.0]));
    assert_eq!(run(&program, &[large.clone(), small.clone()]), [[200.0, 800.0]]);
    assert_eq!(run(&program, &[small, large]), [[11.0, 22.0]]);
    assert_snapshot!(program, @r"
    program(x: f64[2], y: f64[2]) {
        %2: f64[] = sum(x) { axes: [0], keep: Drop }
        %3: f64[] = sum(y) { axes: [0], keep: Drop }
        %4: bool[] = compare(%2, %3) { relation: Gt }
        %5: f64[] = constant 2.0
        %6: f64[2] = mul(x, %5)
        %7: f64[2] = cond(%4, x, %6, y) {
            on_true: program(%0: f64[2], %1: f64[2], %2: f64[2]) {
                %3: f64[2] = mul(%0, %1)
                return %3
            }
            on_false: program(%0: f64[2], %1: f64[2], %2: f64[2]) {
                %3: f64[2] = add(%0, %2)
                return %3
            }
        }
        return %7
    }
    ");
}

/// Newton's iteration for a square root, while it moves.
fn root() -> Program {
    trace(&[spec("a", &[])], |xs| {
        let a = &xs[0];
        let (start, before) = (a * 1.0, a * 0.0);
        let state = Traced::while_loop(
            &[&start, &before],
            |state| (&state[0] - &state[1]).abs().compare(&(&state[0] * 1e-15), Comparison::Gt),
            |state| vec![(&state[0] + a / &state[0]) * 0.5, state[0].clone()],
        );
        state[0].clone()
    })
    .unwrap()
}

#[test]
fn a_loop_runs_while_its_condition_holds() {
    let found = run(&root(), &[real(&[], &[2.0])])[0][0];
    assert!((found - 2.0_f64.sqrt()).abs() < 1e-15, "{found}");
    assert_snapshot!(root(), @r"
    program(a: f64[]) {
        %1: f64[] = constant 1.0
        %2: f64[] = mul(a, %1)
        %3: f64[] = constant 0.0
        %4: f64[] = mul(a, %3)
        %5: f64[], %6: f64[] = while_loop(%2, %4, a) { carries: 2 } {
            condition: program(%0: f64[], %1: f64[], %2: f64[]) {
                %3: f64[] = sub(%0, %1)
                %4: f64[] = abs(%3)
                %5: f64[] = constant 1e-15
                %6: f64[] = mul(%0, %5)
                %7: bool[] = compare(%4, %6) { relation: Gt }
                return %7
            }
            body: program(%0: f64[], %1: f64[], %2: f64[]) {
                %3: f64[] = div(%2, %0)
                %4: f64[] = add(%0, %3)
                %5: f64[] = constant 0.5
                %6: f64[] = mul(%4, %5)
                return %6, %0
            }
        }
        return %5
    }
    ");
}

/// Powers of a matrix applied to a vector, each weighted, with all intermediate vectors.
fn powers() -> Program {
    trace(&[spec("m", &[2, 2]), spec("x", &[2]), spec("w", &[3])], |xs| {
        Scan::over(&[&xs[2]]).run(&[&xs[1]], |state, element| {
            let next = xs[0].matmul(&state[0]);
            let weighted = &next * &element[0];
            (vec![next], vec![weighted])
        })
    })
    .unwrap()
}

#[test]
fn a_scan_carries_a_state_along_and_stacks_results() {
    let inputs = [
        real(&[2, 2], &[0.0, 1.0, 2.0, 0.0]),
        real(&[2], &[1.0, 1.0]),
        real(&[3], &[1.0, 10.0, 100.0]),
    ];
    // (1, 1) -> (2, 1) -> (2, 2) -> (4, 2)
    assert_eq!(run(&powers(), &inputs), [vec![4.0, 2.0], vec![2.0, 1.0, 20.0, 20.0, 400.0, 200.0]]);
    assert_snapshot!(powers(), @r"
    program(m: f64[2, 2], x: f64[2], w: f64[3]) {
        %3: f64[2], %4: f64[2, 3] = scan(x, w, m) { carries: 1, sequences: 1, length: 3, direction: Forward } {
            body: program(%0: f64[2], %1: f64[], %2: f64[2, 2]) {
                %3: f64[2] = dot_general(%2, %0) { contraction: { lhs_contracting: [1], rhs_contracting: [0] } }
                %4: f64[2] = mul(%3, %1)
                return %3, %4
            }
        }
        return %3, %4
    }
    ");
    assert_snapshot!(powers().to_dot(), @r#"
    digraph program {
        node [shape=box, fontname=monospace];
        v0 [label="m\nf64[2, 2]", shape=ellipse];
        v1 [label="x\nf64[2]", shape=ellipse];
        v2 [label="w\nf64[3]", shape=ellipse];
        v3 [label="scan { carries: 1, sequences: 1, length: 3, direction: Forward }\nf64[2], f64[2, 3]", shape=box3d];
        v1 -> v3;
        v2 -> v3;
        v0 -> v3;
        subgraph cluster_1 {
            label="body of %3";
            f1_v0 [label="%0\nf64[2]", shape=ellipse];
            f1_v1 [label="%1\nf64[]", shape=ellipse];
            f1_v2 [label="%2\nf64[2, 2]", shape=ellipse];
            f1_v3 [label="dot_general { contraction: { lhs_contracting: [1], rhs_contracting: [0] } }\nf64[2]", shape=box];
            f1_v2 -> f1_v3;
            f1_v0 -> f1_v3;
            f1_v4 [label="mul\nf64[2]", shape=box];
            f1_v3 -> f1_v4;
            f1_v1 -> f1_v4;
            f1_r0 [label="result 0", shape=ellipse];
            f1_v3 -> f1_r0;
            f1_r1 [label="result 1", shape=ellipse];
            f1_v4 -> f1_r1;
        }
        r0 [label="result 0", shape=ellipse];
        v3 -> r0;
        r1 [label="result 1", shape=ellipse];
        v3 -> r1;
    }
    "#);
    assert_snapshot!(powers().cost(), @"6 steps, 3.000e1 flop, 3.120e2 bytes moved, 9.600e1 bytes at most of intermediate results");
}

#[test]
fn a_reversed_scan_starts_at_the_last_element() {
    let sums = trace(&[spec("x", &[4])], |xs| {
        let zero = xs[0].constant(Tensor::scalar(0.0).unwrap());
        Scan::over(&[&xs[0]]).reversed().run(&[&zero], |state, element| {
            let sum = &state[0] + &element[0];
            (vec![sum.clone()], vec![sum])
        })
    });
    let x = real(&[4], &[1.0, 2.0, 3.0, 4.0]);
    assert_eq!(run(&sums.unwrap(), &[x]), [vec![10.0], vec![10.0, 9.0, 7.0, 4.0]]);
}

#[test]
fn a_scan_over_nothing_gives_its_state() {
    let specs = [spec("x", &[2]), spec("xs", &[2, 0])];
    let program = trace(&specs, |xs| {
        Scan::over(&[&xs[1]]).run(&[&xs[0]], |s, x| (vec![&s[0] + &x[0]], vec![s[0].clone()]))
    });
    let inputs = [real(&[2], &[1.0, 2.0]), real(&[2, 0], &[])];
    assert_eq!(run(&program.unwrap(), &inputs), [vec![1.0, 2.0], vec![]]);
}

#[test]
fn loops_nest_and_take_values_from_every_trace_around() {
    let program = trace(&[spec("x", &[])], |xs| {
        Scan::times(3).run(&[&xs[0]], |outer, _| {
            let inner = Scan::times(2)
                .run(&[&outer[0]], |state, _| (vec![&state[0] + &outer[0] + &xs[0]], vec![]));
            (inner, vec![])
        })
    });
    // s -> s + 2 s + 2 x
    assert_eq!(run(&program.unwrap(), &[real(&[], &[1.0])]), [[53.0]]);
}

#[test]
fn programs_are_called_from_others() {
    let half = trace(&[spec("x", &[2])], |xs| &xs[0] * 0.5).unwrap();
    let program = trace(&[spec("y", &[2])], |xs| half.call(&[&half.call(&[&xs[0]])[0]])).unwrap();
    assert_eq!(run(&program, &[real(&[2], &[4.0, 8.0])]), [[1.0, 2.0]]);
}

#[test]
fn what_does_not_fit_about_a_body_is_reported_with_its_place() {
    let error = trace(&[spec("x", &[2])], |xs| {
        Scan::times(3).run(&[&xs[0]], |state, _| (vec![state[0].sum([0], KeepAxes::Drop)], vec![]))
    })
    .unwrap_err();
    assert!(matches!(
        &error,
        Error::Control { op: "scan", location: Some(_), source: Misfit::Meta { .. } }
    ));
    assert!(
        error.to_string().ends_with("result of the body 0 is f64[] and has to be f64[2]"),
        "{error}"
    );

    let error =
        trace(&[spec("x", &[2])], |xs| xs[0].cond(&[], |_| xs[0].clone(), |_| xs[0].clone()));
    let error = error.unwrap_err();
    assert!(error.to_string().ends_with("predicate 0 is f64[2] and has to be bool[]"), "{error}");

    let error = trace(&[spec("x", &[2]), spec("y", &[3])], |xs| {
        Scan::over(&[&xs[0], &xs[1]]).run(&[], |_, _| (vec![], vec![]))
    });
    let error = error.unwrap_err();
    assert!(error.to_string().ends_with("sequence 1 is f64[3] and has to be f64[2]"), "{error}");

    let error = trace(&[spec("x", &[2])], |xs| {
        Scan::times(3)
            .run(&[&xs[0]], |state, _| (vec![&state[0] + &xs[0].transpose([1, 0])], vec![]))
    })
    .unwrap_err();
    assert!(matches!(&error, Error::Step { op: "transpose", .. }), "{error}");
}

#[test]
fn values_of_a_closure_that_has_returned_are_refused() {
    let mut kept: Option<Traced> = None;
    let error = trace(&[spec("x", &[2])], |xs| {
        Scan::times(3).run(&[&xs[0]], |state, _| {
            kept = Some(state[0].clone());
            (vec![state[0].exp()], vec![])
        });
        let kept = kept.as_ref().unwrap();
        assert!(kept.meta().is_none());
        kept + &xs[0]
    });
    assert!(matches!(error.unwrap_err(), Error::ForeignValue { op: "add", .. }));
}
