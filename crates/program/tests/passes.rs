//! What each pass does, and that none of them changes a bit, but for the one that says so.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use insta::assert_snapshot;
use tenferro_ops::reference::Reference;
use tenferro_program::Spec;
use tenferro_program::{Argument, Pass, Passes, Program, Traced, trace};
use tenferro_tensor::{
    BatchPosition, Combiner, Contraction, DType, Gathering, KeepAxes, Placement, ScatterMode,
    Tensor,
};

fn traced<R: Into<Vec<Traced>>>(extents: &[&[usize]], f: impl FnOnce(&[Traced]) -> R) -> Program {
    let specs: Vec<Spec> = extents
        .iter()
        .zip(["a", "b", "c"])
        .map(|(extents, name)| Spec::new(DType::F64, *extents).unwrap().named(name))
        .collect();
    trace(&specs, f).unwrap()
}

fn scalar(like: &Traced, number: f64) -> Traced {
    like.constant(Tensor::scalar(number).unwrap())
}

/// Zeros of both signs, infinities and others.
fn numbers(extents: &[usize]) -> Tensor {
    let all = [0.0, -0.0, 1.5, -2.0, f64::INFINITY, 1e-320, -3.25];
    let elements = extents.iter().product();
    let elements = (0..elements).map(|place: usize| all[place * 5 % 7]).collect();
    Tensor::from_vec_col_major(extents.to_vec(), elements).unwrap()
}

fn bits(program: &Program) -> Vec<Vec<u64>> {
    let inputs: Vec<Tensor> =
        program.inputs().iter().map(|spec| numbers(&spec.meta().shape)).collect();
    let prepared = program.prepare(&Passes::none()).unwrap();
    let results = prepared.run(&mut Reference, inputs.iter().map(Argument::from)).unwrap();
    results
        .iter()
        .map(|result| result.to_vec_col_major::<f64>().unwrap())
        .map(|elements| elements.iter().map(|element| element.to_bits()).collect())
        .collect()
}

/// The program after some passes, which is the same to the last bit.
fn after(program: &Program, passes: &Passes) -> Program {
    let optimised = program.optimised(passes).unwrap();
    assert_eq!(bits(&optimised), bits(program), "{program}\n{optimised}");
    optimised
}

