//! Contractions of the reference engine against sums over every assignment of indices.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use proptest::prelude::*;
use tenferro_ops::{Engine, Scale, TensorComposite, reference::Reference};
use tenferro_tensor::{
    AsOperand, BatchPosition, Complex64, Conjugation, Contraction, DType, Factor, Tensor,
    TensorDot, TensorView, bf16, f16,
};

fn matrix(extents: [usize; 2], elements: &[f64]) -> Tensor {
    Tensor::from_vec_row_major(extents, elements.to_vec()).unwrap()
}

#[test]
fn f5_a_contraction_over_nothing_is_zeros() {
    let (lhs, rhs) = (
        Tensor::ones(DType::F64, [3, 2, 0]).unwrap(),
        Tensor::ones(DType::F64, [3, 0, 3]).unwrap(),
    );
    let product = Reference.matmul(&lhs, &rhs).unwrap();
    assert_eq!(product.shape()[..], [3, 2, 3]);
    assert_eq!(product.as_slice::<f64>().unwrap(), [0.0; 18]);
}

#[test]
fn f5_a_contraction_over_nothing_overwrites_what_was_there() {
    let (lhs, rhs) =
        (Tensor::ones(DType::F64, [2, 0]).unwrap(), Tensor::ones(DType::F64, [0, 3]).unwrap());
    let mut out = Tensor::full([2, 3], f64::NAN).unwrap();
    let (contraction, destination) = (Contraction::over([1], [0]), out.as_operand_mut().unwrap());
    Reference
        .contract_into(
            &contraction,
            &lhs.as_operand(),
            &rhs.as_operand(),
            Scale::ASSIGN,
            destination,
        )
        .unwrap();
    assert_eq!(out.as_slice::<f64>().unwrap(), [0.0; 6]);
}

#[test]
fn f20_a_transposed_column_times_a_vector() {
    let column = matrix([2, 1], &[1.0, 2.0]);
    let vector = Tensor::from_vec_col_major([2], vec![1.0, 2.0]).unwrap();
    let product = Reference.matmul(&column.view().transpose(), &vector).unwrap();
    assert_eq!(product.as_slice::<f64>().unwrap(), [5.0]);
}

#[test]
fn f21_a_broadcast_vector_and_negative_strides() {
    let one = Tensor::ones(DType::F64, [1]).unwrap();
    let twice = one.view().broadcast(&[2]).unwrap();
    let x = matrix([2, 2], &[1.0, 2.0, 3.0, 4.0]);
    let product = Reference.matmul(&twice, &x).unwrap();
    assert_eq!(product.as_slice::<f64>().unwrap(), [4.0, 6.0]);
    let reversed = x.view().reverse(0).unwrap().reverse(1).unwrap();
    let vector = Tensor::from_vec_col_major([2], vec![1.0, 10.0]).unwrap();
    let product = Reference.matmul(&reversed, &vector.view().reverse(0).unwrap()).unwrap();
    assert_eq!(product.as_slice::<f64>().unwrap(), [43.0, 21.0]);
}

#[test]
fn f22_a_broadcast_batch() {
    let one = Tensor::ones(DType::F64, [1, 32, 32]).unwrap();
    let batch = one.view().broadcast(&[32, 32, 32]).unwrap();
    let product =
        Reference.matmul(&batch, &Tensor::ones(DType::F64, [32, 32, 32]).unwrap()).unwrap();
    assert!(product.as_slice::<f64>().unwrap().iter().all(|&x| x == 32.0));
}

#[test]
fn f23_a_unit_axis_with_an_odd_stride() {
    let data: Vec<f64> = (0..2048).map(f64::from).collect();
    let row = TensorView::from_slice(&data, &[1, 2048], &[16384, 1], 0).unwrap();
    let weights = Tensor::ones(DType::F64, [2048, 2]).unwrap();
    let product = Reference.matmul(&row, &weights).unwrap();
    let copy = Reference.matmul(&row.to_tensor().unwrap(), &weights).unwrap();
    assert_eq!(product.as_slice::<f64>().unwrap(), copy.as_slice::<f64>().unwrap());
    assert_eq!(product.as_slice::<f64>().unwrap(), [2048.0 * 2047.0 / 2.0; 2]);
}

