//! What runs together and where values lie: the passes `fusion` and `buffers`.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use insta::assert_snapshot;
use tenferro_program::{Pass, Passes, Prepared, Program, Spec, Traced, trace};
use tenferro_tensor::{Boundary, Comparison, DType, Direction, KeepAxes, Sweep, Tensor};

const SWEEP: Sweep = Sweep { boundary: Boundary::Inclusive, direction: Direction::Forward };

fn spec(name: &str, extents: &[usize]) -> Spec {
    Spec::new(DType::F64, extents).unwrap().named(name)
}

fn program<R: Into<Vec<Traced>>>(specs: &[Spec], f: impl FnOnce(&[Traced]) -> R) -> Program {
    trace(specs, f).unwrap()
}

fn prepared(program: &Program) -> Prepared {
    program.prepare(&Passes::all()).unwrap()
}

/// A layer of a network: a product, its bias, and a function.
fn layer() -> Program {
    program(&[spec("w", &[5, 3]), spec("x", &[3, 4]), spec("b", &[5, 1])], |xs| {
        (xs[0].matmul(&xs[1]) + &xs[2]).tanh().sum([1], KeepAxes::Drop)
    })
}

#[test]
fn a_chain_and_the_reduction_at_its_end_run_together() {
    assert_snapshot!(prepared(&layer()), @r"
    prepared(w: f64[5, 3], x: f64[3, 4], b: f64[5, 1]) {
        %3: f64[5, 4] in #0 = dot_general(w, x) { contraction: { lhs_contracting: [1], rhs_contracting: [0] } }
        %6: f64[5] in #1 = fused[5, 4](%3, b) {
            %4: f64[5, 4] = add(%3, b)
            %5: f64[5, 4] = tanh(%4)
            %6: f64[5] = sum(%5) { axes: [1], keep: Drop }
        }
        return %6
    }
    ");
}

