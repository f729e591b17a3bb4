//! Views and arrays of `ndarray`, in and out.

#![allow(clippy::unwrap_used, reason = "a test unwraps what it expects to be there")]

use ndarray::{Array, Array2, Array3, ArrayD, ArrayViewD, Axis, Ix1, IxDyn, ShapeBuilder, Slice};
use proptest::{prelude::*, sample::Index};
use tenferro_tensor::{DType, Tensor, TensorView, TensorViewMut, TypedTensor};

fn counting(extents: &[usize]) -> Array<i32, IxDyn> {
    let elements: i32 = extents.iter().product::<usize>().try_into().unwrap();
    ArrayD::from_shape_vec(IxDyn(extents), (0..elements).collect()).unwrap()
}

/// The elements in row-major order.
fn listed(array: &ArrayViewD<'_, i32>) -> Vec<i32> {
    array.iter().copied().collect()
}

/// Every view of an array that a list of small numbers describes.
fn steps() -> impl Strategy<Value = Vec<(u8, Index, isize)>> {
    prop::collection::vec((0..3_u8, any::<Index>(), -3..4_isize), 0..6)
}

fn stepped<'a>(mut view: ArrayViewD<'a, i32>, steps: &[(u8, Index, isize)]) -> ArrayViewD<'a, i32> {
    for &(kind, axis, number) in steps {
        let axis = axis.index(view.ndim());
        match kind {
            0 if number != 0 => {
                view.slice_axis_inplace(Axis(axis), Slice { start: 0, end: None, step: number });
            }
            1 => view.invert_axis(Axis(axis)),
            _ => view.swap_axes(0, axis),
        }
    }
    view
}

proptest! {
    #[test]
    fn any_view_comes_in_and_goes_out_without_copying(
        extents in prop::collection::vec(0..5_usize, 1..5),
        steps in steps(),
    ) {
        let array = counting(&extents);
        let view = stepped(array.view(), &steps);
        let ours = TensorView::from(view.clone());
        prop_assert_eq!(&ours.shape()[..], view.shape());
        prop_assert_eq!(ours.to_vec_row_major::<i32>().unwrap(), listed(&view));
        let theirs = ours.as_ndarray::<i32>().unwrap();
        prop_assert_eq!(&theirs, &view);
        if !view.is_empty() {
            prop_assert_eq!(theirs.as_ptr(), view.as_ptr());
            for axis in 0..view.ndim() {
                let lengths = (theirs.shape()[axis], view.shape()[axis]);
                let strides = (theirs.strides()[axis], view.strides()[axis]);
                prop_assert!(lengths.0 == lengths.1 && (lengths.0 == 1 || strides.0 == strides.1));
            }
        }
    }

    #[test]
    fn any_array_becomes_a_tensor_and_an_array_again(
        extents in prop::collection::vec(0..5_usize, 1..5),
        steps in steps(),
    ) {
        let array = counting(&extents);
        let owned = stepped(array.view(), &steps).to_owned();
        let tensor = Tensor::from_ndarray(owned.clone()).unwrap();
        prop_assert_eq!(tensor.to_vec_row_major::<i32>().unwrap(), listed(&owned.view()));
        prop_assert_eq!(tensor.to_ndarray::<i32>().unwrap(), owned);
    }
}

#[test]
fn a_write_through_a_view_reaches_the_array_and_back() {
    let mut array = Array2::from_shape_vec((2, 3), vec![1, 2, 3, 4, 5, 6]).unwrap();
    let mut theirs = array.view_mut();
    theirs.invert_axis(Axis(1));
    let mut ours = TensorViewMut::from(theirs);
    ours.set(&[0, 0], -3).unwrap();
    let mut again = ours.into_ndarray::<i32>().unwrap();
    assert_eq!(again[[0, 0]], -3);
    again[[1, 2]] = -4;
    assert_eq!(array.into_raw_vec_and_offset().0, [1, 2, -3, -4, 5, 6]);

    let mut tensor = Tensor::from_vec_col_major([2, 2], vec![1_u8, 2, 3, 4]).unwrap();
    let reversed = tensor.view_mut().unwrap().reverse(0).unwrap().reverse(1).unwrap();
    reversed.into_ndarray::<u8>().unwrap()[[0, 1]] = 20;
    assert_eq!(tensor.as_slice::<u8>().unwrap(), [1, 20, 3, 4]);
}

#[test]
fn broadcast_unit_and_empty_axes_cross() {
    let row = Array::<f64, Ix1>::from(vec![1.0, 2.0]);
    let stretched = TensorView::from(row.broadcast((3, 2)).unwrap());
    assert_eq!(stretched.strides()[0], 0);
    assert_eq!(stretched.as_ndarray::<f64>().unwrap().shape(), [3, 2]);
    let data = [1_i64, 2, 3];
    let odd = TensorView::from_slice(&data, &[1, 3, 1], &[isize::MIN, -1, isize::MAX], 2).unwrap();
    let odd = odd.as_ndarray::<i64>().unwrap();
    assert_eq!(
        (odd.shape(), odd.iter().copied().collect::<Vec<_>>()),
        (&[1, 3, 1][..], vec![3, 2, 1])
    );
    let empty = TensorView::from_slice(&data, &[2, 0], &[isize::MIN, -7], 1).unwrap();
    assert_eq!(empty.as_ndarray::<i64>().unwrap().shape(), [2, 0]);
    let scalar = Tensor::scalar(2.5_f32).unwrap();
    assert_eq!(scalar.view().as_ndarray::<f32>().unwrap()[[]], 2.5);
}

#[test]
fn a_whole_column_major_array_is_not_copied() {
    let array = Array3::<f64>::ones((10, 10, 10).f());
    let address = array.as_ptr();
    let tensor = Tensor::from_ndarray(array).unwrap();
    assert_eq!(tensor.as_slice::<f64>().unwrap().as_ptr(), address);
    let mut sliced = Array2::from_shape_fn((4, 1000).f(), |(i, j)| (i + 10 * j) as f64);
    sliced.slice_axis_inplace(Axis(1), Slice::from(2..900));
    let tensor = Tensor::from_ndarray(sliced.clone()).unwrap();
    assert_eq!(tensor.to_ndarray::<f64>().unwrap(), sliced.into_dyn());
}

#[test]
fn element_types_must_agree() {
    let mut x = Tensor::zeros(DType::F32, [2]).unwrap();
    let text = x.view().as_ndarray::<f64>().unwrap_err().to_string();
    insta::assert_snapshot!(text, @"as_ndarray: the tensor holds f32, not f64; convert it first");
    assert!(x.to_ndarray::<i32>().is_err());
    assert!(x.view_mut().unwrap().into_ndarray::<bool>().is_err());
    let typed = TypedTensor::from_ndarray(ndarray::array![true, false]).unwrap();
    assert_eq!(typed.to_ndarray(), ndarray::array![true, false].into_dyn());
}