#[test]
fn f24_a_beta_of_zero_does_not_read_the_output() {
    let x = matrix([2, 2], &[1.0, 2.0, 3.0, 4.0]);
    let mut out = Tensor::full([2, 2], f64::NAN).unwrap();
    let destination = out.as_operand_mut().unwrap();
    let contraction = Contraction::over([1], [0]);
    let x = x.as_operand();
    Reference.contract_into(&contraction, &x, &x, Scale::ASSIGN, destination).unwrap();
    assert_eq!(out.to_vec_row_major::<f64>().unwrap(), [7.0, 10.0, 15.0, 22.0]);

    let i = Tensor::full([1], Complex64::new(0.0, 1.0)).unwrap();
    let mut out = Tensor::full([], Complex64::new(f64::NAN, f64::NAN)).unwrap();
    let destination = out.as_operand_mut().unwrap();
    let contraction = Contraction::over([0], [0]);
    let scale = Scale { alpha: Factor::from(2), beta: Factor::from(0.0) };
    Reference
        .contract_into(&contraction, &i.as_operand(), &i.as_operand(), scale, destination)
        .unwrap();
    assert_eq!(out.get::<Complex64>(&[]).unwrap(), Complex64::new(-2.0, 0.0));
}

#[test]
fn f25_eight_columns_of_eight_sums() {
    let rows: Vec<f64> = (0..24).map(|at| f64::from(at % 3 + 1)).collect();
    let product = Reference
        .matmul(&Tensor::ones(DType::F64, [3, 8]).unwrap(), &matrix([8, 3], &rows))
        .unwrap();
    assert_eq!(product.to_vec_row_major::<f64>().unwrap(), [8.0, 16.0, 24.0].repeat(3));
}

#[test]
fn f26_a_product_is_added_to_a_permuted_output() {
    let count = |start: i32| {
        let elements = (start..start + 8).map(f64::from).collect();
        Tensor::from_vec_row_major([2, 2, 2], elements).unwrap()
    };
    let (lhs, rhs, before) = (count(0), count(3), count(100));
    // out[j, b, i] = 2 sum_k lhs[b, i, k] rhs[k, j, b] + 3 out[j, b, i]
    let contraction =
        Contraction { lhs_batch: [0].into(), rhs_batch: [2].into(), ..Contraction::over([2], [0]) };
    let mut out = before.duplicate().unwrap();
    let mut view = out.view_mut().unwrap().permute(&[1, 2, 0]).unwrap();
    let scale = Scale { alpha: Factor::from(2.0), beta: Factor::from(3) };
    Reference
        .contract_into(
            &contraction,
            &lhs.as_operand(),
            &rhs.as_operand(),
            scale,
            view.as_operand_mut(),
        )
        .unwrap();
    for b in 0..2 {
        for i in 0..2 {
            for j in 0..2 {
                let at = |tensor: &Tensor, index: [usize; 3]| tensor.get::<f64>(&index).unwrap();
                let sum: f64 = (0..2).map(|k| at(&lhs, [b, i, k]) * at(&rhs, [k, j, b])).sum();
                let expected = 2.0 * sum + 3.0 * at(&before, [j, b, i]);
                assert_eq!(at(&out, [j, b, i]), expected);
            }
        }
    }
}

#[test]
fn p5_half_precision_products_are_summed_in_single_precision() {
    let ones = Tensor::ones(DType::F16, [4096]).unwrap();
    let dot = Reference.matmul(&ones, &ones).unwrap();
    assert_eq!(dot.get::<f16>(&[]).unwrap().to_f32(), 4096.0);
    let ones = Tensor::ones(DType::BF16, [1000]).unwrap();
    let dot = Reference.matmul(&ones, &ones).unwrap();
    assert_eq!(dot.get::<bf16>(&[]).unwrap().to_f32(), 1000.0);
}

#[test]
fn p4_integer_products_wrap() {
    let x = Tensor::full([2], 100_u8).unwrap();
    assert_eq!(Reference.matmul(&x, &x).unwrap().get::<u8>(&[]).unwrap(), 32);
    let least = Tensor::full([1], i64::MIN).unwrap();
    assert_eq!(Reference.matmul(&least, &least).unwrap().get::<i64>(&[]).unwrap(), 0);
}

#[test]
fn conjugation_is_of_each_operand() {
    let z = |re: f64, im: f64| Tensor::full([1], Complex64::new(re, im)).unwrap();
    let (x, y) = (z(1.0, 2.0), z(3.0, 5.0));
    let product = |lhs, rhs| {
        let contraction = Contraction { lhs, rhs, ..Contraction::over([0], [0]) };
        Reference.dot_general(&x, &y, contraction).unwrap().get::<Complex64>(&[]).unwrap()
    };
    use Conjugation::{Conjugated, Plain};
    assert_eq!(product(Plain, Plain), Complex64::new(-7.0, 11.0));
    assert_eq!(product(Conjugated, Plain), Complex64::new(13.0, -1.0));
    assert_eq!(product(Plain, Conjugated), Complex64::new(13.0, 1.0));
    assert_eq!(product(Conjugated, Conjugated), Complex64::new(-7.0, -11.0));
}