#[test]
fn without_fusion_every_step_runs_alone() {
    let passes = Passes { fusion: Pass::Off, ..Passes::all() };
    assert_snapshot!(layer().prepare(&passes).unwrap(), @r"
    prepared(w: f64[5, 3], x: f64[3, 4], b: f64[5, 1]) {
        %3: f64[5, 4] in #0 = dot_general(w, x) { contraction: { lhs_contracting: [1], rhs_contracting: [0] } }
        %4: f64[5, 4] in #1 = add(%3, b)
        %5: f64[5, 4] in #0 = tanh(%4)
        %6: f64[5] in #1 = sum(%5) { axes: [1], keep: Drop }
        return %6
    }
    ");
}

#[test]
fn without_buffers_every_value_stays_where_it_is() {
    let large = program(&[spec("x", &[5000])], |xs| {
        let y = xs[0].cumsum(0_usize, SWEEP);
        let z = (&y * 2.0).cumsum(0_usize, SWEEP);
        z.exp()
    });
    assert_snapshot!(prepared(&large), @r"
    prepared(x: f64[5000]) {
        %1: f64[5000] in #0 = cumsum(x) { axis: 0, sweep: {} }
        %3: f64[5000] in #0 = mul(give %1, %2)
        %4: f64[5000] in #1 = cumsum(%3) { axis: 0, sweep: {} }
        %5: f64[5000] in #1 = exp(give %4)
        return %5
    }
    ");
    let passes = Passes { buffers: Pass::Off, ..Passes::all() };
    assert_snapshot!(large.prepare(&passes).unwrap(), @r"
    prepared(x: f64[5000]) {
        %1: f64[5000] in #0 = cumsum(x) { axis: 0, sweep: {} }
        %3: f64[5000] in #1 = mul(%1, %2)
        %4: f64[5000] in #2 = cumsum(%3) { axis: 0, sweep: {} }
        %5: f64[5000] in #3 = exp(%4)
        return %5
    }
    ");
}

#[test]
fn what_stretches_or_changes_extents_is_read_where_it_lies() {
    let outer = program(&[spec("x", &[3]), spec("y", &[4])], |xs| {
        let x = xs[0].reshape([3_usize, 1]);
        let y = xs[1].broadcast_in_dim([3_usize, 4], [1_usize]);
        (x * &y - &y).reshape([12_usize]).exp()
    });
    assert_snapshot!(prepared(&outer), @r"
    prepared(x: f64[3], y: f64[4]) {
        %5: f64[3, 4] in #0 = fused[3, 4](x as [3, 1], y as [1, 4]) {
            %4: f64[3, 4] = mul(%2, %3)
            %5: f64[3, 4] = sub(%4, %3)
        }
        %7: f64[12] in #1 = exp(%5 as [12])
        return %7
    }
    ");
}

#[test]
fn a_gradient_is_a_few_loops() {
    let loss = program(&[spec("x", &[5000])], |xs| xs[0].logsumexp([0], KeepAxes::Drop));
    assert_snapshot!(prepared(&loss.value_and_grad().unwrap()), @r"
    prepared(x: f64[5000]) {
        %1: f64[1] in #0 = max(x) { axes: [0], keep: Keep }
        %5: f64[1] in #1 = fused[1](%1, %3) {
            %2: f64[1] = floor(%1)
            %4: bool[1] = is_finite(%2)
            %5: f64[1] = select(%4, %2, %3)
        }
        %7: f64[5000] in #0, %8: f64[1] in #2 = fused[5000](give x, %5) {
            %6: f64[5000] = sub(x, %5)
            %7: f64[5000] = exp(%6)
            %8: f64[1] = sum(%7) { axes: [0], keep: Keep }
        }
        %15: f64[1] in #3, %20: f64[1] in #4 = fused[1](%8, %3, %9, %10, %5, %17) {
            %11: bool[1] = compare(%8, %3) { relation: Eq }
            %12: f64[1] = select(%11, %9, %8)
            %13: f64[1] = log(%12)
            %14: f64[1] = select(%11, %10, %13)
            %15: f64[1] = add(%14, %5)
            %18: f64[1] = select(%11, %3, %17)
            %19: f64[1] = div(%18, %12)
            %20: f64[1] = select(%11, %3, %19)
        }
        %16: f64[] in #1 = reshape(%15) { extents: [] }
        %22: f64[5000] in #0 = mul(%20, give %7)
        return %16, %22
    }
    ");
}

#[test]
fn no_loop_waits_for_itself() {
    // `a` and `d` have one shape, but the sum in between needs the one and is needed by the other.
    let around = program(&[spec("x", &[3000]), spec("y", &[3000])], |xs| {
        let a = xs[0].exp();
        let sum = a.sum([0], KeepAxes::Drop);
        let d = &a / &sum;
        let e = &xs[1] + &a;
        vec![d * &e, e]
    });
    assert_snapshot!(prepared(&around), @r"
    prepared(x: f64[3000], y: f64[3000]) {
        %2: f64[3000] in #0, %5: f64[3000] in #1, %3: f64[] in #2 = fused[3000](x, y) {
            %2: f64[3000] = exp(x)
            %5: f64[3000] = add(y, %2)
            %3: f64[] = sum(%2) { axes: [0], keep: Drop }
        }
        %6: f64[3000] in #3 = fused[3000](%2, %3, %5) {
            %4: f64[3000] = div(%2, %3)
            %6: f64[3000] = mul(%4, %5)
        }
        return %6, %5
    }
    ");
}

#[test]
fn what_is_read_later_only_is_computed_there() {
    let late = program(&[spec("x", &[3000])], |xs| {
        let x = &xs[0];
        let slope = x.exp().neg();
        let total = x.sum([0], KeepAxes::Drop);
        let scaled = x * &total;
        scaled * slope
    });
    assert_snapshot!(prepared(&late), @r"
    prepared(x: f64[3000]) {
        %3: f64[] in #0 = sum(x) { axes: [0], keep: Drop }
        %5: f64[3000] in #1 = fused[3000](x, %3) {
            %1: f64[3000] = exp(x)
            %2: f64[3000] = neg(%1)
            %4: f64[3000] = mul(x, %3)
            %5: f64[3000] = mul(%4, %2)
        }
        return %5
    }
    ");
}

#[test]
fn several_dtypes_run_together() {
    let mixed = program(&[spec("x", &[3000])], |xs| {
        let positive = xs[0].compare(&(&xs[0] * 0.0), Comparison::Gt);
        let narrow = xs[0].convert(DType::F32).exp();
        positive.convert(DType::F32) * narrow
    });
    assert_snapshot!(prepared(&mixed), @r"
    prepared(x: f64[3000]) {
        %7: f32[3000] in #0 = fused[3000](x, %1) {
            %2: f64[3000] = mul(x, %1)
            %3: bool[3000] = compare(x, %2) { relation: Gt }
            %4: f32[3000] = convert(x) { dtype: f32 }
            %5: f32[3000] = exp(%4)
            %6: f32[3000] = convert(%3) { dtype: f32 }
            %7: f32[3000] = mul(%6, %5)
        }
        return %7
    }
    ");
}

