//! Contractions that NumPy has done, see `fixtures/numpy.py`.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use tenferro_einsum::{Path, einsum};
use tenferro_ops::reference::Reference;
use tenferro_tensor::{AsOperand, Operand, Tensor, TensorView};

fn parse(line: &str) -> (Vec<usize>, Vec<i64>) {
    let (extents, elements) = line.split_once(':').unwrap();
    let extents = extents.trim().split(',').filter(|part| !part.is_empty());
    (
        extents.map(|extent| extent.parse().unwrap()).collect(),
        elements.split_whitespace().map(|element| element.parse().unwrap()).collect(),
    )
}

struct Case {
    subscripts: String,
    operands: Vec<(Vec<usize>, Vec<i64>)>,
    result: (Vec<usize>, Vec<i64>),
}

fn cases() -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    for line in include_str!("fixtures/numpy.txt").lines() {
        let (kind, rest) = line.split_once(' ').unwrap();
        match kind {
            "einsum" => cases.push(Case {
                subscripts: rest.to_owned(),
                operands: Vec::new(),
                result: Default::default(),
            }),
            "operand" => cases.last_mut().unwrap().operands.push(parse(rest)),
            "result" => cases.last_mut().unwrap().result = parse(rest),
            other => panic!("unknown line {other}"),
        }
    }
    cases
}

#[test]
fn einsum_equals_numpy_on_dense_operands() {
    let cases = cases();
    assert!(cases.len() > 50);
    for case in cases {
        let operands: Vec<Tensor> = case
            .operands
            .iter()
            .map(|(shape, data)| Tensor::from_vec_row_major(shape.clone(), data.clone()).unwrap())
            .collect();
        let operands: Vec<Operand<'_>> = operands.iter().map(AsOperand::as_operand).collect();
        check(&case, &operands);
    }
}

#[test]
fn einsum_equals_numpy_on_row_major_views() {
    for case in cases() {
        let views: Vec<TensorView<'_>> = case
            .operands
            .iter()
            .map(|(shape, data)| {
                let reversed: Vec<usize> = shape.iter().rev().copied().collect();
                let mut strides = vec![1; reversed.len()];
                for axis in 1..reversed.len() {
                    strides[axis] = strides[axis - 1] * reversed[axis - 1].max(1) as isize;
                }
                TensorView::from_slice(data, &reversed, &strides, 0).unwrap().transpose()
            })
            .collect();
        let operands: Vec<Operand<'_>> = views.iter().map(AsOperand::as_operand).collect();
        check(&case, &operands);
    }
}

fn check(case: &Case, operands: &[Operand<'_>]) {
    let result = einsum(&mut Reference, &case.subscripts, operands, &Path::LeftToRight)
        .unwrap_or_else(|error| panic!("{}: {error}", case.subscripts));
    let actual = (result.shape().to_vec(), result.to_vec_row_major::<i64>().unwrap());
    assert_eq!(actual, case.result, "{}", case.subscripts);
}