/// What an axis of an operand is for, and its extent by a label that both operands share.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Part {
    Batch,
    Summed,
    Left,
    Right,
}

/// Labels with parts and extents, and an order of the labels for each operand.
fn problem() -> impl Strategy<Value = (Vec<(Part, usize)>, Vec<usize>, Vec<usize>)> {
    let part = prop::sample::select(&[Part::Batch, Part::Summed, Part::Left, Part::Right][..]);
    prop::collection::vec((part, 0..4_usize), 0..6).prop_flat_map(|labels| {
        let of = |without: Part| -> Vec<usize> {
            (0..labels.len()).filter(|&label| labels[label].0 != without).collect()
        };
        let orders = (Just(of(Part::Right)).prop_shuffle(), Just(of(Part::Left)).prop_shuffle());
        (Just(labels), orders).prop_map(|(labels, (lhs, rhs))| (labels, lhs, rhs))
    })
}

/// The element at a label assignment.
fn at(tensor: &Tensor, order: &[usize], assignment: &[usize]) -> i64 {
    let index: Vec<usize> = order.iter().map(|&label| assignment[label]).collect();
    tensor.get::<i64>(&index).unwrap()
}

/// Calls `visit` with every assignment of indices to labels.
fn assignments(labels: &[(Part, usize)], visit: &mut impl FnMut(&[usize])) {
    let total: usize = labels.iter().map(|label| label.1).product();
    for mut position in 0..total {
        let mut assignment = Vec::new();
        for &(_, extent) in labels {
            assignment.push(position % extent);
            position /= extent;
        }
        visit(&assignment);
    }
}

proptest! {
    #[test]
    fn dot_general_is_the_sum_over_all_assignments((labels, lhs_order, rhs_order) in problem(), trailing: bool) {
        let labels = &labels[..];
        let extents = |order: &[usize]| order.iter().map(|&label| labels[label].1).collect::<Vec<_>>();
        let filled = |extents: Vec<usize>, factor: i64| {
            let elements = extents.iter().product::<usize>() as i64;
            Tensor::from_vec_col_major(extents, (1..=elements).map(|at| at * factor % 11 - 5).collect()).unwrap()
        };
        let (lhs, rhs) = (filled(extents(&lhs_order), 3), filled(extents(&rhs_order), 7));
        let with = |part: Part| (0..labels.len()).filter(move |&label| labels[label].0 == part);
        let axes = |part: Part, order: &[usize]| {
            with(part).map(|label| order.iter().position(|&other| other == label).unwrap()).collect()
        };
        let contraction = Contraction {
            lhs_contracting: axes(Part::Summed, &lhs_order),
            rhs_contracting: axes(Part::Summed, &rhs_order),
            lhs_batch: axes(Part::Batch, &lhs_order),
            rhs_batch: axes(Part::Batch, &rhs_order),
            batch: if trailing { BatchPosition::Trailing } else { BatchPosition::Leading },
            ..Contraction::default()
        };
        let free = |part, order: &[usize]| order.iter().copied().filter(|&label| labels[label].0 == part).collect::<Vec<_>>();
        let batch: Vec<usize> = with(Part::Batch).collect();
        let (left, right) = (free(Part::Left, &lhs_order), free(Part::Right, &rhs_order));
        let order = if trailing { [left, right, batch] } else { [batch, left, right] }.concat();

        let product = Reference.dot_general(&lhs, &rhs, contraction).unwrap();
        prop_assert_eq!(&product.shape()[..], &extents(&order)[..]);
        let mut expected = Tensor::zeros(DType::I64, extents(&order)).unwrap();
        let mut view = expected.view_mut().unwrap();
        assignments(labels, &mut |assignment| {
            let index: Vec<usize> = order.iter().map(|&label| assignment[label]).collect();
            let sum = view.view().get::<i64>(&index).unwrap();
            let term = at(&lhs, &lhs_order, assignment) * at(&rhs, &rhs_order, assignment);
            view.set(&index, sum + term).unwrap();
        });
        prop_assert_eq!(product.as_slice::<i64>().unwrap(), expected.as_slice::<i64>().unwrap());
    }
}