#[test]
fn long_chains_are_cut() {
    let chain = program(&[spec("x", &[16]), spec("y", &[16])], |xs| {
        (0..1100).fold(xs[0].clone(), |sum, _| sum + &xs[1])
    });
    let text = prepared(&chain).to_string();
    assert_eq!(text.matches("fused[16]").count(), 3);
}

#[test]
fn control_flow_has_schedules_of_its_own() {
    let choice = program(&[spec("x", &[2])], |xs| {
        let x = &xs[0];
        let positive = x
            .sum([0], KeepAxes::Drop)
            .compare(&x.constant(Tensor::scalar(0.0).unwrap()), Comparison::Gt);
        positive.cond(&[x], |xs| vec![xs[0].exp() * 2.0], |xs| vec![xs[0].clone()])
    });
    assert_snapshot!(prepared(&choice), @r"
    prepared(x: f64[2]) {
        %1: f64[] in #0 = sum(x) { axes: [0], keep: Drop }
        %3: bool[] in #1 = compare(%1, %2) { relation: Gt }
        %4: f64[2] in #0 = cond(give %3, give x) {
            on_true: prepared(%0: f64[2]) {
                %3: f64[2] in #0 = fused[2](%0, %2) {
                    %1: f64[2] = exp(%0)
                    %3: f64[2] = mul(%1, %2)
                }
                return %3
            }
            on_false: prepared(%0: f64[2]) {
                return %0
            }
        }
        return %4
    }
    ");
}

#[test]
fn branches_that_are_long_enough_run_at_once() {
    let branches = |extent: usize| {
        program(&[spec("a", &[extent, extent]), spec("b", &[extent, extent])], |xs| {
            let chain = |x: &Traced, y: &Traced| (0..4).fold(x.clone(), |x, _| x.matmul(y));
            chain(&xs[0], &xs[1]) + chain(&xs[1], &xs[0])
        })
    };
    assert_snapshot!(prepared(&branches(112)), @r"
    prepared(a: f64[112, 112], b: f64[112, 112]) {
        at once {
            %5: f64[112, 112] in #0 = branch(a, b) {
                %2: f64[112, 112] in #0 = dot_general(a, b) { contraction: { lhs_contracting: [1], rhs_contracting: [0] } }
                %3: f64[112, 112] in #1 = dot_general(%2, b) { contraction: { lhs_contracting: [1], rhs_contracting: [0] } }
                %4: f64[112, 112] in #0 = dot_general(%3, b) { contraction: { lhs_contracting: [1], rhs_contracting: [0] } }
                %5: f64[112, 112] in #1 = dot_general(%4, b) { contraction: { lhs_contracting: [1], rhs_contracting: [0] } }
            }
            %9: f64[112, 112] in #1 = branch(b, a) {
                %6: f64[112, 112] in #0 = dot_general(b, a) { contraction: { lhs_contracting: [1], rhs_contracting: [0] } }
                %7: f64[112, 112] in #1 = dot_general(%6, a) { contraction: { lhs_contracting: [1], rhs_contracting: [0] } }
                %8: f64[112, 112] in #0 = dot_general(%7, a) { contraction: { lhs_contracting: [1], rhs_contracting: [0] } }
                %9: f64[112, 112] in #1 = dot_general(%8, a) { contraction: { lhs_contracting: [1], rhs_contracting: [0] } }
            }
        }
        %10: f64[112, 112] in #0 = add(give %5, %9)
        return %10
    }
    ");
    let passes = Passes { lanes: Pass::Off, ..Passes::all() };
    assert!(!branches(112).prepare(&passes).unwrap().to_string().contains("at once"));
    // Too short for a thread, and long enough for all threads by itself.
    for extent in [16, 512] {
        assert!(!prepared(&branches(extent)).to_string().contains("at once"));
    }
}

#[test]
fn what_is_only_stretched_is_stretched_by_the_step_that_reads_it() {
    let row =
        program(&[spec("x", &[3])], |xs| xs[0].broadcast_in_dim([3_usize, 4], [0_usize]).exp());
    assert_snapshot!(prepared(&row), @r"
    prepared(x: f64[3]) {
        %2: f64[3, 4] in #0 = fused[3, 4](x as [3, 1]) {
            %2: f64[3, 4] = exp(%1)
        }
        return %2
    }
    ");
}
