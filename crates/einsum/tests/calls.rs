//! Which operations of the engine a contraction takes: no copy and no product more than needed.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use tenferro_einsum::{Path, Plan, einsum};
use tenferro_ops::{Engine, reference::Reference};
use tenferro_tensor::{AsOperand, DType, Operand, Primitive, Result, Shape, Tensor, Vocabulary};

/// The reference engine, writing down what it is asked for.
#[derive(Default)]
struct Recorder(Vec<&'static str>);

impl Vocabulary for Recorder {
    fn apply(&mut self, primitive: &Primitive, inputs: &[Operand<'_>]) -> Result<Tensor> {
        self.0.push(primitive.name());
        Reference.apply(primitive, inputs)
    }
}

impl Engine for Recorder {}

fn calls(subscripts: &str, shapes: &[&[usize]]) -> Vec<&'static str> {
    let operands: Vec<Tensor> =
        shapes.iter().map(|&shape| Tensor::ones(DType::F64, shape).unwrap()).collect();
    let operands: Vec<Operand<'_>> = operands.iter().map(AsOperand::as_operand).collect();
    let mut engine = Recorder::default();
    einsum(&mut engine, subscripts, &operands, &Path::LeftToRight).unwrap();
    engine.0
}

#[test]
fn products_write_the_wanted_order_without_a_transpose() {
    let (a, b): (&[usize], &[usize]) = (&[2, 3, 4], &[3, 5]);
    assert_eq!(calls("ijk,jl,km->ilm", &[a, b, &[4, 6]]), ["dot_general", "dot_general"]);
    for output in ["ik", "ki"] {
        assert_eq!(calls(&format!("ij,jk->{output}"), &[&[2, 3], &[3, 4]]), ["dot_general"]);
    }
    for output in ["bik", "bki", "ikb", "kib"] {
        let subscripts = format!("bij,bjk->{output}");
        assert_eq!(calls(&subscripts, &[&[2, 3, 4], &[2, 4, 5]]), ["dot_general"], "{output}");
    }
    for output in ["ilk", "kli", "lki", "lik"] {
        let subscripts = format!("ijk,jl->{output}");
        let expected: &[_] = if ["ilk", "kli"].contains(&output) {
            &["dot_general", "transpose"]
        } else {
            &["dot_general"]
        };
        assert_eq!(calls(&subscripts, &[a, b]), expected, "{output}");
    }
}

#[test]
fn products_without_a_sum_are_elementwise() {
    assert_eq!(calls("ij,ji->ij", &[&[2, 3], &[3, 2]]), ["mul"]);
    assert_eq!(calls("i,j->ji", &[&[2], &[3]]), ["mul"]);
    assert_eq!(calls("ij,j->ji", &[&[2, 3], &[3]]), ["mul"]);
}

#[test]
fn diagonals_and_stretched_axes_are_views() {
    assert_eq!(calls("iij,jkk->ik", &[&[2, 2, 3], &[3, 4, 4]]), ["dot_general"]);
    assert_eq!(calls("...ij,...jk->...ik", &[&[4, 2, 3], &[1, 3, 2]]), ["dot_general"]);
    assert_eq!(calls("iij->ji", &[&[2, 2, 3]]), ["transpose"]);
    assert_eq!(calls("iij->j", &[&[2, 2, 3]]), ["sum"]);
}

#[test]
fn labels_of_one_operand_are_summed_before_the_product() {
    assert_eq!(calls("ij,jk->i", &[&[2, 3], &[3, 4]]), ["sum", "dot_general"]);
    assert_eq!(calls("ij,kl->", &[&[2, 3], &[3, 4]]), ["sum", "sum", "mul"]);
}

fn plan(subscripts: &str, shapes: &[&[usize]], path: &Path) -> Plan {
    let shapes: Vec<Shape> = shapes.iter().map(|shape| Shape::new(shape).unwrap()).collect();
    Plan::new(subscripts, &shapes.iter().collect::<Vec<_>>(), path).unwrap()
}

#[test]
fn cost_counts_multiply_adds_twice_and_complex_ones_eightfold() {
    let matmul = plan("ij,jk->ik", &[&[2, 3], &[3, 4]], &Path::LeftToRight);
    assert_eq!(matmul.cost(DType::F32).flops, 48.0);
    assert_eq!(matmul.cost(DType::C64).flops, 192.0);
    assert_eq!(matmul.cost(DType::F64).largest_intermediate, 8);
    let outer = plan("i,j->ij", &[&[2], &[3]], &Path::LeftToRight);
    assert_eq!((outer.cost(DType::I64).flops, outer.cost(DType::C32).flops), (6.0, 36.0));
    let sum = plan("ij->i", &[&[2, 3]], &Path::LeftToRight);
    assert_eq!((sum.cost(DType::F64).flops, sum.cost(DType::C64).flops), (6.0, 12.0));
    assert_eq!(plan("ij->ji", &[&[2, 3]], &Path::LeftToRight).cost(DType::F64).flops, 0.0);
}

#[test]
fn cost_shows_what_a_path_saves() {
    let shapes: [&[usize]; 3] = [&[10, 2], &[2, 10], &[10, 3]];
    let left = plan("ij,jk,kl->il", &shapes, &Path::LeftToRight);
    let right = plan("ij,jk,kl->il", &shapes, &Path::Pairs(vec![(1, 2), (0, 1)]));
    assert_eq!(left.cost(DType::F64).flops, 2.0 * (200.0 + 300.0));
    assert_eq!(right.cost(DType::F64).flops, 2.0 * (60.0 + 60.0));
    assert_eq!(left.cost(DType::F64).largest_intermediate, 100);
    assert_eq!(right.cost(DType::F64).largest_intermediate, 30);
    let elements: Vec<usize> = right.steps().iter().map(|step| step.elements()).collect();
    assert_eq!((elements, right.steps()[0].pair()), (vec![6, 30], (1, 2)));
}

#[test]
fn a_reversed_plan_makes_row_major_elements() {
    let x = Tensor::from_vec_row_major([2, 3], vec![1_i64, 2, 3, 4, 5, 6]).unwrap();
    let plan = plan("ij->ij", &[&[2, 3]], &Path::LeftToRight).reversed();
    assert_eq!(&plan.shape()[..], [3, 2]);
    let result = plan.run(&mut Reference, &[x.as_operand()]).unwrap();
    assert_eq!(result.as_slice::<i64>().unwrap(), [1, 2, 3, 4, 5, 6]);
}

#[test]
fn a_watched_run_reports_each_step_once_it_is_done() {
    let plan = plan("ij,jk,kl->il", &[&[2, 2], &[2, 2], &[2, 2]], &Path::LeftToRight);
    let x = Tensor::ones(DType::F32, [2, 2]).unwrap();
    let mut flops = Vec::new();
    let operands = [x.as_operand(); 3];
    plan.run_watched(&mut Reference, &operands, &mut |step| flops.push(step.flops(DType::F32)))
        .unwrap();
    assert_eq!(flops, [16.0, 16.0]);
}
