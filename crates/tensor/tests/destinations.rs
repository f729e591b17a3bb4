//! Destinations: how an operation's output is written, and when it may be read.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use tenferro_tensor::{DType, Shape, Tensor, Uninit};

fn count() -> impl FnMut() -> i32 {
    let mut next = 0;
    move || {
        next += 1;
        next
    }
}

#[test]
fn a_destination_is_filled_in_column_major_order() {
    let mut out = Tensor::zeros(DType::I32, [2, 3]).unwrap();
    out.as_operand_mut().unwrap().fill(count());
    assert_eq!(out.as_slice::<i32>().unwrap(), [1, 2, 3, 4, 5, 6]);
}

#[test]
fn x53_a_strided_destination_is_filled_in_its_own_order_and_nowhere_else() {
    let mut out = Tensor::zeros(DType::I32, [2, 4]).unwrap();
    let view = out.view_mut().unwrap().slice(1, 1.., 2).unwrap();
    let mut turned = view.reverse(1).unwrap().transpose();
    turned.as_operand_mut().fill(count());
    assert_eq!(out.to_vec_row_major::<i32>().unwrap(), [0, 2, 0, 1, 0, 4, 0, 3]);
    let mut empty = Tensor::zeros(DType::I32, [2, 0, 3]).unwrap();
    empty.as_operand_mut().unwrap().fill::<i32>(|| unreachable!("there is no element"));
}

#[test]
fn an_update_sees_what_was_there() {
    let mut out = Tensor::from_vec_col_major([3], vec![1_i32, 2, 3]).unwrap();
    let mut reversed = out.view_mut().unwrap().reverse(0).unwrap();
    let mut next = count();
    reversed.as_operand_mut().update(|before: i32| before * 10 + next());
    assert_eq!(out.as_slice::<i32>().unwrap(), [13, 22, 31]);
}

#[test]
fn memory_that_was_never_written_is_not_lent_for_reading() {
    let mut out = Uninit::allocate("test", DType::I32, Shape::new(&[3]).unwrap()).unwrap();
    let destination = out.as_operand_mut();
    assert!(!destination.is_initialised());
    assert!(destination.as_operand().is_none());
    let mut written = Tensor::zeros(DType::I32, [3]).unwrap();
    let destination = written.as_operand_mut().unwrap();
    assert_eq!(destination.as_operand().unwrap().as_slice::<i32>().unwrap(), [0; 3]);
}

#[test]
#[should_panic(expected = "only initialised elements are read")]
fn an_update_of_memory_that_was_never_written_panics() {
    let mut out = Uninit::allocate("test", DType::I32, Shape::new(&[3]).unwrap()).unwrap();
    out.as_operand_mut().update(|before: i32| before);
}

#[test]
#[should_panic(expected = "the elements are f64, as the destination is")]
fn a_destination_takes_its_own_dtype_only() {
    let mut out = Tensor::zeros(DType::F64, [1]).unwrap();
    out.as_operand_mut().unwrap().fill(|| 1.0_f32);
}
