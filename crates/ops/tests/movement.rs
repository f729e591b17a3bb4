//! Structural and indexing rows of the reference engine against values worked out by hand, row by row.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use tenferro_ops::reference::Reference;
use tenferro_tensor::{DType, Tensor, TensorIndexing, TensorStructural};

/// 0, 1, 2, .. row by row.
fn count(extents: &[usize]) -> Tensor {
    let elements: usize = extents.iter().product();
    Tensor::from_vec_row_major(extents, (0..elements as i32).collect()).unwrap()
}

fn rows(tensor: &Tensor) -> (Vec<usize>, Vec<i32>) {
    (tensor.shape().to_vec(), tensor.to_vec_row_major().unwrap())
}

#[test]
fn transpose_moves_axes() {
    let moved = Reference.transpose(&count(&[2, 3]), [1, 0]).unwrap();
    assert_eq!(rows(&moved), (vec![3, 2], vec![0, 3, 1, 4, 2, 5]));
    let moved = Reference.transpose(&count(&[1, 2, 3]), [2, 0, 1]).unwrap();
    assert_eq!(rows(&moved), (vec![3, 1, 2], vec![0, 3, 1, 4, 2, 5]));
}

#[test]
fn reshape_keeps_column_major_order() {
    let x = count(&[2, 3]);
    let reshaped = Reference.reshape(&x, [3, 2]).unwrap();
    assert_eq!(rows(&reshaped), (vec![3, 2], vec![0, 4, 3, 2, 1, 5]));
    let of_a_view = Reference.reshape(&x.view().transpose(), [6]).unwrap();
    assert_eq!(rows(&of_a_view), (vec![6], vec![0, 1, 2, 3, 4, 5]));
}

#[test]
fn broadcast_in_dim_repeats_and_places() {
    let stretched = Reference.broadcast_in_dim(&count(&[3]), [2, 3], [1]).unwrap();
    assert_eq!(rows(&stretched), (vec![2, 3], vec![0, 1, 2, 0, 1, 2]));
    let stretched = Reference.broadcast_in_dim(&count(&[2]), [2, 3], [0]).unwrap();
    assert_eq!(rows(&stretched), (vec![2, 3], vec![0, 0, 0, 1, 1, 1]));
    let turned = Reference.broadcast_in_dim(&count(&[1, 2]), [2, 3], [1, 0]).unwrap();
    assert_eq!(rows(&turned), (vec![2, 3], vec![0, 0, 0, 1, 1, 1]));
}

#[test]
fn concatenate_puts_parts_one_after_the_other() {
    let (x, nothing) = (count(&[2, 2]), Tensor::zeros(DType::I32, [2, 0]).unwrap());
    let joined = Reference.concatenate(&[x.clone(), nothing, x], 1_usize).unwrap();
    assert_eq!(rows(&joined), (vec![2, 4], vec![0, 1, 0, 1, 2, 3, 2, 3]));
    let stacked = Reference.concatenate(&[count(&[1, 2]), count(&[2, 2])], 0_usize).unwrap();
    assert_eq!(rows(&stacked), (vec![3, 2], vec![0, 1, 0, 1, 2, 3]));
}

#[test]
fn pad_fills_edges_and_gaps_and_cuts_negative_edges() {
    let (x, value) = (count(&[3]), Tensor::scalar(9_i32).unwrap());
    let pad = |axis| rows(&Reference.pad(&x, &value, [axis]).unwrap()).1;
    assert_eq!(pad((1, 2, 0)), [9, 0, 1, 2, 9, 9]);
    assert_eq!(pad((0, 0, 2)), [0, 9, 9, 1, 9, 9, 2]);
    assert_eq!(pad((-1, 1, 0)), [1, 2, 9]);
    // The gaps come first, so that a negative edge may cut into one.
    assert_eq!(pad((-1, -2, 1)), [9, 1]);
    assert_eq!(pad((-3, 0, 0)), [0; 0]);
    let frame = Reference.pad(&count(&[1, 2]), &value, [(1, 0, 0), (0, 1, 1)]).unwrap();
    assert_eq!(rows(&frame), (vec![2, 4], vec![9, 9, 9, 9, 0, 9, 1, 9]));
    let from_nothing = Tensor::zeros(DType::I32, [0]).unwrap();
    let padded = Reference.pad(&from_nothing, &value, [(1, 1, 5)]).unwrap();
    assert_eq!(rows(&padded).1, [9, 9]);
}

#[test]
fn slice_strides_and_may_be_empty() {
    let x = count(&[3, 5]);
    let slice = |starts, limits, strides| {
        let _: ([usize; 2], [usize; 2], [usize; 2]) = (starts, limits, strides);
        rows(&Reference.slice(&x, starts, limits, strides).unwrap())
    };
    assert_eq!(slice([0, 1], [3, 5], [2, 3]), (vec![2, 2], vec![1, 4, 11, 14]));
    assert_eq!(slice([2, 0], [2, 5], [1, 1]), (vec![0, 5], vec![]));
    assert_eq!(slice([2, 4], [3, 5], [usize::MAX, 1]), (vec![1, 1], vec![14]));
}

#[test]
fn diagonals_are_taken_and_put_back() {
    let x = count(&[2, 3, 2]);
    let diagonal = Reference.extract_diagonal(&x, 0_usize, 2_usize).unwrap();
    assert_eq!(rows(&diagonal), (vec![2, 3], vec![0, 2, 4, 7, 9, 11]));
    let turned = Reference.extract_diagonal(&x, 2_usize, 0_usize).unwrap();
    assert_eq!(rows(&turned), (vec![3, 2], vec![0, 7, 2, 9, 4, 11]));
    let embedded = Reference.embed_diagonal(&count(&[3]), 0_usize, 1_usize).unwrap();
    assert_eq!(rows(&embedded), (vec![3, 3], vec![0, 0, 0, 0, 1, 0, 0, 0, 2]));
    let back = Reference.embed_diagonal(&diagonal, 0_usize, 2_usize).unwrap();
    let again = Reference.extract_diagonal(&back, 0_usize, 2_usize).unwrap();
    assert_eq!(rows(&again), rows(&diagonal));
    let first = Reference.embed_diagonal(&count(&[1, 2]), 1_usize, 0_usize).unwrap();
    assert_eq!(rows(&first), (vec![2, 1, 2], vec![0, 0, 0, 1]));
}