#[test]
fn each_pass_does_its_part_alone_and_can_be_left_out() {
    let program = traced(&[&[2, 3], &[2, 3]], |xs| {
        let (a, b) = (&xs[0], &xs[1]);
        drop(a.exp());
        let two = scalar(a, 1.0) + scalar(a, 1.0);
        let product = a.transpose([1, 0]).matmul(&(b * 1.0));
        &(&product * &two) + &(&product * &two)
    });
    let none = Passes::none();
    assert_eq!(after(&program, &none), program);
    assert_snapshot!(after(&program, &Passes { constant_folding: Pass::On, ..none }), @r"
    program(a: f64[2, 3], b: f64[2, 3]) {
        %2: f64[2, 3] = exp(a)
        %3: f64[] = constant 1.0
        %4: f64[] = constant 1.0
        %5: f64[] = constant 2.0
        %6: f64[3, 2] = transpose(a) { permutation: [1, 0] }
        %7: f64[] = constant 1.0
        %8: f64[2, 3] = mul(b, %7)
        %9: f64[3, 3] = dot_general(%6, %8) { contraction: { lhs_contracting: [1], rhs_contracting: [0] } }
        %10: f64[3, 3] = mul(%9, %5)
        %11: f64[3, 3] = mul(%9, %5)
        %12: f64[3, 3] = add(%10, %11)
        return %12
    }
    ");
    assert_snapshot!(after(&program, &Passes { simplification: Pass::On, ..none }), @r"
    program(a: f64[2, 3], b: f64[2, 3]) {
        %2: f64[2, 3] = exp(a)
        %3: f64[] = constant 1.0
        %4: f64[] = constant 1.0
        %5: f64[] = add(%3, %4)
        %6: f64[3, 2] = transpose(a) { permutation: [1, 0] }
        %7: f64[] = constant 1.0
        %8: f64[3, 3] = dot_general(%6, b) { contraction: { lhs_contracting: [1], rhs_contracting: [0] } }
        %9: f64[3, 3] = mul(%8, %5)
        %10: f64[3, 3] = mul(%8, %5)
        %11: f64[3, 3] = add(%9, %10)
        return %11
    }
    ");
    assert_snapshot!(after(&program, &Passes { products: Pass::On, ..none }), @r"
    program(a: f64[2, 3], b: f64[2, 3]) {
        %2: f64[2, 3] = exp(a)
        %3: f64[] = constant 1.0
        %4: f64[] = constant 1.0
        %5: f64[] = add(%3, %4)
        %6: f64[3, 2] = transpose(a) { permutation: [1, 0] }
        %7: f64[] = constant 1.0
        %8: f64[2, 3] = mul(b, %7)
        %9: f64[3, 3] = dot_general(a, %8) { contraction: { lhs_contracting: [0], rhs_contracting: [0] } }
        %10: f64[3, 3] = mul(%9, %5)
        %11: f64[3, 3] = mul(%9, %5)
        %12: f64[3, 3] = add(%10, %11)
        return %12
    }
    ");
    assert_snapshot!(after(&program, &Passes { common_subexpressions: Pass::On, ..none }), @r"
    program(a: f64[2, 3], b: f64[2, 3]) {
        %2: f64[2, 3] = exp(a)
        %3: f64[] = constant 1.0
        %4: f64[] = add(%3, %3)
        %5: f64[3, 2] = transpose(a) { permutation: [1, 0] }
        %6: f64[2, 3] = mul(b, %3)
        %7: f64[3, 3] = dot_general(%5, %6) { contraction: { lhs_contracting: [1], rhs_contracting: [0] } }
        %8: f64[3, 3] = mul(%7, %4)
        %9: f64[3, 3] = add(%8, %8)
        return %9
    }
    ");
    assert_snapshot!(after(&program, &Passes { dead_code: Pass::On, ..none }), @r"
    program(a: f64[2, 3], b: f64[2, 3]) {
        %2: f64[] = constant 1.0
        %3: f64[] = constant 1.0
        %4: f64[] = add(%2, %3)
        %5: f64[3, 2] = transpose(a) { permutation: [1, 0] }
        %6: f64[] = constant 1.0
        %7: f64[2, 3] = mul(b, %6)
        %8: f64[3, 3] = dot_general(%5, %7) { contraction: { lhs_contracting: [1], rhs_contracting: [0] } }
        %9: f64[3, 3] = mul(%8, %4)
        %10: f64[3, 3] = mul(%8, %4)
        %11: f64[3, 3] = add(%9, %10)
        return %11
    }
    ");
    assert_snapshot!(after(&program, &Passes::all()), @r"
    program(a: f64[2, 3], b: f64[2, 3]) {
        %2: f64[] = constant 2.0
        %3: f64[3, 3] = dot_general(a, b) { contraction: { lhs_contracting: [0], rhs_contracting: [0] } }
        %4: f64[3, 3] = mul(%3, %2)
        %5: f64[3, 3] = add(%4, %4)
        return %5
    }
    ");
}

const SIMPLER: Passes = Passes { simplification: Pass::On, dead_code: Pass::On, ..Passes::none() };

#[test]
fn arithmetic_that_changes_nothing_is_left_out() {
    let program = traced(&[&[3], &[3]], |xs| {
        let a = &xs[0];
        let chosen = a.constant(Tensor::scalar(true).unwrap());
        vec![
            a * 1.0,
            1.0 * a,
            a / 1.0,
            a - 0.0,
            a + scalar(a, -0.0),
            -(-a),
            a.conj().real(),
            a.convert(DType::F64),
            chosen.select(a, &xs[1]),
        ]
    });
    assert_snapshot!(after(&program, &SIMPLER), @r"
    program(a: f64[3], b: f64[3]) {
        return a, a, a, a, a, a, a, a, a
    }
    ");
    // These make 0 of -0, or are not what they seem.
    let kept = traced(&[&[3], &[1, 3]], |xs| {
        let a = &xs[0];
        vec![
            a.sum(Vec::<usize>::new(), KeepAxes::Drop),
            a + 0.0,
            a - scalar(a, -0.0),
            a * &xs[1].constant(numbers(&[1, 1])),
            a * 0.0,
        ]
    });
    assert_eq!(after(&kept, &SIMPLER).steps().len(), kept.steps().len());
}

#[test]
fn layouts_that_change_nothing_or_are_undone_are_left_out() {
    let program = traced(&[&[2, 3], &[2, 1, 3]], |xs| {
        let (a, b) = (&xs[0], &xs[1]);
        vec![
            a.transpose([1, 0]).transpose([1, 0]),
            b.transpose([1, 2, 0]).transpose([1, 0, 2]),
            b.transpose([1, 0, 2]),
            a.reshape([6]).reshape([3, 2]),
            a.reshape([3, 2]).reshape([2, 3]),
            a.broadcast_in_dim([2, 3], [0, 1]),
            a.broadcast_in_dim([2, 1, 3], [0, 2]),
            a.pad(&scalar(a, 7.0), [(0, 0, 0), (0, 0, 0)]),
            a.concatenate(&[], 0_usize),
            a.reverse([1]).reverse([1]),
            b.reverse([1]),
        ]
    });
    assert_snapshot!(after(&program, &SIMPLER), @r"
    program(a: f64[2, 3], b: f64[2, 1, 3]) {
        %2: f64[3, 1, 2] = transpose(b) { permutation: [2, 1, 0] }
        %3: f64[1, 2, 3] = reshape(b) { extents: [1, 2, 3] }
        %4: f64[3, 2] = reshape(a) { extents: [3, 2] }
        %5: f64[2, 1, 3] = reshape(a) { extents: [2, 1, 3] }
        return a, %2, %3, %4, a, a, %5, a, a, a, b
    }
    ");
    let kept = traced(&[&[2, 3], &[1, 3]], |xs| {
        let (a, b) = (&xs[0], &xs[1]);
        vec![
            a.transpose([1, 0]),
            b.broadcast_in_dim([2, 3], [0, 1]),
            a.reverse([0]).reverse([1]),
            a.pad(&scalar(a, 7.0), [(1, -1, 0), (0, 0, 0)]),
            a.pad(&scalar(a, 7.0), [(0, 0, 1), (0, 0, 0)]),
        ]
    });
    assert_eq!(after(&kept, &SIMPLER).steps().len(), kept.steps().len());
}

#[test]
fn products_read_what_was_transposed_for_them() {
    let program = traced(&[&[3, 2], &[3, 2]], |xs| {
        let (a, b) = (&xs[0], &xs[1]);
        vec![
            a.transpose([1, 0]).matmul(b),
            a.matmul(&b.transpose([1, 0])),
            a.transpose([1, 0]).matmul(&b.transpose([1, 0]).transpose([1, 0])),
        ]
    });
    assert_snapshot!(after(&program, &Passes::all()), @r"
    program(a: f64[3, 2], b: f64[3, 2]) {
        %2: f64[2, 2] = dot_general(a, b) { contraction: { lhs_contracting: [0], rhs_contracting: [0] } }
        %3: f64[3, 3] = dot_general(a, b) { contraction: { lhs_contracting: [1], rhs_contracting: [1] } }
        return %2, %3, %2
    }
    ");
    // Free axes that change places stay transposed.
    let kept = traced(&[&[2, 2, 3], &[3, 2]], |xs| {
        xs[0].transpose([1, 0, 2]).dot_general(&xs[1], Contraction::over([2], [0]))
    });
    assert_eq!(after(&kept, &Passes::all()).steps().len(), 2);
}

#[test]
fn products_without_sums_are_elementwise_unless_a_column_and_a_row_are_all_there_is() {
    let products = Passes { products: Pass::On, dead_code: Pass::On, ..Passes::none() };
    let program = traced(&[&[3], &[2], &[3, 2]], |xs| {
        let (a, b, c) = (&xs[0], &xs[1], &xs[2]);
        let leading =
            Contraction { lhs_batch: [0].into(), rhs_batch: [0].into(), ..Contraction::default() };
        let trailing = Contraction { batch: BatchPosition::Trailing, ..leading.clone() };
        vec![
            a.dot_general(b, Contraction::default()).exp(),
            a.reshape([3, 1]).matmul(&b.reshape([1, 2])),
            a.dot_general(c, leading),
            a.dot_general(c, trailing),
        ]
    });
    assert_snapshot!(after(&program, &products), @r"
    program(a: f64[3], b: f64[2], c: f64[3, 2]) {
        %3: f64[3, 1] = reshape(a) { extents: [3, 1] }
        %4: f64[1, 2] = reshape(b) { extents: [1, 2] }
        %5: f64[3, 2] = mul(%3, %4)
        %6: f64[] = constant 0.0
        %7: f64[3, 2] = add(%5, %6)
        %8: f64[3, 2] = exp(%7)
        %9: f64[3, 1] = reshape(a) { extents: [3, 1] }
        %10: f64[1, 2] = reshape(b) { extents: [1, 2] }
        %11: f64[3, 2] = dot_general(%9, %10) { contraction: { lhs_contracting: [1], rhs_contracting: [0] } }
        %12: f64[3, 1] = reshape(a) { extents: [3, 1] }
        %13: f64[3, 2] = mul(%12, c)
        %14: f64[] = constant 0.0
        %15: f64[3, 2] = add(%13, %14)
        %16: f64[2, 3] = dot_general(a, c) { contraction: { lhs_batch: [0], rhs_batch: [0], batch: Trailing } }
        return %8, %11, %15, %16
    }
    ");
    let nothing = traced(&[&[2, 0], &[0, 3]], |xs| xs[0].matmul(&xs[1]));
    assert_snapshot!(after(&nothing, &products), @r"
    program(a: f64[2, 0], b: f64[0, 3]) {
        %2: f64[] = constant 0.0
        %3: f64[2, 3] = broadcast_in_dim(%2) { extents: [2, 3], axes: [] }
        return %3
    }
    ");
    // Sums stay products.
    let sums = traced(&[&[3, 2], &[2, 3]], |xs| xs[0].matmul(&xs[1]));
    assert_eq!(after(&sums, &products), sums);
}

#[test]
fn what_was_to_be_scattered_into_zeros_goes_into_what_it_is_added_to() {
    let scatters = Passes { scatters: Pass::On, dead_code: Pass::On, ..Passes::none() };
    // Two updates of one element.
    let scattered = |xs: &[Traced]| {
        let places = Tensor::from_vec_col_major([3, 1], vec![2_i64, 0, 2]).unwrap();
        let gathering = Gathering {
            slice_extents: [1].into(),
            collapsed_axes: [0].into(),
            start_axes: [0].into(),
            component_axis: 1,
            ..Gathering::default()
        };
        scalar(&xs[0], 0.0).broadcast_in_dim([4], []).scatter(
            &xs[0].constant(places),
            &xs[1],
            gathering,
            Placement::Combine(Combiner::Sum),
            ScatterMode::Refuse,
        )
    };
    let program = traced(&[&[4], &[3]], |xs| vec![&xs[0] + scattered(xs), scattered(xs) + &xs[0]]);
    let merged = program.optimised(&scatters).unwrap();
    assert!(!merged.to_string().contains("add"), "{merged}");
    assert!(!merged.to_string().contains("broadcast_in_dim"), "{merged}");
    let values = |program: &Program| -> Vec<Vec<f64>> {
        bits(program)
            .iter()
            .map(|bits| bits.iter().copied().map(f64::from_bits).collect())
            .collect()
    };
    assert_eq!(values(&merged), values(&program));
    // What someone else reads is needed, and what stretches has another shape.
    let kept = traced(&[&[4], &[3]], |xs| {
        let both = scattered(xs);
        vec![&xs[0] + &both, both, scalar(&xs[0], 1.0) + scattered(xs)]
    });
    assert_eq!(after(&kept, &scatters), kept);
}
